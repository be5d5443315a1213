package poisehttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// attempt is one call sent to one endpoint, from admission to the end of the
// response body. Its slot decides who ends it: of a read, a close, a look of the
// watchdog and an error that race, the one whose End succeeds.
type attempt struct {
	transport *Transport
	request   *http.Request // the caller's
	slot      dispatch.Call
	decision  *poise.Decision
	sent      *requestBody   // nil without a body, or with a small one
	early     *informational // nil if nobody wants it

	// Written before the body goes to the caller, read by whoever ends it.
	header time.Time
	status int
	result poise.Result
	body   io.ReadCloser // the endpoint's
	cancel context.CancelFunc
	timer  *time.Timer

	// closing is set before the caller's Close reaches the endpoint's body, so that
	// a read it interrupts is not taken for a failure.
	closing syncx.Bool
	// ended is why the watchdog has ended the attempt.
	ended syncx.Uint32
	// reading is since which look a read of the body is under way; 0 if none is.
	reading   syncx.Uint64
	upgraded  bool
	delivered bool // the caller has its body

	// The watchdog's list.
	shard      uint8
	watched    bool
	prev, next *attempt

	// An attempt that ended with an error tells the observer later, when it is
	// known whether another one follows.
	untold  bool
	retried bool
	late    poise.Result
	end     time.Time // written by whoever ends it
}

// pauseGrace is how long after a deadline the end of an attempt may be seen: later
// than that this process was paused, and nobody is to blame.
const pauseGrace = 100 * time.Millisecond

// send makes the call and returns its response. On an error the attempt has
// ended, but the observer was not told.
func (a *attempt) send(c *call, timeout time.Duration) (resp *http.Response, err error) {
	sound := false
	defer func() {
		if sound && err == nil {
			return
		}
		a.drop(resp)
		if !sound { // a panic is on its way through
			a.result = poise.Result{Outcome: poise.Failure}
		}
		resp = nil
		a.untold = a.release(a.result, a.now())
	}()
	resp, err = a.slot.Value().(Endpoint).RoundTrip(a.outgoing(c, timeout))
	if resp == nil && err == nil {
		err = errNoResponse
	}
	a.header = a.now()
	a.result, err = a.judge(resp, err, timeout)
	if err == nil {
		a.status = resp.StatusCode
	}
	sound = true
	return resp, err
}

// errNoResponse is the error of an Endpoint that breaks the rules of
// http.RoundTripper.
var errNoResponse = errors.New("poisehttp: endpoint returned neither response nor error")

// outgoing returns what is sent: the caller's request itself where nothing has to
// differ, else a copy with the attempt's context and body.
func (a *attempt) outgoing(c *call, timeout time.Duration) *http.Request {
	if c.body == nil && c.small == nil && timeout <= 0 && a.early == nil {
		return c.request
	}
	ctx := c.request.Context()
	if a.early != nil {
		ctx = a.early
	}
	if timeout > 0 {
		ctx, a.cancel = context.WithCancel(ctx)
		a.timer = time.AfterFunc(timeout, a.cancel)
	}
	out := c.request.WithContext(ctx)
	switch {
	case c.small != nil:
		small := c.small
		out.Body = newSmallBody(small)
		out.GetBody = func() (io.ReadCloser, error) { return newSmallBody(small), nil }
	case c.body != nil:
		a.sent = &requestBody{source: c.body, length: c.request.ContentLength}
		c.body = nil
		if ctx.Done() != nil {
			a.sent.unwatch = context.AfterFunc(ctx, a.sent.abort)
		}
		out.Body = a.sent
		out.GetBody = nil // whether to replay is decided by the call
	}
	return out
}

// judge returns how the attempt came out, and its error: where several things went
// wrong, the one that was first to blame.
func (a *attempt) judge(resp *http.Response, err error, timeout time.Duration) (poise.Result, error) {
	timedOut := a.timer != nil && !a.timer.Stop() // the context may be cancelled already
	req := a.request
	unsound := a.sent.failed()
	switch {
	case err != nil && gaveUp(req):
		// What the endpoint says then may be a consequence, such as a body that
		// ended early because it was aborted.
		if cause := context.Cause(req.Context()); cause != nil {
			err = cause
		}
		outcome := leftBy(req, a.header)
		if outcome == poise.Silent && unsound != nil {
			outcome = poise.Invalid
		}
		return poise.Result{Outcome: outcome, Err: err}, err
	case timedOut:
		outcome := poise.Silent
		if unsound != nil || a.header.Sub(a.slot.Began()) > timeout+pauseGrace {
			outcome = poise.Invalid
		}
		late := error(ErrAttemptTimeout)
		if errors.Is(err, ErrNotSent) {
			late = &notSentError{cause: late}
		}
		return poise.Result{Outcome: outcome, Err: late}, late
	case err != nil && unsound != nil:
		return poise.Result{Outcome: poise.Invalid, Err: unsound}, unsound
	case err != nil:
		resp = nil
	}
	result := a.transport.cfg.Classify(resp, err)
	result.RetryAfter = min(result.RetryAfter, a.transport.cfg.Repeat.MaxRetryAfter)
	if result.Err == nil {
		result.Err = err
	}
	return result, err
}

// gaveUp reports whether the caller waits no longer: by the context, or by the older
// channel, which http.Client closes when its Timeout is over.
func gaveUp(req *http.Request) bool {
	select {
	case <-req.Context().Done():
		return true
	//lint:ignore SA1019 http.Client still uses it for every RoundTripper but its own
	case <-req.Cancel:
		return true
	default:
		return false
	}
}

