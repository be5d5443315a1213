package policy_test

import (
	"math"
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

func sumOf(weights []uint32) (sum int) {
	for _, w := range weights {
		sum += int(w)
	}
	return sum
}

func TestSmoothWeightedRoundRobin_Algebra_Law(t *testing.T) {
	algebra(t, func(laws *gopter.Properties) {
		lists := gen.SliceOfN(7, gen.UInt32Range(1, 30)).Map(func(w []uint32) []uint32 { return w[:1+w[0]%7] })

		laws.Property("a factor that all weights share changes no pick", prop.ForAll(
			func(weights []uint32, factor uint32) bool {
				scaled := slices.Clone(weights)
				for i := range scaled {
					scaled[i] *= factor
				}
				n := 2 * sumOf(weights)
				return slices.Equal(open(t, newSmooth(t, 0), weighing(t, weights...)).picks(t, n),
					open(t, newSmooth(t, 0), weighing(t, scaled...)).picks(t, n))
			}, lists, gen.UInt32Range(1, 100_000_000)))

		laws.Property("equal weights are round robin", prop.ForAll(
			func(n int, weight uint32) bool {
				weights := slices.Repeat([]uint32{weight}, n)
				return slices.Equal(open(t, newSmooth(t, 0), weighing(t, weights...)).picks(t, 3*n),
					open(t, newRoundRobin(t, 0), weighing(t, weights...)).picks(t, 3*n))
			}, gen.IntRange(1, 40), gen.UInt32Range(1, math.MaxUint32)))

		laws.Property("what is sent again, or left out while nothing is picked, changes no pick", prop.ForAll(
			func(weights []uint32, every int) bool {
				samples := weighing(t, weights...)
				n := 2 * sumOf(weights)
				p := newSmooth(t, 0)
				var picks []int
				for len(picks) < n {
					picks = append(picks, open(t, p, samples).picks(t, every)...)
					open(t, p, samples[1:])
				}
				return slices.Equal(picks[:n], open(t, newSmooth(t, 0), samples).picks(t, n))
			}, lists, gen.IntRange(1, 9)))

		laws.Property("a reorder without ties moves nobody's turn", prop.ForAll(
			func(odd uint32, at int) bool {
				// Two weights of an odd sum never tie, but where the credits are even.
				samples := weighing(t, 2*odd+1, 2)
				reversed := []poise.Sample{samples[1], samples[0]}
				n := int(2*odd + 3)
				p := newSmooth(t, 0)
				text := letters(samples, open(t, p, samples).picks(t, at))
				text += letters(reversed, open(t, p, reversed).picks(t, n))
				return text == letters(samples, open(t, newSmooth(t, 0), samples).picks(t, at+n))
			}, gen.UInt32Range(1, 30), gen.IntRange(0, 50)))

		laws.Property("of two candidates nobody is ever more than half a pick off", prop.ForAll(
			func(a, b uint32) bool {
				d := open(t, newSmooth(t, 0), weighing(t, a, b))
				got := 0
				for k := range int(a + b) {
					if d.pick(t, poise.Query{}) == 0 {
						got++
					}
					exact := float64(k+1) * float64(a) / float64(a+b)
					if math.Abs(float64(got)-exact) > 0.5 {
						return false
					}
				}
				return true
			}, gen.UInt32Range(1, 60), gen.UInt32Range(1, 60)))
	})
}
