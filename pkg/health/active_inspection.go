// Explorable.

package health

import "time"

// ActiveInspection is an [ActiveHealth] as it stands, for people and for evidence. It
// holds what was noted and not what it means at some instant, which State says.
type ActiveInspection struct {
	_ struct{}
	// Condition is what the probes found.
	Condition Condition
	// ConsecutiveSuccesses and ConsecutiveFailures are how many of the last probes
	// agree, counted from the last Force.
	ConsecutiveSuccesses, ConsecutiveFailures int
	// Reservations is how many were issued.
	Reservations uint64
	// Running means that the last of them is outstanding, or lost and not noticed yet,
	// and Reserved is when it was issued.
	Running  bool
	Reserved time.Time
	// Probed means that a probe has ended, and Ended is when the last one did.
	Probed bool
	Ended  time.Time
	// Draw is the chance of the last reservation, from which every wait after it
	// follows.
	Draw uint64
}

// Inspect returns the ActiveHealth as it stands, read at once.
func (h *ActiveHealth) Inspect() ActiveInspection {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := ActiveInspection{
		Condition: h.condition, ConsecutiveSuccesses: h.healthy, ConsecutiveFailures: h.unhealthy,
		Reservations: h.number, Running: h.running, Probed: h.probed, Draw: h.draw,
	}
	if h.running {
		i.Reserved = h.reserved
	}
	if h.probed {
		i.Ended = h.ended
	}
	return i
}
