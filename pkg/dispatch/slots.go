// Explorable.

package dispatch

import (
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// Slots accounts for the calls that one endpoint holds. It is open, draining or
// removed; only an open one admits.
//
// A Slots is made by NewSlots.
//
// # Contract
//
//   - Begin on draining or removed Slots answers ErrDraining and keeps no slot.
//   - Slots held at once never exceed the limit of Slots.
//   - A call that Begin admitted holds its slot until Release, whatever the Slots become meanwhile.
//   - After Remove, the idle function runs exactly once, when the last slot has come back.
//   - Remove is final: Drain and Resume after it change nothing.
//
// # Cost
//
// Begin, Release and the transitions are O(1). Nothing allocates.
//
// # Concurrency
//
// Every method may be called at any time. A Begin that was called after Drain or
// Remove returned is refused. A Begin that will be refused so holds a slot for a
// moment; another Begin may meanwhile find the Slots at their limit, and the idle
// function waits: refused calls that overlapped without a gap would keep it off
// for as long. It runs on the goroutine that ended the last call, or on the one
// that called Remove, under no lock.
type Slots struct {
	inFlight *poise.InFlight
	idle     func()

	// Begin takes its slot first and reads state second; Remove writes state
	// first and reads the count second. So of a Begin and a Remove that race, one
	// sees the other.
	state   syncx.Uint32
	retired syncx.Bool // the idle function was claimed
}

const (
	slotsOpen uint32 = iota
	slotsDraining
	slotsRemoved
)

// NewSlots returns open Slots for up to limit calls at once; 0 is no limit. The
// idle function may be nil.
func NewSlots(limit uint64, idle func()) *Slots {
	return &Slots{inFlight: poise.NewInFlight(limit), idle: idle}
}

// InFlight returns the counter of the calls held, for policies to read.
func (s *Slots) InFlight() *poise.InFlight { return s.inFlight }

// SetLimit makes the limit another one; 0 is no limit. Slots that are held beyond a
// lower limit stay.
func (s *Slots) SetLimit(limit uint64) { s.inFlight.SetLimit(limit) }

// Begin takes a slot, or answers ErrDraining or a [poise.CapacityError].
func (s *Slots) Begin() (slot Slot, err error) {
	if slot.lease, err = s.inFlight.Acquire(); err != nil {
		if s.state.Load() != slotsOpen {
			err = ErrDraining // full or not, waiting cannot help
		}
		return
	}
	slot.of = s
	if s.state.Load() != slotsOpen {
		slot.Release()
		slot, err = Slot{}, ErrDraining
	}
	return
}

// room reports whether a Begin at this moment would succeed.
func (s *Slots) room() bool { return s.state.Load() == slotsOpen && s.inFlight.Room() }

// draining reports whether Drain stands.
func (s *Slots) draining() bool { return s.state.Load() == slotsDraining }

// Drain lets the calls held go on and admits no new ones.
func (s *Slots) Drain() { s.state.CompareAndSwap(slotsOpen, slotsDraining) }

// Resume ends a Drain.
func (s *Slots) Resume() { s.state.CompareAndSwap(slotsDraining, slotsOpen) }

// Remove lets the calls held go on, admits no new ones for ever, and has the idle
// function run when none is left.
func (s *Slots) Remove() {
	s.state.Store(slotsRemoved)
	s.retire()
}

// retire runs the idle function if the Slots are removed, empty, and nobody has.
func (s *Slots) retire() {
	if s.state.Load() != slotsRemoved || s.inFlight.Current() != 0 {
		return
	}
	if s.retired.CompareAndSwap(false, true) && s.idle != nil {
		s.idle()
	}
}

// Slot is one call's place among the Slots. It is held until Release, and must not
// be copied after use.
//
// The zero value holds nothing.
//
// # Contract
//
//   - The first Release of a Slot gives it back and returns true; every later one returns false and changes nothing.
//
// # Cost
//
// Release is O(1) and allocates nothing.
//
// # Concurrency
//
// Several goroutines may call Release on one Slot; exactly one gets true.
type Slot struct {
	of    *Slots
	lease poise.Lease
}

// Held reports whether it has a slot that was not given back.
func (s *Slot) Held() bool { return s.lease.Held() }

// Release gives the slot back. It reports whether this call did so.
func (s *Slot) Release() bool {
	if !s.lease.Release() {
		return false
	}
	s.of.retire()
	return true
}

// take is Begin for a call that counts for itself whether it has ended.
func (s *Slots) take() error {
	if err := s.inFlight.Take(); err != nil {
		if s.state.Load() != slotsOpen {
			return ErrDraining // full or not, waiting cannot help
		}
		return err
	}
	if s.state.Load() != slotsOpen {
		s.give()
		return ErrDraining
	}
	return nil
}

// give gives back what take took.
func (s *Slots) give() {
	s.inFlight.Give()
	s.retire()
}

// Admission is whether Slots admit calls.
//
// The zero value is Open.
type Admission uint8

const (
	// Open admits calls.
	Open Admission = iota
	// Closed admits none: Drain stands.
	Closed
	// Removed admits none, for ever.
	Removed
)

// String returns the admission in lower case.
func (a Admission) String() string {
	switch a {
	case Open:
		return "open"
	case Closed:
		return "draining"
	case Removed:
		return "removed"
	}
	return "unknown admission"
}

// Admission returns whether the Slots admit calls.
func (s *Slots) Admission() Admission { return Admission(s.state.Load()) }
