package poisehttp

import (
	"context"
	"errors"
	"net/http"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
)

// attempt is one call sent to one endpoint, from admission to the end of the
// response body. It belongs to the call until its response is delivered; from then on
// to whoever takes it from the responseBody.
type attempt struct {
	core     *core
	part     recycler      // of what it is a part, to be used again; nil of nothing
	request  *http.Request // the caller's
	slot     dispatch.Call
	decision *poise.Decision
	sent     *requestBody   // nil without a body, or with a small one
	early    *informational // nil if nobody wants it

	// Written before the body goes to the caller, read by whoever ends it.
	header time.Duration // from admission to the header or the error
	status int
	result poise.Result
	cancel context.CancelFunc
	timer  *time.Timer

	upgraded  bool
	delivered bool // the caller has its body

	// An attempt that ended with an error tells the observer later, when it is
	// known whether another one follows.
	untold  bool
	retried bool
	total   time.Duration // from admission to the end; written by whoever ends it

	watch watched
}

// recycler is what is used again.
type recycler interface{ recycle() }

// recycle lets what the attempt is a part of be used again, once it has ended.
func (a *attempt) recycle() {
	if a.part != nil {
		a.part.recycle()
	}
}

// send makes the call and returns its response. On an error the attempt has
// ended, but the observer was not told.
func (a *attempt) send(out *http.Request, timeout time.Duration) (resp *http.Response, err error) {
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
	resp, err = a.slot.Value().(Endpoint).RoundTrip(out)
	if resp == nil && err == nil {
		err = errNoResponse
	}
	a.header = time.Since(a.slot.Began())
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
		outcome := leftBy(req, a.answered())
		if outcome == poise.Silent && unsound != nil {
			outcome = poise.Invalid
		}
		return poise.Result{Outcome: outcome, Err: err}, err
	case timedOut:
		outcome := poise.Silent
		if unsound != nil || a.header > timeout+pauseGrace {
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
	result := a.core.cfg.Classify(resp, err)
	result.RetryAfter = min(result.RetryAfter, a.core.cfg.Repeat.MaxRetryAfter)
	if result.Err == nil {
		result.Err = err
	}
	return result, err
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

// finish ends the attempt, if nothing else has, frees what it held and tells the
// observer.
func (a *attempt) finish(late poise.Result, now time.Time) {
	if a.release(late, now) {
		a.tell(late)
	}
}

// release gives the slot back and frees the context, if nothing else has. It reports
// whether it did.
func (a *attempt) release(late poise.Result, now time.Time) bool {
	if !a.slot.End(late, now) {
		return false
	}
	a.free(now)
	return true
}

// free ends what the attempt has beside its slot.
func (a *attempt) free(now time.Time) {
	if a.watch.by != nil {
		a.core.watchdog.remove(&a.watch)
	}
	if !now.IsZero() {
		a.total = now.Sub(a.slot.Began())
		if a.header == 0 {
			a.header = a.total
		}
	}
	a.sent.release()
	if a.cancel != nil {
		a.timer.Stop()
		a.cancel()
	}
}

// answered is the instant of the header, or of the error.
func (a *attempt) answered() time.Time { return a.slot.Began().Add(a.header) }

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
		a.tell(poise.Result{})
	}
}

func (a *attempt) tell(late poise.Result) {
	observe := a.core.cfg.Observe
	if observe == nil {
		return
	}
	observe(Event{
		Request: a.request, Endpoint: a.slot.ID(), Attempt: a.slot.Attempt(), Choice: a.slot.Choice(),
		Began: a.slot.Began(), Result: a.result, Late: late, Status: a.status, Retried: a.retried,
		Header: a.header, Total: a.total, Decision: a.decision,
	})
}
