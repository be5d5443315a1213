package poisehttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// call is one RoundTrip: its attempts one after the other.
type call struct {
	core       *core
	request    *http.Request
	override   *Override
	query      dispatch.Query
	attempts   dispatch.Attempts
	repeatable bool
	explain    bool

	// What the call holds at the moment. settle gives back whatever is left.
	body    io.ReadCloser  // the request's, while no attempt has it
	small   []byte         // what the request's body holds, if it is short and in memory
	next    *attempt       // admitted, not yet sent
	last    *attempt       // sent last
	pending *http.Response // of last, until it is delivered or discarded

	failed   []Attempted
	sent     int             // how many of them were sent
	decision *poise.Decision // of the last pick, if it is wanted

	first attempt // the first one; others are made
}

// run makes the call.
func (c *call) run() (*http.Response, error) {
	if c.request.Body != http.NoBody {
		c.body = c.request.Body
	}
	defer c.settle()
	if err := c.begin(); err != nil {
		return nil, err
	}
	if err := c.acquire(); err != nil {
		return nil, err
	}
	for {
		timeout := c.timeout()
		out := c.outgoing(c.next, timeout)
		c.last, c.next = c.next, nil
		var err error
		c.pending, err = c.last.send(out, timeout)
		if err == nil && !c.asksForAnother() {
			return c.deliver()
		}
		if !c.again(err) {
			return c.stand(err)
		}
		c.last.retried = true
		c.leave()
	}
}

// begin checks the request, and asks what there is to know of it.
func (c *call) begin() (err error) {
	req, cfg := c.request, &c.core.cfg
	if err := checkRequest(req); err != nil {
		return err
	}
	if err := c.core.hosts.check(req); err != nil {
		return err
	}
	ctx := req.Context()
	if gaveUp(req) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return context.Canceled // by the older channel
	}
	if c.small, err = readSmall(req, c.body); err != nil {
		return err
	}
	if c.small != nil {
		closeQuietly(c.body)
		c.body = nil
	}
	c.override = overrideOf(ctx)
	switch c.override.Repeat {
	case RepeatAlways:
		c.repeatable = true
	case RepeatNever:
	default:
		c.repeatable = cfg.Repeat.Repeatable(req)
	}
	c.query.Key = c.override.Key
	if cfg.Key != nil && c.query.Key.IsZero() {
		c.query.Key = cfg.Key(req)
	}
	c.explain = c.override.Explain || cfg.Explain != nil && cfg.Explain(req)
	c.attempts.Sequential = true
	c.query.Attempts, c.query.Repeatable = &c.attempts, c.repeatable
	return nil
}

// timeout returns the bound of an attempt; 0 or less is none.
func (c *call) timeout() time.Duration {
	if c.override.AttemptTimeout != 0 {
		return c.override.AttemptTimeout
	}
	return c.core.cfg.AttemptTimeout
}

