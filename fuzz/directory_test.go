package fuzz

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/discovery"
)

// The twin of FuzzDirectory is somebody who sees nothing but deltas: members as a
// map that every delta edits. Who claims what is kept as a set of pairs.
//
// Claim: Delta tells exactly what has become different since the older Snapshot, whatever lies between the two.
//
// Claim: A member leaves or begins to drain only when no source claims it any more.
//
// Claim: Every change, batch or list that changes anything raises the revision by exactly one; all others leave it.
//
// Claim: After an error of any method nothing has changed.
//
// Cases: B42, B45.
func FuzzDirectory(f *testing.F) {
	f.Add(false, []byte{0, 0, 0, 1, 3, 0, 4, 0})
	f.Add(true, []byte{5, 3, 1, 2, 3, 5, 2, 1, 1, 5, 0})
	f.Add(false, []byte{0, 0, 16, 0, 3, 0, 19, 0, 4, 0, 0, 64})
	f.Fuzz(func(t *testing.T, atOnce bool, script []byte) {
		type claim struct{ source, id string }
		d, err := discovery.New(discovery.Config[int]{Equal: func(a, b int) bool { return a == b }, RemoveImmediately: atOnce})
		if err != nil {
			t.Fatal(err)
		}
		var (
			sessions = map[string]*discovery.Session[int]{}
			claims   = map[claim]bool{}
			members  = map[string]discovery.Member[int]{}
			seen     = d.Load()
			cursor   = d.CursorAfter(0)
			highest  = uint64(0)
		)
		take := func() int {
			if len(script) == 0 {
				return 0
			}
			b := script[0]
			script = script[1:]
			return int(b)
		}
		identity := func() (string, int) {
			b := take()
			return fmt.Sprint("id", b&7), b >> 6
		}
		for step := 0; len(script) > 0; step++ {
			op := take()
			source := fmt.Sprint("source", op>>4&3)
			s := sessions[source]
			if s == nil || op&15 == 15 {
				old := s
				if s, err = d.Open(source); err != nil {
					t.Fatal(err)
				}
				sessions[source] = s
				if old != nil {
					if _, err := old.Upsert("id0", 0); !errors.Is(err, discovery.ErrSessionEnded) {
						t.Fatalf("step %d: an ended session answers %v", step, err)
					}
				}
			}
			before := d.Load()
			next := maps.Clone(claims)
			var changed bool
			switch op & 15 {
			default:
				var changes []discovery.Change[int]
				for range 1 + op&3 {
					id, value := identity()
					c := discovery.Change[int]{Op: discovery.Op(op >> 2 & 3), ID: id, Value: value}
					changes = append(changes, c)
					if c.Op == discovery.Remove {
						delete(next, claim{source, id})
					} else {
						next[claim{source, id}] = true
					}
				}
				var applied []discovery.ChangeResult
				if applied, err = s.Apply(changes...); err == nil {
					for _, a := range applied {
						changed = changed || a.Effect.Changed()
					}
				}
			case 4:
				id, work := identity()
				var a discovery.ChangeResult
				a, err = d.FinishDrain(id, uint64(work))
				changed = a.Effect.Changed()
				if m, ok := before.Lookup(id); changed != (ok && m.Draining && work == 0) || (err != nil) == ok {
					t.Fatalf("step %d: FinishDrain of %v with %d is %v, %v", step, m, work, a, err)
				}
			case 5, 6:
				named := map[string]bool{}
				var list []discovery.Entry[int]
				twice := false
				for range take() % 9 {
					id, value := identity()
					twice = twice || named[id]
					named[id] = true
					list = append(list, discovery.Entry[int]{ID: id, Value: value})
				}
				maps.DeleteFunc(next, func(c claim, _ bool) bool { return c.source == source })
				for id := range named {
					next[claim{source, id}] = true
				}
				var tally discovery.ListResult
				tally, err = s.Reconcile(list)
				changed = tally.Changed()
				if errors.Is(err, discovery.ErrDuplicate) != twice {
					t.Fatalf("step %d: a list with duplicates: %t, answers %v", step, twice, err)
				}
			}
			now := d.Load()
			switch {
			case err != nil && now != before, !changed && now != before:
				t.Fatalf("step %d: something has changed (%v)", step, err)
			case changed && now.Revision() != before.Revision()+1:
				t.Fatalf("step %d: revision %d after %d", step, now.Revision(), before.Revision())
			}
			if err == nil {
				claims = next
			}
			claimed := map[string]bool{}
			for c := range claims {
				claimed[c.id] = true
			}
			for i, m := range now.All() {
				if m.Draining == claimed[m.ID] {
					t.Fatalf("step %d: %v is claimed: %t", step, m, claimed[m.ID])
				}
				if was, ok := before.Lookup(m.ID); ok && was.Incarnation != m.Incarnation && m.Incarnation <= highest {
					t.Fatalf("step %d: %v is an old incarnation", step, m)
				}
				if at, ok := now.At(i); !ok || at != m {
					t.Fatalf("step %d: At(%d) is %v", step, i, at)
				}
				delete(claimed, m.ID)
				highest = max(highest, m.Incarnation)
			}
			if len(claimed) > 0 {
				t.Fatalf("step %d: %v are claimed and not there", step, claimed)
			}
			if op&1 == 1 {
				continue // several revisions for the next delta
			}
			delta, err := now.Delta(seen)
			if err != nil {
				t.Fatal(err)
			}
			edit(t, members, delta)
			if want := now.Len(); len(members) != want {
				t.Fatalf("step %d: the deltas leave %d members of %d", step, len(members), want)
			}
			for _, m := range now.All() {
				if members[m.ID] != m {
					t.Fatalf("step %d: the deltas leave %v, want %v", step, members[m.ID], m)
				}
			}
			if s, ok := cursor.Poll(); ok != (now.Revision() > seen.Revision()) || ok && s != now {
				t.Fatalf("step %d: the cursor has something: %t", step, ok)
			}
			seen = now
		}
	})
}

// edit changes the map as the delta says.
func edit(t *testing.T, members map[string]discovery.Member[int], d discovery.Delta[int]) {
	for _, m := range d.Left {
		if members[m.ID] != m {
			t.Fatalf("%v has left, the deltas know %v", m, members[m.ID])
		}
		delete(members, m.ID)
	}
	for _, m := range d.Joined {
		if was, ok := members[m.ID]; ok {
			t.Fatalf("%v has joined, the deltas know %v", m, was)
		}
		members[m.ID] = m
	}
	for _, c := range d.Changed {
		if members[c.Before.ID] != c.Before || c.Before.Value == c.After.Value {
			t.Fatalf("%v has changed, the deltas know %v", c, members[c.Before.ID])
		}
		m := members[c.Before.ID]
		m.Value = c.After.Value
		members[m.ID] = m
	}
	for _, list := range [][]discovery.Member[int]{d.DrainStarted, d.Revived} {
		for _, m := range list {
			was := members[m.ID]
			if was.Incarnation != m.Incarnation || was.Draining == m.Draining {
				t.Fatalf("%v, the deltas know %v", m, was)
			}
			was.Draining = m.Draining
			members[m.ID] = was
		}
	}
}
