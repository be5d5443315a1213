package main

import "time"

// watch remembers when a backend was seen ejected.
type watch struct {
	seen      map[string]glimpse
	sightings []sighting
}

// glimpse is the last look at a backend: since when it was ejected, zero if it was
// not, and when the look ended.
type glimpse struct{ since, at time.Time }

// sighting is a time in which a backend was ejected all along: two looks, from the end
// of one to the beginning of the next, saw the same ejection.
type sighting struct {
	backend  string
	from, to time.Time
}

// left takes note that a member had left at a look. It may join again, with a new life.
func (w *watch) left(backend string) { delete(w.seen, backend) }

// change is what a look found different from the look before.
type change int

const (
	unchanged change = iota
	gone             // ejected
	back
)

// look takes what one look, from one instant to another, saw of a backend.
func (w *watch) look(backend string, since, from, to time.Time) change {
	if w.seen == nil {
		w.seen = map[string]glimpse{}
	}
	before := w.seen[backend]
	w.seen[backend] = glimpse{since, to}
	if !since.IsZero() && since.Equal(before.since) {
		w.sightings = append(w.sightings, sighting{backend, before.at, from})
	}
	switch {
	case !since.IsZero() && before.since.IsZero():
		return gone
	case !before.since.IsZero() && since.IsZero():
		return back
	}
	return unchanged
}
