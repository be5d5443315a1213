package discovery

import "fmt"

// StaleError is the ErrStale of one list.
type StaleError struct {
	// Source is the name of the source.
	Source string
	// Current is the last revision that its session has taken.
	Current uint64
	// Attempted is the revision that was refused.
	Attempted uint64
}

// Error names the source and both revisions.
func (e *StaleError) Error() string {
	return fmt.Sprintf("%v: source %q is at %d and sends %d", ErrStale, e.Source, e.Current, e.Attempted)
}

// Unwrap returns ErrStale.
func (e *StaleError) Unwrap() error { return ErrStale }
