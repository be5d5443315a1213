//go:build interleave

package models

import (
	"errors"
	"fmt"
	"testing"

	"github.com/copyleftdev/poise-go/models/explore"
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// endpoint is the slot accounting of one endpoint, and what happened to it.
type endpoint struct {
	admission
	idle   explore.Int64 // how often the idle function ran
	inside explore.Int64 // calls that were admitted and not ended

	release func() bool   // of the slot that is out at the start, if any
	ends    explore.Int64 // how often a result of that call was reported
}

// admission is a dispatch.Slots, or a twin of it with a planted bug.
type admission interface {
	begin() (release func() bool, a seq.Admission)
	remove()
	drain()
	inFlight() uint64
}

type realAdmission struct{ *dispatch.Slots }

func (s realAdmission) begin() (release func() bool, a seq.Admission) {
	slot, err := s.Begin()
	switch {
	case err == nil:
		return (&slot).Release, seq.Admitted
	case errors.Is(err, dispatch.ErrDraining):
		return nil, seq.Draining
	case errors.Is(err, poise.ErrAtCapacity):
		return nil, seq.Full
	default:
		panic(err)
	}
}

func (s realAdmission) remove()          { s.Remove() }
func (s realAdmission) drain()           { s.Drain() }
func (s realAdmission) inFlight() uint64 { return s.InFlight().Current() }

// buggyAdmission is Slots with one line changed.
type buggyAdmission struct {
	held    explore.Int64
	state   explore.Int32 // 1: removed, or draining
	gone    explore.Bool  // removed
	retired explore.Bool
	idle    func()
	slotFaults
}

type slotFaults struct {
	lookFirst   bool // Begin reads the state before it takes its slot
	countFirst  bool // Remove reads the count before it writes the state
	idleEach    bool // whoever finds it empty runs the idle function
	releaseRead bool // Release reads its flag and then sets it
}

func (s *buggyAdmission) begin() (release func() bool, a seq.Admission) {
	if s.lookFirst && s.state.Load() != 0 {
		return nil, seq.Draining
	}
	s.held.Add(1)
	release = s.slot()
	if !s.lookFirst && s.state.Load() != 0 {
		release()
		return nil, seq.Draining
	}
	return release, seq.Admitted
}

func (s *buggyAdmission) slot() func() bool {
	ended := new(explore.Bool)
	return func() bool {
		if s.releaseRead {
			if ended.Load() {
				return false
			}
			ended.Store(true)
		} else if !ended.CompareAndSwap(false, true) {
			return false
		}
		s.held.Add(-1)
		s.retire()
		return true
	}
}

func (s *buggyAdmission) drain() { s.state.Store(1) }

func (s *buggyAdmission) remove() {
	if s.countFirst {
		held := s.held.Load()
		s.state.Store(1)
		s.gone.Store(true)
		if held == 0 && s.retired.CompareAndSwap(false, true) {
			s.idle()
		}
		return
	}
	s.state.Store(1)
	s.gone.Store(true)
	s.retire()
}

func (s *buggyAdmission) retire() {
	if s.gone.Load() && s.held.Load() == 0 && (s.idleEach || s.retired.CompareAndSwap(false, true)) {
		s.idle()
	}
}

func (s *buggyAdmission) inFlight() uint64 { return uint64(s.held.Load()) }

// withSlots returns an endpoint, of which a slot is out when held is set.
func withSlots(limit uint64, held bool) func() *endpoint {
	return func() *endpoint {
		e := new(endpoint)
		e.admission = realAdmission{dispatch.NewSlots(limit, func() { e.idle.Add(1) })}
		return e.hold(held)
	}
}

func withBug(f slotFaults, held bool) func() *endpoint {
	return func() *endpoint {
		e := new(endpoint)
		e.admission = &buggyAdmission{slotFaults: f, idle: func() { e.idle.Add(1) }}
		return e.hold(held)
	}
}

func (e *endpoint) hold(held bool) *endpoint {
	if held {
		e.release, _ = e.begin()
		e.inside.Store(1)
	}
	return e
}

// callOnce is one call: admission, work, end.
func callOnce(id int, e *endpoint, h *explore.T) {
	var release func() bool
	if h.Call("Begin", id, func() any {
		var a seq.Admission
		release, a = e.begin()
		return a
	}) != seq.Admitted {
		return
	}
	e.inside.Add(1)
	e.inside.Add(-1)
	h.Call("Release", id, func() any { return release() })
}

// removed is what must hold once an endpoint was removed and all calls ended.
func removed(e *endpoint, _ *explore.Run) error {
	if n := e.idle.Load(); n != 1 {
		return fmt.Errorf("the idle function ran %d times", n)
	}
	if n := e.inFlight(); n != 0 {
		return fmt.Errorf("%d slots are left", n)
	}
	return nil
}

var idleComesLast = []explore.Pred[*endpoint]{
	{Name: "NoCallAfterIdle", Holds: func(e *endpoint) bool { return e.idle.Load() == 0 || e.inside.Load() == 0 }},
	{Name: "IdleAtMostOnce", Holds: func(e *endpoint) bool { return e.idle.Load() <= 1 }},
}

// Claim: After Remove, the idle function runs exactly once, when the last slot has come back.
// Claim: Begin on draining or removed Slots answers ErrDraining and keeps no slot.
func TestSlots_EndOfCallAgainstRemoval(t *testing.T) {
	explore.Check(t, explore.Model[*endpoint]{
		Name:     "slots: a call's whole life and a call that ends, against removal",
		NotShown: "More than two calls; what the idle function closes.",
		New:      withSlots(0, true),
		Tasks: []explore.Task[*endpoint]{
			{Name: "call 1", Body: func(e *endpoint, h *explore.T) { callOnce(1, e, h) }},
			{Name: "call 0", Body: func(e *endpoint, h *explore.T) {
				e.inside.Add(-1)
				h.Call("Release", 0, func() any { return e.release() })
			}},
			{Name: "control", Body: func(e *endpoint, h *explore.T) {
				h.Call("Remove", nil, func() any { e.remove(); return nil })
			}},
		},
		Always:    idleComesLast,
		Sometimes: []explore.Pred[*endpoint]{{Name: "Idle", Holds: func(e *endpoint) bool { return e.idle.Load() == 1 }}},
		Final:     removed,
		Outcome:   results[*endpoint],
		Spec:      seq.After(seq.Slots(0), seq.Op{Name: "Begin", Arg: 0, Result: seq.Admitted}),
		Bugs: []explore.Bug[*endpoint]{
			bug("admission looks at the state before it takes its slot", "always NoCallAfterIdle", withBug(slotFaults{lookFirst: true}, true)),
			bug("removal counts the calls before it closes the door", "final", withBug(slotFaults{countFirst: true}, true)),
			bug("whoever finds it empty runs the idle function", "always IdleAtMostOnce", withBug(slotFaults{idleEach: true}, true)),
		},
	})
}

// Claim: Slots held at once never exceed the limit of Slots.
func TestSlots_TwoCallsAtTheLimitAgainstDrain(t *testing.T) {
	explore.Check(t, explore.Model[*endpoint]{
		Name:     "slots: two calls at limit 1, against a drain",
		NotShown: "Resume; larger limits.",
		New:      withSlots(1, false),
		Tasks: []explore.Task[*endpoint]{
			{Name: "call 0", Body: func(e *endpoint, h *explore.T) { callOnce(0, e, h) }},
			{Name: "call 1", Body: func(e *endpoint, h *explore.T) { callOnce(1, e, h) }},
			{Name: "control", Body: func(e *endpoint, h *explore.T) {
				h.Call("Drain", nil, func() any { e.drain(); return nil })
			}},
		},
		Always: []explore.Pred[*endpoint]{
			{Name: "NeverOverLimit", Holds: func(e *endpoint) bool { return e.inside.Load() <= 1 && e.inFlight() <= 1 }},
		},
		Outcome: results[*endpoint],
		Spec:    seq.Slots(1),
		Bugs: []explore.Bug[*endpoint]{
			bug("no limit at all", "always NeverOverLimit", withBug(slotFaults{}, false)),
		},
	})
}

// end is one of the ways in which a call can end; of several, one counts.
func end(e *endpoint) {
	e.inside.Store(0)
	if e.release() {
		e.ends.Add(1)
	}
}

func endsOnce(e *endpoint, r *explore.Run) error {
	if n := e.ends.Load(); n != 1 {
		return fmt.Errorf("%d results of one call were reported", n)
	}
	return removed(e, r)
}

// Claim: The first Release of a Slot gives it back and returns true; every later one returns false and changes nothing.
func TestSlot_CancelAgainstCompletion(t *testing.T) {
	control := explore.Task[*endpoint]{Name: "control", Body: func(e *endpoint, _ *explore.T) { e.remove() }}
	cancel := explore.Task[*endpoint]{Name: "cancel", Body: func(e *endpoint, _ *explore.T) { end(e) }}
	twice := bug("flag that is read and then set", "final", withBug(slotFaults{releaseRead: true}, true))
	m := explore.Model[*endpoint]{
		Name:     "slot: a cancellation against the end of the body, and a removal",
		NotShown: "What else ending a call does; dispatch tests that with real connections.",
		New:      withSlots(0, true),
		Tasks:    []explore.Task[*endpoint]{{Name: "completion", Body: func(e *endpoint, _ *explore.T) { end(e) }}, cancel, control},
		Always:   idleComesLast[1:],
		Final:    endsOnce,
		Outcome:  func(e *endpoint, _ *explore.Run) string { return fmt.Sprint(e.ends.Load(), e.idle.Load()) },
		Bugs:     []explore.Bug[*endpoint]{twice},
	}
	explore.Check(t, m)
}

func TestSlot_PanicAgainstCancel(t *testing.T) {
	panics := func(e *endpoint, _ *explore.T) {
		defer func() { _ = recover() }() // the caller's own
		defer end(e)
		panic("the transport's")
	}
	explore.Check(t, explore.Model[*endpoint]{
		Name:     "slot: a panic on its way through against a cancellation, and a removal",
		NotShown: "A panic inside the idle function.",
		New:      withSlots(0, true),
		Tasks: []explore.Task[*endpoint]{
			{Name: "call", Body: panics},
			{Name: "cancel", Body: func(e *endpoint, _ *explore.T) { end(e) }},
			{Name: "control", Body: func(e *endpoint, _ *explore.T) { e.remove() }},
		},
		Always:  idleComesLast[1:],
		Final:   endsOnce,
		Outcome: func(e *endpoint, _ *explore.Run) string { return fmt.Sprint(e.ends.Load(), e.idle.Load()) },
		Bugs:    []explore.Bug[*endpoint]{bug("flag that is read and then set", "final", withBug(slotFaults{releaseRead: true}, true))},
	})
}
