package policy_test

import (
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

// drained returns candidates with these loads, of which those in the period are
// draining.
func drained(t reporter, loads []uint64, draining []bool) desk {
	samples := backends(len(loads))
	for i := range samples {
		samples[i].Load = fixed(loads[i])
		if draining[i%len(draining)] {
			samples[i].Status = poise.Draining
		}
	}
	return viewed(t, samples)
}

// viewed is a desk without a Picker.
func viewed(t reporter, samples []poise.Sample) desk { return desk{view: viewOf(t, samples)} }

// of returns the desk with a Picker of the policy.
func (d desk) of(t reporter, p poise.Policy) desk {
	picker, err := p.Prepare(d.view)
	if err != nil {
		t.Fatalf("Prepare: %v", err)
	}
	return desk{d.view, picker}
}

// Loads matter by their order alone, and what is picked is never worse than what
// could have been.
func TestLoadAwarePolicies_Algebra_Law(t *testing.T) {
	loads := gen.SliceOfN(9, gen.UInt64Range(0, 20))
	draining := gen.SliceOfN(4, gen.Bool())
	seeds := gen.UInt64Range(1, 1<<63)
	algebra(t, func(laws *gopter.Properties) {
		laws.Property("LeastLoaded: nobody eligible has less", prop.ForAll(
			func(loads []uint64, draining []bool, picks int) bool {
				d := drained(t, loads, draining)
				if d.view.Check() != nil {
					return true
				}
				for _, chosen := range d.of(t, new(policy.LeastLoaded)).picks(t, picks) {
					if loads[chosen] != least(d, loads) {
						return false
					}
				}
				return true
			}, loads, draining, gen.IntRange(1, 20)))
		laws.Property("LeastLoaded: as many picks as there are least take each once, from wherever it stands", prop.ForAll(
			func(loads []uint64, draining []bool, before int) bool {
				d := drained(t, loads, draining)
				if d.view.Check() != nil {
					return true
				}
				d = d.of(t, new(policy.LeastLoaded))
				ties := 0
				for i, load := range loads {
					if d.view.Reason(i) == poise.NotExcluded && load == least(d, loads) {
						ties++
					}
				}
				d.picks(t, before)
				cycle := d.picks(t, ties)
				slices.Sort(cycle)
				return len(slices.Compact(cycle)) == ties
			}, loads, draining, gen.IntRange(0, 12)))
		for name, fresh := range map[string]func(seed uint64) poise.Policy{
			"LeastLoaded":       func(uint64) poise.Policy { return new(policy.LeastLoaded) },
			"PowerOfTwoChoices": func(seed uint64) poise.Policy { return newPowerOfTwoChoices(t, seed) },
		} {
			laws.Property(name+": a rising function of the loads changes no pick", prop.ForAll(
				func(loads []uint64, draining []bool, seed, factor uint64) bool {
					risen := slices.Clone(loads)
					for i := range risen {
						risen[i] = risen[i]*factor + seed%100
					}
					a, b := drained(t, loads, draining), drained(t, risen, draining)
					if a.view.Check() != nil {
						return true
					}
					return slices.Equal(a.of(t, fresh(seed)).picks(t, 12), b.of(t, fresh(seed)).picks(t, 12))
				}, loads, draining, seeds, gen.UInt64Range(1, 1<<40)))
		}
		laws.Property("WeightedLeastRequest: all loads times one factor change no pick", prop.ForAll(
			func(loads []uint64, draining []bool, seed, factor uint64) bool {
				more := slices.Clone(loads)
				for i := range more {
					more[i] *= factor
				}
				a, b := drained(t, loads, draining), drained(t, more, draining)
				if a.view.Check() != nil {
					return true
				}
				return slices.Equal(a.of(t, newWeightedLeastRequest(t, seed)).picks(t, 12), b.of(t, newWeightedLeastRequest(t, seed)).picks(t, 12))
			}, loads, draining, seeds, gen.UInt64Range(1, 1<<40)))
		laws.Property("WeightedLeastRequest: loads that are the weights, times whatever, are alike", prop.ForAll(
			func(weights []uint64, seed, factor uint64) bool {
				samples := backends(len(weights))
				for i := range samples {
					samples[i].Weight, samples[i].Load = weightOf(t, uint32(weights[i]+1)), fixed((weights[i]+1)*factor)
				}
				d := open(t, newWeightedLeastRequest(t, seed), samples)
				var why poise.Decision
				d.pick(t, poise.Query{Why: &why})
				return why.Rule == policy.RuleTieOfTwoByWeight
			}, loads, seeds, gen.UInt64Range(0, 1<<40)))
	})
}
