package observe

import "errors"

var (
	// ErrUnknownName means a text, or a number, that is none of an enumeration.
	ErrUnknownName = errors.New("observe: not a value of the enumeration")
	// ErrMissing means a setting that has to be given.
	ErrMissing = errors.New("observe: missing")
)
