package discovery

import (
	"fmt"

	"github.com/copyleftdev/poise-go/pkg/internal/printable"
)

// PollError is the failure of one Poll. The members of the last good list stay.
type PollError struct {
	// Source is the name of the source.
	Source string
	// ConsecutiveFailures is the number of failures since the last good list.
	ConsecutiveFailures uint64
	// Err is what went wrong.
	Err error
}

// Error names the source, the number of failures and the cause. Control characters
// of the cause are escaped.
func (e *PollError) Error() string {
	return fmt.Sprintf("discovery: source %q, failure %d in a row: %s", e.Source, e.ConsecutiveFailures, printable.Text(e.Err.Error()))
}

// Unwrap returns the cause.
func (e *PollError) Unwrap() error { return e.Err }
