package poisegrpc

import (
	"errors"
	"fmt"
	"sync"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// picker picks for the calls of one state of the connections.
type picker struct {
	of     *loopBalancer
	loop   *running
	state  connectivity.State
	failed error // why there is no connection
}

// call is one call of gRPC, from its pick to its end. It is used again after Done, which
// gRPC calls once.
type call struct {
	of     *loopBalancer
	slot   dispatch.Call
	inner  func(balancer.DoneInfo) // of the child; may be nil
	ending func(balancer.DoneInfo) // end, as a value that is made once
}

var calls sync.Pool

// newCall returns a call that holds nothing.
func newCall() *call {
	if c, ok := calls.Get().(*call); ok {
		return c
	}
	c := new(call)
	c.ending = c.end
	return c
}

// Pick picks an endpoint, and then its connection.
func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	c := newCall()
	q := dispatch.Query{Key: p.key(info)}
	if p.of.cfg.Explain != nil {
		q.Why = new(poise.Decision)
	}
	err := p.loop.Acquire(info.Ctx, q, &c.slot)
	if errors.Is(err, poise.ErrAtCapacity) {
		p.of.full.Store(true)
		err = p.loop.Acquire(info.Ctx, q, &c.slot) // a call that ended meanwhile has told nobody
	}
	if q.Why != nil {
		p.of.cfg.Explain(info, q.Why)
	}
	if err != nil {
		calls.Put(c)
		return balancer.PickResult{}, p.refusal(err)
	}
	ready := c.slot.Value().(*endpoint).ready.Load()
	if ready == nil {
		return balancer.PickResult{}, c.leave(balancer.ErrNoSubConnAvailable) // it was lost, which gRPC is told
	}
	result, err := (*ready).Pick(info)
	if err != nil {
		return balancer.PickResult{}, c.leave(err)
	}
	c.of, c.inner = p.of, result.Done
	result.Done = c.ending
	return result, nil
}

// key is the key of a call.
func (p *picker) key(info balancer.PickInfo) poise.Key {
	switch {
	case p.of.cfg.Key != nil:
		return p.of.cfg.Key(info)
	case p.loop.settings.KeyMetadata == "":
		return poise.Key{}
	}
	if sent, ok := metadata.FromOutgoingContext(info.Ctx); ok {
		if values := sent.Get(p.loop.settings.KeyMetadata); len(values) > 0 {
			return poise.StringKey(values[0])
		}
	}
	return poise.Key{}
}

// refusal is what gRPC is told of a call for which there is nobody: to wait, or why there
// is no hope.
func (p *picker) refusal(err error) error {
	switch {
	case errors.Is(err, poise.ErrAtCapacity):
		return balancer.ErrNoSubConnAvailable
	case errors.Is(err, dispatch.ErrClosed):
		return balancer.ErrNoSubConnAvailable // another loop takes its place
	case !errors.Is(err, poise.ErrNoEligible) && !errors.Is(err, poise.ErrEmpty):
		return status.Error(codes.Unavailable, err.Error()) // waiting cannot help
	case p.state == connectivity.Connecting || p.state == connectivity.Idle:
		return balancer.ErrNoSubConnAvailable
	case p.failed != nil:
		return fmt.Errorf("%w: %w", err, p.failed)
	}
	return err
}

// leave ends a call that was given to nobody.
func (c *call) leave(err error) error {
	c.slot.End(poise.Result{Outcome: poise.Cancelled}, time.Now())
	calls.Put(c)
	return err
}

// end ends a call.
func (c *call) end(done balancer.DoneInfo) {
	of, inner := c.of, c.inner
	c.slot.End(of.cfg.Classify(done), time.Now())
	c.of, c.inner = nil, nil
	calls.Put(c)
	if inner != nil {
		inner(done)
	}
	if of.full.CompareAndSwap(true, false) {
		of.push()
	}
}
