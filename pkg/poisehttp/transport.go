package poisehttp

import (
	"context"
	"net/http"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
)

// Transport is an http.RoundTripper over several endpoints.
//
// A Transport is made by New, and is to be closed. The zero value is not usable.
//
// # Contract
//
//   - Every call returns a response or a CallError.
//   - A call holds its slot until the end or close of the response body, an error or a panic, or a moment after its caller has left.
//   - An upgraded connection holds its slot until it is closed.
//   - A request that is not repeatable is sent again only if nothing of it was sent.
//   - A request is sent again only with a body that can be replayed.
//   - A retry goes to an endpoint that was not tried while an eligible one is left, and never to one that answered.
//   - A caller who leaves, a request body that fails and a pause of this process say nothing about the endpoint.
//   - An endpoint that is silent when a deadline of the caller's ends has that held against it.
//   - A panic of a callback, a policy or an endpoint during a call leaves no slot held.
//   - Informational responses of an attempt that is repeated do not reach the caller.
//
// # Cost
//
// A call without a body and a timeout allocates once beside what the endpoint does, and
// not at all if its answer has no body.
//
// # Concurrency
//
// A Transport is safe for concurrent use. RoundTrip takes no lock that all calls
// share.
type Transport struct{ core core }

var _ http.RoundTripper = (*Transport)(nil)

// New returns a Transport, or a [poise.FieldError].
func New(cfg Config) (*Transport, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	t := new(Transport)
	t.core.cfg = cfg
	t.core.calls.New = func() any { return new(call) }
	if t.core.hosts, err = newHosts(cfg.Hosts); err != nil {
		return nil, err
	}
	t.core.watchdog.begin(cfg.BodyIdleTimeout, cfg.CutAfter, t.serving)
	t.core.balancer, err = dispatch.New(dispatch.Config[Endpoint]{
		Loop: cfg.Loop, Members: cfg.Members, Source: cfg.Source, Probes: cfg.Probes, MaxWait: cfg.MaxWait,
		Close: func(e Endpoint) error { return e.Close() },
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// RoundTrip sends the request to an endpoint, and to others while it may be
// repeated and the first did not serve. Every error is a [*CallError]; where
// the caller's context ended the call it unwraps to context.Cause. The older
// Request.Cancel is watched until the header arrives.
//
// # Contract
//
//   - RoundTrip does not change the caller's request, and closes its body.
//   - A request that net/http would refuse to send, and one that was cancelled before, is sent nowhere.
//   - A request for a host that the Transport does not stand for is sent nowhere.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req == nil {
		return nil, &CallError{Err: refuse("Request", nil, ErrBadRequest)}
	}
	c := t.core.calls.Get().(*call)
	c.core, c.request = &t.core, req
	resp, err := c.run()
	if err != nil {
		err = c.fail(err)
	}
	c.returned()
	return resp, err
}

// Update makes the members those of the list, all or nothing, as of
// [dispatch.Balancer.Update].
func (t *Transport) Update(members []Member) error { return t.core.balancer.Update(members) }

// SetStatus is the operator's word on one endpoint, as of
// [dispatch.Balancer.SetStatus].
func (t *Transport) SetStatus(id string, status poise.Status) error {
	return t.core.balancer.SetStatus(id, status)
}

// Endpoints returns the state of every endpoint, in the order of the list.
func (t *Transport) Endpoints() []EndpointState { return t.core.balancer.Endpoints() }

// PublishError returns why the last publication failed, or nil. The last good picker
// serves meanwhile, and publication is tried again.
func (t *Transport) PublishError() error { return t.core.balancer.PublishError() }

// WaitReady waits until a call could be given an endpoint, and returns the context's
// error if it ends before.
func (t *Transport) WaitReady(ctx context.Context) error { return t.core.balancer.WaitReady(ctx) }

// CloseIdleConnections closes the idle connections of every endpoint that has
// such a method.
func (t *Transport) CloseIdleConnections() {
	for _, state := range t.core.balancer.Endpoints() {
		if c, ok := state.Endpoint.(interface{ CloseIdleConnections() }); ok {
			c.CloseIdleConnections()
		}
	}
}

// Close refuses new calls, lets those in flight go on, and closes each endpoint
// when its last call has ended. A second Close does nothing more.
func (t *Transport) Close() error { return t.core.balancer.Close() }

// serving returns the incarnations that are in the list and do not drain.
func (t *Transport) serving() map[uint64]bool {
	serving := map[uint64]bool{}
	for _, state := range t.core.balancer.Endpoints() {
		if state.Admission == dispatch.Open {
			serving[state.Incarnation] = true
		}
	}
	return serving
}
