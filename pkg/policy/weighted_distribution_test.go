//go:build !race

// One goroutine counts here, so the race detector would see nothing and take long.

package policy_test

import (
	"math"
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
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

// A fleet that starts together follows the weights from its first picks on.
//
// Cases: Q2.
func TestSmoothWeightedRoundRobin_SeedsSpreadAFleet(t *testing.T) {
	const fleet = 20_000
	for _, weights := range [][]uint32{{25, 75}, {1, 99}, {50, 50}, {1, 20, 79}} {
		counts := make([]int, len(weights))
		for seed := range uint64(fleet) {
			counts[open(t, newSmooth(t, seed+1), weighing(t, weights...)).pick(t, poise.Query{})]++
		}
		for i, w := range weights {
			share := float64(counts[i]) / fleet
			if math.Abs(share-float64(w)/100) > 0.01 {
				t.Errorf("weights %v: candidate %d is first %.3f of the time", weights, i, share)
			}
		}
	}
	if first := open(t, newSmooth(t, 0), weighing(t, 1, 2, 3)).pick(t, poise.Query{}); first != 2 {
		t.Errorf("seed 0 starts at %d, want the heaviest", first)
	}
}
