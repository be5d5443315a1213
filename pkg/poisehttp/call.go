package poisehttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// call is one RoundTrip: its attempts one after the other.
type call struct {
	balancer *Balancer
	request  *http.Request
	key      poise.Key
	explain  bool
	attempts int

	// What the call holds at the moment. settle gives back whatever is left.
	body    io.ReadCloser  // the request's, while no attempt has it
	next    *attempt       // admitted, not yet sent
	last    *attempt       // sent last
	pending *http.Response // of last, until it is delivered or discarded

	sent []visit // the attempts that came to nothing, nil until there is one

	// What the next attempt passes over: tried names every endpoint that was sent to,
	// or that refused this attempt; spent those only that refused it or that
	// answered: asking them again at once helps nobody. nil until there is one.
	tried   *poise.Tried
	spent   *poise.Tried
	refusal error // of this attempt: the last one, a capacity error if any was

	decision *poise.Decision // of the last pick, if it is wanted
}

// visit is an endpoint that the call was sent to, and whether it answered.
type visit struct {
	member   *member
	answered bool
}

// RoundTrip sends the request to an endpoint, and to others while it may be
// repeated and the first did not serve. Every error is a [*CallError]; where
// the caller's context ended the call it unwraps to context.Cause. The older
// Request.Cancel is watched until the header arrives.
func (b *Balancer) RoundTrip(req *http.Request) (*http.Response, error) {
	c := call{balancer: b, request: req}
	if req == nil {
		return nil, c.fail(&poise.FieldError{Field: "Request", Value: nil, Err: ErrBadRequest})
	}
	resp, err := c.run()
	if err != nil {
		return nil, c.fail(err)
	}
	return resp, nil
}

func (c *call) run() (*http.Response, error) {
	if c.request.Body != http.NoBody {
		c.body = c.request.Body
	}
	defer c.settle()
	if err := c.begin(); err != nil {
		return nil, err
	}
	for {
		err := c.send()
		if !c.mayRepeat(err) || !c.again() {
			return c.end(err) // what came of this attempt stands
		}
		c.moveOn()
	}
}

// begin admits the first attempt.
func (c *call) begin() (err error) {
	if err := c.balancer.refuses(c.balancer.load()); err != nil {
		return err
	}
	if err := checkRequest(c.request); err != nil {
		return err
	}
	if ctx := c.request.Context(); ctx.Err() != nil {
		return context.Cause(ctx)
	}
	cfg := &c.balancer.cfg
	if cfg.Key != nil {
		c.key = cfg.Key(c.request)
	}
	c.explain = cfg.Explain != nil && cfg.Explain(c.request)
	c.balancer.budget.Earn()
	c.next, err = c.admit()
	return err
}

// send sends the attempt that was admitted, with the body at hand.
func (c *call) send() (err error) {
	body := c.body
	c.last, c.next, c.body = c.next, nil, nil
	c.attempts++
	c.pending, err = c.last.send(body)
	return err
}

// again admits another attempt and finds it a body. It reports whether it could.
// A call that finds nobody to go to gives its retry back.
func (c *call) again() bool {
	if !c.replay() {
		return false
	}
	c.sent = append(c.sent, visit{c.last.member, c.pending != nil})
	if !c.balancer.budget.Spend() {
		return false
	}
	var err error
	if c.next, err = c.admit(); err != nil {
		c.balancer.budget.refund()
	}
	return err == nil
}

// moveOn leaves the last attempt behind for the next one.
func (c *call) moveOn() {
	c.last.retried = true
	c.leave()
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

// end returns what came of the last attempt.
func (c *call) end(err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	resp := c.pending
	c.pending = nil
	return c.last.deliver(resp), nil
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
		c.next.release(poise.Cancelled)
	}
	c.leave()
}

// fail wraps the error of the call.
func (c *call) fail(err error) error {
	failure := &CallError{Attempts: c.attempts, Err: err, Decision: c.decision}
	if c.last != nil {
		failure.Endpoint = c.last.member.ID
	}
	return failure
}

