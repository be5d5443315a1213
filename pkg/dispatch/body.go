package dispatch

import (
	"fmt"
	"io"
	"net/http"

	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// requestBody stands between a request's body and the endpoint that reads it. It
// knows whether the body was touched, so that an untouched one can go to another
// endpoint; it turns a panic of the reader into an error, since the transport
// reads on a goroutine of its own, where a panic would end the process.
type requestBody struct {
	mu syncx.Mutex
	// Guarded by mu.
	source  io.ReadCloser // nil once taken
	touched bool          // Read was called
	closed  bool          // the endpoint closed it
	settled bool          // no other attempt will want it: Close passes through
	failure error         // what reading the source failed with
}

// Read reads from the source.
func (r *requestBody) Read(p []byte) (n int, err error) {
	r.mu.Lock()
	source := r.source
	r.touched = true
	r.mu.Unlock()
	if source == nil {
		return 0, http.ErrBodyReadAfterClose
	}
	defer func() {
		if v := recover(); v != nil {
			n, err = 0, fmt.Errorf("%w: %v", ErrBodyPanic, v)
		}
		if err != nil && err != io.EOF {
			r.fail(err)
		}
	}()
	return source.Read(p)
}

// fail notes what reading failed with. A read that fails because the endpoint has
// closed the body meanwhile is the endpoint's doing, not the source's.
func (r *requestBody) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.failure = err
	}
}

// Close closes the source, unless it is untouched and another attempt may want
// it.
func (r *requestBody) Close() error {
	r.mu.Lock()
	source := r.source
	pass := source != nil && !r.closed && (r.touched || r.settled)
	r.closed = true
	r.mu.Unlock()
	if !pass {
		return nil
	}
	return closeQuietly(source)
}

// take returns the source if it is untouched, and gives it up.
func (r *requestBody) take() io.ReadCloser {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.touched {
		return nil
	}
	source := r.source
	r.source = nil
	return source
}

// settle ends the waiting for another attempt: a source that was held back from
// closing is closed now, and any other when the endpoint closes it.
func (r *requestBody) settle() {
	r.mu.Lock()
	source := r.source
	held := source != nil && r.closed && !r.touched && !r.settled
	r.settled = true
	r.mu.Unlock()
	if held {
		_ = closeQuietly(source)
	}
}

// failed returns what reading the source failed with, if it did.
func (r *requestBody) failed() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

// closeQuietly closes the body of the caller; a panic in it becomes an error.
func closeQuietly(body io.Closer) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", ErrBodyPanic, v)
		}
	}()
	return body.Close()
}

// responseBody gives the attempt's slot back at the end of the body: when a read
// ends it, or when it is closed.
type responseBody struct{ *attempt }

// Read reads the response; its end ends the attempt.
func (r responseBody) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	if err != nil {
		r.bodyEnded(err)
	}
	return n, err
}

// Close closes the response and ends the attempt.
func (r responseBody) Close() error {
	err := r.body.Close()
	r.finish(r.outcome, r.err)
	return err
}

// upgradedBody is the connection of a 101 response. It holds the slot until it is
// closed: the end of one direction is not the end of the work.
type upgradedBody struct{ *attempt }

// Read reads from the connection.
func (u upgradedBody) Read(p []byte) (int, error) { return u.body.Read(p) }

// Write writes to the connection.
func (u upgradedBody) Write(p []byte) (int, error) { return u.body.(io.Writer).Write(p) }

// Close closes the connection and ends the attempt.
func (u upgradedBody) Close() error {
	err := u.body.Close()
	u.finish(u.outcome, u.err)
	return err
}
