package discovery

import "fmt"

// SessionError is the ErrSessionEnded of one source.
type SessionError struct {
	// Source is the name of the source.
	Source string
	// Replaced says that the source has opened a newer session.
	Replaced bool
}

// Error names the source and how its session ended.
func (e *SessionError) Error() string {
	if e.Replaced {
		return fmt.Sprintf("%v: source %q has opened another", ErrSessionEnded, e.Source)
	}
	return fmt.Sprintf("%v: source %q has closed it", ErrSessionEnded, e.Source)
}

// Unwrap returns ErrSessionEnded.
func (e *SessionError) Unwrap() error { return ErrSessionEnded }
