//go:build interleave

package models

import (
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

// publisher is a dispatch.Publication, or a twin of it with a planted bug.
type publisher interface {
	Load() *offer
	Change(next *offer, open, shut, gone []*dispatch.Slots)
}

// offer is whom a call may go to.
type offer []int

// misordered is a Publication that does its steps in another order.
type misordered struct {
	current explore.Pointer[offer]
	order   string // of open, publish, shut, gone: their first letters
}

func (p *misordered) Load() *offer { return p.current.Load() }

func (p *misordered) Change(next *offer, open, shut, gone []*dispatch.Slots) {
	for _, step := range p.order {
		switch step {
		case 'o':
			each(open, (*dispatch.Slots).Resume)
		case 'p':
			p.current.Store(next)
		case 's':
			each(shut, (*dispatch.Slots).Drain)
		case 'g':
			each(gone, (*dispatch.Slots).Remove)
		}
	}
}

func each(list []*dispatch.Slots, f func(*dispatch.Slots)) {
	for _, s := range list {
		f(s)
	}
}

// fleet is two endpoints, of which the first serves; the second drains, until a change
// brings it and takes the first one away.
type fleet struct {
	publisher
	slots  [2]*dispatch.Slots
	inside [2]explore.Int64
	idle   explore.Int64 // how often the first one became idle for good
}

func newFleet(p func() publisher) func() *fleet {
	return func() *fleet {
		f := &fleet{publisher: p()}
		f.slots[0] = dispatch.NewSlots(0, func() { f.idle.Add(1) })
		f.slots[1] = dispatch.NewSlots(0, nil)
		f.slots[1].Drain()
		f.Change(&offer{0}, nil, nil, nil)
		return f
	}
}

func realPublisher() publisher { return new(dispatch.Publication[offer]) }

func wrongOrder(order string) func() *fleet {
	return newFleet(func() publisher { return &misordered{order: order} })
}

// call takes a slot of somebody whom the offer names and who has not refused. It
// returns whom, or -1 when everybody has refused, as a call of a loop does: a new look
// after each refusal.
func (f *fleet) call() int {
	refused := [2]bool{}
	for {
		who := -1
		for _, i := range *f.Load() {
			if !refused[i] {
				who = i
				break
			}
		}
		if who < 0 {
			return -1
		}
		slot, err := f.slots[who].Begin()
		if err != nil {
			refused[who] = true
			continue
		}
		f.inside[who].Add(1)
		f.inside[who].Add(-1)
		slot.Release()
		return who
	}
}

// Claim: A call that loads after a change has returned is decided on what the change published.
//
// Claim: A call that is refused by somebody who was closed or removed finds them left out in what it loads next.
func TestPublication_FindsSomebodyThroughEveryChange(t *testing.T) {
	for _, row := range []struct {
		name       string
		shut, gone bool
		bugs       []explore.Bug[*fleet]
	}{
		{"drains", true, false, []explore.Bug[*fleet]{
			bug("published before it is open", "final", wrongOrder("posg")),
			bug("closed before the other is published", "final", wrongOrder("ospg")),
		}},
		{"is removed", false, true, []explore.Bug[*fleet]{
			bug("removed before the other is published", "final", wrongOrder("ogps")),
			bug("never removed", "final", wrongOrder("ops")),
		}},
	} {
		t.Run(row.name, func(t *testing.T) { checkPublication(t, row.name, row.shut, row.gone, row.bugs) })
	}
}

func checkPublication(t *testing.T, name string, shut, gone bool, bugs []explore.Bug[*fleet]) {
	some := func(is bool, f *fleet) []*dispatch.Slots {
		if is {
			return f.slots[:1]
		}
		return nil
	}
	explore.Check(t, explore.Model[*fleet]{
		Name:     "publication: a caller against a change that brings one endpoint while the other " + name,
		NotShown: "Policies, limits, and several changes in a row.",
		New:      newFleet(realPublisher),
		Tasks: []explore.Task[*fleet]{
			{Name: "caller", Body: func(f *fleet, h *explore.T) {
				for range 2 {
					h.Call("Call", nil, func() any { return f.call() })
				}
			}},
			{Name: "control", Body: func(f *fleet, h *explore.T) {
				h.Call("Update", uint64(0b10), func() any {
					f.Change(&offer{1}, f.slots[1:], some(shut, f), some(gone, f))
					return nil
				})
			}},
		},
		Always: []explore.Pred[*fleet]{{Name: "NoCallAfterIdle", Holds: func(f *fleet) bool {
			return f.idle.Load() == 0 || f.inside[0].Load() == 0
		}}},
		Sometimes: []explore.Pred[*fleet]{{Name: "ServedByTheNew", Holds: func(f *fleet) bool { return f.inside[1].Load() == 1 }}},
		Final: func(f *fleet, r *explore.Run) error {
			for _, op := range r.History {
				if op.Result == -1 {
					return fmt.Errorf("a call found nobody")
				}
			}
			if n := f.idle.Load(); gone != (n == 1) || n > 1 {
				return fmt.Errorf("the first endpoint became idle %d times", n)
			}
			return nil
		},
		Outcome: results[*fleet],
		Spec:    seq.Members(0b01),
		Bugs:    bugs,
	})
}

// balanced is a whole loop, without passive health, and its twin with planted bugs.
type balanced struct {
	loop *dispatch.Loop
	ends explore.Int64 // ends of one attempt that counted
	both dispatch.Call
}

func newBalanced() *balanced {
	passive := health.PassiveHealthConfig{}
	passive.Off = true
	l, err := dispatch.NewLoop(dispatch.LoopConfig{Policy: new(policy.RoundRobin), Passive: passive, Seed: 1})
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
