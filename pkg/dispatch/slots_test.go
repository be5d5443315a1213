package dispatch_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
)

// Claim: Begin on draining or removed Slots answers ErrDraining and keeps no slot.
//
// Cases: B44, B45.
func TestSlots_AdmitNothingUnlessOpen(t *testing.T) {
	for _, row := range []struct {
		name  string
		limit uint64
		shut  func(*dispatch.Slots)
	}{
		{"draining", 0, (*dispatch.Slots).Drain},
		{"removed", 0, (*dispatch.Slots).Remove},
		{"draining and full", 1, (*dispatch.Slots).Drain},
		{"removed and full", 1, (*dispatch.Slots).Remove},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := dispatch.NewSlots(row.limit, nil)
			held, err := s.Begin()
			if err != nil {
				t.Fatal(err)
			}
			row.shut(s)
			slot, err := s.Begin()
			if !errors.Is(err, dispatch.ErrDraining) {
				t.Errorf("Begin answers %v", err)
			}
			if slot.Release() {
				t.Error("a refused Begin gave a slot")
			}
			if n := s.InFlight().Current(); n != 1 {
				t.Errorf("%d slots are held, want the one from before", n)
			}
			if !held.Release() {
				t.Error("the slot from before was lost")
			}
		})
	}
}

// Claim: Slots held at once never exceed the limit of Slots.
//
// Cases: B13.
func TestSlots_HoldNoMoreThanTheLimitUnderContention(t *testing.T) {
	const limit, callers, rounds = 3, 8, 2000
	s := dispatch.NewSlots(limit, nil)
	var held, most atomic.Int64
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for range rounds {
				slot, err := s.Begin()
				if err != nil {
					continue
				}
				if n := held.Add(1); n > most.Load() {
					most.Store(n)
				}
				held.Add(-1)
				slot.Release()
			}
		})
	}
	group.Wait()
	if most.Load() > limit || s.InFlight().Current() != 0 {
		t.Errorf("at most %d were held of %d, and %d are held at the end", most.Load(), limit, s.InFlight().Current())
	}
	slot, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer slot.Release()
	two, _ := s.Begin()
	three, _ := s.Begin()
	defer two.Release()
	defer three.Release()
	if _, err := s.Begin(); !errors.Is(err, poise.ErrAtCapacity) {
		t.Errorf("Begin at the limit answers %v", err)
	}
}

// Claim: A call that Begin admitted holds its slot until Release, whatever the Slots become meanwhile.
//
// Cases: B45.
func TestSlots_KeepWhatTheyAdmitted(t *testing.T) {
	for name, change := range map[string]func(*dispatch.Slots){
		"drained": (*dispatch.Slots).Drain,
		"removed": (*dispatch.Slots).Remove,
		"resumed": func(s *dispatch.Slots) { s.Drain(); s.Resume() },
	} {
		t.Run(name, func(t *testing.T) {
			idle := 0
			s := dispatch.NewSlots(0, func() { idle++ })
			slot, err := s.Begin()
			if err != nil {
				t.Fatal(err)
			}
			change(s)
			if s.InFlight().Current() != 1 || idle != 0 {
				t.Errorf("%d held, idle ran %d times", s.InFlight().Current(), idle)
			}
			if !slot.Release() || s.InFlight().Current() != 0 {
				t.Error("the slot did not come back")
			}
		})
	}
}

// Claim: After Remove, the idle function runs exactly once, when the last slot has come back.
func TestSlots_RunIdleOnceAfterTheLast(t *testing.T) {
	idle := 0
	s := dispatch.NewSlots(0, func() { idle++ })
	one, _ := s.Begin()
	two, _ := s.Begin()
	one.Release()
	s.Remove()
	s.Remove()
	if idle != 0 {
		t.Fatal("idle ran while a slot was held")
	}
	two.Release()
	if idle != 1 {
		t.Fatalf("idle ran %d times after the last slot", idle)
	}
	two.Release()
	s.Remove()
	_, _ = s.Begin()
	if idle != 1 {
		t.Fatalf("idle ran %d times in the end", idle)
	}
	dispatch.NewSlots(0, nil).Remove() // without a function nothing runs
}

// Claim: After Remove, the idle function runs exactly once, when the last slot has come back.
func TestSlots_RunIdleOnceUnderContention(t *testing.T) {
	for range 300 {
		var idle, held atomic.Int64
		s := dispatch.NewSlots(0, func() {
			if held.Load() != 0 {
				t.Error("idle ran while a slot was held")
			}
			idle.Add(1)
		})
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for range 5 {
					slot, err := s.Begin()
					if err != nil {
						return
					}
					held.Add(1)
					held.Add(-1)
					slot.Release()
				}
			})
		}
		group.Go(s.Remove)
		group.Wait()
		if idle.Load() != 1 {
			t.Fatalf("idle ran %d times", idle.Load())
		}
	}
}

// Claim: Remove is final: Drain and Resume after it change nothing.
func TestSlots_StayRemoved(t *testing.T) {
	s := dispatch.NewSlots(0, nil)
	s.Remove()
	s.Drain()
	s.Resume()
	if _, err := s.Begin(); !errors.Is(err, dispatch.ErrDraining) {
		t.Errorf("Begin answers %v", err)
	}
}

func TestSlots_AdmitAgainAfterResume(t *testing.T) {
	s := dispatch.NewSlots(0, nil)
	s.Drain()
	s.Resume()
	slot, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	slot.Release()
}

// Claim: The first Release of a Slot gives it back and returns true; every later one returns false and changes nothing.
//
// Cases: B15.
func TestSlot_IsReleasedOnce(t *testing.T) {
	s := dispatch.NewSlots(0, nil)
	other, _ := s.Begin()
	for range 200 {
		slot, err := s.Begin()
		if err != nil {
			t.Fatal(err)
		}
		var won atomic.Int64
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				if slot.Release() {
					won.Add(1)
				}
			})
		}
		group.Wait()
		if won.Load() != 1 || slot.Release() || s.InFlight().Current() != 1 {
			t.Fatalf("%d of three releases won, %d slots are held", won.Load(), s.InFlight().Current())
		}
	}
	other.Release()
	if new(dispatch.Slot).Release() {
		t.Error("the zero Slot held something")
	}
}
