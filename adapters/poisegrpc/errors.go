package poisegrpc

import "errors"

var (
	// ErrUnknown means a name that is none of those there are.
	ErrUnknown = errors.New("poisegrpc: unknown name")
	// ErrMissing means a setting that has to be given.
	ErrMissing = errors.New("poisegrpc: missing")
	// ErrNotLower means a name of metadata that is not in lower case, as gRPC has them.
	ErrNotLower = errors.New("poisegrpc: not in lower case")
)
