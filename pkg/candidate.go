package poise

// Candidate is anything a policy may choose: an address, a connection, a pool.
//
// # Contract
//
//   - NewView asks each Candidate for its Sample exactly once, or at most once if it refuses.
//
// # Cost
//
// Sample is called once per View, never during a pick.
//
// # Concurrency
//
// NewView calls Sample from the goroutine that called NewView. A Candidate that
// other goroutines change must guard itself.
type Candidate interface {
	// Sample returns what the candidate is at this moment. A wrapper that adds
	// a condition calls the wrapped Sample and edits the result.
	Sample() Sample
}

// Sample is one reading of a candidate. A Sample is itself a Candidate that never
// changes.
//
// Only ID is required; the zero value of every other field is a sensible default.
type Sample struct {
	_ struct{}
	// ID is the identity: not empty, and unique in its View.
	ID string
	// Incarnation tells two lives of one identity apart. A directory numbers
	// them; without a directory it stays 0.
	Incarnation uint64
	// Weight is the share against the other candidates; zero value 1.
	Weight Weight
	// Status is what the operator or directory says; zero value Ready.
	Status Status
	// Excluded leaves a Ready candidate out for a reason of its own, such as an
	// open circuit; zero value NotExcluded. Where Status is not Ready, the status
	// is the reason; ExcludedDraining is the same as the Status Draining.
	Excluded Reason
	// Priority orders groups of candidates: lower first, gaps allowed.
	Priority uint32
	// Locality names the zone; empty is a zone too.
	Locality string
	// LocalityWeight is the weight of that zone within the priority. All
	// candidates of one priority and locality give the same.
	LocalityWeight Weight
	// PanicOptOut withholds the candidate from panic routing while it is not
	// eligible.
	PanicOptOut bool
	// Load tells the load at each pick. Load-aware policies refuse a View in
	// which it is nil.
	Load LoadTracker
}

// Sample returns s.
func (s Sample) Sample() Sample { return s }

// IsDraining reports whether the candidate is draining, whoever says it: its
// Status or a wrapper's Excluded.
func (s Sample) IsDraining() bool { return s.reason() == ExcludedDraining }

// reason is why the sample is not eligible. A status that is not Ready wins over
// Excluded, and draining, whoever says it, over all: it is never undone, nor
// hidden, by a health signal.
func (s *Sample) reason() Reason {
	switch {
	case s.Status == Draining || s.Excluded == ExcludedDraining:
		return ExcludedDraining
	case s.Status == Unavailable:
		return ExcludedUnavailable
	}
	return s.Excluded
}

// check checks a sample by itself.
func (s *Sample) check() *FieldError {
	switch {
	case s.ID == "":
		return &FieldError{Field: "ID", Value: s.ID, Err: ErrEmptyIdentity}
	case s.Status > Unavailable:
		return &FieldError{Field: "Status", Value: s.Status, Err: ErrInvalidStatus}
	case s.Excluded >= reasons:
		return &FieldError{Field: "Excluded", Value: s.Excluded, Err: ErrInvalidReason}
	}
	return nil
}

// same reports whether two samples agree, for certain. Of load trackers it compares
// only those of this package: others need not be comparable.
func (s *Sample) same(other *Sample) bool {
	a, b := *s, *other
	a.Load, b.Load = nil, nil
	return a == b && sameTracker(s.Load, other.Load)
}

func sameTracker(a, b LoadTracker) bool {
	switch of := a.(type) {
	case nil:
		return b == nil
	case *InFlight:
		other, ok := b.(*InFlight)
		return ok && of == other
	case *PeakEWMA:
		other, ok := b.(*PeakEWMA)
		return ok && of == other
	}
	return false
}
