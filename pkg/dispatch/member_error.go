package dispatch

import (
	"fmt"

	"github.com/copyleftdev/poise-go/pkg/internal/printable"
)

// MemberError is why a member is left out while the others are served.
type MemberError struct {
	// ID and Incarnation name the member.
	ID          string
	Incarnation uint64
	// Err is what is wrong with it.
	Err error
}

// Error names the member and the cause, with control characters escaped.
func (e *MemberError) Error() string {
	return fmt.Sprintf("dispatch: member %q, incarnation %d, is left out: %s", e.ID, e.Incarnation, printable.Text(fmt.Sprint(e.Err)))
}

// Unwrap returns the cause.
func (e *MemberError) Unwrap() error { return e.Err }
