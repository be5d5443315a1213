package poisehttp

import (
	"context"
	"io"
	"net/http"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// deliver hands the response to the caller. From here on the body's end is the
// attempt's.
func (a *attempt) deliver(resp *http.Response) *http.Response {
	resp.Request = a.request
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
	r := &responseBody{core: a.core, body: resp.Body, attempt: a}
	if a.upgraded {
		resp.Body = upgradedBody{r}
	} else {
		resp.Body = r
	}
	if w := &a.core.watchdog; w.cutAfter > 0 || !a.upgraded && (w.stalled > 0 || mayLeave(a.request)) {
		a.watch.by = r
		w.add(&a.watch)
	}
	return resp
}

// responseBody gives the attempt's slot back at the end of the body: when a read
// ends it, when it is closed, or when the watchdog ends it. Of those that race, the one
// that takes the attempt ends it.
type responseBody struct {
	core    *core
	body    io.ReadCloser // the endpoint's
	attempt *attempt      // of whoever takes it
	// reading is since which look of the watchdog a read is under way; 0 if none is.
	reading syncx.Uint64
	state   syncx.Uint32 // what follows, each once and for all
}

const (
	// bodyTaken: somebody ends the attempt.
	bodyTaken = 1 << iota
	// bodyClosing is set before the caller's Close reaches the endpoint's body, so that
	// a read it interrupts is not taken for a failure.
	bodyClosing
	// bodyStalled and bodyCut say why the watchdog ends the attempt.
	bodyStalled
	bodyCut
)

func (r *responseBody) is(state uint32) bool { return r.state.Load()&state != 0 }

// Read reads the response; its end ends the attempt.
func (r *responseBody) Read(p []byte) (int, error) {
	timed := r.core.watchdog.stalled > 0
	if timed {
		r.reading.Store(r.core.watchdog.now())
	}
	n, err := r.body.Read(p)
	if timed {
		r.reading.Store(0)
	}
	if err != nil {
		err = r.readEnded(err)
	}
	return n, err
}

// Close closes the response and ends the attempt.
func (r *responseBody) Close() error {
	if r.is(bodyTaken) {
		return r.body.Close()
	}
	r.state.Or(bodyClosing)
	defer r.closed()
	return r.body.Close()
}

// readEnded ends the attempt after a read of the body failed or met its end.
func (r *responseBody) readEnded(err error) error {
	err = r.why(err)
	if err != io.EOF && r.is(bodyClosing|bodyStalled|bodyCut) {
		return err // Close ends it, or the watchdog
	}
	a := r.take()
	if a == nil {
		return err
	}
	if err == io.EOF {
		a.served()
		return err
	}
	now, late := a.now(), poise.Result{}
	switch {
	case gaveUp(a.request):
		late = poise.Result{Outcome: leftBy(a.request, now), Err: err}
	case a.sent.failed() != nil:
		late = poise.Result{Outcome: poise.Invalid, Err: err}
	default:
		late = poise.Result{Outcome: poise.Failure, Err: err}
	}
	a.finish(late, now)
	a.recycle()
	return err
}

// closed ends the attempt after the caller has closed the body.
func (r *responseBody) closed() {
	if a := r.take(); a != nil {
		a.served()
	}
}

// take returns the attempt to whoever is to end it; nil to everybody after that.
func (r *responseBody) take() *attempt {
	if r.state.Or(bodyTaken)&bodyTaken == 0 {
		return r.attempt
	}
	return nil
}

// served ends an attempt whose body was read to its end, or closed.
func (a *attempt) served() {
	var now time.Time
	if a.core.cfg.Observe != nil || a.slot.Timed() {
		now = a.now()
	}
	a.finish(poise.Result{}, now)
	a.recycle()
}

// why returns the error of a read or write after the watchdog has ended the attempt,
// and any other error as it is.
func (r *responseBody) why(err error) error {
	if err != nil && err != io.EOF && !r.is(bodyClosing) {
		if by := r.endedAs().Err; by != nil {
			return by
		}
	}
	return err
}

// endedAs returns what the watchdog says of the attempt.
func (r *responseBody) endedAs() poise.Result {
	switch {
	case r.is(bodyStalled):
		return poise.Result{Outcome: poise.Silent, Err: ErrBodyStalled}
	case r.is(bodyCut):
		return poise.Result{Outcome: poise.Cancelled, Err: ErrCut}
	}
	return poise.Result{}
}

// incarnation, began, readingSince and left are what the watchdog asks, under its lock.
// Whoever takes the attempt ends its watch, under that lock, before it is used again.
func (r *responseBody) incarnation() uint64  { return r.attempt.slot.Incarnation() }
func (r *responseBody) began() time.Time     { return r.attempt.slot.Began() }
func (r *responseBody) readingSince() uint64 { return r.reading.Load() }

func (r *responseBody) left() bool {
	return !r.is(bodyTaken) && !r.attempt.upgraded && gaveUp(r.attempt.request)
}

// endBy ends the attempt for the watchdog, on a goroutine that nobody else has a hand
// on, so a panic of the observer ends here. RoundTrip may not have returned yet, so the
// attempt is not used again.
func (r *responseBody) endBy(v verdict) {
	defer func() { _ = recover() }()
	switch v {
	case stalls:
		r.state.Or(bodyStalled)
		defer closeQuietly(r.body)
	case cut:
		r.state.Or(bodyCut)
		defer closeQuietly(r.body)
	}
	a := r.take()
	if a == nil {
		return
	}
	late := r.endedAs()
	if v == abandoned {
		late = poise.Result{Outcome: poise.Cancelled, Err: context.Cause(a.request.Context())}
	}
	a.finish(late, a.now())
}

// upgradedBody is the connection of a 101 response. It holds the slot until it is
// closed: the end of one direction is not the end of the work.
type upgradedBody struct{ *responseBody }

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

func isWriter(body io.Reader) bool {
	_, ok := body.(io.Writer)
	return ok
}
