package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// HealthConfig is what a Balancer learns of the health of its endpoints, beside its
// Quarantine. The zero value is nothing. What each part knows belongs to the
// incarnation, and is gone with it.
//
// An endpoint has one Reason: what the operator or the list says stands first, then
// its probes, its circuit, outlier detection, and its quarantine.
//
// Of these only the circuit and the quarantine refuse calls. What probes and
// outlier detection say keeps an endpoint from being picked, except by a topology
// policy in a panic.
//
// # Contract
//
//   - An endpoint that its probes find unhealthy is left out until they find it healthy.
//   - An endpoint whose circuit is open is left out until its time is over, and then gets as many calls at once as there are Trials.
//   - A call that a circuit refuses is picked again without that endpoint.
//   - A permit of a circuit is given back on every path on which its call ends.
//   - An endpoint that is an outlier is left out until its ejection is over.
//   - A call that its caller cancels says nothing to circuit, outlier detection and window.
//   - No health signal brings back or hides an endpoint that is draining or unavailable.
//   - An endpoint that stays in the list keeps its health, and a new incarnation starts without any.
//   - Probes of an endpoint end when it leaves and when the Balancer is closed.
//   - An Endpoint is not closed while a probe of it runs that honours its context.
//
// # Cost
//
// A call takes the lock of its circuit twice, and allocates no more often than
// without. Every endpoint that is probed has a goroutine.
type HealthConfig struct {
	_ struct{}
	// Probes are sent to the endpoints. nil: none.
	Probes *ProbesConfig
	// Circuit is that of each endpoint. Its Observer is told of the transitions of
	// all circuits, and a panic of it is dropped; ObserveState tells whose they are.
	// No bound keeps all circuits from being open at once. nil: none.
	Circuit *health.CircuitConfig
	// Outliers ejects endpoints that do worse than the others; all endpoints of the
	// Balancer are one group. nil: nobody is ejected.
	Outliers *health.OutlierControllerConfig
	// Window keeps the last outcomes of each endpoint for EndpointState to show.
	// They steer no policy: its unit is not that of the calls in flight, by which
	// policies compare endpoints here. nil: none.
	Window *health.OutcomeWindowConfig
}

// ProbesConfig are the settings of active probing.
type ProbesConfig struct {
	_ struct{}
	// Probe returns what asks a member how it is; nil: this member is not probed.
	// Required. It is called once for each incarnation, by New or Update or, with a
	// Membership, where Connect is, and under no lock; it may be called in vain when
	// members change meanwhile. With an error or a panic the member and what came
	// with it are refused, as with a bad Endpoint. HTTPProbe and TCPProbe of package
	// health have a method for it; with the member's Endpoint as its Transport a
	// probe takes the way that calls take.
	Probe func(Member) (func(context.Context) error, error)
	// Active says when to probe and what the results come to.
	Active health.ActiveHealthConfig
	// Timeout is how long one probe may take. Positive, at most a third of
	// Active.Hold, default 5 s or that third if it is shorter.
	Timeout time.Duration
	// OnTimeout is what a probe past its timeout says, default
	// health.TimeoutUnhealthy.
	OnTimeout health.TimeoutPolicy
}

// runner returns the settings of a Runner.
func (c *ProbesConfig) runner(active *health.ActiveHealth, probe probe) health.RunnerConfig {
	return health.RunnerConfig{Health: active, Probe: probe, Timeout: c.Timeout, OnTimeout: c.OnTimeout}
}

// off reports whether there is nothing to do.
func (c *HealthConfig) off() bool {
	return c.Probes == nil && c.Circuit == nil && c.Outliers == nil && c.Window == nil
}

// copied returns the config with copies of what the caller may still change, or the
// field that is missing or out of range.
func (c HealthConfig) copied() (HealthConfig, error) {
	if c.Probes != nil {
		c.Probes = new(*c.Probes)
		if err := c.Probes.check(); err != nil {
			return c, inField("Health.Probes", err)
		}
	}
	if c.Circuit != nil {
		c.Circuit = new(*c.Circuit)
		if _, err := health.NewCircuit(*c.Circuit); err != nil {
			return c, inField("Health.Circuit", err)
		}
	}
	if c.Window != nil {
		c.Window = new(*c.Window)
		if _, err := health.NewOutcomeWindow(*c.Window, time.Time{}); err != nil {
			return c, inField("Health.Window", err)
		}
	}
	return c, nil
}

// check returns the field that is missing or out of range.
func (c *ProbesConfig) check() error {
	if c.Probe == nil {
		return &poise.FieldError{Field: "Probe", Err: ErrMissing}
	}
	active, err := health.NewActiveHealth(c.Active)
	if err != nil {
		return inField("Active", err)
	}
	_, err = health.NewRunner(c.runner(active, func(context.Context) error { return nil }))
	return err
}

