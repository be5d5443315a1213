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
	// PeakEWMA returns to. Positive; deliberately no default, since it must suit the
	// service: take what a slow good call needs. A candidate that only fails gives no
	// samples and keeps looking like Initial, so one below the usual latency draws
	// calls to those that fail; and one that nobody calls is called again once the
	// loads of the others exceed Initial, so one far above the usual latency keeps it
	// waiting.
	Initial time.Duration
	// HalfLife is the time in which half of a difference is forgotten. Positive;
	// deliberately no default.
	HalfLife time.Duration
	// InFlight counts the calls in flight where somebody else admits them; nil: the
	// PeakEWMA has a counter of its own, with the Limit.
	InFlight *InFlight
	// Limit is how many calls may be in flight; 0 is no limit. It goes with a counter
	// of its own.
	Limit uint64
}

// PeakEWMA estimates what one more call would cost: the latency of recent calls,
// where a slow one counts at once and is forgotten slowly, times the calls in
// flight and this one. The idea is Finagle's Peak EWMA; the way down differs, and
// is stated here.
//
// A sample s, taken a time d after the last one, makes of the estimate e
//
//	max(s, b + (e-b)·2^(-d/HalfLife)), where b = min(s, Initial)
//
// and a reading taken a time d after the last sample is
//
//	Initial + (e-Initial)·2^(-d/HalfLife)
//
// So after a spike, in seven half-lives of fast calls, less than 1 % of the
// spike's excess over them is left (2^-7 is 0.8 %). Everything is computed in
// float64 nanoseconds; a load is rounded down.
//
// A call is told to a PeakEWMA in one of two ways. Start admits it and gives a
// TimedLease. Or somebody else admits it, by the counter in the config, and says
// Answered and Ended: a balancer does, so that a call is counted once.
//
// A PeakEWMA is made by NewPeakEWMA.
//
// # Contract
//
//   - A sample that is at least the estimate becomes the estimate at once.
//   - Under samples below it the estimate loses at least half of its excess over them in each half-life.
//   - A sample never raises the estimate above itself and what was read before it.
//   - An idle PeakEWMA returns to the initial cost, by half of the difference in each half-life.
//   - Only a call that succeeds is a sample.
//   - A call whose answer begins is sampled then, and no more at its end.
//   - An instant before that of the last sample counts as that one.
//   - A clock that is set back by more than ten half-lives makes a PeakEWMA start anew at the initial cost.
//   - A call that ends before it began is no sample.
//
// # Cost
//
// Every method is O(1) and allocates nothing. A reading computes one power of two.
//
// # Concurrency
//
// A sample is one critical section; a reading sees one sample whole. Load reads
// the calls in flight first and the estimate second, Done samples first and gives
// the slot back second: no reading misses both a call in flight and its latency.
type PeakEWMA struct {
	cfg      PeakEWMAConfig
	inFlight *InFlight
	zero     time.Time // instants are kept as nanoseconds since then

	mu syncx.Mutex // orders samples

	// samples[count%2] is the last sample. The next one is written to the other
	// place before count moves on, and only the one after that comes back to this
	// place: so whoever reads count, the place, and the same count again has read
	// one sample whole, without ever waiting for a writer.
	count   syncx.Uint64
	samples [2]peakSample
}

// peakSample is the estimate as of a sample.
type peakSample struct {
	cost syncx.Uint64 // bits of a float64: nanoseconds, not negative
	at   syncx.Int64  // nanoseconds since zero
}

var _ LoadTracker = (*PeakEWMA)(nil)

// NewPeakEWMA returns a PeakEWMA at its initial cost, or a [FieldError] of a
// [RangeError]. Its time begins at now.
func NewPeakEWMA(cfg PeakEWMAConfig, now time.Time) (*PeakEWMA, error) {
	if cfg.Initial <= 0 {
		return nil, &FieldError{Field: "Initial", Value: cfg.Initial, Err: &RangeError{Min: time.Duration(1)}}
	}
	if cfg.HalfLife <= 0 {
		return nil, &FieldError{Field: "HalfLife", Value: cfg.HalfLife, Err: &RangeError{Min: time.Duration(1)}}
	}
	if cfg.InFlight != nil && cfg.Limit != 0 {
		return nil, &FieldError{Field: "Limit", Value: cfg.Limit, Err: &RangeError{Max: uint64(0)}}
	}
	e := &PeakEWMA{cfg: cfg, inFlight: cfg.InFlight, zero: now}
	if e.inFlight == nil {
		e.inFlight = NewInFlight(cfg.Limit)
	}
	e.samples[0].cost.Store(math.Float64bits(float64(cfg.Initial)))
	return e, nil
}

// Start takes a slot for a call that begins now, or answers a [CapacityError].
//
// # Contract
//
//   - The calls that a PeakEWMA admits never exceed its limit.
func (e *PeakEWMA) Start(now time.Time) (call TimedLease, err error) {
	if _, err = e.inFlight.Acquire(); err == nil { // the call gives it back
		call.of, call.began = e, now
	}
	return
}

// Began says that a call was admitted. It changes nothing: the counter knows.
func (e *PeakEWMA) Began(time.Time) {}

