package policy_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// checkWeightedShares is checkShares for bins of unlike probability.
func checkWeightedShares(counts []int, weights []float64, relative float64) error {
	n, sum := 0, 0.0
	for i, count := range counts {
		n += count
		sum += weights[i]
	}
	if need := sampleSize(slices.Min(weights)/sum, relative); n < need {
		return fmt.Errorf("%d samples cannot show a bias of %v in the least likely of %d bins: it takes %d", n, relative, len(counts), need)
	}
	for i, count := range counts {
		p := weights[i] / sum
		sigma := math.Sqrt(float64(n) * p * (1 - p))
		if deviation := (float64(count) - float64(n)*p) / sigma; math.Abs(deviation) >= rejection {
			return fmt.Errorf("bin %d of %d got %d of %d: %.1f sigma", i, len(counts), count, n, deviation)
		}
	}
	return nil
}

func TestWeightedStatedPower_SeesWhatItClaims(t *testing.T) {
	weights := []float64{1, 3}
	n := sampleSize(1.0/4, 0.02)
	if checkWeightedShares([]int{n / 8, 3 * n / 8}, weights, 0.02) == nil {
		t.Error("half of the needed samples pass")
	}
	if err := checkWeightedShares([]int{n/4 + 1, 3*n/4 + 1}, weights, 0.02); err != nil {
		t.Errorf("exact shares are rejected: %v", err)
	}
	more := n / 2 * 3 / 100 // 3 % of the small bin, in twice the samples
	if checkWeightedShares([]int{n/2 + more, 3*n/2 - more}, weights, 0.02) == nil {
		t.Error("a bias of 3 % passes a test that claims to see 2 %")
	}
	if checkWeightedShares([]int{n / 2, n / 2}, weights, 0.02) == nil {
		t.Error("equal shares pass for 1 to 3")
	}
}

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
		if err := checkWeightedShares(counts, weights, row.relative); err != nil {
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

// Cases: B07.
func TestKeyedPolicies_TellEmptyFromNoEligible(t *testing.T) {
	for _, name := range kindNames {
		p := keyedKinds[name](t, keyedConfig{})
		for n := range 8 {
			samples := backends(n)
			for i := range samples {
				samples[i].Status = poise.Status(1 + i%2)
			}
			want := poise.ErrNoEligible
			if n == 0 {
				want = poise.ErrEmpty
			}
			if _, err := open(t, p, samples).try(number(1)); err != want {
				t.Errorf("%s over %d: error is %v, want %v", name, n, err, want)
			}
			if n == 0 {
				continue
			}
			samples[n-1].Status = poise.Ready
			if got := open(t, p, samples).pick(t, number(1)); got != n-1 {
				t.Errorf("%s over %d: picked %d", name, n, got)
			}
		}
	}
}
