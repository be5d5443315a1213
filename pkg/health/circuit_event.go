// Explorable.

package health

import "time"

// CircuitEvent is one transition of a Circuit.
//
// # Contract
//
//   - The Observer gets the event of every transition once and in order, under no lock.
//   - The Observer may use the circuit; an event that it causes arrives after it has returned.
//   - A panic of the Observer reaches the caller, loses no other event and leaves no permit out.
type CircuitEvent struct {
	From, To CircuitMode
	// Epoch is the number of the epoch that began.
	Epoch uint64
	Cause CircuitCause
	// At is the instant that the call which caused it was given.
	At time.Time
	// OpenFor is how long the circuit stays open, jitter included, 0 unless To is
	// Open.
	OpenFor time.Duration
}

// undelivered reports whether an event waits and nobody delivers. Requires mu.
func (c *Circuit) undelivered() bool { return len(c.events) > 0 && !c.delivering }

// deliver delivers the events that wait, unless somebody does so already: there is one
// at a time, so that they arrive in order, and it goes on until none is left.
func (c *Circuit) deliver() {
	for {
		event, ok := c.next()
		if !ok {
			return
		}
		c.observe(event)
	}
}

// next makes the caller the one who delivers the first event that waits.
func (c *Circuit) next() (event CircuitEvent, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.undelivered() {
		return CircuitEvent{}, false
	}
	event = c.events[0]
	c.events = c.events[1:]
	c.delivering = true
	return event, true
}

// observe tells one event. Should the Observer panic, the events behind it are
// delivered before the panic goes on.
func (c *Circuit) observe(event CircuitEvent) {
	returned := false
	defer func() {
		c.mu.Lock()
		c.delivering = false
		c.mu.Unlock()
		if !returned {
			c.deliver()
		}
	}()
	c.cfg.Observer(event)
	returned = true
}
