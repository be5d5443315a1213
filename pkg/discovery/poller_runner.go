package discovery

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// PollerRunnerConfig are the settings of a PollerRunner. The zero value of each
// field but Poller is its default.
type PollerRunnerConfig[V any] struct {
	_ struct{}
	// Poller is what is run. Required.
	Poller *Poller[V]
	// Timeout is how long the source may take for one answer. Positive, up to 100
	// years, default 10 s.
	Timeout time.Duration
	// Observe is told how each poll ended, by the goroutine of Run and in order: nil
	// for a good list, else the PollError. Default nobody.
	Observe func(error)
}

// PollerRunner calls a Poller when it is due. It keeps a clock.
//
// A PollerRunner is made by NewPollerRunner.
//
// # Contract
//
//   - Run polls whenever the Poller is due, until its context ends, and returns the error of the context.
//   - Run returns the PollError after which no other Poll is of use: the Session has ended, or the Directory is closed.
//   - An answer that takes longer than Timeout is a failure of the source.
//   - A second Run at the same time is refused with ErrRunning and changes nothing.
//   - Observe is told each poll that was counted, in order, and nothing after Run has returned.
//
// # Cost
//
// A PollerRunner costs the goroutine that calls Run, and one timer.
//
// # Concurrency
//
// Run may be called by any goroutine. It returns when Fetch does, so that a Fetch
// which ignores its context keeps Run waiting.
type PollerRunner[V any] struct {
	cfg     PollerRunnerConfig[V]
	running syncx.Bool
}

// NewPollerRunner returns a PollerRunner that has not begun, or a
// [poise.FieldError].
func NewPollerRunner[V any](cfg PollerRunnerConfig[V]) (*PollerRunner[V], error) {
	cfg.Timeout = cmp.Or(cfg.Timeout, 10*time.Second)
	switch {
	case cfg.Poller == nil:
		return nil, refuse("Poller", nil, ErrMissing)
	case cfg.Timeout < 0 || cfg.Timeout > longest:
		return nil, refuse("Timeout", cfg.Timeout, ErrOutOfRange)
	}
	return &PollerRunner[V]{cfg: cfg}, nil
}

// Run polls until ctx ends. A panic of Fetch or Observe ends it with that panic.
func (r *PollerRunner[V]) Run(ctx context.Context) error {
	if !r.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer r.running.Store(false)
	for ctx.Err() == nil {
		wait, err := r.poll(ctx)
		if errors.Is(err, ErrClosed) || errors.Is(err, ErrSessionEnded) {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
	return ctx.Err()
}

// poll polls once and tells who observes.
func (r *PollerRunner[V]) poll(ctx context.Context) (time.Duration, error) {
	bounded, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	before := r.cfg.Poller.Status().Polls
	wait, err := r.cfg.Poller.Poll(bounded, time.Now())
	if r.cfg.Observe != nil && r.cfg.Poller.Status().Polls != before {
		r.cfg.Observe(err)
	}
	return wait, err
}
