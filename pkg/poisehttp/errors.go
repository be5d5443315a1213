package poisehttp

import (
	"errors"
	"fmt"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Errors of a call. They arrive inside a CallError.
var (
	// ErrClosed means the Balancer was closed. Nothing was sent.
	ErrClosed = errors.New("poisehttp: balancer is closed")
	// ErrDraining means the endpoint takes no new calls. Another endpoint may.
	ErrDraining = errors.New("poisehttp: endpoint is draining")
	// ErrSetAside means the endpoint waits out a backoff after failures in a row.
	ErrSetAside = errors.New("poisehttp: endpoint is set aside")
	// ErrAttemptTimeout means the response header did not arrive within
	// Config.AttemptTimeout. It is a net.Error whose Timeout is true.
	ErrAttemptTimeout error = timeoutError{}
	// ErrNotSent means that no byte of the request left this process, so that even
	// a request that must not be repeated may be sent elsewhere. An Endpoint that
	// knows so says it by an error that matches.
	ErrNotSent = errors.New("poisehttp: not sent")
	// ErrBodyPanic means the reader of the request body panicked.
	ErrBodyPanic = errors.New("poisehttp: request body panicked")
	// ErrDirectoryClosed means that the Directory was closed, after which
	// MembershipConfig.FailClosed lets nothing more be called or changed.
	ErrDirectoryClosed = errors.New("poisehttp: the directory is closed")
	// ErrFollowing means a list of members for a Balancer that has those of a
	// Directory. Change them there.
	ErrFollowing = errors.New("poisehttp: the members are those of a directory")
	// ErrMemberPanic means that Connect or Describe of a Membership panicked. It
	// arrives inside a MemberError; the last good picker serves.
	ErrMemberPanic = errors.New("poisehttp: connecting or describing a member panicked")
	// ErrPolicyPanic means that Prepare of the policy panicked. Nothing has changed,
	// and the last good picker serves.
	ErrPolicyPanic = errors.New("poisehttp: policy panicked")
)

// Errors of bad input. They arrive inside a poise.FieldError.
var (
	// ErrMissing means a required field is not set.
	ErrMissing = errors.New("poisehttp: required")
	// ErrOutOfRange means a number or duration outside its legal range.
	ErrOutOfRange = errors.New("poisehttp: out of range")
	// ErrNotComparable means an Endpoint whose value cannot be compared, so that it
	// cannot be told from others. A pointer can.
	ErrNotComparable = errors.New("poisehttp: endpoint cannot be compared; use a pointer")
	// ErrBadAddress means an address that is not host:port, with a port from 1 to
	// 65535.
	ErrBadAddress = errors.New("poisehttp: not a host:port address with a port from 1 to 65535")
	// ErrBadRequest means a request that net/http would refuse to send.
	ErrBadRequest = errors.New("poisehttp: malformed request")
	// ErrUnknownEndpoint means no member has that identity.
	ErrUnknownEndpoint = errors.New("poisehttp: unknown endpoint")
	// ErrNotProbed means that an endpoint is not probed, so that it has no condition.
	ErrNotProbed = errors.New("poisehttp: the endpoint is not probed")
	// ErrNoCircuit means that an endpoint has no circuit, because Health.Circuit is
	// off.
	ErrNoCircuit = errors.New("poisehttp: the endpoint has no circuit")
	// ErrSharedEndpoint means that two identities, or two lives of one identity, have
	// one Endpoint value, which could not be closed with either.
	ErrSharedEndpoint = errors.New("poisehttp: endpoint belongs to another identity, or to a life that has not ended")
	// ErrFixedLimit means another Limit for an endpoint that stays in the list.
	ErrFixedLimit = errors.New("poisehttp: the limit of an endpoint is fixed; another Endpoint may have another")
	// ErrHiddenQueue means a transport whose own limit would queue calls where no
	// policy can see them.
	ErrHiddenQueue = errors.New("poisehttp: MaxConnsPerHost queues calls out of sight; use Member.Limit")
)

// CallError is every error that Balancer.RoundTrip returns.
type CallError struct {
	// Endpoint is the identity of the endpoint that was tried last; empty if the
	// call was sent nowhere.
	Endpoint string
	// Attempts is how often the call was sent. It counts attempts, not endpoints.
	Attempts int
	// Err is what went wrong last; context.Cause where the caller's context ended
	// the call.
	Err error
	// Decision says how the last pick came out, if Config.Explain wanted it: that of
	// a call which was refused, or of a retry for which nobody was left. nil if
	// nothing was picked.
	Decision *poise.Decision
}

// Error names the endpoint, the number of attempts and the cause.
func (e *CallError) Error() string {
	if e.Attempts == 0 {
		return fmt.Sprintf("poisehttp: not sent: %v", e.Err)
	}
	return fmt.Sprintf("poisehttp: attempt %d, at %s: %v", e.Attempts, e.Endpoint, e.Err)
}

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }

// Timeout reports whether the cause was a timeout, as net.Error has it.
func (e *CallError) Timeout() bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](e.Err)
	return ok && t.Timeout()
}

type timeoutError struct{}

func (timeoutError) Error() string   { return "poisehttp: no response header within the attempt timeout" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }
