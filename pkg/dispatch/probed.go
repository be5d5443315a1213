package dispatch

import (
	"context"
	"fmt"

	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// probed is the probe of one incarnation, and whether it runs, so that its endpoint is
// closed after it.
type probed struct {
	probe func(context.Context) error
	err   syncx.Pointer[error] // of the last probe

	mu syncx.Mutex
	// Guarded by mu.
	running int
	over    bool
	idle    syncx.Event // happens when it is over and none runs
}

// newProbed asks for the probe of a member that is new; it returns nil if the member
// is not probed. A panic of the caller's function becomes an error.
func newProbed[E comparable](cfg *ProbesConfig[E], m Member[E]) (p *probed, err error) {
	if cfg == nil {
		return nil, nil
	}
	defer func() {
		if v := recover(); v != nil {
			p, err = nil, fmt.Errorf("%w: %v", ErrMemberPanic, v)
		}
	}()
	probe, err := cfg.Probe(m)
	if err != nil || probe == nil {
		return nil, err
	}
	return &probed{probe: probe}, nil
}

// ask probes once.
func (p *probed) ask(ctx context.Context) error {
	p.mu.Lock()
	if p.over {
		p.mu.Unlock()
		return ErrUnknownMember
	}
	p.running++
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.running--; p.over && p.running == 0 {
			p.idle.Fire()
		}
	}()
	return p.probe(ctx)
}

// end lets no probe begin any more, and waits for the one that runs.
func (p *probed) end() {
	p.mu.Lock()
	p.over = true
	running := p.running
	p.mu.Unlock()
	if running > 0 {
		_ = p.idle.Wait(context.Background())
	}
}

// prober returns the settings of what sends the probes.
func (c *ProbesConfig[E]) prober(seed uint64, observe func(health.ProbeReport)) (cfg health.ProberConfig) {
	cfg.Schedule.Health, cfg.Schedule.MaxRunning, cfg.Schedule.Seed = c.Active, c.MaxRunning, seed
	cfg.Timeout, cfg.OnTimeout, cfg.Observe = c.Timeout, c.OnTimeout, observe
	return cfg
}
