//go:build interleave

package models

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/models/explore"
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// balanced is a whole loop, without passive health, and its twin with planted bugs.
type balanced struct {
	loop *dispatch.Loop
	ends explore.Int64 // ends of one attempt that counted
	both dispatch.Call

	gone  explore.Int64 // how often the value of member 0 was released
	late  bool          // a call held that value when it was released
	hasty bool          // release does not wait for calls
}

func newBalanced() *balanced { return newBalancedBy(new(policy.RoundRobin)) }

func newBalancedBy(p poise.Policy) *balanced {
	passive := health.PassiveHealthConfig{}
	passive.Off = true
	l, err := dispatch.NewLoop(dispatch.LoopConfig{Policy: p, Passive: passive, Seed: 1})
	if err != nil {
		panic(err)
	}
	b := &balanced{loop: l}
	b.update(0b011)
	return b
}

var then = time.Unix(1, 0)

// update makes the members those of the set.
func (b *balanced) update(set uint64) {
	var list []dispatch.Spec
	for i := range 3 {
		if set>>i&1 != 0 {
			list = append(list, dispatch.Spec{Sample: poise.Sample{ID: fmt.Sprint(i), Incarnation: uint64(i) + 1}, Value: i})
		}
	}
	if err := b.loop.Update(list, then); err != nil {
		panic(err)
	}
}

// drain has member 0 drain, by a list that brings member 1.
func (b *balanced) drain() {
	list := []dispatch.Spec{
		{Sample: poise.Sample{ID: "0", Incarnation: 1, Status: poise.Draining}, Value: 0},
		{Sample: poise.Sample{ID: "1", Incarnation: 2}, Value: 1},
	}
	if err := b.loop.Update(list, then); err != nil {
		panic(err)
	}
}

// call makes one call, and returns where it went; -1 for nowhere.
func (b *balanced) call() int {
	var c dispatch.Call
	if err := b.loop.Acquire(&c, dispatch.Query{Now: then}); err != nil {
		return -1
	}
	c.End(poise.Result{}, then)
	return c.Value().(int)
}

// watched is call, which sees whether the value it holds has been released.
func (b *balanced) watched() int {
	var c dispatch.Call
	if err := b.loop.Acquire(&c, dispatch.Query{Now: then}); err != nil {
		return -1
	}
	at := c.Value().(int)
	if at == 0 && b.gone.Load() > 0 {
		b.late = true
	}
	c.End(poise.Result{}, then)
	return at
}

// release takes what was released.
func (b *balanced) release() {
	if b.hasty {
		b.gone.Store(1)
		return
	}
	for _, value := range b.loop.Released() {
		if value == 0 {
			b.gone.Add(1)
		}
	}
}

// Claim: A member that drains or was removed admits no call that began after the change returned.
//
// Claim: Each value of a member that was removed is released once, when its last call has ended.
func TestLoop_CallsAgainstAChangeOfMembers(t *testing.T) {
	explore.Check(t, explore.Model[*balanced]{
		Name:     "loop: a caller against a list without one member, and another in its place",
		NotShown: "Passive health, limits and waiting calls.",
		New:      newBalanced,
		Tasks: []explore.Task[*balanced]{
			{Name: "caller", Body: func(b *balanced, h *explore.T) {
				for range 2 {
					h.Call("Call", nil, func() any { return b.call() })
				}
			}},
			{Name: "control", Body: func(b *balanced, h *explore.T) {
				h.Call("Update", uint64(0b110), func() any { b.update(0b110); return nil })
			}},
		},
		Final: func(b *balanced, r *explore.Run) error {
			for _, op := range r.History {
				if op.Result == -1 {
					return fmt.Errorf("a call found nobody")
				}
			}
			if released := b.loop.Released(); len(released) != 1 || released[0] != 0 {
				return fmt.Errorf("released are %v", released)
			}
			for _, m := range b.loop.Inspect(then).Members {
				if m.InFlight != 0 {
					return fmt.Errorf("%s holds %d slots", m.ID, m.InFlight)
				}
			}
			return nil
		},
		Outcome: results[*balanced],
		Spec:    seq.Members(0b011),
		Bugs: []explore.Bug[*balanced]{bug("a slot is never given back", "final", func() *balanced {
			b := newBalanced()
			var c dispatch.Call
			if err := b.loop.Acquire(&c, dispatch.Query{Now: then}); err != nil {
				panic(err)
			}
			return b
		})},
	})
}

