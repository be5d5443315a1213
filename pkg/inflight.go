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
//   - A limit that is lowered takes no lease away, and grants no other until there is room under it.
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
	used syncx.Uint64
	// full is the refusal at the limit, made once for each limit, so that refusing
	// allocates nothing; nil without a limit.
	full syncx.Pointer[CapacityError]
	_    [48]byte
}

var _ LoadTracker = (*InFlight)(nil)

// exhausted is the refusal of a counter that cannot count further.
var exhausted = &CapacityError{}

// NewInFlight returns an InFlight that admits up to limit leases at once. A limit
// of 0 is no limit.
func NewInFlight(limit uint64) *InFlight {
	f := new(InFlight)
	f.SetLimit(limit)
	return f
}

// SetLimit makes the limit another one; 0 is no limit. Leases that are held beyond
// a lower limit stay, and no other is granted until there is room under it.
func (f *InFlight) SetLimit(limit uint64) {
	if limit == 0 {
		f.full.Store(nil)
		return
	}
	if full := f.full.Load(); full == nil || full.Limit != limit {
		f.full.Store(&CapacityError{Limit: limit})
	}
}

// Room reports whether an Acquire at this moment would succeed.
func (f *InFlight) Room() bool {
	full := f.full.Load()
	return full == nil || f.used.Load() < full.Limit
}

// Acquire takes one slot and returns its Lease, or a [CapacityError]. The Lease
// is not to be copied after use; go vet finds copies.
func (f *InFlight) Acquire() (Lease, error) {
	if err := f.Take(); err != nil {
		return Lease{}, err
	}
	return Lease{of: f}, nil
}

// Take is Acquire for a caller who sees to it alone that what was taken is given
// back once, by Give.
func (f *InFlight) Take() error {
	for {
		full, used := f.full.Load(), f.used.Load()
		if full != nil && used >= full.Limit {
			return full
		}
		if used == math.MaxUint64 {
			return exhausted
		}
		// A plain Add would overshoot the limit for a moment, and a reader or
		// another caller could see it.
		if f.used.CompareAndSwap(used, used+1) {
			return nil
		}
	}
}

// Give gives back one slot that Take took.
func (f *InFlight) Give() { f.used.Add(^uint64(0)) }

// Current returns the number of leases held.
func (f *InFlight) Current() uint64 { return f.used.Load() }

// Limit returns the limit, 0 for none.
func (f *InFlight) Limit() uint64 {
	if full := f.full.Load(); full != nil {
		return full.Limit
	}
	return 0
}

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
	l.of.Give()
	return true
}

// Held reports whether the slot is held: it was acquired and no Release has ended it.
func (l *Lease) Held() bool { return l.of != nil && l.ended.Load() == 0 }

// claim reports whether the caller is the one who ends the lease.
func (l *Lease) claim() bool { return l.of != nil && l.ended.CompareAndSwap(0, 1) }
