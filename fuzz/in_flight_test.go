package fuzz

import (
	"errors"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Claim: Leases held at once never exceed the limit.
//
// Claim: Current is the number of leases that were acquired and not released.
//
// Claim: The first Release gives the slot back and returns true; every later one
// returns false and changes nothing.
//
// Cases: B15, IF2, IF4.
func FuzzInFlight(f *testing.F) {
	f.Add(uint8(0), []byte{0, 0, 1, 1})
	f.Add(uint8(2), []byte{0, 0, 0, 1, 1, 3, 0, 0})
	f.Fuzz(func(t *testing.T, limit uint8, script []byte) {
		inFlight := poise.NewInFlight(uint64(limit))
		var leases []*poise.Lease
		var held []bool // by Acquire
		count := uint64(0)
		for step, op := range script {
			switch {
			case op&1 == 0 || len(leases) == 0:
				lease, err := inFlight.Acquire()
				full := limit != 0 && count == uint64(limit)
				if full != errors.Is(err, poise.ErrAtCapacity) || full != (err != nil) {
					t.Fatalf("step %d: %d of %d are held and Acquire answers %v", step, count, limit, err)
				}
				if !full {
					count++
				}
				leases, held = append(leases, &lease), append(held, !full)
			default:
				number := int(op>>1) % len(leases)
				if got := leases[number].Release(); got != held[number] {
					t.Fatalf("step %d: Release of lease %d is %t", step, number, got)
				}
				if held[number] {
					count--
				}
				held[number] = false
			}
			load, err := inFlight.Load(time.Time{})
			if inFlight.Current() != count || load != count || err != nil {
				t.Fatalf("step %d: Current is %d, Load %d, %v, want %d", step, inFlight.Current(), load, err, count)
			}
			if limit != 0 && load > uint64(limit) {
				t.Fatalf("step %d: %d are held of %d", step, load, limit)
			}
		}
	})
}