// leftBy returns the outcome of an attempt whose caller waits no longer at the
// instant: a deadline is the endpoint's silence, unless this process was paused; any
// other end is the caller's own.
func leftBy(req *http.Request, now time.Time) poise.Outcome {
	ctx := req.Context()
	deadline, bounded := ctx.Deadline()
	switch {
	case !bounded, errors.Is(ctx.Err(), context.Canceled), now.Before(deadline):
		return poise.Cancelled
	case now.Sub(deadline) > pauseGrace:
		return poise.Invalid
	}
	return poise.Silent
}

// drop closes what is left of a call that nobody waits for any more. The request's
// body is closed even if the endpoint forgets it.
func (a *attempt) drop(resp *http.Response) {
	if resp != nil && resp.Body != nil {
		closeQuietly(resp.Body)
	}
	if a.sent != nil {
		_ = a.sent.Close()
	}
}

// deliver hands the response to the caller. From here on the body's end is the
// attempt's.
func (a *attempt) deliver(resp *http.Response) *http.Response {
	t := a.transport
	resp.Request = a.request
	a.body = resp.Body
	if resp.Body == nil || resp.Body == http.NoBody {
		resp.Body = http.NoBody
		if a.slot.Complete(a.result, a.header) {
			a.free(a.header)
			a.tell()
		}
		return resp
	}
	a.slot.Answered(a.result, a.header)
	a.upgraded = resp.StatusCode == http.StatusSwitchingProtocols && isWriter(resp.Body)
	a.delivered = true
	if a.upgraded {
		resp.Body = upgradedBody{a}
	} else {
		resp.Body = responseBody{a}
	}
	if t.watchdog.cutAfter > 0 || !a.upgraded && (t.watchdog.stalled > 0 || mayLeave(a.request)) {
		a.watched = true
		t.watchdog.add(a)
	}
	return resp
}

// mayLeave reports whether the caller may say that it waits no longer: then it may
// never come back to the body.
func mayLeave(req *http.Request) bool {
	//lint:ignore SA1019 http.Client still uses it for every RoundTripper but its own
	return req.Context().Done() != nil || req.Cancel != nil
}

// endBy ends the attempt for the watchdog, on a goroutine that nobody else has a hand
// on, so a panic of the observer ends here.
func (a *attempt) endBy(v verdict) {
	defer func() { _ = recover() }()
	if v == abandoned {
		a.finish(poise.Result{Outcome: poise.Cancelled, Err: context.Cause(a.request.Context())}, a.now())
		return
	}
	a.ended.CompareAndSwap(uint32(goesOn), uint32(v))
	a.finish(a.endedAs(), a.now())
	closeQuietly(a.body)
}

// endedAs returns what the watchdog says of the attempt.
func (a *attempt) endedAs() poise.Result {
	switch verdict(a.ended.Load()) {
	case cut:
		return poise.Result{Outcome: poise.Cancelled, Err: ErrCut}
	case stalls:
		return poise.Result{Outcome: poise.Silent, Err: ErrBodyStalled}
	}
	return poise.Result{}
}

// why returns the error of a read or write after the watchdog has ended the attempt,
// and any other error as it is.
func (a *attempt) why(err error) error {
	if err != nil && err != io.EOF && !a.closing.Load() {
		if by := a.endedAs().Err; by != nil {
			return by
		}
	}
	return err
}

// bodyEnded ends the attempt after a read of the body failed or met its end.
func (a *attempt) bodyEnded(err error) error {
	now := a.now()
	err = a.why(err)
	switch {
	case err == io.EOF:
		a.finish(poise.Result{}, now)
	case a.closing.Load():
		// Close ends it.
	case a.ended.Load() != 0:
		// The watchdog ends it.
	case gaveUp(a.request):
		a.finish(poise.Result{Outcome: leftBy(a.request, now), Err: err}, now)
	case a.sent.failed() != nil:
		a.finish(poise.Result{Outcome: poise.Invalid, Err: err}, now)
	default:
		a.finish(poise.Result{Outcome: poise.Failure, Err: err}, now)
	}
	return err
}

// closed ends the attempt after the caller has closed the body.
func (a *attempt) closed() { a.finish(poise.Result{}, a.now()) }

// finish ends the attempt, if nothing else has, frees what it held and tells the
// observer.
func (a *attempt) finish(late poise.Result, now time.Time) {
	if a.release(late, now) {
		a.tell()
	}
}

// release gives the slot back and frees the context, if nothing else has. It reports
// whether it did.
func (a *attempt) release(late poise.Result, now time.Time) bool {
	if !a.slot.End(late, now) {
		return false
	}
	if a.status != 0 {
		a.late = late
	}
	a.free(now)
	return true
}

// free ends what the attempt has beside its slot.
func (a *attempt) free(now time.Time) {
	if a.watched {
		a.transport.watchdog.remove(a)
	}
	a.end = now
	if a.header.IsZero() {
		a.header = now
	}
	a.sent.release()
	if a.cancel != nil {
		a.timer.Stop()
		a.cancel()
	}
}

// now is the instant, counted from the admission: half the price of a clock that
// tells the time of day, too.
func (a *attempt) now() time.Time {
	began := a.slot.Began()
	return began.Add(time.Since(began))
}

// tellLate tells the observer of an attempt that ended with an error.
func (a *attempt) tellLate() {
	if a.untold {
		a.untold = false
		a.tell()
	}
}

func (a *attempt) tell() {
	observe := a.transport.cfg.Observe
	if observe == nil {
		return
	}
	began := a.slot.Began()
	observe(Event{
		Request: a.request, Endpoint: a.slot.ID(), Attempt: a.slot.Attempt(), Choice: a.slot.Choice(),
		Began: began, Result: a.result, Late: a.late, Status: a.status, Retried: a.retried,
		Header: a.header.Sub(began), Total: a.end.Sub(began), Decision: a.decision,
	})
}
