package health

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// RunnerConfig are the settings of a Runner. The zero value of each field but
// Health and Probe is its default.
type RunnerConfig struct {
	_ struct{}
	// Health is told what the probes find. Required.
	Health *ActiveHealth
	// Probe asks the candidate once; nil means it is healthy. It should return soon
	// after its context has ended, which it does at the timeout. Required;
	// [HTTPProbe] and [TCPProbe] have a method for it.
	Probe func(context.Context) error
	// Timeout is how long one probe may take. Positive, at most a third of the Hold
	// of Health, default 5 s or that third if it is shorter.
	Timeout time.Duration
	// OnTimeout is what a probe past its timeout says, default TimeoutUnhealthy.
	OnTimeout TimeoutPolicy
	// Observe is told each report, by the goroutine of Run and in order. Default
	// nobody.
	Observe func(ProbeReport)
	// Seed seeds the jitter; 0 draws from the runtime.
	Seed uint64
}

// Runner sends the probes of one ActiveHealth when they are due. It keeps a clock,
// and runs each probe in a goroutine of its own.
//
// A Runner is made by NewRunner. Many candidates have a Runner each, and a
// goroutine each for Run.
//
// # Contract
//
//   - Run probes whenever one is due until its context ends, and returns the context's error.
//   - RunOnce waits until a probe is due and sends one.
//   - A probe that does not answer within Timeout is recorded at that moment, as OnTimeout says.
//   - A probe that panics or ends its goroutine has failed, and the Runner goes on.
//   - When Run or RunOnce has returned or panicked, none of its reservations is outstanding.
//   - After its context has ended, Run returns at once if the probe honours its context, and within one Timeout whatever the probe does.
//   - At most one call of Probe is running at any instant.
//   - A probe is not sent while the one before still runs, and times out if that does not return within Timeout.
//   - A report names what a probe found only if it counted.
//   - Observe is told each probe that was recorded, in order, and nothing after Run has returned.
//   - Force, and the end of a probe that somebody else reserved, wake a Runner that waits.
//
// # Cost
//
// A probe costs a goroutine, a timer and what Probe costs.
//
// # Concurrency
//
// Run and RunOnce may be called by any goroutine; a second call at the same time
// is refused with ErrProbeRunning. A probe that never returns keeps its goroutine,
// one for each Runner and no more.
type Runner struct {
	cfg    RunnerConfig
	chance *poise.Generator
	busy   syncx.Bool
	// answer is where the last probe leaves its answer; nil once it has been read.
	// It belongs to whoever made busy true.
	answer chan error
}

// NewRunner returns a Runner that has not begun, or a [poise.FieldError] of
// ErrMissing or ErrOutOfRange.
func NewRunner(cfg RunnerConfig) (*Runner, error) {
	switch {
	case cfg.Health == nil:
		return nil, missing("Health")
	case cfg.Probe == nil:
		return nil, missing("Probe")
	}
	// One Timeout to wait for the probe before, one for this one, and one to spare:
	// a result that comes later than Hold would count for nothing.
	most := cfg.Health.cfg.Hold / 3
	cfg.Timeout = defaultTo(cfg.Timeout, min(5*time.Second, most))
	switch {
	case cfg.Timeout < 1 || cfg.Timeout > most:
		return nil, outOfRange("Timeout", cfg.Timeout)
	case cfg.OnTimeout >= timeoutPolicies:
		return nil, outOfRange("OnTimeout", cfg.OnTimeout)
	}
	r := &Runner{cfg: cfg}
	if cfg.Seed != 0 {
		r.chance = poise.NewGenerator(cfg.Seed)
	}
	return r, nil
}

// Run probes until ctx ends, whose error it returns. A panic of Observe ends it
// with that panic.
func (r *Runner) Run(ctx context.Context) error {
	if !r.busy.CompareAndSwap(false, true) {
		return ErrProbeRunning
	}
	defer r.leave()
	for {
		report, err := r.once(ctx, true)
		if err != nil {
			return err
		}
		if r.cfg.Observe != nil {
			r.cfg.Observe(report)
		}
	}
}

