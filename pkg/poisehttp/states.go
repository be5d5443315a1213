package poisehttp

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

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
	// Condition is what probes found; Unknown if it is not probed. ProbeErr is why
	// the last probe failed, nil if it did not.
	Condition health.Condition
	ProbeErr  error
	// Circuit is the state of its circuit; the zero value, closed, if it has none.
	Circuit health.CircuitState
	// Ejection is that of an outlier; the zero value if it is not ejected.
	Ejection Ejection
	// Outcomes are what its window holds, if it has one.
	Outcomes health.OutcomeStats
}

// Ejection is the ejection of an outlier.
type Ejection struct {
	_ struct{}
	// Cause is the rule by which it is an outlier; health.NoOutlier if it is not
	// ejected.
	Cause health.OutlierCause
	// Rate was its success rate, 0 where that did not count.
	Rate float64
	// Left is how long it stays ejected. At 0 it is about to come back.
	Left time.Duration
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
	state := EndpointState{
		ID: m.ID, Incarnation: m.incarnation, Reason: p.view.Reason(i),
		InFlight: m.slots.InFlight().Current(), Limit: m.slots.InFlight().Limit(),
	}
	if m.signals != nil {
		m.signals.show(&state, time.Now())
	}
	return state
}

// show fills in what the signals know at the instant.
func (s *signals) show(state *EndpointState, now time.Time) {
	if s.active != nil {
		state.Condition = s.active.State(now).Condition
		if err := s.probeErr.Load(); err != nil {
			state.ProbeErr = *err
		}
	}
	if s.circuit != nil {
		state.Circuit = s.circuit.State(now)
	}
	if e := s.ejection.Load(); e != nil {
		left := e.of.For - max(now.Sub(e.since), 0)
		state.Ejection = Ejection{Cause: e.of.Cause, Rate: e.of.Rate, Left: max(left, 0)}
	}
	if s.window != nil {
		state.Outcomes = s.window.Stats(now)
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
