//go:build interleave

package models

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/models/explore"
	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
)

// departure is a Balancer that follows, in its parts: a member of a Directory
// drains while calls begin and end, and control lets it leave.
type departure struct {
	d      *discovery.Directory[int]
	lives  discovery.Incarnations[*dispatch.Slots]
	slots  *dispatch.Slots
	closed explore.Bool
	inside explore.Int64
	kick   explore.Pointer[explore.Event]

	departureFaults
}

type departureFaults struct {
	silent bool // a refused call does not say that it held a slot for a moment
	early  bool // calls are counted before admission is closed
	stale  bool // the event is renewed after the look
}

func newDeparture(faults departureFaults) func() *departure {
	return func() *departure {
		p := &departure{d: newDirectory(), departureFaults: faults}
		s := newSession(p.d, "x")
		for _, c := range []discovery.Op{discovery.Upsert, discovery.Remove} {
			if _, err := s.Apply(discovery.Change[int]{Op: c, ID: "a"}); err != nil {
				panic(err)
			}
		}
		if err := p.reconcile([]uint64{1}); err != nil {
			panic(err)
		}
		p.kick.Store(new(explore.Event))
		p.kick.Load().Fire()
		return p
	}
}

// reconcile makes the lives those of the list, and ends the others.
func (p *departure) reconcile(list []uint64) error {
	ended, err := p.lives.Reconcile(list, func(int) (*dispatch.Slots, error) {
		p.slots = dispatch.NewSlots(0, func() { p.closed.Store(true) })
		return p.slots, nil
	}, nil)
	for _, slots := range ended {
		slots.Remove()
	}
	return err
}

// call is one attempt at the member, by somebody who saw it in an older list.
func (p *departure) call() bool {
	slot, err := p.slots.Begin()
	if err != nil {
		if !p.silent {
			p.ended()
		}
		return false
	}
	p.inside.Add(1)
	p.inside.Add(-1)
	slot.Release()
	p.ended()
	return true
}

// ended wakes control where that may be the end of the drain. The Balancer pokes
// only for who drains; here everybody may.
func (p *departure) ended() {
	if p.slots.InFlight().Current() == 0 {
		p.kick.Load().Fire()
	}
}

// control looks whenever it was woken, until the member has left, or until nobody
// could wake it any more.
func (p *departure) control(ctx context.Context) {
	for p.kick.Load().Wait(ctx) == nil {
		if !p.stale {
			p.kick.Store(new(explore.Event))
		}
		if !p.early {
			p.slots.Drain()
		}
		p.finish()
		if p.early {
			p.slots.Drain()
		}
		if p.stale {
			p.kick.Store(new(explore.Event))
		}
		if p.d.Load().Len() == 0 {
			if err := p.reconcile(nil); err != nil {
				panic(err)
			}
			return
		}
	}
}

func (p *departure) finish() {
	_, err := p.d.FinishDrains(time.Unix(0, 0), func(m discovery.Member[int]) uint64 {
		slots, known := p.lives.Lookup(m.Incarnation)
		if !known {
			panic(errors.New("a member without a life"))
		}
		return slots.InFlight().Current()
	})
	if err != nil {
		panic(err)
	}
}

// Claim: A draining member leaves the Directory when its last call has ended or DrainFor is over, and no call is cut short.
func TestDeparture_AgainstCallsThatBeginAndEnd(t *testing.T) {
	explore.Check(t, explore.Model[*departure]{
		Name:     "departure: a member that drains, against a caller who saw it before",
		NotShown: "Callers that meet each other; a revival, which the directory's own models have; the clock of DrainFor.",
		New:      newDeparture(departureFaults{}),
		Tasks: []explore.Task[*departure]{
			{Name: "caller", Body: func(p *departure, h *explore.T) {
				for range 2 {
					h.Call("Call", nil, func() any { return p.call() })
				}
			}},
			{Name: "control", Body: func(p *departure, _ *explore.T) { p.control(context.Background()) }},
		},
		Always: []explore.Pred[*departure]{{Name: "NoCallAtWhoHasLeft", Holds: func(p *departure) bool {
			return p.inside.Load() == 0 || p.d.Load().Len() == 1 && !p.closed.Load()
		}}},
		Sometimes: []explore.Pred[*departure]{{Name: "Served", Holds: func(p *departure) bool { return p.inside.Load() == 1 }}},
		Final: func(p *departure, _ *explore.Run) error {
			if p.d.Load().Len() != 0 || !p.closed.Load() {
				return fmt.Errorf("%d members are left, closed %t", p.d.Load().Len(), p.closed.Load())
			}
			return nil
		},
		Outcome: results[*departure],
		Bugs: []explore.Bug[*departure]{
			bug("a refused call that says nothing", "deadlock", newDeparture(departureFaults{silent: true})),
			bug("calls that are counted while they may begin", "always NoCallAtWhoHasLeft", newDeparture(departureFaults{early: true})),
			bug("a wake-up that is renewed after the look", "deadlock", newDeparture(departureFaults{stale: true})),
		},
	})
}
