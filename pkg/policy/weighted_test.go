package policy_test

import (
	"fmt"
	"math"
	"slices"

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
	p := policy.NewSmoothWeightedRoundRobin(policy.SmoothWeightedRoundRobinConfig{Seed: seed})
	return p
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
	p := policy.NewWeightedRandom(policy.WeightedRandomConfig{Seed: seed})
	return p
}

func newWeightedLeastRequest(t reporter, seed uint64) *policy.WeightedLeastRequest {
	t.Helper()
	p := policy.NewWeightedLeastRequest(policy.WeightedLeastRequestConfig{Seed: seed})
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
