package poise

import "time"

// LoadUnit is the meaning of a load figure.
type LoadUnit uint8

const (
	// RequestsInFlight counts pieces of work that have begun and not ended.
	RequestsInFlight LoadUnit = iota
	// CostNanoseconds is an expected cost in nanoseconds.
	CostNanoseconds
)

// String returns the unit in lower case.
func (u LoadUnit) String() string {
	switch u {
	case RequestsInFlight:
		return "requests in flight"
	case CostNanoseconds:
		return "nanoseconds"
	}
	return "unknown unit"
}

// LoadTracker tells how loaded a candidate is. Smaller is less loaded.
//
// # Contract
//
//   - A pick asks the tracker of each compared candidate at most once.
//   - A load that a tracker cannot tell fails the pick with ErrLoadOverflow.
//
// # Cost
//
// Load runs inside picks: it should take nanoseconds and allocate nothing.
//
// # Concurrency
//
// Load and Unit are called by many goroutines at once.
type LoadTracker interface {
	// Load returns the load at the instant now, which is the Query's. It changes
	// nothing. An error says that the load cannot be told.
	Load(now time.Time) (uint64, error)
	// Unit returns what Load counts. It never changes.
	Unit() LoadUnit
}
