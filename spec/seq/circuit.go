package seq

import "fmt"

// CircuitBounds are the settings of a Circuit. Its time open is one unit.
type CircuitBounds struct {
	Failures, Trials, Successes, Hold int
}

// The modes of a circuit, and what becomes of a permit.
const (
	closed = iota
	open
	halfOpen
)

const (
	out = iota + 1
	ended
)

type circuit struct {
	mode, epoch, failures, successes, since int
	permits                                 [8]circuitPermit
}

type circuitPermit struct{ state, epoch, since int }

// Circuit is closed, open and half-open, and lets a permit act on the epoch that
// issued it. Permits have numbers under 8; a Verdict names one, and the instant.
// Where a permit is asked for under a number that is out, the first is lost; that
// may be done when it acts no more.
//
//	Acquire(Verdict) bool   End(Verdict) bool   Cancel(Verdict) bool
//	ForceOpen(at)   ForceClose(at)   Available(at) bool
//
// End and Cancel tell whether they were the first of their permit and in time.
func Circuit(bounds CircuitBounds) Spec {
	return Define(fmt.Sprintf("circuit %+v", bounds), circuit{}, func(c circuit, op Op) []circuit {
		switch op.Name {
		case "Acquire":
			v := op.Arg.(Verdict)
			c.reclaim(v.At, bounds)
			allowed := c.available(v.At, bounds)
			switch {
			case allowed && c.mode == open:
				c.begin(halfOpen, v.At)
			case !allowed && c.mode == open:
				c.since = min(c.since, v.At) // a clock that stepped back starts the time again
			}
			if allowed {
				c.permits[v.Permit] = circuitPermit{out, c.epoch, v.At}
			}
			return One(op.Result == allowed, c)
		case "End", "Cancel":
			v := op.Arg.(Verdict)
			c.reclaim(v.At, bounds)
			p := &c.permits[v.Permit]
			acts := p.state == out && p.epoch == c.epoch
			if p.state == out {
				p.state = ended
			}
			if acts && op.Name == "End" {
				c.take(v, bounds)
			}
			return One(op.Result == acts, c)
		case "ForceOpen":
			c.begin(open, op.Arg.(int))
		case "ForceClose":
			c.begin(closed, op.Arg.(int))
		default:
			return One(op.Result == c.available(op.Arg.(int), bounds), c)
		}
		return []circuit{c}
	})
}

func passed(at, since, span int) bool { return at-since >= span || since-at >= span }

// trials returns how many permits are out of a half-open circuit.
func (c *circuit) trials(at int, bounds CircuitBounds) (n int) {
	for _, p := range c.permits {
		if c.mode == halfOpen && p.state == out && p.epoch == c.epoch && !passed(at, p.since, bounds.Hold) {
			n++
		}
	}
	return n
}

func (c *circuit) available(at int, bounds CircuitBounds) bool {
	switch c.mode {
	case open:
		return passed(at, c.since, 1)
	case halfOpen:
		return c.trials(at, bounds) < bounds.Trials
	}
	return true
}

// reclaim ends the trials that were held for too long.
func (c *circuit) reclaim(at int, bounds CircuitBounds) {
	for i := range c.permits {
		p := &c.permits[i]
		if c.mode != halfOpen || p.state != out || p.epoch != c.epoch {
			continue
		}
		if passed(at, p.since, bounds.Hold) {
			p.state = ended
		}
		p.since = min(p.since, at)
	}
}

// take takes a result that counts.
func (c *circuit) take(v Verdict, bounds CircuitBounds) {
	switch {
	case c.mode == halfOpen && v.Failed:
		c.begin(open, v.At)
	case c.mode == halfOpen:
		if c.successes++; c.successes >= bounds.Successes {
			c.begin(closed, v.At)
		}
	case v.Failed:
		if c.failures++; c.failures >= bounds.Failures {
			c.begin(open, v.At)
		}
	default:
		c.failures = 0
	}
}

func (c *circuit) begin(mode, at int) {
	*c = circuit{mode: mode, epoch: c.epoch + 1, since: at, permits: c.permits}
}
