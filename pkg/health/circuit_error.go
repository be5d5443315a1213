package health

import (
	"errors"
	"fmt"
	"time"
)

// Refusals of Circuit.Acquire. They arrive inside a CircuitError.
var (
	// ErrOpen means the circuit is open and its time is not over.
	ErrOpen = errors.New("health: circuit is open")
	// ErrTrialsTaken means the circuit is half-open and all its trials are out.
	ErrTrialsTaken = errors.New("health: circuit is half-open and all trials are out")
)

// Reasons why Circuit.End changed nothing.
var (
	// ErrPermitEnded means the permit, or a copy of it, was ended before.
	ErrPermitEnded = errors.New("health: permit has ended before")
	// ErrPermitExpired means the trial was held for longer than MaxHold and has
	// counted as cancelled.
	ErrPermitExpired = errors.New("health: permit was held for too long")
	// ErrPermitStale means the circuit has had a transition since it issued the
	// permit.
	ErrPermitStale = errors.New("health: permit of an earlier epoch")
	// ErrPermitForeign means the permit is of another circuit, or the zero Permit.
	ErrPermitForeign = errors.New("health: permit of another circuit")
)

// CircuitError is a refusal of Circuit.Acquire.
type CircuitError struct {
	// Err is ErrOpen or ErrTrialsTaken.
	Err error
	// RetryAfter is how long the circuit stays open, 0 unless Err is ErrOpen. When a
	// trial ends nobody can tell.
	RetryAfter time.Duration
}

// Error returns the text of the sentinel, and how long the circuit stays open.
func (e *CircuitError) Error() string {
	if e.RetryAfter == 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("%v for %v more", e.Err, e.RetryAfter)
}

// Unwrap returns the sentinel.
func (e *CircuitError) Unwrap() error { return e.Err }
