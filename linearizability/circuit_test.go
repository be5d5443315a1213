package linearizability

import (
	"sync/atomic"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// circuitBounds are the settings of every circuit here, whose time open is one
// unit.
var circuitBounds = seq.CircuitBounds{Failures: 2, Trials: 2, Successes: 2, Hold: 12}

// One permit for each caller; instants are nanoseconds of a counter. Every result
// can end the epoch of all permits, so a circuit is one object.
var circuit = subject{
	spec: seq.Circuit(circuitBounds),
	fresh: func(t testing.TB) func(*Caller, int, int) {
		real, err := health.NewCircuit(health.CircuitConfig{
			Failures: circuitBounds.Failures, Trials: circuitBounds.Trials, Successes: circuitBounds.Successes,
			OpenFor: 1, MaxOpenFor: 1, MaxHold: time.Duration(circuitBounds.Hold),
		})
		if err != nil {
			t.Fatal(err)
		}
		var clock atomic.Int64
		var permits [callers]health.Permit
		var holds [callers]bool // one caller's each
		return func(c *Caller, _, pick int) {
			id, at := c.Number, int(clock.Add(1))
			now := time.Unix(0, int64(at))
			v := seq.Verdict{Permit: id, At: at, Failed: pick%2 == 0}
			outcome := poise.Success
			if v.Failed {
				outcome = poise.Failure
			}
			switch {
			case pick < 16:
				c.Call("Available", at, func() any { return real.Available(now) })
			case pick < 22:
				c.Call("ForceOpen", at, func() any { real.ForceOpen(now); return nil })
			case pick < 28:
				c.Call("ForceClose", at, func() any { real.ForceClose(now); return nil })
			case pick < 40: // of a permit, of none, and of one that was ended
				c.Call("Cancel", v, func() any { return real.End(permits[id], poise.Cancelled, now) == nil })
				holds[id] = false
			case !holds[id]:
				holds[id] = c.Call("Acquire", v, func() any {
					p, err := real.Acquire(now)
					if err == nil {
						permits[id] = p
					}
					return err == nil
				}).(bool)
			default:
				c.Call("End", v, func() any { return real.End(permits[id], outcome, now) == nil })
				holds[id] = pick%8 == 0 // so that some are ended twice
			}
		}
	},
	good: serial(
		call("Acquire", seq.Verdict{Permit: 0, At: 1}, true), call("Acquire", seq.Verdict{Permit: 1, At: 1}, true),
		call("Acquire", seq.Verdict{Permit: 2, At: 1}, true),
		call("End", seq.Verdict{Permit: 0, At: 2, Failed: true}, true),
		call("End", seq.Verdict{Permit: 1, At: 3, Failed: true}, true),
		call("Acquire", seq.Verdict{Permit: 0, At: 3}, false), call("Available", 4, true),
		call("Acquire", seq.Verdict{Permit: 0, At: 4}, true), call("Acquire", seq.Verdict{Permit: 1, At: 4}, true),
		call("Acquire", seq.Verdict{Permit: 3, At: 5}, false),
		call("End", seq.Verdict{Permit: 2, At: 5}, false), call("End", seq.Verdict{Permit: 0, At: 5}, true),
		call("End", seq.Verdict{Permit: 0, At: 5}, false),
		call("Acquire", seq.Verdict{Permit: 3, At: 6}, true), call("Available", 15, false), call("Available", 16, true),
		call("Acquire", seq.Verdict{Permit: 0, At: 16}, true), call("End", seq.Verdict{Permit: 1, At: 16}, false),
		call("End", seq.Verdict{Permit: 3, At: 17}, true), call("Available", 17, true),
		call("End", seq.Verdict{Permit: 0, At: 18, Failed: true}, false),
		call("ForceOpen", 19, nil), call("Available", 19, false), call("ForceClose", 19, nil), call("Available", 19, true)),
	mutants: []mutant{
		returns("admitted while open", 5, true),
		returns("refused after its time", 7, false),
		returns("one trial too many", 9, true),
		returns("a late success counts", 10, true),
		returns("a permit is ended twice", 12, true),
		returns("a hold ends too soon", 14, true),
		returns("a lost permit stays", 15, false),
		returns("an end after its hold counts", 17, true),
		returns("a late failure counts", 20, true),
		without("a failure is lost", 4),
		without("closing by force is lost", 23),
	},
}

// Claim: The configured number of failures in a row opens a closed circuit; a success in between starts the count again.
// Claim: A half-open circuit never has more permits out than configured.
// Claim: A permit of an earlier epoch changes nothing: neither its result nor its end counts.
// Claim: Copies of a permit share one end; every later End is reported and changes nothing.
func TestCircuit_Linearizable(t *testing.T)     { allowed(t, circuit) }
func TestCircuit_Linearizable_Law(t *testing.T) { law(t, circuit) }
