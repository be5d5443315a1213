// Explorable.

package health

import (
	"math/bits"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// longest bounds the durations of a config, so that no sum of two overflows.
const longest = 100 * 365 * 24 * time.Hour

// ActiveHealthConfig are the settings of an ActiveHealth. The zero value of each
// field is its default.
type ActiveHealthConfig struct {
	_ struct{}
	// Interval is the time from the end of one probe to the next, before jitter,
	// while the condition is Healthy. Positive, up to 100 years, default 10 s.
	Interval time.Duration
	// UnhealthyInterval is the same while the condition is Unhealthy. Positive, up
	// to 100 years, default Interval.
	UnhealthyInterval time.Duration
	// UnknownInterval is the same while the condition is Unknown, so that it soon is
	// known. Positive, up to 100 years, default 100 ms or Interval if that is shorter.
	UnknownInterval time.Duration
	// Jitter is how much of an interval chance may take off, in percent. 0 to 99,
	// default 0.
	Jitter int
	// HealthyThreshold is how many probes in a row must succeed for Healthy; 1 or
	// more, default 2.
	HealthyThreshold int
	// UnhealthyThreshold is how many probes in a row must fail for Unhealthy; 1 or
	// more, default 3.
	UnhealthyThreshold int
	// Unknown is what Unknown means for choosing, default AllowUnknown.
	Unknown UnknownPolicy
	// Hold is how long a probe may take before it counts as lost. It must be longer
	// than any probe that is to count. Positive, up to 100 years, default 30 s.
	Hold time.Duration
}

// withDefaults returns the config with its defaults filled in, or the field that
// is out of range.
func (c ActiveHealthConfig) withDefaults() (ActiveHealthConfig, error) {
	c.Interval = defaultTo(c.Interval, 10*time.Second)
	c.UnhealthyInterval = defaultTo(c.UnhealthyInterval, c.Interval)
	c.UnknownInterval = defaultTo(c.UnknownInterval, min(100*time.Millisecond, c.Interval))
	c.HealthyThreshold = defaultTo(c.HealthyThreshold, 2)
	c.UnhealthyThreshold = defaultTo(c.UnhealthyThreshold, 3)
	c.Hold = defaultTo(c.Hold, 30*time.Second)
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"Interval", c.Interval},
		{"UnhealthyInterval", c.UnhealthyInterval},
		{"UnknownInterval", c.UnknownInterval},
		{"Hold", c.Hold},
	} {
		if d.value < 0 || d.value > longest {
			return c, outOfRange(d.field, d.value)
		}
	}
	switch {
	case c.Jitter < 0 || c.Jitter > 99:
		return c, outOfRange("Jitter", c.Jitter)
	case c.HealthyThreshold < 1:
		return c, outOfRange("HealthyThreshold", c.HealthyThreshold)
	case c.UnhealthyThreshold < 1:
		return c, outOfRange("UnhealthyThreshold", c.UnhealthyThreshold)
	case c.Unknown >= unknownPolicies:
		return c, outOfRange("Unknown", c.Unknown)
	}
	return c, nil
}

