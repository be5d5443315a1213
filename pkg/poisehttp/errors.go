package poisehttp

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/internal/printable"
)

// Errors of a call. They arrive inside a CallError, as those of package dispatch and
// of poise do when nobody could be chosen.
var (
	// ErrAttemptTimeout means that the response header did not arrive within the
	// attempt timeout. It is a net.Error whose Timeout is true.
	ErrAttemptTimeout error = timeoutError("poisehttp: no response header within the attempt timeout")
	// ErrBodyStalled means that a read of the response body brought nothing for
	// Config.BodyIdleTimeout. It is a net.Error whose Timeout is true.
	ErrBodyStalled error = timeoutError("poisehttp: the response body has stalled")
	// ErrCut means that a response body or an upgraded connection was cut because its
	// endpoint has drained for Config.CutAfter.
	ErrCut = errors.New("poisehttp: cut off, since the endpoint has drained for too long")
	// ErrNotSent means that no byte of the request left this process, so that even
	// a request that must not be repeated may be sent elsewhere. An Endpoint that
	// knows so says it by an error that matches.
	ErrNotSent = errors.New("poisehttp: not sent")
	// ErrBodyPanic means that the reader of the request body panicked.
	ErrBodyPanic = errors.New("poisehttp: request body panicked")
	// ErrHost means that the request is for a host that the Transport does not stand
	// for. It arrives as a HostError.
	ErrHost = errors.New("poisehttp: not a host of this transport")
)

// Errors of bad input. They arrive inside a poise.FieldError.
var (
	// ErrMissing means that a required field is not set.
	ErrMissing = dispatch.ErrMissing
	// ErrOutOfRange means a number or duration outside its legal range.
	ErrOutOfRange = dispatch.ErrOutOfRange
	// ErrBadAddress means an address that is not host:port, with a port from 1 to
	// 65535.
	ErrBadAddress = errors.New("poisehttp: not a host:port address with a port from 1 to 65535")
	// ErrNoHosts means a target that names no hosts, for which a client needs to be told
	// whose requests it may send.
	ErrNoHosts = errors.New(`poisehttp: the target names no host; list those of the requests by WithHosts, or "*"`)
	// ErrBadHost means an entry of Hosts that is no host.
	ErrBadHost = errors.New(`poisehttp: not a host name, nor "*"`)
	// ErrBadRequest means a request that net/http would refuse to send.
	ErrBadRequest = errors.New("poisehttp: malformed request")
	// ErrHiddenQueue means a transport whose own limit would queue calls where no
	// policy can see them.
	ErrHiddenQueue = errors.New("poisehttp: MaxConnsPerHost queues calls out of sight; use Member.Limit")
)

// Attempted is one attempt of a call that failed.
type Attempted struct {
	// Endpoint is the identity of the endpoint.
	Endpoint string
	// Outcome is how the attempt was judged.
	Outcome poise.Outcome
	// Status is the status of the response, if there was one, else 0; and Err the
	// error, if there was one.
	Status int
	Err    error
}

// String names the endpoint and what came of it, on one line.
func (a Attempted) String() string {
	if a.Err == nil {
		return fmt.Sprintf("%s: status %d", printable.Text(a.Endpoint), a.Status)
	}
	return fmt.Sprintf("%s: %s", printable.Text(a.Endpoint), printable.Text(a.Err.Error()))
}

// CallError is every error that Transport.RoundTrip returns.
//
// # Contract
//
//   - The text of a CallError names every endpoint that was tried, and has no control characters.
type CallError struct {
	// Attempts are the attempts of the call in their order; none if nothing was sent.
	Attempts []Attempted
	// Err is what went wrong last; context.Cause where the caller's context ended
	// the call.
	Err error
	// Decision says how the last pick came out, if Config.Explain wanted it: that of
	// a call which was refused, or of a retry for which nobody was left. It holds
	// no choice if nothing was picked.
	Decision *poise.Decision
}

// Error names every endpoint that was tried, with what came of it, and the cause if
// that is not among them.
func (e *CallError) Error() string {
	if len(e.Attempts) == 0 {
		return "poisehttp: not sent: " + printable.Text(textOf(e.Err))
	}
	var text strings.Builder
	text.WriteString("poisehttp: ")
	for i, a := range e.Attempts {
		if i > 0 {
			text.WriteString("; ")
		}
		text.WriteString(a.String())
	}
	if last := e.Attempts[len(e.Attempts)-1]; e.Err != nil && !same(last.Err, e.Err) {
		text.WriteString("; then " + printable.Text(e.Err.Error()))
	}
	return text.String()
}

// same reports whether two errors are one. Errors that cannot be compared, such as
// slices of errors, are told apart by their texts.
func same(a, b error) bool {
	if a == nil || b == nil || !reflect.ValueOf(a).Comparable() || !reflect.ValueOf(b).Comparable() {
		return textOf(a) == textOf(b)
	}
	return a == b
}

func textOf(err error) string {
	if err == nil {
		return "unknown"
	}
	return err.Error()
}

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }

// Endpoint returns the identity of the endpoint that was tried last; empty if nothing
// was sent.
func (e *CallError) Endpoint() string {
	if len(e.Attempts) == 0 {
		return ""
	}
	return e.Attempts[len(e.Attempts)-1].Endpoint
}

// Timeout reports whether the cause was a timeout, as net.Error has it.
func (e *CallError) Timeout() bool { return isTimeout(e.Err) }

// Temporary reports whether the cause was a timeout.
func (e *CallError) Temporary() bool { return e.Timeout() }

// HostError means that a request, perhaps one that follows a redirect, is for a host
// that the Transport does not stand for. Nothing was sent. It matches ErrHost.
type HostError struct {
	// Host is the host of the request, without a port.
	Host string
	// From is the host that the redirect came from, if there was one and no hosts were
	// set.
	From string
}

// Error names the hosts and the remedy.
func (e *HostError) Error() string {
	if e.From != "" {
		return fmt.Sprintf(`%v: redirected from %s to %s; list both in Hosts, or "*"`, ErrHost, printable.Text(e.From), printable.Text(e.Host))
	}
	return fmt.Sprintf(`%v: %s; list it in Hosts, or "*"`, ErrHost, printable.Text(e.Host))
}

// Is reports whether the target is ErrHost.
func (e *HostError) Is(target error) bool { return target == ErrHost }

type timeoutError string

func (e timeoutError) Error() string { return string(e) }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

func refuse(field string, value any, err error) error {
	if text, ok := value.(string); ok {
		value = printable.Text(text)
	}
	return &poise.FieldError{Field: field, Value: value, Err: err}
}

func outOfRange(field string, value any) error { return refuse(field, value, ErrOutOfRange) }

// notSentError is an error before any byte was sent. It matches ErrNotSent and
// unwraps to the cause.
type notSentError struct {
	cause error
	stale bool // it went to a connection that was kept, and had been closed
}

func (e *notSentError) Error() string        { return e.cause.Error() }
func (e *notSentError) Unwrap() error        { return e.cause }
func (e *notSentError) Is(target error) bool { return target == ErrNotSent }

// isStale reports whether a request was not sent because a kept connection turned out
// to be closed, which says nothing about whether another one could be made.
func isStale(err error) bool {
	unsent, ok := errors.AsType[*notSentError](err)
	return ok && unsent.stale
}

// is reports whether an error of the type is in the chain.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// isTimeout reports whether an error says that it is a timeout, as net.Error has it.
func isTimeout(err error) bool {
	timeout, is := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return is && timeout.Timeout()
}
