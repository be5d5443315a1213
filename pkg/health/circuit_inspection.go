// Explorable.

package health

import "time"

// CircuitInspection is a [Circuit] as it stands, for people and for evidence. It
// holds what was noted and not what it means at some instant, which State says.
type CircuitInspection struct {
	_     struct{}
	Mode  CircuitMode
	Epoch uint64
	// Failures is the number of failures in a row, 0 unless closed.
	Failures int
	// Rounds is how often the circuit has opened since it was last closed.
	Rounds uint
	// Since is when it opened, and OpenFor how long it stays open. Both are zero unless
	// it is open.
	Since   time.Time
	OpenFor time.Duration
	// Successes is how many trials have succeeded, and Trials how many are out. Both
	// are 0 unless half-open.
	Successes, Trials int
}

// PermitInspection is a [Permit] as it stands.
type PermitInspection struct {
	_ struct{}
	// Err is why End changes nothing whatever it is told; nil if the permit acts. A
	// trial that was held for too long acts until somebody notices.
	Err error
	// Since is when it was issued, if it is a trial that acts.
	Since time.Time
}

// Inspect returns the Circuit as it stands, read at once.
func (c *Circuit) Inspect() CircuitInspection {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := CircuitInspection{
		Mode: c.mode, Epoch: c.epoch, Failures: c.failures, Rounds: c.rounds,
		Successes: c.successes, Trials: len(c.trials),
	}
	if c.mode == Open {
		i.Since, i.OpenFor = c.since, c.wait
	}
	return i
}

// InspectPermit returns the Permit as it stands.
func (c *Circuit) InspectPermit(p Permit) PermitInspection {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := PermitInspection{Err: c.refusal(p)}
	if i.Err == nil && c.mode == HalfOpen {
		i.Since = p.ticket.since
	}
	return i
}
