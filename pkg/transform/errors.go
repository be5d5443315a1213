package transform

import "errors"

// Errors of this package. They arrive inside a [poise.FieldError].
var (
	// ErrOtherMember means a sample of another identity or incarnation than that of
	// the member whose sample it should be.
	ErrOtherMember = errors.New("transform: the sample is of another member")
	// ErrNilTransform means a nil Transform.
	ErrNilTransform = errors.New("transform: the transform is nil")
)
