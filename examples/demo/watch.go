package main

import "time"

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
