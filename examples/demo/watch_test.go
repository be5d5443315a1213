package main

import (
	"slices"
	"testing"
	"time"
)

func TestWatch_CountsRequestsOnlyWhileABackendIsCertainlySetAside(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	w := watch{certainFor: 100 * time.Millisecond}
	var changes []change
	for _, look := range []struct {
		aside    bool
		from, to int // ms at which the look began and ended
		begun    uint64
	}{
		{true, 0, 1, 5},       // since when, nobody knows: nothing is certain
		{true, 20, 21, 8},     //
		{false, 40, 41, 10},   // the last look that did not see it
		{true, 60, 61, 13},    // it began at 40 at the earliest
		{true, 100, 101, 17},  // certain
		{true, 130, 139, 19},  // certain
		{true, 135, 140, 23},  // 100 ms are over when the look ends
		{true, 300, 301, 40},  // it may have been back in between
		{false, 320, 321, 43}, //
		{true, 600, 601, 50},  // a late look: 320 + 100 are over
		{true, 620, 621, 55},
	} {
		changes = append(changes, w.look("b", look.aside, at(look.from), look.begun, func() time.Time { return at(look.to) }))
	}
	if want := []aside{{"b", 5, 5}, {"b", 13, 19}, {"b", 50, 50}}; !slices.Equal(w.asides, want) {
		t.Errorf("stretches %v, want %v", w.asides, want)
	}
	if want := []change{gone, unchanged, back, gone, unchanged, unchanged, unchanged, unchanged, back, gone, unchanged}; !slices.Equal(changes, want) {
		t.Errorf("changes %v, want %v", changes, want)
	}
}
