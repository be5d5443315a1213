package dispatch

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Query is what Acquire is asked. The zero value asks for any member.
type Query struct {
	// Key is what keyed policies hash.
	Key poise.Key
	// Now is the instant of the attempt.
	Now time.Time
	// Attempts is what the logical call has done so far; nil for a call of a single
	// attempt.
	Attempts *Attempts
	// Repeatable says that the call may be sent again: trials prefer such calls.
	Repeatable bool
	// Why, if not nil, is filled with the reasons of the choice.
	Why *poise.Decision
}