// A call takes its slot in steps, between which its member may be removed: it holds
// the member then, or goes elsewhere.
func TestLoop_NoCallHoldsAReleasedValue(t *testing.T) {
	explore.Check(t, explore.Model[*balanced]{
		Name:     "loop: one call against a list without its member, whose value is released",
		NotShown: "Passive health, limits and waiting calls.",
		New: func() *balanced {
			b := newBalanced()
			b.update(0b001)
			return b
		},
		Tasks: []explore.Task[*balanced]{
			{Name: "caller", Body: func(b *balanced, h *explore.T) {
				h.Call("Call", nil, func() any { return b.watched() })
			}},
			{Name: "control", Body: func(b *balanced, h *explore.T) {
				h.Call("Update", uint64(0b010), func() any { b.update(0b010); return nil })
				b.release()
			}},
		},
		Final: func(b *balanced, _ *explore.Run) error {
			b.release()
			if b.late {
				return errors.New("a call held a value that was released")
			}
			if n := b.gone.Load(); n != 1 {
				return fmt.Errorf("the value was released %d times", n)
			}
			return nil
		},
		Outcome: results[*balanced],
		Spec:    seq.Members(0b001),
		Bugs: []explore.Bug[*balanced]{bug("a value that is released as soon as its member is removed", "final", func() *balanced {
			b := newBalanced()
			b.update(0b001)
			b.hasty = true
			return b
		})},
	})
}

// Claim: A member that drains or was removed admits no call that began after the change returned.
func TestLoop_CallsAgainstADrainThatBringsAnother(t *testing.T) {
	explore.Check(t, explore.Model[*balanced]{
		Name:     "loop: a caller against a list in which the only member drains, and that brings another",
		NotShown: "Passive health, limits and waiting calls.",
		New: func() *balanced {
			b := newBalanced()
			b.update(0b001)
			return b
		},
		Tasks: []explore.Task[*balanced]{
			{Name: "caller", Body: func(b *balanced, h *explore.T) {
				for range 2 {
					h.Call("Call", nil, func() any { return b.call() })
				}
			}},
			{Name: "control", Body: func(b *balanced, h *explore.T) {
				h.Call("Update", uint64(0b010), func() any { b.drain(); return nil })
			}},
		},
		Final: func(b *balanced, r *explore.Run) error {
			for _, op := range r.History {
				if op.Result == -1 {
					return fmt.Errorf("a call found nobody")
				}
			}
			return nil
		},
		Outcome: results[*balanced],
		Spec:    seq.Members(0b001),
	})
}

// Claim: The first End of an attempt ends it and returns true; every later one returns false and changes nothing.
func TestCall_EndsOnceWhoeverEndsIt(t *testing.T) {
	explore.Check(t, explore.Model[*balanced]{
		Name:     "call: two goroutines end one attempt while its answer begins",
		NotShown: "Passive health.",
		New: func() *balanced {
			b := newBalanced()
			if err := b.loop.Acquire(&b.both, dispatch.Query{Now: then}); err != nil {
				panic(err)
			}
			return b
		},
		Tasks: append(same(2, "end", func(b *balanced, h *explore.T) {
			h.Call("End", nil, func() any {
				ended := b.both.End(poise.Result{}, then)
				if ended {
					b.ends.Add(1)
				}
				return ended
			})
		}), explore.Task[*balanced]{Name: "answer", Body: func(b *balanced, h *explore.T) {
			h.Call("Answered", nil, func() any { return b.both.Answered(poise.Result{}, then) })
		}}),
		Final: func(b *balanced, _ *explore.Run) error {
			if n := b.ends.Load(); n != 1 {
				return fmt.Errorf("%d ends counted", n)
			}
			for _, m := range b.loop.Inspect(then).Members {
				if m.InFlight != 0 {
					return fmt.Errorf("%s holds %d slots", m.ID, m.InFlight)
				}
			}
			return nil
		},
		Outcome: results[*balanced],
	})
}

// line is a loop whose one member holds a call of one, and another call that waits.
type line struct {
	*balanced
	held, waiting dispatch.Call
	waiter        dispatch.Waiter
	told          explore.Int64
}

func newLine() *line {
	l := &line{balanced: newBalanced()}
	list := []dispatch.Spec{{Sample: poise.Sample{ID: "0", Incarnation: 1}, Value: 0, Limit: 1}}
	if err := l.loop.Update(list, then); err != nil {
		panic(err)
	}
	if err := l.loop.Acquire(&l.held, dispatch.Query{Now: then}); err != nil {
		panic(err)
	}
	l.waiter.Call, l.waiter.Ready = &l.waiting, func() { l.told.Add(1) }
	return l
}

