// Explorable.

package poise

import (
	"math"
	"time"

	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// InFlight counts the work a candidate holds, and admits more up to a limit.
//
// The zero value counts without a limit.
//
// # Contract
//
//   - Leases held at once never exceed the limit.
//   - Acquire at the limit answers a CapacityError and changes nothing.
//   - An unlimited InFlight refuses only when its counter is exhausted.
//   - Current is the number of leases that were acquired and not released.
//   - Reading an InFlight changes nothing.
//
// # Cost
//
// Acquire, Release and Load are O(1) and allocate nothing. An InFlight fills one
// cache line, so that two of them do not slow each other.
//
// # Concurrency
//
// Acquire checks the limit and takes the slot in one atomic step; Release gives
// it back in one. An Acquire that returns after a Release has returned sees it.
type InFlight struct {
	// Invariant: limit == 0 || used <= limit.
	used  syncx.Uint64
	limit uint64
	full  *CapacityError // made once, so that refusing allocates nothing
	_     [40]byte
}

var _ LoadTracker = (*InFlight)(nil)

// exhausted is the refusal of a counter that cannot count further.
var exhausted = &CapacityError{}

// NewInFlight returns an InFlight that admits up to limit leases at once. A limit
// of 0 is no limit.
func NewInFlight(limit uint64) *InFlight {
	return &InFlight{limit: limit, full: &CapacityError{Limit: limit}}
}

// Acquire takes one slot and returns its Lease, or a [CapacityError]. The Lease
// is not to be copied after use; go vet finds copies.
func (f *InFlight) Acquire() (Lease, error) {
	for {
		used := f.used.Load()
		if f.limit != 0 && used >= f.limit {
			return Lease{}, f.full
		}
		if used == math.MaxUint64 {
			return Lease{}, exhausted
		}
		// A plain Add would overshoot the limit for a moment, and a reader or
		// another caller could see it.
		if f.used.CompareAndSwap(used, used+1) {
			return Lease{of: f}, nil
		}
	}
}

// Current returns the number of leases held.
func (f *InFlight) Current() uint64 { return f.used.Load() }

// Limit returns the limit, 0 for none.
func (f *InFlight) Limit() uint64 { return f.limit }

// Load returns Current; it never fails and does not depend on the instant.
func (f *InFlight) Load(time.Time) (uint64, error) { return f.used.Load(), nil }

// Unit returns RequestsInFlight.
func (f *InFlight) Unit() LoadUnit { return RequestsInFlight }

// Lease is one slot of an InFlight, held until Release.
//
// The zero value holds nothing.
//
// # Contract
//
//   - The first Release gives the slot back and returns true; every later one returns false and changes nothing.
//   - Releasing the zero Lease returns false.
//
// # Cost
//
// A Lease lives in its holder's variable and costs one flag. It has no expiry:
// whoever holds it releases it on every path.
//
// # Concurrency
//
// Several goroutines may call Release on one Lease; exactly one gets true. A
// Lease must not be copied after use.
type Lease struct {
	of    *InFlight
	ended syncx.Uint32
}

// Release gives the slot back. It reports whether this call did so.
func (l *Lease) Release() bool {
	if !l.claim() {
		return false
	}
	l.of.used.Add(^uint64(0))
	return true
}

// Held reports whether the slot is held: it was acquired and no Release has ended it.
func (l *Lease) Held() bool { return l.of != nil && l.ended.Load() == 0 }

// claim reports whether the caller is the one who ends the lease.
func (l *Lease) claim() bool { return l.of != nil && l.ended.CompareAndSwap(0, 1) }
