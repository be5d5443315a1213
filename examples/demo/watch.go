package main

import (
	"slices"
	"time"
)

// watch remembers when a backend was seen set aside.
//
// That is enough to tell whether it got a new request meanwhile. It was set aside
// after the last attempt that came before such a sighting, and stays so for half
// of the first backoff at least. So for that long after that attempt no other
// can begin.
type watch struct {
	aside     map[string]bool
	sightings []sighting
}

// sighting is a look, from one instant to another, that saw a backend set aside.
type sighting struct {
	backend  string
	from, to time.Time
}

// apart is how far apart two attempts have to begin between which a backend was seen
// set aside: half of the first backoff, and half of that is spared for whoever is
// late.
const apart = backoff / 4

// left takes note that a member had left at a look. With it may go the right of
// others to be set aside, of whom too many are then: those come back before their
// time, so what was seen a moment before shows nothing. And it may join again, with
// a new life.
func (w *watch) left(backend string, at time.Time) {
	delete(w.aside, backend)
	w.sightings = slices.DeleteFunc(w.sightings, func(s sighting) bool { return at.Sub(s.to) < apart+glance })
}

// change is what a look found different from the look before.
type change int

const (
	unchanged change = iota
	gone             // set aside
	back
)

// look takes what one look saw of a backend.
func (w *watch) look(backend string, aside bool, from, to time.Time) change {
	if w.aside == nil {
		w.aside = map[string]bool{}
	}
	before := w.aside[backend]
	w.aside[backend] = aside
	if aside {
		w.sightings = append(w.sightings, sighting{backend, from, to})
	}
	switch {
	case aside && !before:
		return gone
	case before && !aside:
		return back
	}
	return unchanged
}
