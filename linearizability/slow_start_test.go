package linearizability

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/transform"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// ramp is a SlowStart and the Chain it belongs to, which one caller at a time runs.
type ramp struct {
	*transform.SlowStart
	mu    sync.Mutex
	chain *transform.Chain
}

// apply packs the weights that the SlowStart gives to three members, some of which
// are eligible, in thousandths.
func (r *ramp) apply(arg int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	samples := make([]poise.Sample, 3)
	for i := range samples {
		samples[i].ID = fmt.Sprint(i)
		if arg>>i&1 == 0 {
			samples[i].Status = poise.Unavailable
		}
	}
	err := r.chain.Reset(samples)
	if err == nil {
		_, err = r.chain.Run(instant(arg >> 3))
	}
	if err != nil {
		panic(err)
	}
	weights, factor := 0, 1
	for _, s := range r.chain.Samples() {
		if s.Weight.Value() > 1 {
			factor = 1000 // somebody warms up, and all weights are multiplied
		}
	}
	for i, s := range r.chain.Samples() {
		weights |= int(s.Weight.Value()) * 1000 / factor << (10 * i)
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
		s, err := transform.NewSlowStart(transform.SlowStartConfig{Window: 1000, Refresh: 1})
		if err != nil {
			t.Fatal(err)
		}
		chain, err := transform.NewChain(s)
		if err != nil {
			t.Fatal(err)
		}
		r := &ramp{SlowStart: s, chain: chain}
		var clock atomic.Int64
		return func(c *Caller, _, pick int) {
			if pick%8 == 7 {
				c.Call("Warming", nil, func() any { return r.Warming() })
				return
			}
			set := 7 // mostly all, so that they come to their weight
			if pick%8 == 6 {
				set = pick >> 5
			}
			arg := applied(int(clock.Add(20)), set)
			c.Call("Apply", arg, func() any { return r.apply(arg) })
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

// Claim: A member that becomes eligible again starts anew, and so does another incarnation.
// Claim: Members that become eligible when nobody who was eligible before still is have their full weight at once.
func TestSlowStart_Linearizable(t *testing.T)     { allowed(t, slowStart) }
func TestSlowStart_Linearizable_Law(t *testing.T) { law(t, slowStart) }
