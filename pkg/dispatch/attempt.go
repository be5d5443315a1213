package dispatch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
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
	began    time.Time
	decision *poise.Decision
	sent     *requestBody // nil without a body

	// Written before the body goes to the caller, read by whoever ends it.
	header  time.Duration
	status  int
	outcome poise.Outcome
	err     error
	body    io.ReadCloser // the endpoint's
	cancel  context.CancelFunc
	timer   *time.Timer
	unwatch func() bool
}

// send makes the call and returns its response. On an error the attempt has
// ended.
func (a *attempt) send(source io.ReadCloser) (resp *http.Response, err error) {
	sound := false
	defer func() {
		switch {
		case !sound: // a panic is on its way through
			closeResponse(resp)
			a.finish(poise.Failure, nil)
		case err != nil:
			closeResponse(resp)
			resp = nil
			if a.sent != nil {
				_ = a.sent.Close() // even if the endpoint forgot
			}
			a.finish(a.outcome, err)
		}
	}()
	resp, err = a.member.Endpoint.RoundTrip(a.outgoing(source))
	a.header = time.Since(a.began)
	if resp == nil && err == nil {
		err = errNoResponse
	}
	if a.timer != nil && !a.timer.Stop() && a.request.Context().Err() == nil {
		err = ErrAttemptTimeout
	}
	if cause := a.sent.failed(); cause != nil && err != nil {
		err = cause
	}
	if err == nil {
		a.status = resp.StatusCode
	}
	a.outcome = a.judge(resp, err)
	sound = true
	return resp, err
}

func closeResponse(resp *http.Response) {
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
}

// errNoResponse is the error of an Endpoint that breaks the rules of
// http.RoundTripper.
var errNoResponse = errors.New("dispatch: endpoint returned neither response nor error")

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
		a.sent = &requestBody{source: source}
		out.Body = a.sent
		out.GetBody = nil // whether to replay is decided here
	}
	return out
}

// judge returns the outcome of a response or error. What the caller did, by
// giving up or by a body that failed, says nothing about the endpoint.
func (a *attempt) judge(resp *http.Response, err error) poise.Outcome {
	if err != nil && (a.request.Context().Err() != nil || a.sent.failed() != nil) {
		return poise.Cancelled
	}
	return a.balancer.cfg.Classify(resp, err)
}

// deliver hands the response to the caller. From here on the body's end is the
// attempt's.
func (a *attempt) deliver(resp *http.Response) *http.Response {
	resp.Request = a.request
	a.body = resp.Body
	switch {
	case resp.Body == nil || resp.Body == http.NoBody:
		a.finish(a.outcome, nil)
	case resp.StatusCode == http.StatusSwitchingProtocols && isWriter(resp.Body):
		resp.Body = upgradedBody{a}
	default:
		if ctx := a.request.Context(); ctx.Done() != nil {
			// A caller that cancels may never come back to the body.
			a.unwatch = context.AfterFunc(ctx, func() { a.end(poise.Cancelled, ctx.Err()) })
		}
		resp.Body = responseBody{a}
	}
	return resp
}

func isWriter(body io.Reader) bool {
	_, ok := body.(io.Writer)
	return ok
}

// discard ends the attempt without the caller seeing its response.
func (a *attempt) discard(resp *http.Response) {
	closeResponse(resp)
	a.finish(a.outcome, nil)
}

// bodyEnded ends the attempt after a read of the body failed or met its end.
func (a *attempt) bodyEnded(err error) {
	switch {
	case err == io.EOF:
		a.finish(a.outcome, nil)
	case a.request.Context().Err() != nil:
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

// end gives the slot back, tells the quarantine and the observer, and frees the
// context, if nothing else has. It runs beside deliver when the caller cancels,
// so it leaves unwatch alone.
func (a *attempt) end(outcome poise.Outcome, err error) {
	if !a.slot.Release() {
		return
	}
	if a.cancel != nil {
		a.timer.Stop()
		a.cancel()
	}
	now := time.Now()
	b := a.balancer
	if a.member.quarantine.Report(a.permit, outcome, now, b.chance) {
		b.poke()
	}
	if b.cfg.Observe != nil {
		b.cfg.Observe(Event{
			Request: a.request, Endpoint: a.member.ID, Attempt: a.number,
			Outcome: outcome, Status: a.status, Err: err,
			Header: a.header, Total: now.Sub(a.began), Decision: a.decision,
		})
	}
}
