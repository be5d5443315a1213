package policy

import (
	"slices"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

// The algebra of traffic. Eligible weights are given in parts of 1000.
func TestTopology_LawsOfTraffic(t *testing.T) {
	sharesOf := func(eligible []uint64, scale uint64, factor uint32) []*group {
		groups := make([]*group, len(eligible))
		for i, e := range eligible {
			groups[i] = &group{priority: uint32(i), tally: tally{total: 1000 * scale, eligible: e * scale, inPanic: 1000 * scale}}
		}
		shareOut(groups, TopologyConfig{Overprovisioning: factor, PanicThreshold: 50})
		return groups
	}
	sum := func(groups []*group) (total uint64) {
		for _, g := range groups {
			total += g.traffic
		}
		return total
	}
	allPanic := func(groups []*group) bool {
		return !slices.ContainsFunc(groups, func(g *group) bool { return !g.panics })
	}
	eligible := gen.SliceOfN(4, gen.UInt64Range(0, 1000))
	factor := gen.UInt32Range(100, 300)
	laws := gopter.NewProperties(gopter.DefaultTestParametersWithSeed(1592614637))

	laws.Property("without shortage the traffic is all there is, and nobody panics", prop.ForAll(
		func(eligible []uint64, factor uint32) bool {
			var carried uint64
			for _, e := range eligible {
				carried += min(e*uint64(factor), 100_000)
			}
			groups := sharesOf(eligible, 1, factor)
			panics := false
			for _, g := range groups {
				panics = panics || g.panics
			}
			return carried < 100_000 || sum(groups) == fullTraffic && !panics
		}, eligible, factor))

	laws.Property("the size of the weights does not matter, only their proportions", prop.ForAll(
		func(eligible []uint64, factor uint32, scale uint64) bool {
			small, large := sharesOf(eligible, 1, factor), sharesOf(eligible, scale, factor)
			for i := range small {
				if sum(small) == 0 || sum(large) == 0 {
					return sum(small) == sum(large)
				}
				// Where all panic the traffic is in weights, else in units.
				want := small[i].traffic
				if allPanic(small) {
					want *= scale
				}
				if small[i].panics != large[i].panics || large[i].traffic != want {
					return false
				}
			}
			return true
		}, eligible, factor, gen.UInt64Range(1, 1<<40)))

	laws.Property("where all panic the shares are the sizes, whoever is eligible", prop.ForAll(
		func(eligible []uint64, factor uint32) bool {
			groups := sharesOf(eligible, 1, factor)
			for _, g := range groups {
				if allPanic(groups) && g.traffic != g.inPanic {
					return false
				}
			}
			return true
		}, gen.SliceOfN(4, gen.UInt64Range(0, 250)), factor))

	// From sharing by size to sharing by capacity there is a step, either way.
	laws.Property("a priority that recovers never gets a smaller share, unless that ends a panic of all", prop.ForAll(
		func(eligible []uint64, factor uint32, which int, more uint64) bool {
			before := sharesOf(eligible, 1, factor)
			better := append([]uint64(nil), eligible...)
			better[which] = min(1000, better[which]+more)
			after := sharesOf(better, 1, factor)
			if allPanic(before) != allPanic(after) {
				return true
			}
			// Rounding leaves up to a unit for each priority to the first.
			return after[which].traffic*sum(before)+4*fullTraffic >= before[which].traffic*sum(after)
		}, eligible, factor, gen.IntRange(0, 3), gen.UInt64Range(0, 1000)))

	laws.Property("priorities before one that carries everything take what they can, those after it nothing", prop.ForAll(
		func(eligible []uint64, factor uint32) bool {
			groups := sharesOf(append([]uint64{1000}, eligible...), 1, factor)
			for _, g := range groups[1:] {
				if g.traffic != 0 {
					return false
				}
			}
			return groups[0].traffic == fullTraffic
		}, eligible, factor))

	laws.Property("units are between the exact fraction less one and the exact fraction, or 1", prop.ForAll(
		func(part, rest uint64, factor uint32) bool {
			whole := part + rest
			got := units(part, whole, factor)
			exact := part * uint64(factor) * fullTraffic // < 2^64 for these ranges
			switch {
			case part*uint64(factor) >= whole*100:
				return got == fullTraffic
			case exact < whole*100:
				return got == 1
			}
			return got*whole*100 <= exact && (got+1)*whole*100 > exact
		}, gen.UInt64Range(1, 1<<24), gen.UInt64Range(0, 1<<30), factor))
	laws.TestingRun(t)
}
