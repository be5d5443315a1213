// Explorable.

package health

import (
	"cmp"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// longestWindow bounds the memory of one Circuit: one bit for each outcome.
const longestWindow = 1 << 16

// CircuitConfig are the settings of a Circuit. The zero value of each field is its
// default.
type CircuitConfig struct {
	_ struct{}
	// Failures is how many failures in a row open the circuit; 1 or more, default 5.
	Failures int
	// Window is how many of the latest outcomes FailurePercent looks at; up to
	// 65,536, default 0: no share of failures opens the circuit.
	Window int
	// FailurePercent is the share of failures in the window that opens the circuit; 1
	// to 100, default 50. It needs a Window.
	FailurePercent int
	// MinSamples is how many outcomes the window must hold before their share opens
	// the circuit; 1 to Window, default Window. It needs a Window.
	MinSamples int
	// OpenFor is the first time open, before jitter; it doubles each time the circuit
	// opens again without having closed. Positive, default 30 s.
	OpenFor time.Duration
	// MaxOpenFor is the longest time open, before jitter; at least OpenFor, default 5
	// minutes or OpenFor, whichever is longer.
	MaxOpenFor time.Duration
	// Trials is how many calls a half-open circuit lets through at once; 1 or more,
	// default 1.
	Trials int
	// Successes is how many trials must succeed to close the circuit; 1 or more,
	// default 1.
	Successes int
	// MaxHold is how long a trial may take before it counts as cancelled; positive,
	// default 1 minute. It is no timeout: the call goes on, and its end comes too late.
	MaxHold time.Duration
	// Chance draws the jitter; nil draws from the runtime. Circuits may share one.
	Chance *poise.Generator
	// Observer is told each transition; nil: nobody is. It must return soon: events
	// behind it wait, though calls do not.
	Observer func(CircuitEvent)
}

// withDefaults returns the config with its defaults filled in, or the field that
// is out of range.
func (c CircuitConfig) withDefaults() (CircuitConfig, error) {
	c.Failures = cmp.Or(c.Failures, 5)
	c.OpenFor = cmp.Or(c.OpenFor, 30*time.Second)
	c.MaxOpenFor = cmp.Or(c.MaxOpenFor, max(5*time.Minute, c.OpenFor))
	c.Trials = cmp.Or(c.Trials, 1)
	c.Successes = cmp.Or(c.Successes, 1)
	c.MaxHold = cmp.Or(c.MaxHold, time.Minute)
	switch {
	case c.Failures < 1:
		return c, outOfRange("Failures", c.Failures)
	case c.OpenFor < 0:
		return c, outOfRange("OpenFor", c.OpenFor)
	case c.MaxOpenFor < c.OpenFor:
		return c, outOfRange("MaxOpenFor", c.MaxOpenFor)
	case c.Trials < 1:
		return c, outOfRange("Trials", c.Trials)
	case c.Successes < 1:
		return c, outOfRange("Successes", c.Successes)
	case c.MaxHold < 0:
		return c, outOfRange("MaxHold", c.MaxHold)
	}
	return c.withWindow()
}

// withWindow is withDefaults for the share of failures.
func (c CircuitConfig) withWindow() (CircuitConfig, error) {
	switch {
	case c.Window < 0 || c.Window > longestWindow:
		return c, outOfRange("Window", c.Window)
	case c.Window == 0 && c.FailurePercent != 0:
		return c, outOfRange("FailurePercent", c.FailurePercent)
	case c.Window == 0 && c.MinSamples != 0:
		return c, outOfRange("MinSamples", c.MinSamples)
	case c.Window == 0:
		return c, nil
	}
	c.FailurePercent = cmp.Or(c.FailurePercent, 50)
	c.MinSamples = cmp.Or(c.MinSamples, c.Window)
	switch {
	case c.FailurePercent < 1 || c.FailurePercent > 100:
		return c, outOfRange("FailurePercent", c.FailurePercent)
	case c.MinSamples < 1 || c.MinSamples > c.Window:
		return c, outOfRange("MinSamples", c.MinSamples)
	}
	return c, nil
}
