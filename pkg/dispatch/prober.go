package dispatch

import (
	"context"
	"fmt"

	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// prober sends the probes of one incarnation.
type prober struct {
	active *health.ActiveHealth
	runner *health.Runner
	err    syncx.Pointer[error] // of the last probe
	stop   context.CancelFunc
	ended  syncx.Event
}

// newProber returns the prober of a member that is new; nil if it is not probed. A
// panic of the caller's function becomes an error.
func newProber[E comparable](cfg *ProbesConfig[E], m Member[E], incarnation, seed uint64, found func(health.Report)) (p *prober, err error) {
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
	p = new(prober)
	if p.active, err = health.NewActiveHealth(cfg.Active); err != nil {
		return nil, err
	}
	runner := health.RunnerConfig{
		Health: p.active, Probe: probe, Timeout: cfg.Timeout, OnTimeout: cfg.OnTimeout,
		Observe: func(r health.Report) {
			p.err.Store(&r.Err)
			found(r)
		},
	}
	if seed != 0 {
		runner.Seed = max(seed+incarnation, 1)
	}
	p.runner, err = health.NewRunner(runner)
	return p, err
}

// start begins to probe.
func (p *prober) start(within context.Context) {
	var ctx context.Context
	ctx, p.stop = context.WithCancel(within)
	syncx.Go(func() {
		defer p.ended.Fire()
		_ = p.runner.Run(ctx)
	})
}

// end stops the probes and waits for the last one.
func (p *prober) end() {
	p.stop()
	_ = p.ended.Wait(context.Background())
}

// check returns the field of the settings that is missing or out of range.
func (c *ProbesConfig[E]) check() error {
	if c.Probe == nil {
		return refuse("Probe", nil, ErrMissing)
	}
	active, err := health.NewActiveHealth(c.Active)
	if err != nil {
		return inField("Active", err)
	}
	_, err = health.NewRunner(health.RunnerConfig{
		Health: active, Probe: func(context.Context) error { return nil }, Timeout: c.Timeout, OnTimeout: c.OnTimeout,
	})
	return err
}
