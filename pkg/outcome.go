package poise

import "time"

// Outcome is what became of one piece of work that a candidate was given.
//
// The zero value is Success.
type Outcome uint8

const (
	// Success: the candidate did the work, or began to answer soundly.
	Success Outcome = iota
	// Failure: the candidate took the work and failed, or its answer broke off.
	Failure
	// Overloaded: the candidate refused the work for want of capacity.
	Overloaded
	// Cancelled: the caller gave up; it says nothing about the candidate.
	Cancelled
	// Unreachable: nothing of the work could be sent: the connection was refused,
	// no route led there, or the handshake failed.
	Unreachable
	// Silent: a deadline passed without the beginning of an answer.
	Silent
	// Invalid: the work was the caller's mistake, or this process failed at it (no
	// file descriptors, a name mismatch, a pause); it says nothing about the candidate.
	Invalid
)

// IsFailure reports whether the outcome counts against the candidate: Failure,
// Overloaded, Unreachable and Silent do.
func (o Outcome) IsFailure() bool {
	return o == Failure || o == Overloaded || o == Unreachable || o == Silent
}

// IsObservation reports whether the outcome says anything about the candidate:
// all but Cancelled and Invalid do.
func (o Outcome) IsObservation() bool { return o != Cancelled && o != Invalid }

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
	case Unreachable:
		return "unreachable"
	case Silent:
		return "silent"
	case Invalid:
		return "invalid"
	}
	return "unknown outcome"
}

// Result is an Outcome with what came along with it.
//
// The zero value is a Success.
type Result struct {
	// Outcome is what became of the work.
	Outcome Outcome
	// RetryAfter is how long the candidate asked to be left alone; 0 if it did not.
	RetryAfter time.Duration
	// Err is the cause, for people to read; nil if there is none.
	Err error
}
