//go:build interleave

package explore

import (
	"math/bits"
	"math/rand/v2"
)

// dice takes decisions by chance and multiplies how many ways there were.
type dice struct {
	*rand.Rand
	ways float64
}

func (d *dice) below(n int) int {
	d.ways *= float64(n)
	return d.IntN(n)
}

func (d *dice) among(enabled set) int {
	for skip := d.below(bits.OnesCount8(uint8(enabled))); skip > 0; skip-- {
		enabled &= enabled - 1
	}
	return enabled.lowest()
}

// estimate returns about how many executions brute force would take: the mean,
// over random executions, of the product of the ways at each decision (Knuth,
// "Estimating the Efficiency of Backtrack Programs", Mathematics of Computation
// 29, 1975). Its seed is fixed, so that the same models are run every time.
func estimate(p program) float64 {
	const probes = 2000
	r := rand.New(rand.NewPCG(1, 1))
	sum := 0.0
	for range probes {
		d := &dice{r, 1}
		run(p, options{budget: -1, dice: d})
		sum += d.ways
	}
	return sum / probes
}
