package poisehttp

import (
	"errors"
	"syscall"
)

// isLocal reports whether this process failed at the call: it has no file
// descriptors left.
func isLocal(err error) bool { return errors.Is(err, syscall.EMFILE) }
