package dispatch

import (
	"context"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// signals is the health of one incarnation. Parts that are off are nil, and so is
// the whole if all are.
type signals struct {
	active  *health.ActiveHealth
	runner  *health.Runner
	circuit *health.Circuit
	outlier *health.OutlierSubject
	window  *health.OutcomeWindow

	// holds counts who uses the endpoint, its calls together and its probes: who is
	// last closes it.
	holds syncx.Int32
	// refusing: the newest View is one without the endpoint because its circuit
	// refuses, so that whoever makes room there has to say so. out: it is without it,
	// for whatever reason of health.
	refusing, out syncx.Bool
	// forced: the condition was forced since the last report of a probe.
	forced   syncx.Bool
	retired  syncx.Bool // the incarnation has ended
	probeErr syncx.Pointer[error]
	ejection syncx.Pointer[ejection] // nil unless ejected

	// Guarded by Balancer.mu.
	at   time.Time          // of the View that is being made
	stop context.CancelFunc // ends the probes; nil before they begin
}

// ejection is one ejection of an outlier.
type ejection struct {
	since time.Time
	of    health.OutlierChange
}

// newSignals returns the signals of a new incarnation, of which none is known yet.
func (b *Balancer) newSignals(incarnation uint64, probe probe) *signals {
	cfg := &b.cfg.Health
	if cfg.off() {
		return nil
	}
	s := new(signals)
	s.holds.Store(1)
	// No constructor fails: New has checked the settings.
	if cfg.Circuit != nil {
		s.circuit, _ = health.NewCircuit(*cfg.Circuit)
	}
	if b.outliers != nil {
		s.outlier = b.outliers.Subject()
	}
	if cfg.Window != nil {
		s.window, _ = health.NewOutcomeWindow(*cfg.Window, time.Now())
	}
	if probe != nil {
		s.active, _ = health.NewActiveHealth(cfg.Probes.Active)
		runner := cfg.Probes.runner(s.active, probe)
		if b.cfg.Seed != 0 {
			runner.Seed = max(b.cfg.Seed+incarnation, 1)
		}
		excluded := s.active.Excluded()
		runner.Observe = func(r health.ProbeReport) {
			s.probeErr.Store(&r.Err)
			if s.forced.Swap(false) || r.State.Excluded != excluded {
				b.poke()
			}
			excluded = r.State.Excluded
		}
		s.runner, _ = health.NewRunner(runner)
	}
	return s
}

// probe begins the probes of a life that has become a member's. Requires mu.
func (b *Balancer) probe(l *life) {
	s := l.signals
	if s == nil || s.runner == nil || s.stop != nil {
		return
	}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(b.open)
	s.holds.Add(1)
	b.probing.Add(1)
	syncx.Go(func() {
		_ = s.runner.Run(ctx)
		b.probing.Done() // before the endpoint's Close, which may close the Balancer
		l.letGo()
	})
}

// retire ends what belongs to an incarnation that has ended. Requires Balancer.mu.
func (s *signals) retire() {
	if s == nil {
		return
	}
	s.retired.Store(true)
	if s.stop != nil {
		s.stop()
	}
}

// regroup has the goroutine look for outliers soon: who counts has changed. Requires
// mu.
func (b *Balancer) regroup() {
	if b.outliers != nil {
		b.poke()
	}
}

// check returns a candidate with what the signals say of it at the instant, outlier
// detection aside.
func (s *signals) check(c poise.Candidate, now time.Time) health.WithHealth {
	return health.WithHealth{Candidate: c, Active: s.active, Circuit: s.circuit, Now: now}
}

// sample returns the sample that the signals leave of a candidate for the View that
// is being made. Requires Balancer.mu.
func (s *signals) sample(c poise.Candidate) poise.Sample {
	if s.circuit != nil {
		s.refusing.Store(true) // before the look: whoever makes room after it sees this
	}
	checked := s.check(c, s.at)
	checked.Outlier = s.outlier
	sample := checked.Sample()
	if sample.Excluded != poise.ExcludedCircuitOpen {
		s.refusing.Store(false)
	}
	s.out.Store(sample.Excluded != poise.NotExcluded)
	return sample
}

// told is what a call keeps of the signals of its endpoint until it ends.
type told struct {
	permit  health.Permit
	outlier health.OutlierCall
}

// heardAttempt is an attempt with what it keeps of signals, in one allocation.
type heardAttempt struct {
	attempt
	told told
}

// newAttempt returns an attempt that begins now.
func (c *call) newAttempt() *attempt {
	b := c.balancer
	if b.cfg.Health.off() {
		return &attempt{balancer: b, request: c.request, began: time.Now(), number: c.attempts + 1}
	}
	a := &heardAttempt{attempt: attempt{balancer: b, request: c.request, began: time.Now(), number: c.attempts + 1}}
	a.attempt.told = &a.told
	return &a.attempt
}

// admit takes a permit for a call that begins at the instant. It reports whether
// the View should follow.
func (s *signals) admit(t *told, now time.Time) (poke bool, err error) {
	if s.circuit != nil {
		if t.permit, err = s.circuit.Acquire(now); err != nil {
			return !s.out.Load(), err
		}
	}
	t.outlier = s.outlier.Begin()
	return false, nil
}

// report tells the signals how a call has ended, and with which status; 0 if there
// was no answer. It reports whether the View should follow.
func (s *signals) report(t *told, outcome poise.Outcome, status int, now time.Time) (poke bool) {
	if s.retired.Load() {
		outcome = poise.Cancelled
	}
	if s.circuit != nil {
		_ = s.circuit.End(t.permit, outcome, now) // one that comes too late counts for nothing
		poke = s.refusing.Load()
	}
	if s.window != nil {
		s.window.Record(outcome, now)
	}
	kind := health.LocalFailure
	if status != 0 {
		kind = health.FailureKindOf(status, nil)
	}
	return t.outlier.Record(outcome, kind) || poke
}

// letGo gives one hold of the endpoint up, and closes it if that was the last.
func (l *life) letGo() {
	if s := l.signals; s != nil && s.holds.Add(-1) != 0 {
		return
	}
	defer l.closed.Store(true)
	closeQuietly(l.endpoint)
}

// serves reports whether a sample is one of a candidate that can be chosen.
func serves(s poise.Sample) bool {
	return s.Status == poise.Ready && s.Excluded == poise.NotExcluded
}

// sweep ejects the outliers and readmits those whose time is over, and returns when
// to look again, be it for a circuit; 0 for not before the next poke.
func (b *Balancer) sweep(now time.Time) (wait time.Duration) {
	if b.cfg.Health.Circuit == nil && b.outliers == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	group := b.group[:0]
	for _, m := range b.members {
		s := m.signals
		if s.circuit != nil {
			left, _ := s.circuit.NextChange(now)
			wait = sooner(wait, left)
		}
		group = append(group, health.OutlierMember{
			Subject:     s.outlier,
			Unavailable: !serves(s.check(listed{m}, now).Sample()) || m.quarantine.Aside(),
		})
	}
	b.group = group
	if b.outliers == nil {
		return wait
	}
	sweep, _ := b.outliers.Sweep(now, group, b.chance) // each has a subject of its own
	for _, change := range sweep.Changes {
		s := b.members[change.Index].signals
		if s.ejection.Store(nil); change.Ejected {
			s.ejection.Store(&ejection{now, change})
		}
	}
	return sooner(wait, sweep.Wait)
}
