package main

import (
	"slices"
	"testing"
	"time"
)

func TestWatch_RemembersSightingsAndTellsChanges(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	var never time.Time
	var w watch
	var changes []change
	for i, since := range []time.Time{at(-5), at(-5), never, never, at(25), at(45), at(45), never} {
		changes = append(changes, w.look("a", since, at(10*i), at(10*i+1)), w.look("b", never, at(10*i), at(10*i+1)))
	}
	if want := []sighting{{"a", at(1), at(10)}, {"a", at(51), at(60)}}; !slices.Equal(w.sightings, want) {
		t.Errorf("sightings %v", w.sightings)
	}
	if want := []change{gone, 0, 0, 0, back, 0, 0, 0, gone, 0, 0, 0, 0, 0, back, 0}; !slices.Equal(changes, want) {
		t.Errorf("changes %v, want %v", changes, want)
	}
}

// Who joins again has a new life: what was seen of the old one is forgotten.
func TestWatch_ForgetsWhoHasLeft(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	var w watch
	w.look("a", at(0), at(0), at(1))
	w.left("a")
	if w.look("a", at(0), at(10), at(11)) != gone || len(w.sightings) != 0 {
		t.Errorf("sightings %v", w.sightings)
	}
}
