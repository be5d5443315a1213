package policy_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"pgregory.net/rapid"
)

// What the tests of the weighted policies share.

func weightOf(t reporter, w uint32) poise.Weight {
	t.Helper()
	weight, err := poise.NewWeight(w)
	if err != nil {
		t.Fatalf("NewWeight(%d): %v", w, err)
	}
	return weight
}

// weighing returns ready, idle candidates a, b, c… of those weights.
func weighing(t reporter, weights ...uint32) []poise.Sample {
	t.Helper()
	samples := backends(len(weights))
	for i, w := range weights {
		samples[i].Weight = weightOf(t, w)
		if len(weights) <= 26 {
			samples[i].ID = string(rune('a' + i))
		}
	}
	return samples
}

// letters are the identities of the candidates at the indices, run together.
func letters(samples []poise.Sample, indices []int) string {
	text := ""
	for _, i := range indices {
		text += samples[i].ID
	}
	return text
}

func newSmooth(t reporter, seed uint64) *policy.SmoothWeightedRoundRobin {
	t.Helper()
	p, err := policy.NewSmoothWeightedRoundRobin(policy.SmoothWeightedRoundRobinConfig{Seed: seed})
	if err != nil {
		t.Fatalf("NewSmoothWeightedRoundRobin: %v", err)
	}
	return p
}

// checkProportions reports counts that are not in proportion to the weights, and
// a sample that is too small to show the relative bias in the lightest bin.
func checkProportions(counts []int, weights []uint32, relative float64) error {
	n, total := 0, 0.0
	for i, count := range counts {
		n += count
		total += float64(weights[i])
	}
	if need := sampleSize(float64(slices.Min(weights))/total, relative); n < need {
		return fmt.Errorf("%d samples cannot show a bias of %v among %v: it takes %d", n, relative, weights, need)
	}
	for i, count := range counts {
		p := float64(weights[i]) / total
		sigma := math.Sqrt(float64(n) * p * (1 - p))
		if deviation := (float64(count) - float64(n)*p) / sigma; math.Abs(deviation) >= rejection {
			return fmt.Errorf("bin %d of %v got %d of %d: %.1f sigma", i, weights, count, n, deviation)
		}
	}
	return nil
}

func TestStatedPower_OfProportionsSeesWhatItClaims(t *testing.T) {
	weights := []uint32{1, 3}
	quarter := sampleSize(1.0/4, 0.01)/4 + 1
	if err := checkProportions([]int{quarter, 3 * quarter}, weights, 0.01); err != nil {
		t.Errorf("exact proportions of the needed size are rejected: %v", err)
	}
	if checkProportions([]int{quarter / 2, 3 * quarter / 2}, weights, 0.01) == nil {
		t.Error("half of the needed sample passes")
	}
	more := quarter / 25
	if checkProportions([]int{2*quarter + more, 6*quarter - more}, weights, 0.01) == nil {
		t.Error("a bias of 2 % passes a test that claims to see 1 %")
	}
}

// drawWeight draws small weights, which tie and repeat, and now and then a large
// one where that is wanted.
func drawWeight(t *rapid.T, large bool) uint32 {
	if large && rapid.IntRange(0, 40).Draw(t, "large weight") == 0 {
		return rapid.SampledFrom([]uint32{math.MaxUint32, math.MaxUint32 - 1, 1 << 20}).Draw(t, "weight")
	}
	return rapid.Uint32Range(1, 6).Draw(t, "weight")
}

// changeSamples changes a list of candidates in one of the ways lists change.
func changeSamples(t *rapid.T, samples []poise.Sample, large bool, joined *int) []poise.Sample {
	samples = slices.Clone(samples)
	join := func() {
		*joined++
		samples = append(samples, poise.Sample{
			ID: fmt.Sprintf("backend-%d", *joined), Weight: weightOf(t, drawWeight(t, large)), Load: fixed(0),
		})
	}
	for len(samples) == 0 {
		join()
	}
	at := rapid.IntRange(0, len(samples)-1).Draw(t, "at")
	switch rapid.SampledFrom([]string{"nothing", "join", "leave", "return", "weight", "status", "excluded", "order"}).Draw(t, "change") {
	case "join":
		join()
	case "leave":
		samples = slices.Delete(samples, at, at+1)
	case "return": // another life of the identity
		samples[at].Incarnation++
	case "weight":
		samples[at].Weight = weightOf(t, drawWeight(t, large))
	case "status":
		samples[at].Status = statusGen.Draw(t, "status")
	case "excluded":
		samples[at].Excluded = rapid.SampledFrom([]poise.Reason{poise.NotExcluded, poise.ExcludedCircuitOpen}).Draw(t, "reason")
	case "order":
		samples = rapid.Permutation(samples).Draw(t, "order")
	}
	return samples
}

func newWeightedRandom(t reporter, seed uint64) *policy.WeightedRandom {
	t.Helper()
	p, err := policy.NewWeightedRandom(policy.WeightedRandomConfig{Seed: seed})
	if err != nil {
		t.Fatalf("NewWeightedRandom: %v", err)
	}
	return p
}

func newWeightedLeastRequest(t reporter, seed uint64) *policy.WeightedLeastRequest {
	t.Helper()
	p, err := policy.NewWeightedLeastRequest(policy.WeightedLeastRequestConfig{Seed: seed})
	if err != nil {
		t.Fatalf("NewWeightedLeastRequest: %v", err)
	}
	return p
}

// allWeighted returns one of each policy that heeds weights without a key, by
// name, seeded alike.
func allWeighted(t reporter) map[string]poise.Policy {
	t.Helper()
	return map[string]poise.Policy{
		"SmoothWeightedRoundRobin": newSmooth(t, 0),
		"WeightedRandom":           newWeightedRandom(t, 1),
		"WeightedLeastRequest":     newWeightedLeastRequest(t, 1),
	}
}
