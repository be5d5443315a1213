package main

import (
	"slices"
	"testing"
	"time"
)

func TestWatch_RemembersSightingsAndTellsChanges(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	var w watch
	var changes []change
	for i, aside := range []bool{true, false, false, true, true, false} {
		changes = append(changes, w.look("a", aside, at(10*i), at(10*i+1)), w.look("b", false, at(10*i), at(10*i+1)))
	}
	if want := []sighting{{"a", at(0), at(1)}, {"a", at(30), at(31)}, {"a", at(40), at(41)}}; !slices.Equal(w.sightings, want) {
		t.Errorf("sightings %v", w.sightings)
	}
	if want := []change{gone, 0, back, 0, unchanged, 0, gone, 0, unchanged, 0, back, 0}; !slices.Equal(changes, want) {
		t.Errorf("changes %v, want %v", changes, want)
	}
}

// When a member leaves, others may come back before their time: what was seen just
// before shows nothing.
func TestWatch_ForgetsWhatALeaveMakesWorthless(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	var w watch
	w.look("a", true, at(0), at(1))
	w.look("b", true, at(100), at(101))
	w.look("a", true, at(200), at(201))
	w.left("a", at(222)) // after 121 ms, and 145 have to pass
	if want := []sighting{{"a", at(0), at(1)}}; !slices.Equal(w.sightings, want) {
		t.Errorf("sightings %v", w.sightings)
	}
	if w.look("a", false, at(300), at(301)) != unchanged || w.look("b", false, at(300), at(301)) != back {
		t.Error("who has left does not come back, who stays does")
	}
}
