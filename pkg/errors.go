package poise

import (
	"errors"
	"fmt"

	"github.com/copyleftdev/poise-go/pkg/internal/printable"
)

// Errors of a pick. None of them changes the state of a policy, but that a pick
// which fails with ErrLoadOverflow or ErrPanicRejected may have used its draws.
var (
	// ErrEmpty means the View has no candidates. Only a new View can help.
	ErrEmpty = errors.New("poise: no candidates")
	// ErrNoEligible means the View has candidates and none is eligible. Only a
	// new View can help.
	ErrNoEligible = errors.New("poise: no eligible candidate")
	// ErrAllTried means every eligible candidate is in Query.Tried. The caller
	// may give up, or ask again without Tried.
	ErrAllTried = errors.New("poise: every eligible candidate was tried")
	// ErrPanicRejected means too few members are eligible and the policy was told
	// to reject rather than use the others. It matches ErrNoEligible too.
	ErrPanicRejected error = panicRejected{}
	// ErrNoKey means a keyed policy was asked without a key.
	ErrNoKey = errors.New("poise: the policy needs a key and the query has none")
	// ErrLoadOverflow means a load that had to be compared cannot be told. The
	// error names the candidate and keeps the tracker's own. It is the one failure
	// of a pick that allocates.
	ErrLoadOverflow = errors.New("poise: a load cannot be told")
	// ErrAtCapacity means the limit on work in flight is reached. Another
	// candidate, or waiting, can help.
	ErrAtCapacity = errors.New("poise: at capacity")
)

// Errors of a Selection or an index used with the wrong View.
var (
	// ErrForeignSelection means the Selection was made on another View, or is the
	// zero Selection.
	ErrForeignSelection = errors.New("poise: selection of another view")
	// ErrNotEligible means the candidate is not eligible in this View or scope.
	ErrNotEligible = errors.New("poise: candidate is not eligible")
	// ErrOutOfRange means there is no candidate of that index, or, inside a FieldError,
	// a value outside of its range; then a RangeError says which range.
	ErrOutOfRange = errors.New("poise: out of range")
)

// Errors of bad input. They arrive inside a FieldError, which names the field and
// the value; nothing has changed.
var (
	// ErrInvalidWeight means a weight of 0.
	ErrInvalidWeight = errors.New("poise: weight must be at least 1")
	// ErrNilCandidate means a nil Candidate.
	ErrNilCandidate = errors.New("poise: candidate is nil")
	// ErrEmptyIdentity means a candidate without an identity.
	ErrEmptyIdentity = errors.New("poise: identity is empty")
	// ErrDuplicateIdentity means two candidates of one View bear one identity.
	ErrDuplicateIdentity = errors.New("poise: identity occurs twice")
	// ErrInvalidStatus means a Status outside its enumeration.
	ErrInvalidStatus = errors.New("poise: unknown status")
	// ErrInvalidReason means a Reason outside its enumeration.
	ErrInvalidReason = errors.New("poise: unknown reason")
	// ErrUnknownWord means a text, or a number, that an enumeration does not have.
	ErrUnknownWord = errors.New("poise: not one of the known values")
	// ErrNilTracker means a load-aware policy met a candidate without a load
	// tracker.
	ErrNilTracker = errors.New("poise: load tracker is nil")
	// ErrMixedLoad means the load trackers of one View measure different units.
	ErrMixedLoad = errors.New("poise: load trackers of one view must share one unit")
	// ErrInconsistentTopology means two candidates of one priority and locality
	// give that locality different weights.
	ErrInconsistentTopology = errors.New("poise: one locality has two weights")
	// ErrNotAscending means a list of indices is not strictly ascending.
	ErrNotAscending = errors.New("poise: indices must be strictly ascending")
	// ErrTooMany means more candidates than a View, or the table of a policy, can
	// hold.
	ErrTooMany = errors.New("poise: too many candidates")
	// ErrWeightOverflow means weights that are too large together for a policy.
	ErrWeightOverflow = errors.New("poise: the weights are too large together")
	// ErrNilView means a nil *View.
	ErrNilView = errors.New("poise: view is nil")
)

type panicRejected struct{}

func (panicRejected) Error() string        { return "poise: panic: too few eligible candidates" }
func (panicRejected) Is(target error) bool { return target == ErrNoEligible }

// FieldError names the field and the value that were refused. It unwraps to the
// sentinel that says why.
type FieldError struct {
	// Field is the path of the field, such as "candidates[3].ID".
	Field string
	// Value is what was found there.
	Value any
	// Err is the sentinel.
	Err error
}

// Error returns the sentinel's text, the field and the value, on one line: control
// characters are escaped.
func (e *FieldError) Error() string {
	format := "%v: %s is %v"
	switch e.Value.(type) {
	case string:
		format = "%v: %s is %q"
	case Status, Reason:
		format = "%v: %s is %d" // an unknown one has no name
	}
	return printable.Text(fmt.Sprintf(format, e.Err, e.Field, e.Value))
}

// Unwrap returns the sentinel.
func (e *FieldError) Unwrap() error { return e.Err }

// RangeError is the cause of a FieldError whose value is outside of the range that
// it states. It matches ErrOutOfRange.
type RangeError struct {
	// Min and Max are the least and the greatest legal value; nil where there is no
	// such bound.
	Min, Max any
}

// Error returns the range.
func (e *RangeError) Error() string {
	switch {
	case e.Min == nil && e.Max == nil:
		return "poise: out of range"
	case e.Min == nil:
		return fmt.Sprintf("poise: must be at most %v", e.Max)
	case e.Max == nil:
		return fmt.Sprintf("poise: must be at least %v", e.Min)
	}
	return fmt.Sprintf("poise: must be from %v to %v", e.Min, e.Max)
}

// Is reports whether the target is ErrOutOfRange.
func (e *RangeError) Is(target error) bool { return target == ErrOutOfRange }

// CapacityError is the ErrAtCapacity of one InFlight.
type CapacityError struct {
	// Limit is the limit that is reached, or 0 when the counter itself is
	// exhausted.
	Limit uint64
}

// Error returns the text of ErrAtCapacity and the limit.
func (e *CapacityError) Error() string { return fmt.Sprintf("%v: limit %d", ErrAtCapacity, e.Limit) }

// Unwrap returns ErrAtCapacity.
func (e *CapacityError) Unwrap() error { return ErrAtCapacity }
