package poisehttp

import (
	"io"
	"net/http"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// deliver hands the response to the caller. From here on the body's end is the
// attempt's.
func (a *attempt) deliver(resp *http.Response) *http.Response {
	resp.Request = a.request
	a.body = resp.Body
	if resp.Body == nil || resp.Body == http.NoBody {
		resp.Body = http.NoBody
		if now := a.answered(); a.slot.Complete(a.result, now) {
			a.free(now)
			a.tell(poise.Result{})
		}
		return resp
	}
	a.slot.Answered(a.result, a.answered())
	a.upgraded = resp.StatusCode == http.StatusSwitchingProtocols && isWriter(resp.Body)
	a.delivered = true
	if a.upgraded {
		resp.Body = upgradedBody{a}
	} else {
		resp.Body = responseBody{a}
	}
	if w := &a.core.watchdog; w.cutAfter > 0 || !a.upgraded && (w.stalled > 0 || mayLeave(a.request)) {
		a.watch.by = a
		w.add(&a.watch)
	}
	return resp
}

// responseBody gives the attempt's slot back at the end of the body: when a read
// ends it, or when it is closed.
type responseBody struct{ *attempt }

// Read reads the response; its end ends the attempt.
func (r responseBody) Read(p []byte) (int, error) {
	timed := r.core.watchdog.stalled > 0
	if timed {
		r.watch.reading.Store(r.core.watchdog.now())
	}
	n, err := r.body.Read(p)
	if timed {
		r.watch.reading.Store(0)
	}
	if err != nil {
		err = r.bodyEnded(err)
	}
	return n, err
}

// Close closes the response and ends the attempt.
func (r responseBody) Close() error {
	r.closing.Store(true)
	defer r.closed()
	return r.body.Close()
}

// upgradedBody is the connection of a 101 response. It holds the slot until it is
// closed: the end of one direction is not the end of the work.
type upgradedBody struct{ *attempt }

// Read reads from the connection.
func (u upgradedBody) Read(p []byte) (int, error) {
	n, err := u.body.Read(p)
	return n, u.why(err)
}

// Write writes to the connection.
func (u upgradedBody) Write(p []byte) (int, error) {
	n, err := u.body.(io.Writer).Write(p)
	return n, u.why(err)
}

// CloseWrite ends this side's direction of the connection.
func (u upgradedBody) CloseWrite() error { return closeWrite(u.body) }

// Close closes the connection and ends the attempt.
func (u upgradedBody) Close() error {
	u.closing.Store(true)
	defer u.closed()
	return u.body.Close()
}

func isWriter(body io.Reader) bool {
	_, ok := body.(io.Writer)
	return ok
}