// outgoing returns what is sent: the caller's request itself where nothing has to
// differ, else a copy with the attempt's context and body.
func (c *call) outgoing(a *attempt, timeout time.Duration) *http.Request {
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

// acquire finds an endpoint for another attempt.
func (c *call) acquire() error {
	a := &c.first
	if c.last != nil {
		a = new(attempt)
	} else {
		a.part = c
	}
	a.core, a.request = c.core, c.request
	if c.explain {
		a.decision = new(poise.Decision)
		c.decision, c.query.Why = a.decision, a.decision
	}
	ctx := c.request.Context()
	if err := c.core.balancer.Acquire(ctx, c.query, &a.slot); err != nil {
		return err
	}
	c.next = a
	if c.repeatable && c.replayable() {
		a.early = holdInformational(ctx)
	}
	return nil
}

// asksForAnother reports whether the answer that is pending asks to try elsewhere.
func (c *call) asksForAnother() bool {
	return c.pending.StatusCode >= 400 && slices.Contains(c.core.cfg.Repeat.Statuses, c.pending.StatusCode)
}

// again finds an endpoint and a body for another attempt. It reports whether there is
// to be one.
func (c *call) again(err error) bool {
	c.note(err)
	if err == nil {
		c.last.slot.Answered(c.last.result, c.last.answered())
	}
	if c.override.Attempts > 0 && c.sent >= c.override.Attempts || gaveUp(c.request) || !c.replayable() {
		return false
	}
	step := c.core.balancer.Loop().Next(&c.attempts, c.verdict(err), c.repeatable || errors.Is(err, ErrNotSent), c.last.answered())
	return step.Action == dispatch.Repeat && c.replay() && c.pause(step.Wait) && c.acquire() == nil
}

// note remembers what came of an attempt, for the error of the call.
func (c *call) note(err error) {
	of := Attempted{Endpoint: c.last.slot.ID(), Outcome: c.last.result.Outcome, Status: c.last.status, Err: err}
	c.failed = append(c.failed, of)
	if !errors.Is(err, ErrNotSent) {
		c.sent++
	}
}

// verdict is the result of the last attempt as the rules of repeating see it. An
// answer that asks for another attempt is no success, whatever it is to the endpoint.
// What failed here, and not at the endpoint, may succeed at the next attempt: on a new
// connection, on the way to another address, or after a pause of this process.
func (c *call) verdict(err error) poise.Result {
	result := c.last.result
	switch {
	case err == nil && result.Outcome == poise.Success:
		result.Outcome = poise.Failure
	case err == nil || result.Outcome != poise.Invalid:
	case isStale(err), isTurnedAway(err):
		result.Outcome = poise.Unreachable
	case isLocal(err), errors.Is(err, ErrAttemptTimeout) && c.last.sent.failed() == nil:
		result.Outcome = poise.Silent
	}
	return result
}

// replayable reports whether there is, or can be made, a body for another attempt.
func (c *call) replayable() bool {
	return c.last == nil || c.last.sent == nil || c.last.sent.untouched() || c.request.GetBody != nil
}

// replay finds the body for another attempt: the same one if nothing has read
// from it, else a fresh one from GetBody. It reports false if there is neither.
func (c *call) replay() bool {
	sent := c.last.sent
	if sent == nil {
		return true
	}
	if c.body = sent.take(); c.body != nil {
		return true
	}
	if c.request.GetBody == nil {
		return false
	}
	body, err := c.request.GetBody()
	c.body = body
	return err == nil && body != nil
}

// pause waits before another attempt, and reports whether the caller still waits, too.
func (c *call) pause(wait time.Duration) bool {
	if wait <= 0 {
		return true
	}
	ctx := c.request.Context()
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	//lint:ignore SA1019 http.Client still uses it for every RoundTripper but its own
	case <-c.request.Cancel:
	}
	return false
}

// leave ends the last attempt, if it has not ended, without the caller seeing its
// response.
func (c *call) leave() {
	resp := c.pending
	c.pending = nil
	if resp != nil {
		c.last.discard(resp)
	} else if c.last != nil {
		c.last.tellLate()
	}
}

// stand returns what came of the last attempt, which no other one follows.
func (c *call) stand(err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	return c.deliver()
}

// deliver returns the pending response.
func (c *call) deliver() (*http.Response, error) {
	if err := c.last.early.deliver(); err != nil {
		return nil, err
	}
	resp := c.last.deliver(c.pending) // which may panic: then settle discards it
	c.pending = nil
	return resp, nil
}

// settle runs last, on a panic too, and gives back what the call holds. What may
// panic again, the observer, comes last.
func (c *call) settle() {
	if c.body != nil {
		closeQuietly(c.body)
	}
	if c.last != nil && c.last.sent != nil {
		c.last.sent.settle()
	}
	if c.next != nil {
		c.next.result = poise.Result{Outcome: poise.Cancelled}
		c.next.slot.End(c.next.result, c.next.now())
	}
	c.leave()
}

// fail wraps the error of the call.
func (c *call) fail(err error) error {
	return &CallError{Attempts: c.failed, Err: err, Decision: c.decision}
}

// returned gives the call back for another one to use, unless its attempt goes on with
// the body that the caller has.
func (c *call) returned() {
	if c.last == nil || c.last.part == nil || !c.last.delivered {
		c.recycle()
	}
}

// recycle gives the call back.
func (c *call) recycle() {
	shared := c.core
	*c = call{}
	shared.calls.Put(c)
}

// mostDiscarded is how much of a response that nobody wants is read, so that its
// connection can be used again; and discardWithin for how long.
const (
	mostDiscarded = 4 << 10
	discardWithin = 100 * time.Millisecond
)

// discard ends the attempt without the caller seeing its response. A short one is read
// to its end beside the next attempt.
func (a *attempt) discard(resp *http.Response) {
	body := resp.Body
	resp.Body = nil
	if a.sent != nil {
		_ = a.sent.Close()
	}
	a.finish(poise.Result{}, a.answered())
	if body == nil || body == http.NoBody {
		return
	}
	if resp.ContentLength > mostDiscarded {
		closeQuietly(body)
		return
	}
	syncx.Go(func() {
		defer func() { _ = recover() }()
		late := time.AfterFunc(discardWithin, func() { closeQuietly(body) })
		defer closeQuietly(body)
		defer late.Stop()
		_, _ = io.CopyN(io.Discard, body, mostDiscarded+1)
	})
}
