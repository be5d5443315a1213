package dispatch_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
)

// Claim: Begin on draining or removed Slots answers ErrDraining and keeps no slot.
//
// Claim: A call that Begin admitted holds its slot until Release, whatever the Slots become meanwhile.
//
// Claim: Remove is final: Drain and Resume after it change nothing.
func TestSlots_LawAgreesWithTheirSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Uint64Range(0, 4).Draw(t, "limit")
		script := rapid.SliceOf(rapid.Uint8()).Draw(t, "script")
		requireSlots(t, limit, script)
	})
}

// requireSlots plays a script on Slots, and looks at a list of who holds one.
func requireSlots(t failer, limit uint64, script []uint8) {
	t.Helper()
	const (
		open = iota
		draining
		removed
	)
	state, idle := open, 0
	s := dispatch.NewSlots(limit, func() { idle++ })
	var given []*dispatch.Slot
	var held []bool
	count := func() (n int) {
		for _, h := range held {
			if h {
				n++
			}
		}
		return n
	}
	for step, op := range script {
		switch op & 15 {
		case 0, 1, 2, 3, 4, 5:
			want := error(nil)
			switch {
			case state != open:
				want = dispatch.ErrDraining
			case limit > 0 && count() == int(limit):
				want = poise.ErrAtCapacity
			}
			slot, err := s.Begin()
			if !errors.Is(err, want) {
				t.Fatalf("step %d: Begin answers %v, want %v", step, err, want)
			}
			given, held = append(given, &slot), append(held, err == nil)
		case 6, 7, 8, 9, 10, 11:
			if len(given) == 0 {
				continue
			}
			number := len(given) - 1 - int(op>>4)%len(given)
			if got := given[number].Release(); got != held[number] {
				t.Fatalf("step %d: Release of slot %d is %t", step, number, got)
			}
			held[number] = false
		case 12:
			if s.Drain(); state == open {
				state = draining
			}
		case 13, 14:
			if s.Resume(); state == draining {
				state = open
			}
		default:
			if op>>4 < 4 { // seldom, for it is final
				s.Remove()
				state = removed
			}
		}
		ended := 0
		if state == removed && (idle == 1 || count() == 0) {
			ended = 1
		}
		if n := s.InFlight().Current(); n != uint64(count()) || idle != ended {
			t.Fatalf("step %d: %d slots are held and idle ran %d times, want %d and %d", step, n, idle, count(), ended)
		}
		if idle == 1 && count() != 0 {
			t.Fatalf("step %d: idle ran while %d slots are held", step, count())
		}
	}
}