// Answered says that the answer of a call that began at an instant begins at
// another, and how it is judged. A Success is a sample.
func (e *PeakEWMA) Answered(r Result, began, now time.Time) {
	if r.Outcome == Success {
		e.Observe(now.Sub(began), now)
	}
}

// Ended says that a call ended. If its answer never began it is a sample, where it is
// a Success; else Answered has said so.
func (e *PeakEWMA) Ended(r Result, answered bool, began, now time.Time) {
	if !answered {
		e.Answered(r, began, now)
	}
}

// InFlight returns the counter of the calls in flight.
func (e *PeakEWMA) InFlight() *InFlight { return e.inFlight }

// Estimate returns the expected latency of a call at the instant now.
func (e *PeakEWMA) Estimate(now time.Time) time.Duration {
	return time.Duration(min(e.estimate(now), math.MaxInt64-1023)) // the largest float64 below 2^63
}

// Load returns the estimate times one more than the calls in flight.
//
// # Contract
//
//   - The load of a PeakEWMA is the estimate times one more than the calls in flight.
//   - A load of 2^64 or more fails with ErrLoadOverflow.
//   - Reading a PeakEWMA neither writes nor locks, and never waits.
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
		count := e.count.Load()
		last := &e.samples[count%2]
		cost, at := math.Float64frombits(last.cost.Load()), last.at.Load()
		if e.count.Load() == count {
			initial := float64(e.cfg.Initial)
			cost, _, elapsed := e.since(cost, at, int64(now.Sub(e.zero)))
			return initial + e.left(cost-initial, elapsed)
		}
	}
}

// Observe takes the latency of a call that succeeded and ended at the instant now.
// A negative latency is ignored.
func (e *PeakEWMA) Observe(latency time.Duration, now time.Time) {
	if latency < 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	count := e.count.Load()
	last, next := &e.samples[count%2], &e.samples[(count+1)%2]
	cost, at, elapsed := e.since(math.Float64frombits(last.cost.Load()), last.at.Load(), int64(now.Sub(e.zero)))
	sample := float64(latency)
	base := min(sample, float64(e.cfg.Initial))
	next.cost.Store(math.Float64bits(max(sample, base+e.left(cost-base, elapsed))))
	next.at.Store(at)
	e.count.Store(count + 1)
}

// setBack is how many half-lives before the last sample an instant must lie to
// mean that the clock was set back. Readers and writers whose instants merely
// overtook each other are far closer, and waiting that long forgets the most.
const setBack = 10

// since returns the estimate that counts at an instant, the instant it holds from
// if it is sampled anew, and the nanoseconds that have passed since the old one.
// All instants are nanoseconds since zero. Differences are taken unsigned, where
// they cannot overflow.
func (e *PeakEWMA) since(cost float64, at, instant int64) (estimate float64, from int64, elapsed float64) {
	if instant >= at {
		return cost, instant, float64(uint64(instant) - uint64(at))
	}
	if float64(uint64(at)-uint64(instant)) > setBack*float64(e.cfg.HalfLife) {
		return float64(e.cfg.Initial), instant, 0
	}
	return cost, at, 0
}

// left returns what is left of a difference after the nanoseconds elapsed. The
// conversion keeps the product from being fused into a sum on some platforms.
func (e *PeakEWMA) left(difference, elapsed float64) float64 {
	return float64(difference * math.Exp2(-elapsed/float64(e.cfg.HalfLife)))
}

// TimedLease is one call of a PeakEWMA, held until Done. It must not be copied
// after use.
//
// The zero value holds nothing.
//
// # Contract
//
//   - The first Done of a TimedLease ends the call and returns true; every later one returns false and changes nothing.
//   - The first Answered before Done takes the sample and returns true; every other one returns false and changes nothing.
//   - Done of the zero TimedLease returns false.
//
// # Cost
//
// A TimedLease lives in its holder's variable. Answered and Done are O(1).
//
// # Concurrency
//
// Several goroutines may call Answered and Done on one TimedLease: each is one step.
type TimedLease struct {
	of    *PeakEWMA
	began time.Time
	state syncx.Uint32
}

// The states of a TimedLease.
const (
	callBegan uint32 = iota
	callAnswered
	callEnded
)

// Answered says that the answer begins, and how it is judged: a Success is a sample
// of the latency so far. The slot is kept. It reports whether this call did so.
func (l *TimedLease) Answered(outcome Outcome, now time.Time) bool {
	if l.of == nil || !l.state.CompareAndSwap(callBegan, callAnswered) {
		return false
	}
	l.of.Answered(Result{Outcome: outcome}, l.began, now)
	return true
}

// Done ends the call. If its answer never began, a Success is a sample of its
// latency; every other outcome only gives the slot back. It reports whether this
// call did so.
func (l *TimedLease) Done(outcome Outcome, now time.Time) bool {
	if l.of == nil {
		return false
	}
	state := l.state.Swap(callEnded)
	if state == callEnded {
		return false
	}
	l.of.Ended(Result{Outcome: outcome}, state == callAnswered, l.began, now)
	l.of.inFlight.used.Add(^uint64(0))
	return true
}
