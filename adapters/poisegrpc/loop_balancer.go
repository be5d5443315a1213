package poisegrpc

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/balancer/endpointsharding"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"
)

// loopBalancer balances the calls of one connection of gRPC. A child for each endpoint
// keeps its connections; the loop chooses among endpoints that have one.
//
// # Contract
//
//   - A call is given to an endpoint that has a connection, that takes calls, and that the policy chose.
//   - A call for which there is no room waits until there is, or until its context ends.
//   - A call waits while endpoints connect, and fails as Unavailable when none can, unless it waits for ready.
//   - A resolver that changes its list keeps the connections, the calls and the health of endpoints that stay.
//   - After Close nothing of a balancer runs.
type loopBalancer struct {
	cfg    *Config
	cc     balancer.ClientConn
	shards balancer.Balancer

	// running is the loop of the last service config; nil before the first list.
	running atomic.Pointer[running]

	mu sync.Mutex
	// Guarded by mu.
	endpoints *resolver.EndpointMap[*endpoint]
	state     connectivity.State
	lastErr   error // why there is no connection, or no list
	held      bool  // an update is under way
	closed    bool

	// full is set when a call was told to wait for room: the next end of a call has gRPC
	// pick again.
	full atomic.Bool
}

// running is a loop and its settings.
type running struct {
	settings *ServiceConfig
	*dispatch.Balancer[*endpoint]
}

// endpoint is one endpoint, as a member of a loop.
type endpoint struct {
	incarnation atomic.Uint64 // 0 until the loop has it
	// ready picks its connection; nil while it has none.
	ready atomic.Pointer[balancer.Picker]
}

func newBalancer(cfg *Config, cc balancer.ClientConn, opts balancer.BuildOptions) *loopBalancer {
	b := &loopBalancer{cfg: cfg, cc: cc, endpoints: resolver.NewEndpointMap[*endpoint](), state: connectivity.Connecting}
	b.shards = endpointsharding.NewBalancer(children{cc, b}, opts, balancer.Get(pickfirst.Name).Build, endpointsharding.Options{})
	return b
}

// UpdateClientConnState takes a list of endpoints, and settings.
func (b *loopBalancer) UpdateClientConnState(s balancer.ClientConnState) error {
	settings, ok := s.BalancerConfig.(*ServiceConfig)
	if !ok {
		var err error
		if settings, err = parse(nil, b.cfg.Key != nil || b.cfg.NewPolicy != nil); err != nil {
			return err
		}
	}
	// gRPC goes on with the picker it has until all of the update is done.
	b.hold(true)
	old := b.running.Load()
	err := b.take(settings, s.ResolverState.Endpoints)
	if err == nil {
		s.BalancerConfig = nil // the children have none
		err = b.shards.UpdateClientConnState(s)
	}
	b.hold(false)
	b.push()
	if old != nil && old != b.running.Load() {
		_ = old.Close()
	}
	return err
}

// take makes the members of the loop those of a list, and makes the loop if its settings
// are others. On an error nothing has changed, and gRPC asks the resolver again.
func (b *loopBalancer) take(settings *ServiceConfig, list []resolver.Endpoint) error {
	r := b.running.Load()
	b.mu.Lock()
	known := b.endpoints
	b.mu.Unlock()
	if r == nil || *settings != *r.settings {
		loop, err := b.begin(settings)
		if err != nil {
			return b.refuse(err)
		}
		r, known = &running{settings, loop}, resolver.NewEndpointMap[*endpoint]() // an endpoint belongs to one loop
	}
	endpoints, members := membersOf(list, known, settings.Limit)
	if err := r.Update(members); err != nil {
		if r != b.running.Load() {
			_ = r.Close()
		}
		return b.refuse(err)
	}
	b.mu.Lock()
	b.endpoints = endpoints
	b.mu.Unlock()
	b.running.Store(r)
	for _, state := range r.Endpoints() {
		if of := state.Endpoint; of.incarnation.Load() == 0 {
			of.incarnation.Store(state.Incarnation)
			_ = r.Loop().SetConnected(state.Incarnation, of.ready.Load() != nil, time.Now())
		}
	}
	return nil
}

// refuse notes why a list or settings cannot be used.
func (b *loopBalancer) refuse(err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lastErr = err
	return balancer.ErrBadResolverState
}

// hold keeps push from doing anything, or lets it.
func (b *loopBalancer) hold(held bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = held
}