// RunOnce waits until a probe is due and sends one. It returns ErrProbeRunning at
// once if somebody else has reserved one, and ctx's error once that has ended.
// Observe is not told.
func (r *Runner) RunOnce(ctx context.Context) (ProbeReport, error) {
	if !r.busy.CompareAndSwap(false, true) {
		return ProbeReport{}, ErrProbeRunning
	}
	defer r.leave()
	return r.once(ctx, false)
}

// leave waits for the last probe to return, for one Timeout at most.
func (r *Runner) leave() {
	defer r.busy.Store(false)
	r.vacant(context.Background())
}

// once sends one probe and records it.
func (r *Runner) once(ctx context.Context, patient bool) (ProbeReport, error) {
	reservation, err := r.reserve(ctx, patient)
	if err != nil {
		return ProbeReport{}, err
	}
	// A second end has no effect; this one is for every way out but the last.
	defer func() { r.cfg.Health.Cancel(reservation, time.Now()) }()
	failure, timedOut := r.send(ctx)
	if ctx.Err() != nil {
		return ProbeReport{}, ctx.Err()
	}
	return r.record(reservation, failure, timedOut), nil
}

// record tells the ActiveHealth what a probe found, or that it found nothing.
func (r *Runner) record(reservation Reservation, failure error, timedOut bool) ProbeReport {
	now := time.Now()
	report := ProbeReport{TimedOut: timedOut, Err: failure, Result: ProbePassed}
	counts := false
	if timedOut && r.cfg.OnTimeout == TimeoutCancels {
		report.Result = ProbeCancelled
		counts = r.cfg.Health.Cancel(reservation, now)
		report.State = r.cfg.Health.State(now)
	} else {
		if failure != nil {
			report.Result = ProbeFailed
		}
		report.State, counts = r.cfg.Health.Complete(reservation, failure == nil, now)
	}
	if !counts {
		report.Result, report.Err = ProbeDiscarded, nil
	}
	return report
}

// reserve waits until a probe is due and reserves it.
func (r *Runner) reserve(ctx context.Context, patient bool) (Reservation, error) {
	for {
		if ctx.Err() != nil {
			return Reservation{}, ctx.Err()
		}
		reservation, wait, changed, err := r.cfg.Health.reserveOrWatch(time.Now(), r.chance)
		if err == nil {
			return reservation, nil
		}
		if errors.Is(err, ErrProbeRunning) && !patient {
			return Reservation{}, err
		}
		waiting, cancel := context.WithTimeout(ctx, wait)
		_ = changed.Wait(waiting)
		cancel()
	}
}

// send sends a probe and returns its failure, and whether its time was over. If
// ctx ended, neither means anything.
func (r *Runner) send(ctx context.Context) (failure error, timedOut bool) {
	if !r.vacant(ctx) {
		return ErrTimedOut, true
	}
	bounded, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	r.answer = make(chan error, 1)
	go ask(bounded, r.cfg.Probe, r.answer)
	select {
	case failure = <-r.answer:
		r.answer = nil
	case <-bounded.Done():
	}
	// An answer and the end of the time can come at once: then it came too late.
	if bounded.Err() != nil {
		return ErrTimedOut, true
	}
	return failure, false
}

// vacant waits until the last probe has returned, for one Timeout at most, and
// reports whether it did before ctx ended.
func (r *Runner) vacant(ctx context.Context) bool {
	if r.answer == nil {
		return true
	}
	bounded, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	select {
	case <-r.answer:
		r.answer = nil
		return true
	case <-bounded.Done():
		return false
	}
}

// ask calls the probe and leaves its answer, however it ends.
func ask(ctx context.Context, probe func(context.Context) error, answer chan<- error) {
	failure := error(&PanicError{})
	defer func() {
		if v := recover(); v != nil {
			failure = &PanicError{Value: v, Stack: debug.Stack()}
		}
		answer <- failure
	}()
	failure = probe(ctx)
}
