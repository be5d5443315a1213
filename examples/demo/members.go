package main

import (
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// memberList remembers who was a member, in the order in which they were seen first.
type memberList struct {
	names   []string
	present map[string]presence
}

// presence is a member as one look saw it.
type presence struct {
	incarnation uint64
	draining    bool
}

// move is what became of a member from one look to the next.
type move struct {
	name string
	what string
}

const (
	joins  = "joins"
	drains = "drains: its calls may end, it gets no new ones"
	stays  = "stays after all"
	leaves = "has left"
	rejoin = "has left and joins again"
)

// look takes what one look saw, and returns who has moved: those that left first.
func (r *memberList) look(states []poisehttp.EndpointState) (moves []move) {
	before, now := r.present, make(map[string]presence, len(states))
	for _, s := range states {
		now[s.ID] = presence{s.Incarnation, s.Reason == poise.ExcludedDraining}
	}
	known := make(map[string]bool, len(r.names))
	for _, name := range r.names {
		known[name] = true
		_, was := before[name]
		if _, is := now[name]; was && !is {
			moves = append(moves, move{name, leaves})
		}
	}
	for _, s := range states {
		if !known[s.ID] {
			r.names = append(r.names, s.ID)
		}
		was, present := before[s.ID]
		switch is := now[s.ID]; {
		case !present:
			moves = append(moves, move{s.ID, joins})
		case was.incarnation != is.incarnation:
			moves = append(moves, move{s.ID, rejoin})
		case was.draining != is.draining && is.draining:
			moves = append(moves, move{s.ID, drains})
		case was.draining != is.draining:
			moves = append(moves, move{s.ID, stays})
		}
	}
	r.present = now
	return moves
}

// moved notes what became of members, and which requests must not reach those of
// the demo's own any more that drain or have left.
func (t *check) moved(moves []move) {
	for _, m := range moves {
		d := t.drainageOf(m.name)
		switch m.what {
		case drains:
			if d != nil {
				continue // the script has noted it
			}
			t.drained(m.name)
		case leaves:
			if d == nil {
				d = t.drained(m.name)
			}
			t.quiet(d) // who holds a call does not leave
			t.watch.left(m.name)
		}
		t.note("%s %s", m.name, m.what)
	}
}
