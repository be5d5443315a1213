package poisehttp

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
	length  int64       // what the request promises; 0 or less promises nothing
	unwatch func() bool // ends the watch of the context that calls abort; may be nil

	mu syncx.Mutex
	// Guarded by mu.
	source  io.ReadCloser // nil once taken
	read    int64         // bytes read so far
	touched bool          // Read was called
	reading bool          // Read is in the source
	aborted bool          // the attempt was given up
	closed  bool          // the endpoint closed it
	settled bool          // no other attempt will want it: Close passes through
	failure error         // what the source did wrong
}

// Read reads from the source.
func (r *requestBody) Read(p []byte) (n int, err error) {
	source := r.enter()
	if source == nil {
		return 0, http.ErrBodyReadAfterClose
	}
	defer func() {
		if v := recover(); v != nil {
			n, err = 0, fmt.Errorf("%w: %v", ErrBodyPanic, v)
		}
		err = r.leave(n, err)
	}()
	return source.Read(p)
}

// enter returns the source for a read; nil if there is nothing to read any more.
func (r *requestBody) enter() io.Reader {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.source == nil || r.aborted {
		return nil
	}
	r.touched, r.reading = true, true
	return r.source
}

// leave notes what a read came to, and returns its error. A read that fails
// because the endpoint has closed the body meanwhile is the endpoint's doing, not
// the source's.
func (r *requestBody) leave(n int, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reading = false
	r.read += int64(n)
	if r.length > 0 && (r.read > r.length || err == io.EOF && r.read < r.length) {
		err = malformed("ContentLength", r.length)
	}
	if err != nil && err != io.EOF && !r.closed && r.failure == nil {
		r.failure = err
	}
	return err
}

// Close closes the source, unless it is untouched and another attempt may want
// it. What closing it fails with changes nothing about what was read.
func (r *requestBody) Close() error {
	r.mu.Lock()
	source := r.source
	forward := source != nil && !r.closed && (r.touched || r.settled)
	r.closed = true
	r.mu.Unlock()
	if forward {
		closeQuietly(source)
	}
	return nil
}

// abort ends the reading when the attempt is given up: the transport waits for a
// read that blocks, however late the attempt is. If there is such a read, the
// source is what the attempt was waiting for.
func (r *requestBody) abort() {
	r.mu.Lock()
	r.aborted = true
	if r.reading && !r.closed && r.failure == nil {
		r.failure = ErrAttemptTimeout
	}
	r.mu.Unlock()
	_ = r.Close() // which spares an untouched source
}

// untouched reports whether nothing has read from the source.
func (r *requestBody) untouched() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.touched
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
		closeQuietly(source)
	}
}

// failed returns what the source did wrong, if it did.
func (r *requestBody) failed() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

// release ends the watch of the context.
func (r *requestBody) release() {
	if r != nil && r.unwatch != nil {
		r.unwatch()
	}
}

// closeQuietly closes what somebody else wrote, where neither an error nor a
// panic of it may keep us from going on.
func closeQuietly(c io.Closer) {
	defer func() { _ = recover() }()
	_ = c.Close()
}
