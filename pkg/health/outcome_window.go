// Explorable.

package health

import (
	"cmp"
	"math"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// OutcomeWindowConfig are the settings of an OutcomeWindow. The zero value of each
// field is its default.
type OutcomeWindowConfig struct {
	_ struct{}
	// Capacity is how many observations the window holds; 1 to 2^20, default 100.
	Capacity int
	// MinimumSamples is how many must be held for there to be a penalty; 1 to
	// Capacity, default 1.
	MinimumSamples int
	// FailureWeight is what a Failure adds to the penalty; default 1.
	FailureWeight uint32
	// OverloadWeight is what an Overloaded adds; default 2.
	OverloadWeight uint32
	// HalfLife is the time in which the weight of a failure is halved; 0 keeps it
	// whole for as long as the window holds it. Without it a candidate that is not
	// chosen because of its penalty keeps the penalty. Not negative, default 0.
	HalfLife time.Duration
	// FailureCost is what a penalty of 1 costs as a load. Not negative; default
	// 5 s, which is what linkerd2-proxy takes a failed call to have lasted.
	FailureCost time.Duration
}

// maximumCapacity keeps every sum of weights below 2^53, where float64 is exact.
const maximumCapacity = 1 << 20

// withDefaults returns the config with its defaults filled in, or the field that
// is out of range.
func (c OutcomeWindowConfig) withDefaults() (OutcomeWindowConfig, error) {
	c.Capacity = cmp.Or(c.Capacity, 100)
	c.MinimumSamples = cmp.Or(c.MinimumSamples, 1)
	c.FailureWeight = cmp.Or(c.FailureWeight, 1)
	c.OverloadWeight = cmp.Or(c.OverloadWeight, 2)
	c.FailureCost = cmp.Or(c.FailureCost, 5*time.Second)
	switch {
	case c.Capacity < 1 || c.Capacity > maximumCapacity:
		return c, outOfRange("Capacity", c.Capacity)
	case c.MinimumSamples < 1 || c.MinimumSamples > c.Capacity:
		return c, outOfRange("MinimumSamples", c.MinimumSamples)
	case c.HalfLife < 0:
		return c, outOfRange("HalfLife", c.HalfLife)
	case c.FailureCost < 0:
		return c, outOfRange("FailureCost", c.FailureCost)
	}
	return c, nil
}

// OutcomeWindow holds the last outcomes of a candidate and turns them into a
// penalty: what the failures among them weigh, per observation. Of n observations
// held, where failure i has the weight w(i) and lies a time d(i) back, it is
//
//	(Σ w(i)·2^(-d(i)/HalfLife)) / n
//
// and without a HalfLife the powers are 1. The decay is that of a PeakEWMA towards
// 0; because it takes the age of each failure, and not that of the last outcome,
// one call to a candidate that has waited brings no old penalty back. The penalty
// times FailureCost is a load, in the unit of a PeakEWMA: what the failures add to
// the cost of a call.
//
// An OutcomeWindow is made by NewOutcomeWindow.
//
// # Contract
//
//   - The window holds the last Capacity observations, whatever their order in time.
//   - A cancelled or unknown outcome changes nothing.
//   - The penalty is the weight of the failures held divided by the number of observations held.
//   - The penalty is 0 while fewer than MinimumSamples observations are held.
//   - The weight of a failure is halved by each HalfLife that passes after it.
//   - An instant before that of the last observation counts as that one.
//   - An instant more than ten half-lives before that of the last observation says that the clock was set back, and leaves none of the weights held before.
//   - Load is the penalty times FailureCost, rounded down, and ErrLoadOverflow from 2^64 on.
//   - Clear empties the window.
//   - Penalty and Load neither write nor lock, and never wait.
//
// # Cost
//
// Every method is O(1) and allocates nothing. A window takes one byte for each
// observation, and eight more with a HalfLife. Reading it then computes one power
// of two, and so does recording; recording that puts a failure out computes two.
//
// # Concurrency
//
// Record, Clear and Stats are each one critical section. Penalty and Load see one
// of those sections whole.
type OutcomeWindow struct {
	cfg  OutcomeWindowConfig
	zero time.Time // instants are kept as nanoseconds since then

	mu syncx.Mutex
	// Guarded by mu.
	ring   []poise.Outcome
	next   int // where the next observation goes
	counts [3]int
	// age is how many half-lives have passed in all; it never goes back. ages are
	// those at which the observations of the ring were taken; nil without HalfLife.
	age  float64
	ages []float64
	// weight is what the failures held weigh at that age.
	weight float64

	// published[count%2] is the penalty as of the last change. It is written and
	// read as PeakEWMA's samples are.
	count     syncx.Uint64
	published [2]penalty
}

// penalty is a penalty as of an instant.
type penalty struct {
	bits syncx.Uint64 // of a float64, not negative
	at   syncx.Int64  // nanoseconds since zero
}

// OutcomeStats are what an OutcomeWindow holds.
type OutcomeStats struct {
	_ struct{}
	// Successes, Failures and Overloaded count the observations by outcome.
	Successes, Failures, Overloaded int
	// Penalty is the penalty at the instant that was asked for.
	Penalty float64
}

// Samples returns the number of observations.
func (s OutcomeStats) Samples() int { return s.Successes + s.Failures + s.Overloaded }

// SuccessRate returns the share of successes; known is false if there is no
// observation.
func (s OutcomeStats) SuccessRate() (rate float64, known bool) {
	if s.Samples() == 0 {
		return 0, false
	}
	return float64(s.Successes) / float64(s.Samples()), true
}

var _ poise.LoadTracker = (*OutcomeWindow)(nil)

// NewOutcomeWindow returns an empty OutcomeWindow, or a [poise.FieldError] of
// ErrOutOfRange. Its time begins at now.
func NewOutcomeWindow(cfg OutcomeWindowConfig, now time.Time) (*OutcomeWindow, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	w := &OutcomeWindow{cfg: cfg, zero: now, ring: make([]poise.Outcome, cfg.Capacity)}
	if cfg.HalfLife > 0 {
		w.ages = make([]float64, cfg.Capacity)
	}
	return w, nil
}

// Record takes the outcome of a call that ended at the instant now.
func (w *OutcomeWindow) Record(outcome poise.Outcome, now time.Time) {
	if outcome > poise.Overloaded {
		return
	}
	w.mu.Lock()
	at := int64(0)
	if w.ages != nil {
		at = w.ripen(now)
	}
	if w.samples() == len(w.ring) {
		w.evict()
	}
	w.ring[w.next] = outcome
	if w.ages != nil {
		w.ages[w.next] = w.age
	}
	w.next++
	if w.next == len(w.ring) {
		w.next = 0
	}
	w.counts[outcome]++
	w.weight += w.weightOf(outcome)
	w.publish(at)
	w.mu.Unlock() // not deferred: nothing above can panic, and this is every call
}

// Clear forgets every observation.
func (w *OutcomeWindow) Clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts, w.next, w.weight = [3]int{}, 0, 0
	w.publish(w.published[w.count.Load()%2].at.Load())
}

