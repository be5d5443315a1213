package dispatch

import (
	"errors"
	"reflect"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Errors of a call and of a change.
var (
	// ErrClosed means that the loop was closed. Nobody was chosen, nothing has
	// changed.
	ErrClosed = errors.New("dispatch: closed")
	// ErrDraining means that the member takes no new calls. Another one may.
	ErrDraining = errors.New("dispatch: the member is draining")
	// ErrWaited means that a waiting call found nobody until its time was over. It
	// arrives together with the error that made the call wait.
	ErrWaited = errors.New("dispatch: nobody was found in the time to wait")
	// ErrPolicyPanic means that Prepare of the policy, or a transform, panicked.
	// Nothing has changed, and the last good picker serves. It is also the error of a
	// call that waited while a pick for it panicked.
	ErrPolicyPanic = errors.New("dispatch: policy or transform panicked")
	// ErrSourceClosed means that the directory was closed, after which
	// DirectoryConfig.FailClosed lets nothing more be called.
	ErrSourceClosed = errors.New("dispatch: the source of the members is closed")
	// ErrHasSource means a list of members for a Balancer that has those of a Source.
	// Change them there.
	ErrHasSource = errors.New("dispatch: the members are those of a source")
	// ErrMemberPanic means that a function that makes or describes a member panicked.
	// The member is left out.
	ErrMemberPanic = errors.New("dispatch: connecting, describing or probing a member panicked")
	// ErrNoPicker means that Prepare of the policy returned neither picker nor error.
	ErrNoPicker = errors.New("dispatch: the policy returned neither picker nor error")
)

// Errors of bad input. They arrive inside a poise.FieldError.
var (
	// ErrMissing means that a required field is not set.
	ErrMissing = errors.New("dispatch: required")
	// ErrOutOfRange means a number or duration outside its legal range.
	ErrOutOfRange = errors.New("dispatch: out of range")
	// ErrUnknownMember means that no member has that identity or incarnation.
	ErrUnknownMember = errors.New("dispatch: unknown member")
	// ErrOldIncarnation means an incarnation number that another member has, or one
	// that was removed and still holds calls.
	ErrOldIncarnation = errors.New("dispatch: the incarnation belongs to another member, or to one that was removed and holds calls")
	// ErrNotComparable means an Endpoint whose value cannot be compared, or is not equal
	// to itself, so that it cannot be told from others. A pointer can.
	ErrNotComparable = errors.New("dispatch: the endpoint cannot be compared; use a pointer")
	// ErrSharedEndpoint means that two members, or two incarnations of one, have one Endpoint,
	// which could not be closed with either.
	ErrSharedEndpoint = errors.New("dispatch: the endpoint belongs to another member, or to one that has not ended")
	// ErrNotProbed means that a member is not probed, so that it has no condition.
	ErrNotProbed = errors.New("dispatch: the member is not probed")
	// ErrCallInUse means a Call that holds an attempt already.
	ErrCallInUse = errors.New("dispatch: the call holds an attempt")
)

// defaultTo returns v, or the default where v is the zero value.
func defaultTo[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

func refuse(field string, value any, err error) error {
	return &poise.FieldError{Field: field, Value: value, Err: err}
}

func outOfRange(field string, value any) error { return refuse(field, value, ErrOutOfRange) }

// inField puts the name of a field before that of a field of it.
func inField(field string, err error) error {
	if refused, ok := errors.AsType[*poise.FieldError](err); ok {
		return &poise.FieldError{Field: field + "." + refused.Field, Value: refused.Value, Err: refused.Err}
	}
	return err
}

// isNil reports whether an interface holds nothing, or a nil pointer or function,
// of which no method could be called.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	value := reflect.ValueOf(v)
	return (value.Kind() == reflect.Pointer || value.Kind() == reflect.Func) && value.IsNil()
}
