package policy

import (
	"errors"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Errors of a View or a setting that a policy cannot serve. They arrive inside a
// [poise.FieldError], which names the field and the value.
var (
	// ErrNotPrime means a table size that is not prime.
	ErrNotPrime = errors.New("policy: table size must be prime")
	// ErrTooManyPoints means the weights of the candidates ask for more points than
	// the ring may have.
	ErrTooManyPoints = errors.New("policy: too many points for the ring")
	// ErrLoadUnit means load trackers of a unit that the policy cannot use.
	ErrLoadUnit = errors.New("policy: the load is measured in another unit")
)

// errNilView is the refusal of every Prepare that gets no View.
var errNilView error = &poise.FieldError{Field: "view", Value: nil, Err: poise.ErrNilView}

// errNilPolicy means an Endpoint that returned neither a policy nor an error.
var errNilPolicy = errors.New("policy: the policy is nil")
