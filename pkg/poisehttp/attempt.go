package poisehttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// attempt is one call sent to one endpoint, from admission to the end of the
// response body. Its slot decides who ends it: of a read, a close, a cancellation
// and an error that race, the one whose Release succeeds.
type attempt struct {
	balancer *Balancer
	request  *http.Request // the caller's
	member   *member
	number   int
	permit   Permit
	slot     Slot
	told     *told // nil: Config.Health is off
	began    time.Time
	decision *poise.Decision
	sent     *requestBody // nil without a body

	// Written before the body goes to the caller, read by whoever ends it.
	header  time.Duration
	status  int
	outcome poise.Outcome
	body    io.ReadCloser // the endpoint's
	cancel  context.CancelFunc
	timer   *time.Timer
	unwatch func() bool

	// closing is set before the caller's Close reaches the endpoint's body, so that
	// a read it interrupts is not taken for a failure.
	closing syncx.Bool

	// An attempt that ended with an error tells the observer later, when it is
	// known whether another one follows.
	untold  bool
	retried bool
	err     error
	total   time.Duration // written by whoever ends it
}

// send makes the call and returns its response. On an error the attempt has
// ended, but the observer was not told.
func (a *attempt) send(source io.ReadCloser) (resp *http.Response, err error) {
	sound := false
	defer func() {
		if sound && err == nil {
			return
		}
		a.drop(resp)
		if !sound { // a panic is on its way through
			a.outcome = poise.Failure
		}
		resp, a.err = nil, err
		a.untold = a.release(a.outcome)
	}()
	resp, err = a.member.Endpoint.RoundTrip(a.outgoing(source))
	a.header = time.Since(a.began)
	err = a.blame(resp, err)
	if err != nil {
		a.outcome = a.judge(nil, err)
	} else {
		a.status = resp.StatusCode
		a.outcome = a.judge(resp, nil)
	}
	sound = true
	return resp, err
}

// blame returns the error of the attempt: where several things went wrong, the
// one that was first to blame.
func (a *attempt) blame(resp *http.Response, err error) error {
	late := a.timer != nil && !a.timer.Stop() // the context may be cancelled already
	switch {
	case gaveUp(a.request):
		// What the endpoint says then may be a consequence, such as a body that
		// ended early because it was aborted.
		if ctx := a.request.Context(); err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	case late && errors.Is(err, ErrNotSent):
		return &notSentError{ErrAttemptTimeout}
	case late:
		return ErrAttemptTimeout
	case err != nil && a.sent.failed() != nil:
		return a.sent.failed()
	}
	if resp == nil && err == nil {
		return errNoResponse
	}
	return err
}

// gaveUp reports whether the caller has cancelled: by the context, or by the older
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

// errNoResponse is the error of an Endpoint that breaks the rules of
// http.RoundTripper.
var errNoResponse = errors.New("poisehttp: endpoint returned neither response nor error")

// outgoing returns what is sent: the caller's request itself where nothing has to
// differ, else a copy with the attempt's context and body.
func (a *attempt) outgoing(source io.ReadCloser) *http.Request {
	timeout := a.balancer.cfg.AttemptTimeout
	if source == nil && timeout == 0 {
		return a.request
	}
	ctx := a.request.Context()
	if timeout > 0 {
		ctx, a.cancel = context.WithCancel(ctx)
		a.timer = time.AfterFunc(timeout, a.cancel)
	}
	out := a.request.WithContext(ctx)
	if source != nil {
		a.sent = &requestBody{source: source, length: a.request.ContentLength}
		if ctx.Done() != nil {
			a.sent.unwatch = context.AfterFunc(ctx, a.sent.abort)
		}
		out.Body = a.sent
		out.GetBody = nil // whether to replay is decided here
	}
	return out
}

// judge returns the outcome of a response or error.
func (a *attempt) judge(resp *http.Response, err error) poise.Outcome {
	if err != nil && a.callersDoing() {
		return poise.Cancelled
	}
	return a.balancer.cfg.Classify(resp, err)
}

// callersDoing reports whether the caller has given up or its request body has
// failed: then an error says nothing about the endpoint.
func (a *attempt) callersDoing() bool { return gaveUp(a.request) || a.sent.failed() != nil }

// deliver hands the response to the caller. From here on the body's end is the
// attempt's.
func (a *attempt) deliver(resp *http.Response) *http.Response {
	resp.Request = a.request
	a.body = resp.Body
	switch {
	case resp.Body == nil || resp.Body == http.NoBody:
		resp.Body = http.NoBody
		a.finish(a.outcome, nil)
	case resp.StatusCode == http.StatusSwitchingProtocols && isWriter(resp.Body):
		resp.Body = upgradedBody{a}
	default:
		if ctx := a.request.Context(); ctx.Done() != nil {
			// A caller that cancels may never come back to the body.
			a.unwatch = context.AfterFunc(ctx, a.abandon)
		}
		resp.Body = responseBody{a}
	}
	return resp
}

func isWriter(body io.Reader) bool {
	_, ok := body.(io.Writer)
	return ok
}

// abandon ends the attempt when its caller has cancelled. It runs on a goroutine
// that nobody else has a hand on, so a panic of the observer ends here.
func (a *attempt) abandon() {
	defer func() { _ = recover() }()
	a.end(poise.Cancelled, context.Cause(a.request.Context()))
}

// discard ends the attempt without the caller seeing its response.
func (a *attempt) discard(resp *http.Response) {
	a.drop(resp)
	a.finish(a.outcome, nil)
}

// bodyEnded ends the attempt after a read of the body failed or met its end.
func (a *attempt) bodyEnded(err error) {
	switch {
	case err == io.EOF:
		a.finish(a.outcome, nil)
	case a.closing.Load():
		// Close ends it.
	case a.callersDoing():
		a.finish(poise.Cancelled, err)
	default:
		a.finish(poise.Failure, err)
	}
}

// finish ends the attempt, if nothing else has, and frees what it held.
func (a *attempt) finish(outcome poise.Outcome, err error) {
	if a.unwatch != nil {
		a.unwatch()
	}
	a.end(outcome, err)
}

// end releases the attempt and tells the observer, if nothing else has. It runs
// beside deliver when the caller cancels, so it leaves unwatch alone.
func (a *attempt) end(outcome poise.Outcome, err error) {
	if a.release(outcome) {
		a.tell(outcome, err)
	}
}

// release gives the slot back, tells the quarantine and frees the context, if
// nothing else has. It reports whether it did.
func (a *attempt) release(outcome poise.Outcome) bool {
	if !a.slot.Release() {
		return false
	}
	a.sent.release()
	if a.cancel != nil {
		a.timer.Stop()
		a.cancel()
	}
	now := time.Now()
	a.total = now.Sub(a.began)
	b := a.balancer
	if a.member.quarantine.Report(a.permit, outcome, now, b.chance) {
		b.poke()
	}
	if a.told != nil && a.member.signals.report(a.told, outcome, a.status, now) {
		b.poke()
	}
	b.callEnded(a.member)
	return true
}

// tellLate tells the observer of an attempt that ended with an error.
func (a *attempt) tellLate() {
	if a.untold {
		a.untold = false
		a.tell(a.outcome, a.err)
	}
}

func (a *attempt) tell(outcome poise.Outcome, err error) {
	observe := a.balancer.cfg.Observe
	if observe == nil {
		return
	}
	observe(Event{
		Request: a.request, Endpoint: a.member.ID, Attempt: a.number,
		Outcome: outcome, Status: a.status, Err: err, Retried: a.retried,
		Header: a.header, Total: a.total, Decision: a.decision,
	})
}
