package main

import (
	"errors"
	"fmt"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// code is a status code of gRPC, by its number there.
type code uint32

const (
	okay              code = 0
	canceled          code = 1
	unknown           code = 2
	deadlineExceeded  code = 4
	resourceExhausted code = 8
	unimplemented     code = 12
	internal          code = 13
	unavailable       code = 14
	dataLoss          code = 15
)

// status is an error with a code.
type status struct {
	code    code
	message string
}

func (s *status) Error() string { return fmt.Sprintf("code %d: %s", s.code, s.message) }

// codeOf returns the code of an error; unknown if it has none.
func codeOf(err error) code {
	if err == nil {
		return okay
	}
	if s, ok := errors.AsType[*status](err); ok {
		return s.code
	}
	return unknown
}

// resultOf says what an error shows about the backend. Codes that answer the caller,
// such as NOT_FOUND or INVALID_ARGUMENT, show that it serves.
func resultOf(err error) poise.Result {
	if errors.Is(err, errNotConnected) {
		return poise.Result{Outcome: poise.Unreachable, Err: err}
	}
	switch codeOf(err) {
	case unknown, internal, unavailable, dataLoss:
		return poise.Result{Outcome: poise.Failure, Err: err}
	case resourceExhausted:
		return poise.Result{Outcome: poise.Overloaded, Err: err}
	case deadlineExceeded:
		return poise.Result{Outcome: poise.Silent, Err: err}
	case canceled:
		return poise.Result{Outcome: poise.Cancelled, Err: err}
	default:
		return poise.Result{Err: err}
	}
}
