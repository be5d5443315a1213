package policy

import (
	"errors"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// errNilView is the refusal of every Prepare that gets no View.
var errNilView error = &poise.FieldError{Field: "view", Value: nil, Err: poise.ErrNilView}

// errNilPolicy means an Endpoint that returned neither a policy nor an error.
var errNilPolicy = errors.New("policy: the policy is nil")
