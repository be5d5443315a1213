package linearizability

import (
	"sync/atomic"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// Instants and latencies are nanoseconds, and the half-life is one of them.
const initialCost = 1 << 20

func newPeak(t testing.TB, limit uint64) *poise.PeakEWMA {
	e, err := poise.NewPeakEWMA(poise.PeakEWMAConfig{Initial: initialCost, HalfLife: 1, Limit: limit}, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func instant(at int) time.Time { return time.Unix(0, int64(at)) }

// took is a latency on either side of the initial cost.
func took(pick int) int { return 1 << (12 + pick%16) }

// clock gives each call an instant before the call begins, so that calls overtake
// each other; and now and then one far back.
type clock struct{ ticks atomic.Int64 }

func (c *clock) now(pick int) int {
	at := int(c.ticks.Add(1))
	if pick%16 == 15 {
		at -= 12
	}
	return at
}

func estimate(e *poise.PeakEWMA, at int) func() any {
	return func() any { return int(e.Estimate(instant(at))) }
}

// Each sample depends on the one before, so the estimate is one object.
var peakSamples = subject{
	spec: seq.Peak(initialCost),
	fresh: func(t testing.TB) func(*Caller, int, int) {
		e, clock := newPeak(t, 0), new(clock)
		return func(c *Caller, _, pick int) {
			at := clock.now(pick)
			if pick < 128 {
				c.Call("Estimate", at, estimate(e, at))
				return
			}
			s := seq.Sample{Took: took(pick), At: at}
			c.Call("Observe", s, func() any { e.Observe(time.Duration(s.Took), instant(at)); return nil })
		}
	},
	good: serial(
		call("Estimate", 1, 1<<20), call("Observe", seq.Sample{Took: 1 << 22, At: 2}, nil), call("Estimate", 2, 1<<22),
		call("Estimate", 3, 1<<21+1<<19), call("Observe", seq.Sample{Took: 1 << 10, At: 4}, nil), call("Estimate", 4, 1<<20+1<<8*3),
		call("Estimate", 1, 1<<20+1<<8*3), call("Observe", seq.Sample{Took: 1 << 10, At: -7}, nil), call("Estimate", -7, 1<<20)),
	mutants: []mutant{
		without("a sample is lost", 1),
		returns("no peak", 2, 1<<21),
		returns("nothing is forgotten", 3, 1<<22),
		returns("a fall to the sample at once", 5, 1<<20),
		returns("an earlier instant undoes what was forgotten", 6, 1<<20),
		returns("a clock that is set back leaves the estimate", 8, 1<<20+1<<8*3),
		swapped("a reading before its sample", 1, 2),
	},
}

// Claim: A sample that is at least the estimate becomes the estimate at once.
// Claim: An instant before that of the last sample counts as that one.
// Claim: A clock that is set back by more than ten half-lives makes a PeakEWMA start anew at the initial cost.
func TestPeakEWMASamples_Linearizable(t *testing.T)     { allowed(t, peakSamples) }
func TestPeakEWMASamples_Linearizable_Law(t *testing.T) { law(t, peakSamples) }

// A call of each caller, and loads. Both ends of a call and both reads of a load
// are steps of their own, in the order that PeakEWMA promises: so a load may see a
// call and its latency, but not miss both. Since they count as two, callers rest
// every second time.
var peakLoad = subject{
	spec: seq.Peak(initialCost),
	fresh: func(t testing.TB) func(*Caller, int, int) {
		e, clock := newPeak(t, 0), new(clock)
		var calls [callers]*poise.TimedLease // one caller's each; nil: none
		var began [callers]int
		return func(c *Caller, step, pick int) {
			id, at := c.Number, clock.now(pick)
			switch {
			case step%2 == 1:
			case pick < 96:
				c.Call("Load", at, func() any {
					load, err := e.Load(instant(at))
					if err != nil {
						t.Error(err)
					}
					return int(load)
				})
			case calls[id] != nil && pick%4 == 0: // a second time, it changes nothing
				s := seq.Sample{Call: id, Took: at - began[id], At: at}
				c.Call("Answered", s, func() any { return calls[id].Answered(poise.Success, instant(at)) })
			case calls[id] != nil:
				s := seq.Sample{Call: id, Took: at - began[id], At: at}
				c.Call("Done", s, func() any { return calls[id].Done(poise.Success, instant(at)) })
				calls[id] = nil
			default:
				began[id] = at - took(pick)
				c.Call("Start", id, func() any {
					call, err := e.Start(instant(began[id]))
					calls[id] = &call
					return err == nil
				})
			}
		}
	},
	good: serial(
		call("Load", 1, 1<<20), call("Start", 0, true), call("Load", 2, 1<<21), call("Start", 1, true), call("Load", 3, 3<<20),
		call("Done", seq.Sample{Call: 0, Took: 1 << 22, At: 4}, true), call("Load", 4, 1<<23), call("Load", 5, 1<<22+1<<20),
		call("Done", seq.Sample{Call: 1, Took: 1 << 10, At: 5}, true), call("Load", 5, 1<<21+1<<9),
		call("Start", 2, true), call("Answered", seq.Sample{Call: 2, Took: 1 << 23, At: 6}, true),
		call("Answered", seq.Sample{Call: 2, Took: 1 << 25, At: 6}, false),
		call("Done", seq.Sample{Call: 2, Took: 1 << 24, At: 7}, true), call("Load", 7, 1<<22+1<<19)),
	mutants: []mutant{
		without("an answer is no sample", 11),
		returns("an answer begins twice", 12, true),
		returns("an end is a sample after an answer", 14, 1<<24),
		without("a start is lost", 3),
		without("an end is lost", 5),
		returns("the calls and not the latency", 6, 1<<21),
		returns("the latency and not the call", 4, 1<<21),
		returns("neither the call nor its latency", 6, 1<<20),
		swapped("a load before what it saw", 5, 6),
	},
}

// Claim: The load of a PeakEWMA is the estimate times one more than the calls in flight.
func TestPeakEWMALoad_Linearizable(t *testing.T)     { allowed(t, peakLoad) }
func TestPeakEWMALoad_Linearizable_Law(t *testing.T) { law(t, peakLoad) }

// Two calls for each caller, of which three may be in flight at once. Whether
// there is room has nothing to do with what calls take.
var timedLeases = subject{
	spec: seq.Leases(3),
	fresh: func(t testing.TB) func(*Caller, int, int) {
		e := newPeak(t, 3)
		var leases [2 * callers]*poise.TimedLease // one caller's each
		var held [2 * callers]bool
		return func(c *Caller, _, pick int) {
			id, outcome := 2*c.Number+pick%2, []poise.Outcome{poise.Success, poise.Failure}[pick/2%2]
			switch {
			case pick%8 == 7:
				c.Call("Current", nil, func() any { return int(e.InFlight().Current()) })
			case leases[id] != nil && (held[id] || pick%8 == 6): // at times a call that has ended
				c.Call("Release", id, func() any { return leases[id].Done(outcome, instant(0)) })
				held[id] = false
			default:
				held[id] = c.Call("Acquire", id, func() any {
					lease, err := e.Start(instant(0))
					leases[id] = &lease
					return err == nil
				}).(bool)
			}
		}
	},
	good:    inFlight.good,
	mutants: inFlight.mutants,
}

// Claim: The calls that a PeakEWMA admits never exceed its limit.
// Claim: The first Done of a TimedLease ends the call and returns true; every later one returns false and changes nothing.
func TestTimedLease_Linearizable(t *testing.T)     { allowed(t, timedLeases) }
func TestTimedLease_Linearizable_Law(t *testing.T) { law(t, timedLeases) }