// inField puts the name of a field before that of a field of it.
func inField(field string, err error) error {
	if refused, ok := errors.AsType[*poise.FieldError](err); ok {
		return &poise.FieldError{Field: field + "." + refused.Field, Value: refused.Value, Err: refused.Err}
	}
	return err
}

// prepareHealth checks the settings and makes what all endpoints share.
func (b *Balancer) prepareHealth() (err error) {
	cfg := &b.cfg.Health
	if *cfg, err = cfg.copied(); err != nil {
		return err
	}
	if cfg.Outliers != nil {
		if b.outliers, err = health.NewOutlierController(*cfg.Outliers); err != nil {
			return inField("Health.Outliers", err)
		}
	}
	if circuit := cfg.Circuit; circuit != nil {
		if circuit.Chance == nil {
			circuit.Chance = b.chance
		}
		observe := circuit.Observer
		circuit.Observer = func(e health.CircuitEvent) {
			b.poke()
			if observe != nil {
				defer func() { _ = recover() }()
				observe(e)
			}
		}
	}
	return nil
}

// probe asks a member how it is; nil for a member that is not probed.
type probe = func(context.Context) error

// newProbe is the probe of one entry of a list, if it was asked for.
type newProbe struct {
	of    probe
	asked bool
}

// errChanged means that somebody has left meanwhile, and the list has them as new.
var errChanged = errors.New("dispatch: the members have changed meanwhile")

// newProbes asks the caller for the probes of the entries that are new in the list,
// or might be: an entry that is to be refused is left for that.
func (b *Balancer) newProbes(list []Member) ([]newProbe, error) {
	probes := make([]newProbe, len(list))
	current := b.load()
	probed := b.cfg.Health.Probes != nil && !current.closed && b.cfg.Membership == nil
	known := map[string]Endpoint{}
	if probed {
		for _, m := range current.members {
			known[m.ID] = m.Endpoint
		}
	}
	for i, spec := range list {
		if probes[i].asked = true; !probed || checkEndpoint(spec, nil) != nil {
			continue
		}
		if known[spec.ID] == spec.Endpoint {
			probes[i].asked = false
			continue
		}
		var err error
		if probes[i].of, err = b.newProbe(spec); err != nil {
			return nil, err
		}
	}
	return probes, nil
}

// newProbe asks the caller for the probe of a member that is new. A panic becomes an
// error, as that of Connect does.
func (b *Balancer) newProbe(m Member) (p probe, err error) {
	probes := b.cfg.Health.Probes
	if probes == nil {
		return nil, nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", ErrMemberPanic, v)
		}
		if err != nil {
			err = &poise.FieldError{Field: "Health.Probes.Probe", Value: m.ID, Err: err}
		}
	}()
	return probes.Probe(m)
}

// ForceCondition sets what probing knows of an endpoint, as ActiveHealth.Force
// does: the probes after it count as ever. To keep an endpoint out use SetStatus.
func (b *Balancer) ForceCondition(id string, condition health.Condition) error {
	return b.force(id, func(s *signals, now time.Time) error {
		if s == nil || s.active == nil {
			return &poise.FieldError{Field: "id", Value: id, Err: ErrNotProbed}
		}
		if err := s.active.Force(condition, now); err != nil {
			return err
		}
		s.forced.Store(true)
		return nil
	})
}

// ForceCircuit opens or closes the circuit of an endpoint, as ForceOpen and
// ForceClose of it do: one forced open is tried when its time is over. To keep an
// endpoint out use SetStatus.
func (b *Balancer) ForceCircuit(id string, mode health.CircuitMode) error {
	return b.force(id, func(s *signals, now time.Time) error {
		switch {
		case s == nil || s.circuit == nil:
			return &poise.FieldError{Field: "id", Value: id, Err: ErrNoCircuit}
		case mode == health.Open:
			s.circuit.ForceOpen(now)
		case mode == health.Closed:
			s.circuit.ForceClose(now)
		default:
			return outOfRange("mode", mode)
		}
		return nil
	})
}

// force does something to the signals of an endpoint and publishes what comes of
// it.
func (b *Balancer) force(id string, act func(*signals, time.Time) error) error {
	current := b.load()
	if err := b.refuses(current); err != nil {
		return err
	}
	for _, m := range current.members {
		if m.ID != id {
			continue
		}
		if err := act(m.signals, time.Now()); err != nil {
			return err
		}
		b.republish()
		b.poke() // for the time of a circuit, and if that has failed
		b.tell(false)
		return nil
	}
	return &poise.FieldError{Field: "id", Value: id, Err: ErrUnknownEndpoint}
}
