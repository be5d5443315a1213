package policy

import poise "github.com/copyleftdev/poise-go/pkg"

// errNilView is the refusal of every Prepare that gets no View.
var errNilView error = &poise.FieldError{Field: "view", Value: nil, Err: poise.ErrNilView}
