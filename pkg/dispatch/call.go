package dispatch

import (
	"errors"
	"io"
	"net/http"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// call is one RoundTrip: its attempts one after the other.
type call struct {
	balancer *Balancer
	request  *http.Request
	key      poise.Key
	attempts int
	last     *attempt
	// pending is the last attempt's response until it is delivered or discarded.
	pending *http.Response

	// tried names every endpoint that was sent to or refused; refused those only
	// that admission refused. nil until there is one.
	tried   *poise.Tried
	refused *poise.Tried
	refusal error // the last one, a capacity error if any was
}

// RoundTrip sends the request to an endpoint, and to others while it may be
// repeated and the first did not serve. Every error is a [*CallError].
func (b *Balancer) RoundTrip(req *http.Request) (*http.Response, error) {
	c := call{balancer: b, request: req}
	resp, err := c.run()
	if err != nil {
		return nil, c.fail(err)
	}
	return resp, nil
}

func (c *call) run() (*http.Response, error) {
	body := c.request.Body
	if body == http.NoBody {
		body = nil
	}
	defer c.settle(body)
	if err := checkRequest(c.request); err != nil {
		return nil, err
	}
	if c.balancer.cfg.Key != nil {
		c.key = c.balancer.cfg.Key(c.request)
	}
	c.balancer.budget.Earn()
	a, err := c.admit()
	if err != nil {
		return nil, err
	}
	for {
		c.last = a
		c.pending, err = a.send(body)
		if !c.mayRepeat(err) {
			return c.end(err)
		}
		if a, body = c.next(); a == nil {
			return c.end(err) // nobody else can take it: what came of this one stands
		}
		c.discard()
	}
}

// next admits another attempt and returns it with its body, or nil.
func (c *call) next() (a *attempt, body io.ReadCloser) {
	body, ok := c.replay()
	if !ok {
		return nil, nil
	}
	c.exclude(&c.tried, c.last.member)
	if c.balancer.budget.Spend() {
		if a, err := c.admit(); err == nil {
			return a, body
		}
	}
	if body != nil {
		_ = closeQuietly(body)
	}
	return nil, nil
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

// discard ends an attempt whose response the caller will not see.
func (c *call) discard() {
	if resp := c.pending; resp != nil {
		c.pending = nil
		c.last.discard(resp)
	}
}

// settle runs last, on a panic too: it closes a request body that no endpoint
// has, and a response that nobody got.
func (c *call) settle(body io.Closer) {
	c.discard()
	if c.last != nil && c.last.sent != nil {
		c.last.sent.settle()
	} else if c.last == nil && body != nil {
		_ = closeQuietly(body)
	}
}

// fail wraps the error of the call.
func (c *call) fail(err error) error {
	failure := &CallError{Attempts: c.attempts, Err: err}
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
	if c.attempts >= c.balancer.cfg.Attempts || c.request.Context().Err() != nil || c.last.sent.failed() != nil {
		return false
	}
	return idempotent(c.request) || errors.Is(err, ErrNotSent)
}

// replay returns the body for another attempt: the same one if nothing has read
// from it, else a fresh one from GetBody. It reports false if there is neither.
func (c *call) replay() (source io.ReadCloser, ok bool) {
	sent := c.last.sent
	if sent == nil {
		return nil, true
	}
	if source := sent.take(); source != nil {
		return source, true
	}
	if c.request.GetBody == nil {
		return nil, false
	}
	source, err := c.request.GetBody()
	return source, err == nil
}

// admit picks an endpoint and takes its slot. A pick that admission refuses is
// made again without that endpoint, up to Config.Admissions times.
func (c *call) admit() (*attempt, error) {
	b := c.balancer
	a := &attempt{balancer: b, request: c.request, began: time.Now(), number: c.attempts + 1}
	if b.cfg.Explain != nil && b.cfg.Explain(c.request) {
		a.decision = new(poise.Decision)
	}
	for range b.cfg.Admissions {
		m, err := c.pick(a)
		if err != nil {
			return nil, err
		}
		if err = a.enter(m); err == nil {
			c.attempts++
			return a, nil
		}
		c.exclude(&c.tried, m)
		c.exclude(&c.refused, m)
		if c.refusal == nil || errors.Is(err, poise.ErrAtCapacity) {
			c.refusal = err
		}
	}
	return nil, c.refusal
}

// enter takes the permit and the slot of the endpoint.
func (a *attempt) enter(m *member) (err error) {
	if a.permit, err = m.quarantine.Admit(); err != nil {
		return err
	}
	if a.slot, err = m.slots.Begin(); err != nil {
		return err
	}
	a.member = m
	return nil
}

// pick asks the current picker. Where every eligible endpoint was tried, a retry
// goes to one that was, but not to one that refused.
func (c *call) pick(a *attempt) (*member, error) {
	current := c.balancer.current.Load()
	if current.closed {
		return nil, ErrClosed
	}
	query := poise.Query{Key: c.key, Tried: c.tried, Why: a.decision, Now: a.began}
	selection, err := current.picker.Pick(query)
	if errors.Is(err, poise.ErrAllTried) && c.attempts > 0 {
		query.Tried = c.refused
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
	return poise.ErrNoEligible
}

// exclude adds the endpoint to a set that may not exist yet: most calls need none.
func (c *call) exclude(set **poise.Tried, m *member) {
	if *set == nil {
		*set = new(poise.Tried)
	}
	(*set).Add(m.ID, m.incarnation)
}
