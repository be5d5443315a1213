package discovery

import "errors"

// Errors of a change, a wait or a session.
var (
	// ErrClosed means that the Directory was closed. Nothing has changed, and
	// nothing will.
	ErrClosed = errors.New("discovery: directory is closed")
	// ErrSessionEnded means that the Session was closed, or that its source has
	// opened a newer one. It arrives inside a SessionError; nothing has changed.
	ErrSessionEnded = errors.New("discovery: session has ended")
	// ErrStale means that a source's revision is not newer than the last one of the
	// same session. It arrives inside a StaleError; nothing has changed.
	ErrStale = errors.New("discovery: revision is not newer")
	// ErrEmptyList means that a source knows of nobody, which PollerConfig does not
	// allow. The members of its last good list stay.
	ErrEmptyList = errors.New("discovery: source has no members")
	// ErrNotFound means that a source says of itself that there is nobody, such as a
	// name that does not exist. PollerConfig decides whether that is a failure.
	ErrNotFound = errors.New("discovery: not found")
	// ErrRunning means that a PollerRunner is running already.
	ErrRunning = errors.New("discovery: the runner is running already")
	// ErrExhausted means that no revision is left. Nothing has changed; changes
	// that need no revision still succeed.
	ErrExhausted = errors.New("discovery: no revision is left")
)

// Errors of bad input. They arrive inside a poise.FieldError, which names the
// field and the value; nothing has changed.
var (
	// ErrMissing means that a required field is not set.
	ErrMissing = errors.New("discovery: required")
	// ErrOutOfRange means a value outside its legal range.
	ErrOutOfRange = errors.New("discovery: out of range")
	// ErrUnknown means that no member has that identity.
	ErrUnknown = errors.New("discovery: unknown identity")
	// ErrDuplicate means that a list names one identity twice, or that a source
	// adds an identity that it claims already.
	ErrDuplicate = errors.New("discovery: identity occurs twice")
	// ErrNilValue means a nil pointer, interface or function as a member's value.
	ErrNilValue = errors.New("discovery: value is nil")
	// ErrForeign means a Snapshot of another Directory.
	ErrForeign = errors.New("discovery: snapshot of another directory")
	// ErrNotOlder means a Snapshot newer than the one that it is compared with.
	ErrNotOlder = errors.New("discovery: snapshot is newer")
)
