package main

import "time"

// watch learns from repeated looks at the endpoints during which requests a
// backend was certainly set aside.
//
// The library shows who is set aside, not since when and until when. But a time
// aside lasts half of the first backoff at least, and it cannot have begun before
// the last look that did not see it. So for half of that half it is certain,
// with as much to spare for whoever is late, be it the look or the library.
type watch struct {
	certainFor time.Duration
	backends   map[string]*watched
	asides     []aside
}

// watched is what the watch knows of one backend.
type watched struct {
	aside   bool
	seen    time.Time // the start of the last look that did not see it set aside
	certain time.Time // until when it is certainly set aside
	stretch int       // of watch.asides, while it is set aside
}

// aside is a stretch of requests that began while a backend was certainly set
// aside: those after the number before, up to the number last.
type aside struct {
	backend      string
	before, last uint64
}

// change is what a look found different from the look before.
type change int

const (
	unchanged change = iota
	gone             // set aside
	back
)

// look takes one look at a backend, which began at the instant before. The number
// of requests begun was read after it; the clock is read later still.
func (w *watch) look(name string, isAside bool, before time.Time, begun uint64, now func() time.Time) change {
	b := w.backends[name]
	if b == nil {
		b = new(watched)
		if w.backends == nil {
			w.backends = map[string]*watched{}
		}
		w.backends[name] = b
	}
	was := b.aside
	b.aside = isAside
	switch {
	case !isAside:
		b.seen = before
		if was {
			return back
		}
	case !was:
		b.certain = b.seen.Add(w.certainFor)
		b.stretch = len(w.asides)
		w.asides = append(w.asides, aside{name, begun, begun})
		return gone
	case now().Before(b.certain):
		w.asides[b.stretch].last = begun
	}
	return unchanged
}