// Stats returns what the window holds, and the penalty at the instant now.
func (w *OutcomeWindow) Stats(now time.Time) OutcomeStats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return OutcomeStats{
		Successes: w.counts[poise.Success], Failures: w.counts[poise.Failure], Overloaded: w.counts[poise.Overloaded],
		Penalty: w.Penalty(now),
	}
}

// Penalty returns the penalty at the instant now.
func (w *OutcomeWindow) Penalty(now time.Time) float64 {
	if w.ages == nil {
		return math.Float64frombits(w.published[0].bits.Load())
	}
	for {
		count := w.count.Load()
		last := &w.published[count%2]
		bits, at := last.bits.Load(), last.at.Load()
		if w.count.Load() == count {
			_, passed := w.since(at, now)
			return float64(math.Float64frombits(bits) * math.Exp2(-passed))
		}
	}
}

// Load returns the penalty times FailureCost.
func (w *OutcomeWindow) Load(now time.Time) (uint64, error) {
	load := w.Penalty(now) * float64(w.cfg.FailureCost)
	if load >= 1<<64 {
		return 0, poise.ErrLoadOverflow
	}
	return uint64(load), nil
}

// Unit returns CostNanoseconds.
func (w *OutcomeWindow) Unit() poise.LoadUnit { return poise.CostNanoseconds }

// samples returns how many observations are held. Requires mu.
func (w *OutcomeWindow) samples() int { return w.counts[0] + w.counts[1] + w.counts[2] }

// weightOf returns what an outcome adds at its own instant.
func (w *OutcomeWindow) weightOf(outcome poise.Outcome) float64 {
	switch outcome {
	case poise.Failure:
		return float64(w.cfg.FailureWeight)
	case poise.Overloaded:
		return float64(w.cfg.OverloadWeight)
	}
	return 0
}

// evict puts the oldest observation of a full window out. Requires mu.
func (w *OutcomeWindow) evict() {
	oldest := w.ring[w.next]
	w.counts[oldest]--
	switch {
	case w.counts[poise.Failure]+w.counts[poise.Overloaded] == 0:
		w.weight = 0 // so that what was rounded off does not add up
	case oldest == poise.Success:
	case w.ages == nil:
		w.weight -= w.weightOf(oldest)
	default:
		left := float64(w.weightOf(oldest) * math.Exp2(w.ages[w.next]-w.age))
		w.weight = max(w.weight-left, 0)
	}
}

// ripen lets the weights age until the instant now. It returns the instant from
// which they hold, in nanoseconds since zero. Requires mu.
func (w *OutcomeWindow) ripen(now time.Time) (at int64) {
	at, passed := w.since(w.published[w.count.Load()%2].at.Load(), now)
	if passed > 0 {
		w.age += min(passed, ancient)
		if w.weight != 0 {
			w.weight = float64(w.weight * math.Exp2(-passed))
		}
	}
	return at
}

// setBack is how many half-lives before the last observation an instant must lie
// to mean that the clock was set back, as for a PeakEWMA.
const setBack = 10

// ancient is an age in half-lives at which no weight is left: 2^-ancient is 0.
const ancient = 2000

// since returns the instant that an observation taken now has, in nanoseconds since
// zero, and how many half-lives lie between the last one and it. Differences are
// taken unsigned, where they cannot overflow.
func (w *OutcomeWindow) since(last int64, now time.Time) (at int64, halfLives float64) {
	at = int64(now.Sub(w.zero))
	if at >= last {
		return at, float64(uint64(at)-uint64(last)) / float64(w.cfg.HalfLife)
	}
	if float64(uint64(last)-uint64(at)) > float64(setBack*float64(w.cfg.HalfLife)) {
		return at, ancient
	}
	return last, 0
}

// publish makes readers see the weight, as of an instant. Requires mu.
func (w *OutcomeWindow) publish(at int64) {
	share := 0.0
	if n := w.samples(); n >= w.cfg.MinimumSamples {
		share = w.weight / float64(n)
	}
	if w.ages == nil {
		// A store costs more than a load, and most calls change nothing here.
		if bits := math.Float64bits(share); w.published[0].bits.Load() != bits {
			w.published[0].bits.Store(bits)
		}
		return
	}
	count := w.count.Load()
	next := &w.published[(count+1)%2]
	next.bits.Store(math.Float64bits(share))
	next.at.Store(at)
	w.count.Store(count + 1)
}