// begin makes a loop of the settings.
func (b *loopBalancer) begin(settings *ServiceConfig) (*dispatch.Balancer[*endpoint], error) {
	loop := b.cfg.Loop
	var err error
	if b.cfg.NewPolicy != nil {
		loop.Policy, err = b.cfg.NewPolicy()
	} else {
		loop.Policy, err = settings.policy(loop.Seed)
	}
	if err != nil {
		return nil, err
	}
	loop.Passive.Off = loop.Passive.Off || settings.PassiveHealthOff
	loop.Published = b.push
	// What an endpoint is must be published before gRPC is told to pick again.
	loop.PublishEvery = 1
	return dispatch.New(dispatch.Config[*endpoint]{Loop: loop})
}

// membersOf returns the members of a list, and their endpoints; those that are known are
// the same.
func membersOf(list []resolver.Endpoint, known *resolver.EndpointMap[*endpoint], limit uint64) (*resolver.EndpointMap[*endpoint], []dispatch.Member[*endpoint]) {
	endpoints := resolver.NewEndpointMap[*endpoint]()
	var members []dispatch.Member[*endpoint]
	for _, e := range list {
		if _, twice := endpoints.Get(e); twice || len(e.Addresses) == 0 {
			continue
		}
		of, stays := known.Get(e)
		if !stays {
			of = new(endpoint)
		}
		endpoints.Set(e, of)
		a := AttributesOf(e)
		members = append(members, dispatch.Member[*endpoint]{
			ID: identity(e), Endpoint: of, Weight: a.Weight, Status: a.Status, Priority: a.Priority,
			Locality: a.Locality, LocalityWeight: a.LocalityWeight, PanicOptOut: a.PanicOptOut, Limit: cmp.Or(a.Limit, limit),
		})
	}
	return endpoints, members
}

// identity names an endpoint by its addresses, in an order of their own: so are
// endpoints the same to gRPC.
func identity(e resolver.Endpoint) string {
	var list []string
	for _, a := range e.Addresses {
		list = append(list, a.Addr)
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ",")
}

// children is the connection of gRPC as the children of a balancer have it.
type children struct {
	balancer.ClientConn
	of *loopBalancer
}

// UpdateState takes the state of every child.
func (c children) UpdateState(s balancer.State) { c.of.connected(s) }

// connected takes the state of every child, and has gRPC pick again.
func (b *loopBalancer) connected(s balancer.State) {
	b.mu.Lock()
	endpoints := b.endpoints
	b.mu.Unlock()
	states := endpointsharding.ChildStatesFromPicker(s.Picker)
	var failed error
	for _, child := range states {
		of, known := endpoints.Get(child.Endpoint)
		if !known {
			continue // of a list that is not the loop's any more
		}
		ready := child.State.ConnectivityState == connectivity.Ready
		if ready {
			of.ready.Store(&child.State.Picker)
		} else {
			of.ready.Store(nil)
		}
		if child.State.ConnectivityState == connectivity.TransientFailure {
			failed = errorOf(child.State.Picker)
		}
		_ = b.running.Load().Loop().SetConnected(of.incarnation.Load(), ready, time.Now())
	}
	b.mu.Lock()
	b.state = s.ConnectivityState
	if failed != nil || b.state == connectivity.Ready {
		b.lastErr = failed
	}
	b.mu.Unlock()
	b.push()
}

// errorOf is what a picker that cannot pick says.
func errorOf(p balancer.Picker) error {
	if p == nil {
		return nil
	}
	_, err := p.Pick(balancer.PickInfo{})
	if errors.Is(err, balancer.ErrNoSubConnAvailable) {
		return nil
	}
	return err
}

// push has gRPC pick again for the calls that wait.
func (b *loopBalancer) push() {
	b.mu.Lock()
	state, failed, wait := b.state, b.lastErr, b.held || b.closed
	b.mu.Unlock()
	if wait {
		return
	}
	next := balancer.State{ConnectivityState: state, Picker: base.NewErrPicker(failed)}
	if r := b.running.Load(); r != nil {
		next.Picker = &picker{of: b, loop: r, state: state, failed: failed}
	}
	b.cc.UpdateState(next)
}

// ResolverError takes the error of a resolver.
func (b *loopBalancer) ResolverError(err error) {
	b.mu.Lock()
	b.lastErr = fmt.Errorf("poisegrpc: the resolver: %w", err)
	b.mu.Unlock()
	b.shards.ResolverError(err)
}

// UpdateSubConnState is not called: children hear of their connections themselves.
func (b *loopBalancer) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}

// ExitIdle has the children connect.
func (b *loopBalancer) ExitIdle() { b.shards.ExitIdle() }

// Close ends the loop and the children.
func (b *loopBalancer) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.shards.Close()
	if r := b.running.Load(); r != nil {
		_ = r.Close()
	}
}
