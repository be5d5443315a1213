// Explorable.

package poise

import (
	"math"
	"time"

	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// PeakEWMAConfig are the settings of a PeakEWMA.
type PeakEWMAConfig struct {
	_ struct{}
	// Initial is the cost of a call before anything is known, and what an idle
	// tracker returns to. Positive; deliberately no default, since it must suit the
	// service.
	Initial time.Duration
	// HalfLife is the time in which half of a difference is forgotten. Positive;
	// deliberately no default.
	HalfLife time.Duration
	// Limit is how many calls may be in flight; 0 is no limit.
	Limit uint64
}

// PeakEWMA estimates what one more call would cost: the latency of recent calls,
// where a slow one counts at once and is forgotten slowly, times the calls in
// flight and this one. The idea is Finagle's Peak EWMA; the way down differs, and
// is stated below.
//
// A sample s at an instant t that is d after the last one changes the estimate e:
// if s is at least the estimate at t, e becomes s; else e becomes
// s + (e-s)·2^(-d/HalfLife). Between samples the estimate at t is
// Initial + (e-Initial)·2^(-d/HalfLife). The load is that estimate times one more
// than the calls in flight, in nanoseconds, rounded down.
//
// A PeakEWMA is made by NewPeakEWMA.
//
// # Contract
//
//   - A sample above the estimate becomes the estimate at once.
//   - Under samples below it the estimate loses half of its excess over them in each half-life.
//   - An idle PeakEWMA returns to the initial cost, by half of the difference in each half-life.
//   - Failed and cancelled calls are no samples.
//   - The load of a PeakEWMA is the estimate times one more than the calls in flight.
//   - A load above 64 bits is an error of the pick.
//   - Reading a PeakEWMA neither writes nor locks.
//   - Time that steps back counts as no time.
//   - The calls that a PeakEWMA admits never exceed its limit.
//
// # Cost
//
// Every method is O(1) and allocates nothing. Load computes one power of two.
//
// # Concurrency
//
// A sample is one critical section. Load reads the calls in flight first and one
// coherent estimate second; Done samples first and gives the slot back second: so
// no reader sees the call gone and its latency missing.
type PeakEWMA struct {
	cfg      PeakEWMAConfig
	inFlight *InFlight
	origin   time.Time // instants are kept as nanoseconds since then

	mu syncx.Mutex // orders samples

	// A sequence lock: odd while a sample is being written. Readers read version,
	// cost and at, then version again, and start over if it has changed.
	version syncx.Uint64
	cost    syncx.Uint64 // bits of a float64, nanoseconds; >= 0
	at      syncx.Int64  // nanoseconds since origin
}

var _ LoadTracker = (*PeakEWMA)(nil)

// NewPeakEWMA returns a PeakEWMA at its initial cost, or a [FieldError] of
// ErrNotPositive. Its instants begin at now.
func NewPeakEWMA(cfg PeakEWMAConfig, now time.Time) (*PeakEWMA, error) {
	if cfg.Initial <= 0 {
		return nil, &FieldError{Field: "Initial", Value: cfg.Initial, Err: ErrNotPositive}
	}
	if cfg.HalfLife <= 0 {
		return nil, &FieldError{Field: "HalfLife", Value: cfg.HalfLife, Err: ErrNotPositive}
	}
	e := &PeakEWMA{cfg: cfg, inFlight: NewInFlight(cfg.Limit), origin: now}
	e.cost.Store(math.Float64bits(float64(cfg.Initial)))
	return e, nil
}

// Start takes a slot and the time, or answers a [CapacityError].
func (e *PeakEWMA) Start(now time.Time) (call TimedLease, err error) {
	if call.lease, err = e.inFlight.Acquire(); err == nil {
		call.of, call.began = e, now
	}
	return
}

// InFlight returns the counter of the calls in flight.
func (e *PeakEWMA) InFlight() *InFlight { return e.inFlight }

// Estimate returns the expected latency of a call at the instant now.
func (e *PeakEWMA) Estimate(now time.Time) time.Duration {
	return time.Duration(min(e.estimate(now), math.MaxInt64-1023)) // the largest float64 below 2^63
}

// Load returns the estimate times one more than the calls in flight.
func (e *PeakEWMA) Load(now time.Time) (uint64, error) {
	calls := e.inFlight.Current()
	load := e.estimate(now) * (float64(calls) + 1)
	if load >= 1<<64 {
		return 0, ErrLoadOverflow
	}
	return uint64(load), nil
}

// Unit returns CostNanoseconds.
func (e *PeakEWMA) Unit() LoadUnit { return CostNanoseconds }

// estimate returns the estimate at the instant now, in nanoseconds.
func (e *PeakEWMA) estimate(now time.Time) float64 {
	for {
		version := e.version.Load()
		cost, at := math.Float64frombits(e.cost.Load()), e.at.Load()
		if version%2 == 0 && e.version.Load() == version {
			return e.toward(float64(e.cfg.Initial), cost, int64(now.Sub(e.origin))-at)
		}
	}
}

// toward returns what is left of cost on its way to the target after the
// nanoseconds elapsed.
func (e *PeakEWMA) toward(target, cost float64, elapsed int64) float64 {
	if elapsed <= 0 {
		return cost
	}
	left := math.Exp2(-float64(elapsed) / float64(e.cfg.HalfLife))
	return target + float64((cost-target)*left)
}

// Observe takes the latency of a successful call that ended at the instant now.
// A negative latency counts as zero.
func (e *PeakEWMA) Observe(latency time.Duration, now time.Time) {
	sample := float64(max(latency, 0))
	e.mu.Lock()
	defer e.mu.Unlock()
	cost, at := math.Float64frombits(e.cost.Load()), e.at.Load()
	instant := int64(now.Sub(e.origin))
	next := sample
	if sample < e.toward(float64(e.cfg.Initial), cost, instant-at) {
		next = e.toward(sample, cost, instant-at)
	}
	e.version.Add(1)
	e.cost.Store(math.Float64bits(next))
	e.at.Store(max(instant, at)) // time does not run back
	e.version.Add(1)
}

// TimedLease is one call of a PeakEWMA, held until Done. It must not be copied
// after use.
//
// The zero value holds nothing.
//
// # Contract
//
//   - The first Done of a TimedLease ends the call and returns true; every later one returns false and changes nothing.
//
// # Cost
//
// A TimedLease lives in its holder's variable. Done is O(1).
//
// # Concurrency
//
// Several goroutines may call Done on one TimedLease; exactly one gets true.
type TimedLease struct {
	of    *PeakEWMA
	began time.Time
	lease Lease
}

// Done ends the call. A Success is a sample of its latency; every other outcome
// only gives the slot back. It reports whether this call did so.
func (l *TimedLease) Done(outcome Outcome, now time.Time) bool {
	if !l.lease.claim() {
		return false
	}
	if outcome == Success {
		l.of.Observe(now.Sub(l.began), now)
	}
	l.of.inFlight.used.Add(^uint64(0))
	return true
}
