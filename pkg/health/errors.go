package health

import (
	"errors"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Errors of bad input. They arrive inside a poise.FieldError.
var (
	// ErrMissing means a required field is not set.
	ErrMissing = errors.New("health: required")
	// ErrOutOfRange means a number or duration outside its legal range.
	ErrOutOfRange = errors.New("health: out of range")
	// ErrForeign means an OutlierSubject of another OutlierController.
	ErrForeign = errors.New("health: subject of another controller")
	// ErrDuplicate means an OutlierSubject that stands in a list twice.
	ErrDuplicate = errors.New("health: subject occurs twice")
)

func outOfRange(field string, value any) error {
	return &poise.FieldError{Field: field, Value: value, Err: ErrOutOfRange}
}
