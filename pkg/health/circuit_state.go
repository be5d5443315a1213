// Explorable.

package health

import "time"

// CircuitState is what a Circuit was at one instant.
type CircuitState struct {
	Mode CircuitMode
	// Epoch is the number of transitions so far.
	Epoch uint64
	// Failures is the number of failures in a row, 0 unless closed.
	Failures int
	// Samples and Failed are what the window holds: outcomes, and failures among
	// them. Both are 0 unless closed.
	Samples, Failed int
	// RetryAfter is how long the circuit stays open, 0 unless open. An open circuit
	// whose time is over waits for the first call.
	RetryAfter time.Duration
	// Trials is the number of permits out, and Successes that of the trials that
	// succeeded. Both are 0 unless half-open.
	Trials, Successes int
}

// Available reports whether Acquire would give a permit at the instant now. It
// notes no instant, so where nobody acquires, a clock that steps back may cost it
// up to two times open and no more.
func (c *Circuit) Available(now time.Time) bool {
	_, changes := c.NextChange(now)
	return !changes
}

// NextChange returns how long after the instant now Available becomes true if
// nothing else happens, and false if it is true already.
//
// # Contract
//
//   - NextChange tells when Available becomes true by itself, and tells nothing exactly when it is true.
func (c *Circuit) NextChange(now time.Time) (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.mode {
	case Open:
		left := remaining(now.Sub(c.since), c.wait)
		return left, left > 0
	case HalfOpen:
		left, out := c.out(now)
		if out >= c.cfg.Trials {
			return left, true
		}
	}
	return 0, false
}

// State returns what the circuit is at the instant now, read at once.
func (c *Circuit) State(now time.Time) CircuitState {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := CircuitState{
		Mode:      c.mode,
		Epoch:     c.epoch,
		Failures:  c.failures,
		Samples:   c.window.seen,
		Failed:    c.window.failed,
		Successes: c.successes,
	}
	if c.mode == Open {
		state.RetryAfter = remaining(now.Sub(c.since), c.wait)
	}
	_, state.Trials = c.out(now)
	return state
}

// Config returns the settings, with their defaults filled in.
func (c *Circuit) Config() CircuitConfig { return c.cfg }

// out returns the number of trials that are out at the instant now, and how long
// the next of them may be held. Requires mu.
func (c *Circuit) out(now time.Time) (left time.Duration, out int) {
	for _, t := range c.trials {
		hold := remaining(now.Sub(t.since), c.cfg.MaxHold)
		if hold == 0 {
			continue
		}
		if out++; out == 1 || hold < left {
			left = hold
		}
	}
	return left, out
}
