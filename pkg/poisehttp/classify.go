package poisehttp

import (
	"net/http"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Classify is the default judgement of an attempt that its caller did not cancel:
// an error is a Failure; 503 means Overloaded; every other status from 500 on is a
// Failure, but for 501 and 505, which say that the request asked for something
// the backend does not do; the rest is a Success. So is 429: it says that this
// caller asks too often, and one who does must not have a sound backend set aside
// for all the others.
func Classify(resp *http.Response, err error) poise.Outcome {
	if err != nil {
		return poise.Failure
	}
	switch resp.StatusCode {
	case http.StatusServiceUnavailable:
		return poise.Overloaded
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return poise.Success
	}
	if resp.StatusCode >= 500 {
		return poise.Failure
	}
	return poise.Success
}

// worthRepeating reports whether a response asks to try elsewhere: a gateway or a
// backend that says it cannot serve now.
func worthRepeating(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// idempotent reports whether sending the request twice does what sending it once
// does: by its method (RFC 9110, section 9.2.2), or because it bears an
// idempotency key.
func idempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace,
		http.MethodPut, http.MethodDelete:
		return true
	}
	// An empty list of values counts, as it does for http.Transport: it says so
	// without sending the header.
	_, key := req.Header["Idempotency-Key"]
	_, experimental := req.Header["X-Idempotency-Key"]
	return key || experimental
}
