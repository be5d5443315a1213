package health

import (
	"errors"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Errors of bad input. They arrive inside a poise.FieldError.
var (
	// ErrMissing means a required field is not set.
	ErrMissing = errors.New("health: required")
	// ErrOutOfRange means a number or duration outside its legal range.
	ErrOutOfRange = errors.New("health: out of range")
	// ErrForeign means an OutlierSubject of another OutlierController.
	ErrForeign = errors.New("health: subject of another controller")
	// ErrDuplicate means an OutlierSubject that stands in a list twice, or a member
	// that is added twice.
	ErrDuplicate = errors.New("health: occurs twice")
	// ErrUnknownMember means a member that is not there.
	ErrUnknownMember = errors.New("health: unknown member")
)

// Errors of ActiveHealth.Reserve and of a Prober. Nothing has changed, and waiting
// helps.
var (
	// ErrNotDue means the time to the next probe is not over.
	ErrNotDue = errors.New("health: no probe is due")
	// ErrRunning means the Prober is running already.
	ErrRunning = errors.New("health: the prober is running already")
	// ErrProbeRunning means somebody else has the right to probe.
	ErrProbeRunning = errors.New("health: a probe is running")
)

// Failures of probes. They arrive in a ProbeReport.
var (
	// ErrTimedOut means the probe did not answer within its timeout.
	ErrTimedOut = errors.New("health: the probe did not answer in time")
)

func refuse(field string, value any, err error) error {
	return &poise.FieldError{Field: field, Value: value, Err: err}
}

func outOfRange(field string, value any) error { return refuse(field, value, ErrOutOfRange) }

func missing(field string) error { return refuse(field, nil, ErrMissing) }
