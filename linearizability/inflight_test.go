package linearizability

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// Two leases for each caller, of which three may be out at once. The limit is
// over all leases, so they are one object.
var inFlight = subject{
	spec: seq.Leases(3),
	fresh: func(testing.TB) func(*Caller, int, int) {
		f := poise.NewInFlight(3)
		var leases [2 * callers]*poise.Lease // one caller's each
		var held [2 * callers]bool
		return func(c *Caller, _, pick int) {
			id := 2*c.Number + pick%2
			switch {
			case pick%8 == 7:
				c.Call("Current", nil, func() any { return int(f.Current()) })
			case leases[id] != nil && (held[id] || pick%8 == 6): // at times a lease that has ended
				c.Call("Release", id, func() any { return leases[id].Release() })
				held[id] = false
			default:
				held[id] = c.Call("Acquire", id, func() any {
					lease, err := f.Acquire()
					leases[id] = &lease
					return err == nil
				}).(bool)
			}
		}
	},
	good: serial(
		call("Acquire", 0, true), call("Acquire", 1, true), call("Acquire", 2, true), call("Acquire", 3, false),
		call("Current", nil, 3), call("Release", 1, true), call("Release", 1, false), call("Acquire", 3, true)),
	mutants: []mutant{
		returns("over the limit", 3, true),
		returns("refused with a lease to spare", 7, false),
		returns("given back twice", 6, true),
		returns("first release refused", 5, false),
		returns("count that misses one", 4, 2),
		without("a release is lost", 5),
	},
}

// Claim: Leases held at once never exceed the limit.
// Claim: Acquire at the limit answers a CapacityError and changes nothing.
// Claim: Current is the number of leases that were acquired and not released.
func TestInFlight_Linearizable(t *testing.T)     { allowed(t, inFlight) }
func TestInFlight_Linearizable_Law(t *testing.T) { law(t, inFlight) }

// All callers end the same lease at the same step. Without a limit and without a
// look at the count, no lease has anything to do with another: each is judged on
// its own.
var lease = subject{
	spec: seq.Each(seq.After(seq.Leases(0), acquired(steps)...), func(op seq.Op) int { return op.Arg.(int) }),
	fresh: func(t testing.TB) func(*Caller, int, int) {
		f := new(poise.InFlight)
		leases := make([]poise.Lease, steps)
		for i := range leases {
			var err error
			if leases[i], err = f.Acquire(); err != nil {
				t.Fatal(err)
			}
		}
		return func(c *Caller, step, _ int) {
			c.Call("Release", step, func() any { return leases[step].Release() })
		}
	},
	good: serial(call("Release", 0, true), call("Release", 1, true), call("Release", 0, false)),
	mutants: []mutant{
		returns("given back twice", 2, true),
		returns("never given back", 1, false),
		swapped("the second gave it back", 0, 2),
	},
}

func acquired(n int) (ops []seq.Op) {
	for i := range n {
		ops = append(ops, call("Acquire", i, true))
	}
	return ops
}

// Claim: The first Release gives the slot back and returns true; every later one returns false and changes nothing.
func TestLease_Linearizable(t *testing.T)     { allowed(t, lease) }
func TestLease_Linearizable_Law(t *testing.T) { law(t, lease) }