// defaultTo returns the value, or the default if it is zero.
func defaultTo[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// ActiveHealth says from the results of probes whether a candidate is healthy, and
// when the next probe is due. It sends none itself: a [Prober], or whoever owns a
// clock, reserves a probe, sends it, and completes or cancels the reservation.
//
// An ActiveHealth is made by NewActiveHealth. Its condition is Unknown and its
// first probe due at once. Force does not last: the probes after it count as ever.
//
// # Contract
//
//   - At most one reservation is outstanding at any instant.
//   - A probe is due at once if none was completed or cancelled before, and else one interval of the present condition after the last was.
//   - The condition becomes Healthy or Unhealthy exactly when that many probes in a row as its threshold says have agreed, and otherwise stays.
//   - A result starts the count of the opposite one again.
//   - Only the outstanding reservation has effect: one that was completed, cancelled, voided or lost before is reported as such and changes nothing.
//   - A cancelled probe leaves the condition and both counts alone.
//   - A reservation that is not ended within Hold is lost, and counts as cancelled at the instant its Hold ended.
//   - Each wait is at most the interval and at least what Jitter leaves of it, which is never nothing.
//   - A clock that steps back costs at most one more interval, or one more Hold, from the next Reserve.
//   - Due, State and Excluded change nothing.
//
// # Cost
//
// Every method is O(1) and allocates nothing, but that a Reserve draws once.
//
// # Concurrency
//
// Every method is one critical section.
type ActiveHealth struct {
	cfg ActiveHealthConfig

	mu syncx.Mutex
	// Guarded by mu.
	condition Condition
	// healthy and unhealthy are the results in a row; one of them is 0.
	healthy, unhealthy int
	// number is that of the last reservation; a Reservation bears its own.
	number uint64
	// running: the last reservation is outstanding, or lost and not yet noticed.
	running  bool
	reserved time.Time // when, if running
	probed   bool      // a probe ended before
	ended    time.Time // when the last did, if probed
	// draw is the chance of the last reservation, from which every wait after it
	// follows, so that asking needs none.
	draw uint64
}

// Reservation is the right to send one probe, issued by Reserve and given back by
// Complete or Cancel. Copies are the same reservation.
//
// The zero value was never issued, so that it has no effect.
type Reservation struct{ number uint64 }

// ActiveState is what an ActiveHealth is at one instant.
type ActiveState struct {
	_ struct{}
	// Condition is what the probes found.
	Condition Condition
	// Excluded is why the candidate may not be chosen, or NotExcluded.
	Excluded poise.Reason
	// ConsecutiveSuccesses and ConsecutiveFailures are how many of the last probes agree,
	// counted from the last Force.
	ConsecutiveSuccesses, ConsecutiveFailures int
	// Running means a reservation is outstanding.
	Running bool
	// Due is what Due answers.
	Due time.Duration
}

// NewActiveHealth returns an ActiveHealth whose first probe is due, or a
// [poise.FieldError] of ErrOutOfRange.
func NewActiveHealth(cfg ActiveHealthConfig) (*ActiveHealth, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &ActiveHealth{cfg: cfg}, nil
}

// Reserve returns the right to send one probe at the instant now, or ErrNotDue or
// ErrProbeRunning with the answer of Due. The chance draws the jitter of the wait
// that follows; nil draws from the runtime.
//
// # Contract
//
//   - Reserve succeeds exactly when no reservation is outstanding and Due answers 0.
func (h *ActiveHealth) Reserve(now time.Time, chance *poise.Generator) (r Reservation, wait time.Duration, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reserve(now, chance)
}

// reserve answers Reserve. Requires mu.
func (h *ActiveHealth) reserve(now time.Time, chance *poise.Generator) (r Reservation, wait time.Duration, err error) {
	h.settle(now)
	if wait = h.due(now); h.running {
		return Reservation{}, wait, ErrProbeRunning
	}
	if wait > 0 {
		return Reservation{}, wait, ErrNotDue
	}
	h.number++
	h.running, h.reserved, h.draw = true, now, chance.Uint64()
	return Reservation{number: h.number}, 0, nil
}

// Complete tells what the probe of a Reservation found, at the instant now. It
// returns the state after it, and whether the result counted.
func (h *ActiveHealth) Complete(r Reservation, healthy bool, now time.Time) (ActiveState, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.end(r, now) {
		return h.state(now), false
	}
	if healthy {
		h.healthy, h.unhealthy = oneMore(h.healthy), 0
		if h.healthy >= h.cfg.HealthyThreshold {
			h.condition = Healthy
		}
	} else {
		h.healthy, h.unhealthy = 0, oneMore(h.unhealthy)
		if h.unhealthy >= h.cfg.UnhealthyThreshold {
			h.condition = Unhealthy
		}
	}
	return h.state(now), true
}

// Cancel gives a Reservation back at the instant now, whose probe found nothing. It
// reports whether it was outstanding.
func (h *ActiveHealth) Cancel(r Reservation, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.end(r, now)
}

// Force sets the condition at the instant now. A probe that was due stays so, one
// that is running counts no more.
//
// # Contract
//
//   - Force sets the condition at once, starts both counts again and voids the outstanding reservation.
func (h *ActiveHealth) Force(condition Condition, now time.Time) error {
	if condition >= conditions {
		return outOfRange("condition", condition)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settle(now)
	h.condition, h.healthy, h.unhealthy = condition, 0, 0
	h.running = false
	return nil
}

// Due returns for how long from the instant now Reserve will be refused if nobody
// does anything; 0 if it would succeed. While a probe is running that is until it
// counts as lost, and an interval more.
func (h *ActiveHealth) Due(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.due(now)
}

// State returns everything at the instant now.
func (h *ActiveHealth) State(now time.Time) ActiveState {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state(now)
}

// Excluded returns why the candidate may not be chosen: ExcludedUnhealthy, for an
// Unknown that is denied as well, or NotExcluded. Time alone never changes it.
//
// # Contract
//
//   - A candidate is excluded exactly while it is Unhealthy, or Unknown under DenyUnknown.
func (h *ActiveHealth) Excluded() poise.Reason {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.excluded()
}

// settle brings the state up to the instant: a lost reservation ends, and a clock
// that stepped back starts what it left in the future anew. Waiting for the old
// instants could take for ever. Requires mu.
func (h *ActiveHealth) settle(now time.Time) {
	if h.running && now.Before(h.reserved) {
		h.reserved = now
	}
	if h.lost(now) {
		h.running, h.probed, h.ended = false, true, h.reserved.Add(h.cfg.Hold)
	}
	if h.probed && now.Before(h.ended) {
		h.ended = now
	}
}

// end ends the reservation if it is outstanding at the instant. Requires mu.
func (h *ActiveHealth) end(r Reservation, now time.Time) bool {
	h.settle(now)
	if !h.running || r.number != h.number {
		return false
	}
	h.running, h.probed, h.ended = false, true, now
	return true
}

// lost reports whether the running reservation was held too long. Requires mu.
func (h *ActiveHealth) lost(now time.Time) bool {
	return h.running && now.Sub(h.reserved) >= h.cfg.Hold
}

// due answers Due, of a state that need not be settled. Requires mu.
func (h *ActiveHealth) due(now time.Time) time.Duration {
	wait, since := h.wait(), h.ended
	switch {
	case h.running:
		wait, since = h.cfg.Hold+wait, h.reserved
	case !h.probed:
		return 0
	}
	return max(0, wait-max(0, now.Sub(since)))
}

// wait returns the time from the end of a probe to the next. Requires mu.
func (h *ActiveHealth) wait() time.Duration {
	interval := h.cfg.Interval
	switch h.condition {
	case Unknown:
		interval = h.cfg.UnknownInterval
	case Unhealthy:
		interval = h.cfg.UnhealthyInterval
	}
	// At most 99 of 100 parts, rounded down: what is left is at least 1. The high word
	// of the product is the draw, without another for the bias, which is under
	// (part+1)/2^64.
	part := interval/100*time.Duration(h.cfg.Jitter) + interval%100*time.Duration(h.cfg.Jitter)/100
	off, _ := bits.Mul64(h.draw, uint64(part)+1)
	return interval - time.Duration(off)
}

// state answers State. Requires mu.
func (h *ActiveHealth) state(now time.Time) ActiveState {
	return ActiveState{
		Condition: h.condition, Excluded: h.excluded(),
		ConsecutiveSuccesses: h.healthy, ConsecutiveFailures: h.unhealthy,
		Running: h.running && !h.lost(now), Due: h.due(now),
	}
}

// excluded answers Excluded. Requires mu.
func (h *ActiveHealth) excluded() poise.Reason {
	if h.condition == Unhealthy || h.condition == Unknown && h.cfg.Unknown == DenyUnknown {
		return poise.ExcludedUnhealthy
	}
	return poise.NotExcluded
}

// oneMore returns the next number, if there is one.
func oneMore(n int) int { return max(n, n+1) }
