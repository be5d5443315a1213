package linearizability

import (
	"fmt"
	"sync/atomic"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// thousandths packs the weights that a SlowStart gives to three candidates, some
// of which are eligible.
func thousandths(s *policy.SlowStart, arg int) int {
	candidates := make([]poise.Candidate, 3)
	for i := range candidates {
		c := candidate{ID: fmt.Sprint(i)}
		if arg>>i&1 == 0 {
			c.Status = poise.Unavailable
		}
		candidates[i] = c
	}
	weights := 0
	for i, c := range s.Apply(candidates, instant(arg>>3)) {
		weights |= int(c.Sample().Weight.Value()) << (10 * i)
	}
	return weights
}

// packed is what thousandths returns for these.
func packed(a, b, c int) int { return a | b<<10 | c<<20 }

// applied is the argument of an Apply.
func applied(at, set int) int { return at<<3 | set }

// Who is new is decided by the Apply before, so all are one object.
var slowStart = subject{
	spec: seq.Warming(),
	fresh: func(t testing.TB) func(*Caller, int, int) {
		s, err := policy.NewSlowStart(policy.SlowStartConfig{Window: 1000})
		if err != nil {
			t.Fatal(err)
		}
		var clock atomic.Int64
		return func(c *Caller, _, pick int) {
			if pick%8 == 7 {
				c.Call("Warming", nil, func() any { return s.Warming() })
				return
			}
			set := 7 // mostly all, so that they come to their weight
			if pick%8 == 6 {
				set = pick >> 5
			}
			arg := applied(int(clock.Add(20)), set)
			c.Call("Apply", arg, func() any { return thousandths(s, arg) })
		}
	},
	good: serial(
		call("Apply", applied(0, 1), packed(1000, 1000, 1000)), call("Apply", applied(100, 3), packed(1000, 100, 1000)),
		call("Warming", nil, 1), call("Apply", applied(500, 3), packed(1000, 400, 1000)), call("Apply", applied(600, 1), packed(1000, 1000, 1000)),
		call("Apply", applied(700, 3), packed(1000, 100, 1000)), call("Apply", applied(400, 3), packed(1000, 100, 1000)),
		call("Apply", applied(1399, 3), packed(1000, 999, 1000)), call("Apply", applied(1400, 3), packed(1000, 1000, 1000)), call("Warming", nil, 0)),
	mutants: []mutant{
		returns("the first of all begins slowly", 0, packed(100, 1000, 1000)),
		returns("a newcomer begins at its weight", 1, packed(1000, 1000, 1000)),
		returns("a recovery goes on where it was", 5, packed(1000, 600, 1000)),
		returns("a window that ends too soon", 7, packed(1000, 1000, 1000)),
		returns("nobody warms up", 2, 0),
		without("a list that was not seen", 4),
	},
}

// Claim: A candidate that becomes eligible again starts anew, and so does another incarnation.
// Claim: Candidates that become eligible when nobody who was eligible before still is have their full weight at once.
func TestSlowStart_Linearizable(t *testing.T)     { allowed(t, slowStart) }
func TestSlowStart_Linearizable_Law(t *testing.T) { law(t, slowStart) }
