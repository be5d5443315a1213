package poisehttp

import "net/http"

// Endpoint makes calls to one backend.
//
// # Contract
//
//   - A Transport closes an Endpoint once, after it was removed and its last call has ended.
//   - A panic of an Endpoint's RoundTrip passes through to the caller, and leaves nothing held.
//
// # Cost
//
// RoundTrip costs what the backend takes.
//
// # Concurrency
//
// RoundTrip is called by many goroutines at once, Close by one and last.
type Endpoint interface {
	// RoundTrip makes one call, under the rules of http.RoundTripper. An error
	// that matches ErrNotSent promises that no byte of the request left.
	http.RoundTripper
	// Close frees what the endpoint holds. An endpoint that was closed is not to be
	// added again.
	Close() error
}
