package discovery

import (
	"errors"
	"fmt"
)

// Reasons of a LimitError. The members of the last good list stay.
var (
	// ErrTooManyMembers means a list with more members than PollerConfig allows, or a
	// change that leaves more members than Config of the Directory allows.
	ErrTooManyMembers = errors.New("discovery: too many members in one list")
	// ErrShrunk means a list with so few members, beside those of the last good one,
	// that PollerConfig does not believe it yet.
	ErrShrunk = errors.New("discovery: too few members are left by one list")
	// ErrTooLarge means a file or an answer with more bytes than are read.
	ErrTooLarge = errors.New("discovery: too many bytes in one answer")
)

// LimitError is an answer of a source, or a change, that was refused as a whole
// because of its size.
type LimitError struct {
	// Err is ErrTooManyMembers, ErrShrunk or ErrTooLarge.
	Err error
	// Found is the number of members or bytes, as far as they were read.
	Found int64
	// Limit is the most, or with ErrShrunk the least, that would have been taken.
	Limit int64
}

// Error says what was found and what the limit is.
func (e *LimitError) Error() string {
	if e.Err == ErrShrunk {
		return fmt.Sprintf("%v: %d, at least %d are expected", e.Err, e.Found, e.Limit)
	}
	return fmt.Sprintf("%v: %d, at most %d are taken", e.Err, e.Found, e.Limit)
}

// Unwrap returns the reason.
func (e *LimitError) Unwrap() error { return e.Err }
