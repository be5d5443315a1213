//go:build interleave

package models

import (
	"fmt"
	"testing"

	"github.com/copyleftdev/poise-go/models/explore"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
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
