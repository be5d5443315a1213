package poise

// Outcome is what became of one piece of work that a candidate was given.
//
// The zero value is Success.
type Outcome uint8

const (
	// Success: the candidate did the work.
	Success Outcome = iota
	// Failure: the candidate, or the way to it, failed.
	Failure
	// Overloaded: the candidate refused the work for want of capacity.
	Overloaded
	// Cancelled: the caller gave up; it says nothing about the candidate.
	Cancelled
)

// IsFailure reports whether the outcome counts against the candidate: Failure
// and Overloaded do.
func (o Outcome) IsFailure() bool { return o == Failure || o == Overloaded }

// IsObservation reports whether the outcome says anything about the candidate:
// all but Cancelled do.
func (o Outcome) IsObservation() bool { return o != Cancelled }

// String returns the outcome in lower case.
func (o Outcome) String() string {
	switch o {
	case Success:
		return "success"
	case Failure:
		return "failure"
	case Overloaded:
		return "overloaded"
	case Cancelled:
		return "cancelled"
	}
	return "unknown outcome"
}
