//go:build !race

// One goroutine counts here, so the race detector would see nothing and take long.

package policy_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// Where the key decides, keys are the chance: each bin is a binomial share of them.
//
// Claim: The share of the keys that WeightedRendezvous gives a candidate is its weight over the sum of the weights.
func TestKeyedPolicies_ShareKeysInProportion(t *testing.T) {
	for _, row := range []struct {
		name     string
		weights  []uint32
		relative float64
	}{
		{"WeightedRendezvous", []uint32{1, 3}, 0.02},
		{"WeightedRendezvous", []uint32{1, 2, 3}, 0.02},
		{"WeightedRendezvous", []uint32{1, 1, 98}, 0.1},
		{"BoundedLoadRendezvous", []uint32{1, 3}, 0.02},
	} {
		samples := weighted(t, backends(len(row.weights)), row.weights...)
		d := open(t, keyedKinds[row.name](t, keyedConfig{}), samples)
		weights, sum := make([]float64, len(samples)), 0.0
		for i, w := range row.weights {
			weights[i] = float64(w)
			sum += float64(w)
		}
		counts := make([]int, len(samples))
		for k := range sampleSize(slices.Min(weights)/sum, row.relative) {
			counts[d.pick(t, number(k))]++
		}
		if err := checkProportions(counts, weights, row.relative); err != nil {
			t.Errorf("%s over %v: %v", row.name, row.weights, err)
		}
	}
}

// The keys are spread evenly over the slots.
func TestMaglev_SpreadsKeysEvenly(t *testing.T) {
	const bins = 4
	d := open(t, new(policy.Maglev), backends(3))
	counts := make([]int, bins)
	for k := range sampleSize(1.0/bins, 0.02) {
		counts[explained(t, d, number(k)).Compared[0].Figure*bins/65_537]++
	}
	if err := checkShares(counts, 0.02); err != nil {
		t.Error(err)
	}
}

// Claim: Removing one of n candidates moves its keys, and few others.
//
// The means over twenty runs at 65537 slots and a thousand members (after Eisenbud
// et al., figure 12, whose values are only drawn; these were computed apart from
// this code).
func TestMaglev_MovesFewOtherSlots(t *testing.T) {
	const n, runs = 1000, 20
	for lost, want := range map[int]float64{1: 0.682, 10: 3.329, 100: 13.547} {
		changed := 0.0
		for run := range runs {
			ids := make([]string, n)
			for i := range ids {
				ids[i] = fmt.Sprintf("run-%d-member-%d", run, i)
			}
			p := new(policy.Maglev)
			full, left := open(t, p, named(ids...)), open(t, p, named(ids[lost:]...))
			moved := 0
			const keys = 20_000
			for k := range keys {
				was, is := full.pick(t, number(k)), left.pick(t, number(k))+lost
				if was != is {
					moved++
				}
			}
			changed += 100 * float64(moved) / keys / runs
		}
		if math.Abs(changed/want-1) > 0.25 {
			t.Errorf("%d of %d lost: %.3f %% of the keys move, want about %.3f %%", lost, n, changed, want)
		}
	}
}

// Every subset of six comes and goes.
func TestKeyedPolicies_MoveNoKeyBetweenOthers(t *testing.T) {
	for _, row := range []struct {
		name    string
		weights []uint32
	}{
		{"Rendezvous", []uint32{1, 1, 1, 1, 1, 1}},
		{"WeightedRendezvous", []uint32{1, 2, 3, 5, 8, 13}},
		{"RingHash", []uint32{1, 1, 1, 1, 1, 1}},
	} {
		all := weighted(t, backends(6), row.weights...)
		p := keyedKinds[row.name](t, keyedConfig{})
		where := map[int][]string{}
		for set := 1; set < 1<<6; set++ {
			var samples []poise.Sample
			for i := range all {
				if set>>i&1 != 0 {
					samples = append(samples, all[i])
				}
			}
			where[set] = owners(t, p, samples, 400)
		}
		for set, before := range where {
			for i := range all {
				after, grown := where[set|1<<i]
				if !grown || set>>i&1 != 0 {
					continue
				}
				for k := range before {
					if after[k] != before[k] && after[k] != all[i].ID {
						t.Fatalf("%s: %s comes to %b, and key %d moves from %s to %s", row.name, all[i].ID, set, k, before[k], after[k])
					}
				}
			}
		}
	}
}

// From two to seven candidates each gets keys.
func TestKeyedPolicies_ReachEveryone(t *testing.T) {
	for _, name := range kindNames {
		for n := 2; n <= 7; n++ {
			reached := map[string]bool{}
			for _, id := range owners(t, keyedKinds[name](t, keyedConfig{}), backends(n), 20_000) {
				reached[id] = true
			}
			if len(reached) != n {
				t.Errorf("%s: 20000 keys reach %d of %d", name, len(reached), n)
			}
		}
	}
}
