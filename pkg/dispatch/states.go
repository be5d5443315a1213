package dispatch

import poise "github.com/copyleftdev/poise-go/pkg"

// EndpointState is one endpoint as it stands.
type EndpointState struct {
	_ struct{}
	// ID is the identity, and Incarnation the number of its present life.
	ID          string
	Incarnation uint64
	// Reason is why it gets no new calls; poise.NotExcluded if it does.
	Reason poise.Reason
	// InFlight is how many calls it holds, and Limit how many it may; 0 is no
	// limit.
	InFlight, Limit uint64
}

// Endpoints returns the state of every endpoint, in the order of the list.
func (b *Balancer) Endpoints() []EndpointState {
	current := b.load()
	states := make([]EndpointState, len(current.members))
	for i := range states {
		states[i] = current.state(i)
	}
	return states
}

// state returns endpoint i as it stands.
func (p *published) state(i int) EndpointState {
	m := p.members[i]
	return EndpointState{
		ID: m.ID, Incarnation: m.incarnation, Reason: p.view.Reason(i),
		InFlight: m.slots.InFlight().Current(), Limit: m.slots.InFlight().Limit(),
	}
}

// note queues the endpoints whose reason the next publication changes, for
// ObserveState to be told when mu is free. Requires mu.
func (b *Balancer) note(next *published) {
	before := b.load()
	if b.cfg.ObserveState == nil || before.view == nil || next.view == nil {
		return // New tells nobody, for nobody has the Balancer yet; nor does Close
	}
	for i, m := range next.members {
		was := poise.NotExcluded
		if at, found := before.view.Lookup(m.ID); found {
			was = before.view.Reason(at)
		}
		if was != next.view.Reason(i) {
			b.untold = append(b.untold, next.state(i))
		}
	}
}

// tell tells ObserveState what is queued, unless somebody does: they will find it.
func (b *Balancer) tell(itself bool) {
	if b.cfg.ObserveState == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.telling {
		return
	}
	b.telling = true
	if itself {
		b.outside = true
	}
	defer func() {
		b.telling = false
		if itself {
			b.outside = false
		}
	}()
	for len(b.untold) > 0 {
		state := b.untold[0]
		b.untold = b.untold[1:]
		b.tellOne(state)
	}
	b.untold = nil
}

// tellOne tells ObserveState of one state. A panic of it ends here, since the
// change may be another's than the one that is on its way. Requires mu, and gives
// it up meanwhile.
func (b *Balancer) tellOne(state EndpointState) {
	b.mu.Unlock()
	defer b.mu.Lock()
	defer func() { _ = recover() }()
	b.cfg.ObserveState(state)
}
