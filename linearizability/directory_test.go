package linearizability

import (
	"errors"
	"fmt"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/spec/seq"
)

func newDirectory(t testing.TB) *discovery.Directory[int] {
	d, err := discovery.New(discovery.Config[int]{Equal: func(a, b int) bool { return a == b }})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func newSession(t testing.TB, d *discovery.Directory[int], source string) *discovery.Session[int] {
	s, err := d.Open(source)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every caller has a cursor of its own, all publish through one session, and
// somebody may close.
var board = subject{
	spec: seq.Board(0),
	fresh: func(t testing.TB) func(*Caller, int, int) {
		d := newDirectory(t)
		s := newSession(t, d, "x")
		var cursors [callers]*discovery.Cursor[int]
		for i := range cursors {
			cursors[i] = d.Cursor()
		}
		return func(c *Caller, _, pick int) {
			switch {
			case pick == 0:
				c.Call("Close", nil, func() any { d.Close(); return nil })
			case pick < 96:
				c.Call("Publish", nil, func() any {
					a, err := s.Replace("a", 1)
					if errors.Is(err, discovery.ErrClosed) {
						return seq.Ended
					} else if err != nil {
						t.Error(err)
					}
					return int(a.Revision)
				})
			case pick < 128:
				c.Call("Load", nil, func() any { return int(d.Load().Revision()) })
			default:
				c.Call("Poll", c.Number, func() any {
					cursor := cursors[c.Number]
					if s, ok := cursor.Poll(); ok {
						return int(s.Revision())
					} else if cursor.Ended() {
						return seq.Ended
					}
					return seq.Cancelled
				})
			}
		}
	},
	good: serial(
		call("Poll", 0, 0), call("Publish", nil, 1), call("Publish", nil, 2), call("Poll", 0, 2), call("Poll", 0, seq.Cancelled),
		call("Load", nil, 2), call("Close", nil, nil), call("Publish", nil, seq.Ended), call("Poll", 1, 2), call("Poll", 1, seq.Ended)),
	mutants: []mutant{
		returns("an older snapshot", 3, 1),
		returns("nothing, though there is something new", 3, seq.Cancelled),
		returns("a snapshot that comes twice", 4, 2),
		returns("the end before the last snapshot", 8, seq.Ended),
		returns("a change after the end", 7, 3),
		returns("a load behind a cursor", 5, 1),
		without("a revision that nobody published", 1),
	},
}

// Claim: Load returns the newest snapshot, and every call after a change has returned sees that change.
// Claim: A Cursor returns the last snapshot of a closed Directory before it ends, and then stays at its end.
// Claim: A Cursor never returns a snapshot that is not newer than the one before.
func TestBoard_Linearizable(t *testing.T)     { allowed(t, board) }
func TestBoard_Linearizable_Law(t *testing.T) { law(t, board) }

// Every caller is a source.
var shared = subject{
	spec: seq.Shared(),
	fresh: func(t testing.TB) func(*Caller, int, int) {
		d := newDirectory(t)
		var sessions [callers]*discovery.Session[int]
		for i := range sessions {
			sessions[i] = newSession(t, d, fmt.Sprint(i))
		}
		answer := func(a discovery.ChangeResult, err error) any {
			if errors.Is(err, discovery.ErrUnknown) {
				return seq.Applied{Effect: "unknown"}
			} else if err != nil {
				t.Error(err)
			}
			return seq.Applied{Effect: a.Effect.String(), Revision: int(a.Revision)}
		}
		return func(c *Caller, _, pick int) {
			switch s := sessions[c.Number]; {
			case pick < 96:
				c.Call("Upsert", c.Number, func() any { return answer(s.Upsert("a", 1)) })
			case pick < 192:
				c.Call("Remove", c.Number, func() any { return answer(s.Remove("a")) })
			default:
				c.Call("FinishDrain", nil, func() any { return answer(d.FinishDrain("a", 0)) })
			}
		}
	},
	good: serial(
		call("Upsert", 0, seq.Applied{Effect: "inserted", Revision: 1}), call("Upsert", 1, seq.Applied{Effect: "claimed", Revision: 1}),
		call("Remove", 0, seq.Applied{Effect: "kept", Revision: 1}), call("FinishDrain", nil, seq.Applied{Effect: "not draining", Revision: 1}),
		call("Remove", 1, seq.Applied{Effect: "drain started", Revision: 2}), call("Upsert", 2, seq.Applied{Effect: "revived", Revision: 3}),
		call("Remove", 2, seq.Applied{Effect: "drain started", Revision: 4}), call("FinishDrain", nil, seq.Applied{Effect: "drain finished", Revision: 5}),
		call("Remove", 2, seq.Applied{Effect: "unknown"})),
	mutants: []mutant{
		returns("a drain in spite of a claim", 2, seq.Applied{Effect: "drain started", Revision: 2}),
		returns("a revision that is given twice", 5, seq.Applied{Effect: "revived", Revision: 2}),
		returns("a member that leaves while it is claimed", 3, seq.Applied{Effect: "drain finished", Revision: 2}),
		without("a claim that was lost", 1),
	},
}

// Claim: A member leaves or begins to drain only when no source claims it any more.
// Claim: Every change, batch or list that changes anything raises the revision by exactly one; all others leave it.
func TestShared_Linearizable(t *testing.T)     { allowed(t, shared) }
func TestShared_Linearizable_Law(t *testing.T) { law(t, shared) }
