//go:build interleave

package models

import (
	"fmt"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/models/explore"
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// observed is a circuit, or a twin with a planted bug, and what its Observer saw.
// The circuit counts on its telling one event at a time; so does nothing here.
type observed struct {
	force  func()
	real   *health.Circuit // nil: a twin
	during func(epoch uint64)

	told    explore.Uint64 // the epoch of the last event
	inside  explore.Int64  // how many events are being told
	jumps   explore.Bool   // an event was told that was not the next
	overlap explore.Bool   // two events were told at once
	held    explore.Int64  // permits that somebody has
}

func (o *observed) observe(epoch uint64) {
	if o.inside.Add(1) > 1 {
		o.overlap.Store(true)
	}
	if epoch != o.told.Load()+1 {
		o.jumps.Store(true)
	}
	o.told.Store(epoch)
	defer o.inside.Add(-1)
	if o.during != nil {
		o.during(epoch)
	}
}

// newObserved returns a closed circuit whose time open is one nanosecond.
func newObserved() *observed {
	o := new(observed)
	var err error
	o.real, err = health.NewCircuit(health.CircuitConfig{
		OpenFor: 1, MaxOpenFor: 1, Trials: 2, Chance: poise.NewGenerator(1),
		Observer: func(e health.CircuitEvent) { o.observe(e.Epoch) },
	})
	if err != nil {
		panic(err)
	}
	o.force = func() { o.real.ForceOpen(time.Unix(0, 0)) }
	return o
}

// buggyTeller makes transitions and tells them in one of the wrong ways.
type buggyTeller struct {
	*observed
	mu      explore.Mutex
	epoch   uint64 // guarded by mu
	waiting []uint64
	telling explore.Bool
}

// tellsAtOnce tells its own event as soon as it is out of the lock.
func (b *buggyTeller) tellsAtOnce() {
	b.mu.Lock()
	b.epoch++
	epoch := b.epoch
	b.mu.Unlock()
	b.observe(epoch)
}

// losesTheLast says that nobody tells only after it has let the lock go.
func (b *buggyTeller) losesTheLast() {
	b.mu.Lock()
	b.epoch++
	b.waiting = append(b.waiting, b.epoch)
	if b.telling.Load() {
		b.mu.Unlock()
		return
	}
	b.telling.Store(true)
	for len(b.waiting) > 0 {
		epoch := b.waiting[0]
		b.waiting = b.waiting[1:]
		b.mu.Unlock()
		b.observe(epoch)
		b.mu.Lock()
	}
	b.mu.Unlock()
	b.telling.Store(false)
}

func teller(force func(*buggyTeller)) func() *observed {
	return func() *observed {
		b := &buggyTeller{observed: new(observed)}
		b.force = func() { force(b) }
		return b.observed
	}
}

var inOrder = []explore.Pred[*observed]{
	{Name: "NextOnly", Holds: func(o *observed) bool { return !o.jumps.Load() }},
	{Name: "OneAtATime", Holds: func(o *observed) bool { return !o.overlap.Load() }},
}

// allTold requires that so many events were told in the end.
func allTold(events uint64) func(*observed, *explore.Run) error {
	return func(o *observed, _ *explore.Run) error {
		if told := o.told.Load(); told != events {
			return fmt.Errorf("%d events of %d were told", told, events)
		}
		if o.real == nil {
			return nil
		}
		if out := int64(o.real.State(time.Unix(0, 1)).Trials); out != o.held.Load() {
			return fmt.Errorf("%d permits are out, and callers have %d", out, o.held.Load())
		}
		return nil
	}
}

func lastTold(o *observed, _ *explore.Run) string { return fmt.Sprint(o.told.Load(), o.held.Load()) }

func forces(o *observed, _ *explore.T) { o.force() }

// Claim: The Observer gets the event of every transition once and in order, under no lock.
//
// Cases: B24.
func TestCircuit_EventsOfTransitionsAtOnce(t *testing.T) {
	explore.Check(t, explore.Model[*observed]{
		Name:     "circuit events: three transitions at once",
		NotShown: "More transitions than tasks.",
		New:      newObserved,
		Tasks:    same(3, "control", forces),
		Always:   inOrder,
		Final:    allTold(3),
		Outcome:  lastTold,
		Bugs: []explore.Bug[*observed]{
			{Name: "everybody tells their own", Breaks: "always NextOnly", New: teller((*buggyTeller).tellsAtOnce), Tasks: same(2, "control", forces)},
			{Name: "everybody tells at once", Breaks: "always OneAtATime", New: teller((*buggyTeller).tellsAtOnce), Tasks: same(2, "control", forces)},
		},
	})
}

// Claim: The Observer gets the event of every transition once and in order, under no lock.
func TestCircuit_EventsAgainstTheEndOfTelling(t *testing.T) {
	explore.Check(t, explore.Model[*observed]{
		Name:     "circuit events: a transition while another's event is told",
		NotShown: "What a caller sees whose event another tells after it has returned.",
		New:      newObserved,
		Tasks:    same(2, "control", forces),
		Always:   inOrder,
		Sometimes: []explore.Pred[*observed]{
			{Name: "TellsForTheOther", Holds: func(o *observed) bool { return o.inside.Load() == 1 && o.told.Load() == 2 }},
		},
		Final:   allTold(2),
		Outcome: lastTold,
		Bugs: []explore.Bug[*observed]{
			bug("who tells says so outside the lock", "final", teller((*buggyTeller).losesTheLast)),
		},
	})
}

// Claim: The Observer may use the circuit; an event that it causes arrives after it has returned.
// Code: Circuit.deliver
func TestCircuit_ObserverThatForcesAgainstAForce(t *testing.T) {
	explore.Check(t, explore.Model[*observed]{
		Name:     "circuit events: an Observer that makes a transition, against another",
		NotShown: "An Observer that makes one at each event, which never ends.",
		New: func() *observed {
			o := newObserved()
			o.during = func(epoch uint64) {
				if epoch == 1 {
					o.force()
				}
			}
			return o
		},
		Tasks:   same(2, "control", forces),
		Always:  inOrder,
		Final:   allTold(3),
		Outcome: lastTold,
		Bugs: []explore.Bug[*observed]{bug("an event inside another", "always OneAtATime", func() *observed {
			o := teller((*buggyTeller).tellsAtOnce)()
			o.during = func(epoch uint64) {
				if epoch == 1 {
					o.force()
				}
			}
			return o
		})},
	})
}

// acquireRecovered is a call whose caller survives a panic of the Observer.
func acquireRecovered(o *observed, _ *explore.T) {
	defer func() { _ = recover() }()
	if _, err := o.real.Acquire(time.Unix(0, 1)); err == nil {
		o.held.Add(1)
	}
}

// panicking is an open circuit whose time is over at instant 1, and whose Observer
// panics when it becomes half-open.
func panicking() *observed {
	o := newObserved()
	o.force()
	o.during = func(epoch uint64) {
		if epoch == 2 {
			panic("the Observer's")
		}
	}
	return o
}

// Claim: A panic of the Observer reaches the caller, loses no other event and leaves no permit out.
func TestCircuit_ObserverThatPanicsAgainstAnotherCall(t *testing.T) {
	forgetful := func(o *observed, _ *explore.T) {
		defer func() { _ = recover() }()
		_, _ = o.real.Acquire(time.Unix(0, 1))
	}
	explore.Check(t, explore.Model[*observed]{
		Name:     "circuit events: an Observer that panics, against another call",
		NotShown: "A caller that does not recover, which ends the process.",
		New:      panicking,
		Tasks:    same(2, "call", acquireRecovered),
		Always:   inOrder,
		Final:    allTold(2),
		Outcome:  lastTold,
		Bugs: []explore.Bug[*observed]{
			{Name: "a permit that nobody has", Breaks: "final", New: panicking, Tasks: same(2, "call", forgetful)},
		},
	})
}

// Claim: A panic of the Observer reaches the caller, loses no other event and leaves no permit out.
func TestCircuit_ObserverThatPanicsAgainstATransition(t *testing.T) {
	explore.Check(t, explore.Model[*observed]{
		Name:     "circuit events: an Observer that panics, against closing by force",
		NotShown: "An Observer that panics at every event.",
		New:      panicking,
		Tasks: []explore.Task[*observed]{
			{Name: "call", Body: acquireRecovered},
			{Name: "control", Body: func(o *observed, _ *explore.T) {
				defer func() { _ = recover() }()
				o.real.ForceClose(time.Unix(0, 1))
			}},
		},
		Always: inOrder,
		Final: func(o *observed, r *explore.Run) error {
			state := o.real.State(time.Unix(0, 1))
			if state.Mode == health.Closed {
				o.held.Store(0) // what is out acts no more
			}
			return allTold(state.Epoch)(o, r)
		},
		Outcome: lastTold,
	})
}
