package poisehttp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Classify is the default judgement of an attempt that neither its caller nor a
// deadline has ended.
//
//	503                               Overloaded, with Retry-After
//	429                               Overloaded, with Retry-After
//	501, 505                          Success: the request asked for what the backend does not do
//	every other status from 500 on    Failure
//	every other status                Success
//	a certificate, name or scheme     Invalid: it says nothing about the backend
//	that does not fit, or a
//	handshake that was turned away
//	this process has no file          Invalid
//	descriptors, ports or buffers
//	a kept connection was closed      Invalid
//	meanwhile, and took nothing
//	ErrNotSent                        Unreachable
//	a timeout of the transport        Silent
//	every other error                 Failure
//
// A 429 may be about this caller alone. Overloaded lowers the share of the endpoint a
// little, and nothing else.
func Classify(resp *http.Response, err error) poise.Result {
	if err != nil {
		return poise.Result{Outcome: classifyError(err), Err: err}
	}
	switch code := resp.StatusCode; {
	case code == http.StatusServiceUnavailable || code == http.StatusTooManyRequests:
		return poise.Result{Outcome: poise.Overloaded, RetryAfter: retryAfter(resp.Header)}
	case code >= 500 && code != http.StatusNotImplemented && code != http.StatusHTTPVersionNotSupported:
		return poise.Result{Outcome: poise.Failure}
	}
	return poise.Result{}
}

func classifyError(err error) poise.Outcome {
	switch {
	case isMismatch(err), isTurnedAway(err), isLocal(err), isStale(err):
		return poise.Invalid
	case errors.Is(err, ErrNotSent):
		return poise.Unreachable
	case isTimeout(err):
		return poise.Silent
	}
	return poise.Failure
}

// isMismatch reports whether what the caller wants and what the backend is do not fit
// together: the scheme, or the name and trust of a certificate, on either side.
// A certificate that has expired is the backend's affair.
func isMismatch(err error) bool {
	if errors.Is(err, http.ErrSchemeMismatch) || is[x509.HostnameError](err) || is[x509.UnknownAuthorityError](err) ||
		is[x509.SystemRootsError](err) || is[tls.RecordHeaderError](err) {
		return true
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		return invalid.Reason != x509.Expired
	}
	return isAlert(err, alertsOfMismatch) || is[*tls.CertificateVerificationError](err)
}

// alertsOfMismatch are the alerts of RFC 8446, section 6, about certificates (42 to
// 49), and unrecognized_name, certificate_required and no_application_protocol.
var alertsOfMismatch = []tls.AlertError{42, 43, 44, 45, 46, 48, 49, 112, 116, 120}

// isTurnedAway reports whether the endpoint ended the handshake without a reason. One
// that chooses its certificate by the name it is asked for does so for names that it
// does not have, and so may one that is broken: it is not held against the endpoint, and
// the request goes elsewhere.
func isTurnedAway(err error) bool { return isAlert(err, alertsWithoutReason) }

// alertsWithoutReason are handshake_failure and internal_error.
var alertsWithoutReason = []tls.AlertError{40, 80}

// isAlert reports whether the error is an alert of the list, from the other side or, for
// QUIC, from this one. What package tls reports of the other side has no exported type.
func isAlert(err error, list []tls.AlertError) bool {
	if alert, ok := errors.AsType[tls.AlertError](err); ok {
		return slices.Contains(list, alert)
	}
	told, ok := errors.AsType[*net.OpError](err)
	return ok && told.Op == "remote error" && told.Err != nil &&
		slices.ContainsFunc(list, func(a tls.AlertError) bool { return a.Error() == told.Err.Error() })
}

// retryAfter is how long a response asks to be left alone, RFC 9110, section 10.2.3;
// 0 if it does not say. A date is measured from that of the response.
func retryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if text == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	from, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		from = time.Now()
	}
	return max(until.Sub(from), 0)
}

// worthRepeating are the statuses that ask to try elsewhere: of a gateway, or of a
// backend that says that it cannot serve now.
var worthRepeating = []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// Repeatable is the default rule of which requests may be sent twice: those whose
// method is idempotent (RFC 9110, section 9.2.2), and those that bear a non-empty
// Idempotency-Key or X-Idempotency-Key.
//
// A proxy should not take a client's word for it if its backends do not know such
// keys: RepeatableMethod looks at the method alone.
func Repeatable(req *http.Request) bool {
	return idempotentMethod(req.Method) || req.Header.Get("Idempotency-Key") != "" || req.Header.Get("X-Idempotency-Key") != ""
}

// RepeatableMethod reports whether the method of the request is idempotent.
func RepeatableMethod(req *http.Request) bool { return idempotentMethod(req.Method) }

func idempotentMethod(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return false
}