// mayRepeat reports whether the request may be sent to another endpoint: the
// attempt did not serve, attempts are left, the caller still waits and its body
// is sound, and sending it twice does no harm, because it is idempotent or because
// nothing was sent.
func (c *call) mayRepeat(err error) bool {
	if err == nil && !worthRepeating(c.pending) {
		return false
	}
	if c.attempts >= c.balancer.cfg.Attempts || c.last.callersDoing() {
		return false
	}
	return idempotent(c.request) || errors.Is(err, ErrNotSent)
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

// admit picks an endpoint and takes its slot. A pick that admission refuses is
// made again without that endpoint, up to Config.Admissions times.
func (c *call) admit() (*attempt, error) {
	b := c.balancer
	a := c.newAttempt()
	if c.explain {
		a.decision = new(poise.Decision)
		c.decision = a.decision
	}
	c.recall()
	for range b.cfg.Admissions {
		m, err := c.pick(a)
		if err != nil {
			return nil, err
		}
		if err = a.enter(m); err == nil {
			return a, nil
		}
		c.exclude(&c.tried, m)
		c.exclude(&c.spent, m)
		if c.refusal == nil || errors.Is(err, poise.ErrAtCapacity) {
			c.refusal = err
		}
	}
	return nil, c.refusal
}

// recall begins an attempt with what earlier ones were sent to. What refused them
// may admit this one.
func (c *call) recall() {
	c.tried, c.spent, c.refusal = nil, nil, nil
	for _, v := range c.sent {
		c.exclude(&c.tried, v.member)
		if v.answered {
			c.exclude(&c.spent, v.member)
		}
	}
}

// enter takes the slot of the endpoint and the permits of its quarantine and circuit.
// The circuit is asked last, so that nothing can keep its trial from being made.
func (a *attempt) enter(m *member) (err error) {
	if a.permit, err = m.quarantine.Admit(); err != nil {
		return err
	}
	if a.slot, err = m.slots.Begin(); err != nil {
		a.balancer.callEnded(m) // it held a slot for a moment
		return err
	}
	if a.told != nil {
		poke, err := m.signals.admit(a.told, a.began)
		if poke {
			a.balancer.poke()
		}
		if err != nil {
			a.slot.Release()
			a.balancer.callEnded(m)
			return err
		}
	}
	a.member = m
	return nil
}

// pick asks the current picker. Where every eligible endpoint was tried, a retry
// after an error goes to one that was, but not to one that refused or answered.
func (c *call) pick(a *attempt) (*member, error) {
	current := c.balancer.load()
	if err := c.balancer.refuses(current); err != nil {
		return nil, err
	}
	query := poise.Query{Key: c.key, Tried: c.tried, Why: a.decision, Now: a.began}
	selection, err := current.picker.Pick(query)
	if errors.Is(err, poise.ErrAllTried) && c.pending == nil {
		query.Tried = c.spent
		selection, err = current.picker.Pick(query)
	}
	if errors.Is(err, poise.ErrAllTried) {
		return nil, c.allRefused()
	}
	if err != nil {
		return nil, err
	}
	index, err := current.view.Index(selection)
	if err != nil {
		return nil, err
	}
	return current.members[index], nil
}

// allRefused is the error of a call that every eligible endpoint refused.
func (c *call) allRefused() error {
	if errors.Is(c.refusal, poise.ErrAtCapacity) {
		return c.refusal
	}
	if c.refusal != nil {
		return fmt.Errorf("%w: %w", poise.ErrNoEligible, c.refusal)
	}
	return poise.ErrNoEligible
}

// exclude adds the endpoint to a set that may not exist yet: most calls need none.
func (c *call) exclude(set **poise.Tried, m *member) {
	if *set == nil {
		*set = new(poise.Tried)
	}
	(*set).Add(m.ID, m.incarnation)
}
