// Explorable.

package health

import (
	"math"
	"slices"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// Circuit refuses calls to a candidate whose calls fail, and after a while lets a
// few through as trials, to see whether it has recovered. Without it callers wait
// for what is going to fail, and keep it from recovering.
//
// A circuit is closed, open or half-open. Each transition begins an epoch, and a
// permit acts only on the epoch that issued it.
//
// Nothing happens by itself. An open circuit whose time is over is available, and
// becomes half-open when a call asks for a permit; so a candidate without traffic
// is tried by the first call that comes, and whoever builds Views asks Available
// and sets a timer by NextChange. A circuit forced open is tried in the same way:
// a candidate that must stay out has the Status Draining or Unavailable.
//
// A Circuit is made by NewCircuit; its zero value is not for use.
//
// # Contract
//
//   - The configured number of failures in a row opens a closed circuit; a success in between starts the count again.
//   - A closed circuit with a window opens as soon as the window holds enough outcomes and at least the configured share of them are failures.
//   - The window holds exactly the latest outcomes of its epoch, as many as configured.
//   - The configured number of successful trials closes a half-open circuit; one that fails opens it again.
//   - Each time open is between half of the whole and the whole of it, which doubles with each opening up to the longest; closing forgets that.
//   - A trial that is held for MaxHold counts as cancelled from the next Acquire or End on; its own End is reported and changes nothing.
//   - Available, NextChange and State change nothing.
//   - A clock that steps back costs at most one more time open, or one more hold.
//
// # Cost
//
// Acquire and End are O(1), or O(Trials) while the circuit is half-open, and
// allocate nothing but the error of an open circuit. A transition allocates its
// event if there is an Observer, and clears the window. A Circuit keeps as many
// small tickets as permits were ever out at once, and one bit for each place in
// its window.
//
// # Concurrency
//
// Every method is one critical section. Events are delivered after it, by a
// caller that found nobody delivering; so when a method returns, its event may
// still be on its way in another goroutine.
type Circuit struct {
	cfg   CircuitConfig
	taken *CircuitError // made once, so that a half-open circuit refuses for free

	mu syncx.Mutex
	// Guarded by mu.
	mode  CircuitMode
	epoch uint64
	// failures in a row, and the window: 0 and empty unless closed.
	failures int
	window   failureWindow
	// rounds is how often the circuit opened since it was last closed.
	rounds uint
	since  time.Time     // when it opened, if it is open
	wait   time.Duration // how long it stays so, if it is open
	// trials are the permits that are out, and successes the trials that
	// succeeded: none unless half-open.
	trials     []*ticket
	successes  int
	free       *ticket
	events     []CircuitEvent // not yet taken for delivery
	delivering bool           // somebody is delivering
}

// NewCircuit returns a closed Circuit, or a [poise.FieldError] of ErrOutOfRange.
func NewCircuit(cfg CircuitConfig) (*Circuit, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Circuit{
		cfg:    cfg,
		taken:  &CircuitError{Err: ErrTrialsTaken},
		window: newFailureWindow(cfg.Window),
	}, nil
}

// Acquire returns a Permit for a call that begins at the instant now, or a
// [CircuitError].
//
// # Contract
//
//   - A closed circuit gives a permit to every call.
//   - The first Acquire after that makes the circuit half-open and gets a permit.
//   - An open circuit refuses until its time is over, and says for how long.
//   - A half-open circuit never has more permits out than configured.
//   - Acquire gives a permit exactly when Available at that instant is true.
func (c *Circuit) Acquire(now time.Time) (Permit, error) {
	c.mu.Lock()
	p, err := c.acquire(now)
	undelivered := c.undelivered()
	c.mu.Unlock()
	if undelivered {
		c.deliverHolding(p, now)
	}
	return p, err
}

// deliverHolding is deliver for a caller who has not got its permit yet: should the
// Observer panic, the permit goes back.
func (c *Circuit) deliverHolding(p Permit, now time.Time) {
	returned := false
	defer func() {
		if !returned {
			_ = c.End(p, poise.Cancelled, now) // without a permit there is none to end
		}
	}()
	c.deliver()
	returned = true
}

// End tells what became of the call of a Permit, at the instant now. An error says
// why it changed nothing: ErrPermitEnded, ErrPermitExpired, ErrPermitStale or
// ErrPermitForeign. An outcome outside the enumeration counts as cancelled.
//
// # Contract
//
//   - Copies of a permit share one end; every later End is reported and changes nothing.
//   - A permit of an earlier epoch changes nothing: neither its result nor its end counts.
//   - A cancelled call gives its permit back and says nothing about the candidate.
func (c *Circuit) End(p Permit, outcome poise.Outcome, now time.Time) error {
	c.mu.Lock()
	err := c.end(p, outcome, now)
	undelivered := c.undelivered()
	c.mu.Unlock()
	if undelivered {
		c.deliver()
	}
	return err
}

// ForceOpen opens the circuit at the instant now, for its first time open.
//
// # Contract
//
//   - ForceOpen and ForceClose act at once in every mode and begin an epoch; a time open begins afresh, at its first length.
func (c *Circuit) ForceOpen(now time.Time) {
	c.mu.Lock()
	c.rounds = 0
	c.begin(Open, CauseForced, now)
	c.mu.Unlock()
	c.deliver()
}

// ForceClose closes the circuit at the instant now.
func (c *Circuit) ForceClose(now time.Time) {
	c.mu.Lock()
	c.begin(Closed, CauseForced, now)
	c.mu.Unlock()
	c.deliver()
}

// acquire is Acquire. Requires mu.
func (c *Circuit) acquire(now time.Time) (Permit, error) {
	switch c.mode {
	case Open:
		if left := remaining(now.Sub(c.since), c.wait); left > 0 {
			if now.Before(c.since) {
				// The clock stepped back: waiting for the old instant takes longer.
				c.since, left = now, c.wait
			}
			return Permit{}, &CircuitError{Err: ErrOpen, RetryAfter: left}
		}
		c.begin(HalfOpen, CauseTime, now)
	case HalfOpen:
		c.reclaim(now)
		if len(c.trials) >= c.cfg.Trials {
			return Permit{}, c.taken
		}
	}
	t := c.free
	if t == nil {
		t = &ticket{of: c}
	}
	c.free, t.next = t.next, nil
	if c.mode == HalfOpen {
		t.since = now
		c.trials = append(c.trials, t)
	}
	return Permit{ticket: t, number: t.number, epoch: c.epoch}, nil
}

// end is End. Requires mu.
func (c *Circuit) end(p Permit, outcome poise.Outcome, now time.Time) error {
	c.reclaim(now)
	err := c.refusal(p)
	if err != nil && err != ErrPermitStale {
		return err
	}
	t := p.ticket
	t.number++
	t.next, c.free = c.free, t
	if err != nil {
		return err
	}
	if c.mode == HalfOpen {
		c.giveBack(t)
	}
	if outcome >= poise.Cancelled {
		return nil
	}
	if c.mode == HalfOpen {
		c.judge(outcome, now)
	} else {
		c.count(outcome, now)
	}
	return nil
}

// refusal returns why a permit does not act. Requires mu.
func (c *Circuit) refusal(p Permit) error {
	t := p.ticket
	switch {
	case t == nil || t.of != c:
		return ErrPermitForeign
	case t.number != p.number:
		return ErrPermitEnded
	case t.expired:
		return ErrPermitExpired
	case p.epoch != c.epoch:
		return ErrPermitStale
	}
	return nil
}

// count takes the outcome of a call of a closed circuit. Requires mu.
func (c *Circuit) count(outcome poise.Outcome, now time.Time) {
	failed := outcome.IsFailure()
	c.window.record(failed)
	if failed {
		c.failures++
	} else {
		c.failures = 0
	}
	switch {
	case c.failures >= c.cfg.Failures:
		c.begin(Open, CauseFailures, now)
	case c.window.reached(c.cfg.FailurePercent, c.cfg.MinSamples):
		c.begin(Open, CauseFailureRate, now)
	}
}

// judge takes the outcome of a trial. Requires mu.
func (c *Circuit) judge(outcome poise.Outcome, now time.Time) {
	if outcome.IsFailure() {
		c.begin(Open, CauseTrialFailed, now)
		return
	}
	if c.successes++; c.successes >= c.cfg.Successes {
		c.begin(Closed, CauseTrialsSucceeded, now)
	}
}

// giveBack takes an ended trial from those that are out. Requires mu.
func (c *Circuit) giveBack(t *ticket) {
	c.trials = slices.DeleteFunc(c.trials, func(trial *ticket) bool { return trial == t })
}

// reclaim lets the trials that were held for too long count as cancelled. Requires
// mu.
func (c *Circuit) reclaim(now time.Time) {
	c.trials = slices.DeleteFunc(c.trials, func(t *ticket) bool {
		t.expired = remaining(now.Sub(t.since), c.cfg.MaxHold) == 0
		if now.Before(t.since) {
			t.since = now // the clock stepped back, as in acquire
		}
		return t.expired
	})
}

// begin makes a transition, and with it an epoch. Requires mu.
func (c *Circuit) begin(to CircuitMode, cause CircuitCause, now time.Time) {
	event := CircuitEvent{From: c.mode, To: to, Epoch: c.epoch + 1, Cause: cause, At: now}
	c.mode = to
	c.epoch++
	c.failures, c.successes = 0, 0
	c.window.clear()
	c.trials = c.trials[:0]
	switch to {
	case Closed:
		c.rounds = 0
	case Open:
		whole := c.whole()
		c.since = now
		c.wait = whole - time.Duration(c.cfg.Chance.Below(uint64(whole/2)+1))
		c.rounds++
		event.OpenFor = c.wait
	}
	if c.cfg.Observer != nil {
		c.events = append(c.events, event)
	}
}

// whole returns the time open of this round, before jitter. Requires mu.
func (c *Circuit) whole() time.Duration {
	whole := c.cfg.OpenFor
	for range c.rounds {
		if whole > c.cfg.MaxOpenFor/2 {
			return c.cfg.MaxOpenFor
		}
		whole *= 2
	}
	return whole
}

// remaining returns how much of a span is left, 0 if it is over. A span that began
// a whole length or more in the future is over too: only a clock that stepped back
// explains it, while a little less may be two callers who read the clock at once.
func remaining(elapsed, span time.Duration) time.Duration {
	if elapsed.Abs() >= span {
		return 0
	}
	// Up to twice the span, which may exceed a Duration, and never a uint64.
	return time.Duration(min(uint64(span)-uint64(elapsed), math.MaxInt64))
}
