package dispatch

import (
	"context"
	"fmt"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// probe asks one incarnation how it is, and knows whether it is asking.
type probe struct {
	ask func(context.Context) error

	mu syncx.Mutex
	// Guarded by mu.
	asking bool
	over   bool // nobody asks any more
	ended  syncx.Event
}

// newProbe returns the probe of a member that is new; nil if it is not probed. A
// panic of the caller's function becomes an error.
func newProbe[E comparable](cfg *ProbesConfig[E], m Member[E]) (p *probe, err error) {
	if cfg == nil {
		return nil, nil
	}
	defer func() {
		if v := recover(); v != nil {
			p, err = nil, fmt.Errorf("%w: %v", ErrMemberPanic, v)
		}
	}()
	ask, err := cfg.Probe(m)
	if err != nil || ask == nil {
		return nil, err
	}
	return &probe{ask: ask}, nil
}

// run asks once, unless the probe is over.
func (p *probe) run(ctx context.Context) error {
	if !p.enter() {
		return context.Canceled
	}
	defer p.leave()
	return p.ask(ctx)
}

func (p *probe) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asking = !p.over
	return p.asking
}

func (p *probe) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asking = false
	if p.over {
		p.ended.Fire()
	}
}

// end lets nobody ask any more, and waits for who does until the context ends.
func (p *probe) end(ctx context.Context) {
	p.mu.Lock()
	p.over = true
	asking := p.asking
	p.mu.Unlock()
	if asking {
		_ = p.ended.Wait(ctx)
	}
}

// prober returns what sends the probes of all members, and the reason for which a
// member is left out before its first probe.
func (c *ProbesConfig[E]) prober(seed uint64, found func(health.ProbeReport)) (*health.Prober, poise.Reason, error) {
	if c.Probe == nil {
		return nil, poise.NotExcluded, refuse("Probe", nil, ErrMissing)
	}
	active, err := health.NewActiveHealth(c.Active)
	if err != nil {
		return nil, poise.NotExcluded, inField("Active", err)
	}
	prober, err := health.NewProber(health.ProberConfig{
		Schedule: health.ProbeScheduleConfig{Health: c.Active, MaxRunning: c.MaxRunning, Seed: seed},
		Timeout:  c.Timeout, OnTimeout: c.OnTimeout, Observe: found,
	})
	return prober, active.Excluded(), err
}