// Claim: Ready runs once for each Waiter that joined and was not abandoned, under no lock.
//
// Claim: A Waiter that was abandoned holds nothing.
func TestWaiter_IsNeitherForgottenNorServedTwice(t *testing.T) {
	explore.Check(t, explore.Model[*line]{
		Name:     "waiter: a call that joins and perhaps abandons, against the end of the call that has the room",
		NotShown: "Several who wait.",
		New:      newLine,
		Tasks: []explore.Task[*line]{
			{Name: "waiter", Body: func(l *line, h *explore.T) {
				if err := l.loop.Join(&l.waiter, dispatch.Query{Now: then}, time.Time{}); err != nil {
					panic(err)
				}
				h.Call("Abandon", nil, func() any { return l.loop.Abandon(&l.waiter) })
			}},
			{Name: "holder", Body: func(l *line, _ *explore.T) { l.held.End(poise.Result{}, then) }},
		},
		Final: func(l *line, r *explore.Run) error {
			abandoned := r.History[0].Result == true
			if told := l.told.Load(); abandoned != (told == 0) || told > 1 {
				return fmt.Errorf("abandoned %t, told %d times", abandoned, told)
			}
			held := l.loop.Inspect(then).Members[0].InFlight
			if abandoned != (held == 0) {
				return fmt.Errorf("abandoned %t, %d slots held", abandoned, held)
			}
			return nil
		},
		Outcome: results[*line],
	})
}

// firstUntried is a policy that picks the first member that was not tried, so that
// two attempts that do not know of each other meet.
type firstUntried struct{ view *poise.View }

func (firstUntried) Prepare(v *poise.View) (poise.Picker, error) { return firstUntried{v}, nil }

func (p firstUntried) Pick(q poise.Query) (poise.Selection, error) {
	untried := p.view.Untried(q.Tried)
	if err := untried.Check(); err != nil {
		return poise.Selection{}, err
	}
	return p.view.Select(untried.At(0))
}

// hedged is a call with two attempts that overlap.
type hedged struct {
	*balanced
	attempts [2]*dispatch.Attempts // the same, unless a bug is planted
	calls    [2]dispatch.Call
}

func newHedged(shared bool) func() *hedged {
	return func() *hedged {
		h := &hedged{balanced: newBalancedBy(firstUntried{})}
		h.attempts[0] = new(dispatch.Attempts)
		h.attempts[1] = h.attempts[0]
		if !shared {
			h.attempts[1] = new(dispatch.Attempts)
		}
		return h
	}
}

// Claim: Of attempts that overlap each is at another member, while there is one that was not tried.
func TestAttempts_HedgesAreAtDifferentMembers(t *testing.T) {
	explore.Check(t, explore.Model[*hedged]{
		Name:     "attempts: two hedges of one call that would pick the same member",
		NotShown: "More than two hedges.",
		New:      newHedged(true),
		Tasks: numbered(2, "hedge", func(n int, h *hedged, e *explore.T) {
			e.Call("Acquire", nil, func() any {
				if err := h.loop.Acquire(&h.calls[n], dispatch.Query{Now: then, Attempts: h.attempts[n]}); err != nil {
					return -1
				}
				return h.calls[n].Value()
			})
		}),
		Final: func(h *hedged, r *explore.Run) error {
			if a, b := r.History[0].Result, r.History[1].Result; a == b || a == -1 || b == -1 {
				return fmt.Errorf("the hedges are at %v and %v", a, b)
			}
			held := uint64(0)
			for _, m := range h.loop.Inspect(then).Members {
				held += m.InFlight
			}
			if held != 2 {
				return fmt.Errorf("two hedges hold %d slots", held)
			}
			return nil
		},
		Outcome: results[*hedged],
		Bugs:    []explore.Bug[*hedged]{bug("hedges that do not know of each other", "final", newHedged(false))},
	})
}

// Claim: Room is given to those who wait in the order in which they joined.
func TestWaiter_ComesBeforeWhoeverComesLater(t *testing.T) {
	explore.Check(t, explore.Model[*line]{
		Name:     "waiter: a call that waits, against one that comes later, at the end of the call that has the room",
		NotShown: "Several who wait.",
		New: func() *line {
			l := newLine()
			if err := l.loop.Join(&l.waiter, dispatch.Query{Now: then}, time.Time{}); err != nil {
				panic(err)
			}
			return l
		},
		Tasks: []explore.Task[*line]{
			{Name: "holder", Body: func(l *line, _ *explore.T) { l.held.End(poise.Result{}, then) }},
			{Name: "later", Body: func(l *line, h *explore.T) { h.Call("Call", nil, func() any { return l.call() }) }},
		},
		Final: func(l *line, r *explore.Run) error {
			if r.History[0].Result != -1 || l.told.Load() != 1 || l.waiter.Err() != nil {
				return fmt.Errorf("the later call went to %v, and who waited was told %d times", r.History[0].Result, l.told.Load())
			}
			return nil
		},
		Outcome: results[*line],
	})
}
