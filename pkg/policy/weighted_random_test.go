package policy_test

import (
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"pgregory.net/rapid"
)

// Claim: WeightedRandom picks every eligible candidate in proportion to its weight, exactly.
func TestWeightedRandom_SharesByWeight(t *testing.T) {
	const bias = 0.01
	for _, weights := range [][]uint32{{1, 3}, {1, 2, 3, 4}} {
		counts := make([]int, len(weights))
		// Heavy neighbours that are not eligible must not draw picks to the edges.
		samples := slices.Concat(weighing(t, 50), weighing(t, weights...), weighing(t, 50))
		for i := range samples {
			samples[i].ID = string(rune('A' + i))
		}
		samples[0].Status, samples[len(samples)-1].Status = poise.Draining, poise.Unavailable
		each := sampleSize(float64(weights[0])/float64(sumOf(weights)), bias)/len(seedSweep) + 1
		for _, seed := range seedSweep {
			got := open(t, newWeightedRandom(t, seed), samples).counts(t, each)
			if got[0]+got[len(got)-1] != 0 {
				t.Fatalf("picks of those that are not eligible: %v", got)
			}
			for i := range counts {
				counts[i] += got[i+1]
			}
		}
		if err := checkProportions(counts, weights, bias); err != nil {
			t.Error(err)
		}
	}
}

// Claim: A retry picks among the untried in proportion to their weights, exactly.
func TestWeightedRandom_SharesRetriesByWeight(t *testing.T) {
	const bias = 0.02
	samples := weighing(t, 9, 1, 9, 3, 2, 9)
	d := open(t, newWeightedRandom(t, 5), samples)
	q := poise.Query{Tried: retried(samples, 0, 2, 5)}
	counts := make([]int, 6)
	for range sampleSize(1.0/6, bias) {
		counts[d.pick(t, q)]++
	}
	if counts[0]+counts[2]+counts[5] != 0 {
		t.Errorf("picks of the tried: %v", counts)
	}
	if err := checkProportions([]int{counts[1], counts[3], counts[4]}, []uint32{1, 3, 2}, bias); err != nil {
		t.Error(err)
	}
}

// Shares among those left in are as their weights, whoever is out.
//
// Cases: E2b.
func TestWeightedPolicies_RenormaliseUnderEveryMask(t *testing.T) {
	const bias = 0.05
	weights := []uint32{5, 1, 1}
	for name, p := range allWeighted(t) {
		for mask := 1; mask < 8; mask++ {
			samples := weighing(t, weights...)
			var in []uint32
			for i := range samples {
				if mask>>i&1 == 0 {
					samples[i].Status = poise.Unavailable
				} else {
					in = append(in, weights[i])
				}
			}
			var counts []int
			total := 10
			if len(in) > 1 {
				total = sampleSize(float64(slices.Min(in))/float64(sumOf(in)), bias)
			}
			for i, count := range open(t, p, samples).counts(t, total) {
				if mask>>i&1 == 1 {
					counts = append(counts, count)
				} else if count != 0 {
					t.Fatalf("%s: %d is out and got %d picks", name, i, count)
				}
			}
			if len(in) > 1 {
				if err := checkProportions(counts, in, bias); err != nil {
					t.Errorf("%s, mask %03b: %v", name, mask, err)
				}
			}
		}
	}
}

func TestWeightedRandom_KeepsWithinTheBoundsOfOthers(t *testing.T) {
	counts := open(t, newWeightedRandom(t, 11), weighing(t, 1, 3)).counts(t, 40_000)
	if counts[0] < 9_500 || counts[0] > 10_500 {
		t.Errorf("weights 1, 3: shares %v", counts)
	}
}

// Cases: B08.
func TestWeightedRandom_SumsHugeWeights(t *testing.T) {
	const huge = 1<<32 - 1
	for i, count := range open(t, newWeightedRandom(t, 1), weighing(t, huge, huge, huge)).counts(t, 30_000) {
		if count < 9_673 || count > 10_327 {
			t.Errorf("candidate %d of three huge ones got %d of 30000", i, count)
		}
	}
	if counts := open(t, newWeightedRandom(t, 1), weighing(t, 1, huge)).counts(t, 10_000); counts[1] != 10_000 {
		t.Errorf("1 against a huge weight: %v", counts)
	}
}

// Claim: WeightedRandom draws nothing where one candidate is left.
func TestWeightedRandom_DrawsNothingForOne(t *testing.T) {
	want := open(t, newWeightedRandom(t, 4), weighing(t, 1, 2, 3)).picks(t, 30)
	p := newWeightedRandom(t, 4)
	samples := weighing(t, 1, 2, 3)
	many, one := open(t, p, samples), open(t, p, samples[:1])
	var got []int
	for range want {
		one.pick(t, poise.Query{})
		if index := many.pick(t, poise.Query{Tried: retried(samples, 0, 2)}); index != 1 {
			t.Fatalf("picked %d, and only 1 is left", index)
		}
		got = append(got, many.pick(t, poise.Query{}))
	}
	if !slices.Equal(got, want) {
		t.Errorf("picks %v, want %v", got, want)
	}
}

// Cases: G25.
func TestWeightedRandom_SeedsReplayForEver(t *testing.T) {
	checkGolden(t, "weighted_random", goldenLines(t,
		func(seed uint64) poise.Policy { return newWeightedRandom(t, seed) }, risingWeights(t)))
}

func TestWeightedRandom_GoroutinesTakeEachDrawOnce(t *testing.T) {
	samples := risingWeights(t)(1000)
	want := open(t, newWeightedRandom(t, 5), samples).picks(t, 4000)
	slices.Sort(want)
	if got := inParallel(t, open(t, newWeightedRandom(t, 5), samples), 500); !slices.Equal(got, want) {
		t.Error("the picks of eight goroutines are not those of one")
	}
}

func TestWeightedPolicies_UnseededReachEveryone(t *testing.T) {
	for name, p := range map[string]poise.Policy{
		"WeightedRandom":       newWeightedRandom(t, 0),
		"WeightedLeastRequest": newWeightedLeastRequest(t, 0),
	} {
		counts := open(t, p, weighing(t, 1, 2, 1)).counts(t, 4000)
		// 1000 and 2000 expected, at most 32 a sigma.
		for i, want := range []int{1000, 2000, 1000} {
			if counts[i] < want-220 || counts[i] > want+220 {
				t.Errorf("%s: shares %v", name, counts)
			}
		}
		again := open(t, p, risingWeights(t)(1000))
		if a, b := again.picks(t, 20), again.picks(t, 20); slices.Equal(a, b) {
			t.Errorf("%s: twice %v", name, a)
		}
	}
}

func TestWeightedRandomPolicies_Replay_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := drawWeighted(t, 20)
		seed := rapid.Uint64Min(1).Draw(t, "seed")
		for name, make := range map[string]func() poise.Policy{
			"WeightedRandom":       func() poise.Policy { return newWeightedRandom(t, seed) },
			"WeightedLeastRequest": func() poise.Policy { return newWeightedLeastRequest(t, seed) },
		} {
			a, b := open(t, make(), samples), open(t, make(), samples)
			if a.view.Check() != nil {
				return
			}
			if x, y := a.picks(t, 32), b.picks(t, 32); !slices.Equal(x, y) {
				t.Fatalf("%s: seed %d picks %v and %v", name, seed, x, y)
			}
		}
	})
}
