package policy_test

import (
	"fmt"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

func BenchmarkWeighted(b *testing.B) {
	for _, n := range benchmarkSizes {
		candidates := make([]poise.Candidate, n)
		for i := range candidates {
			w, _ := poise.NewWeight(uint32(1 + i%4))
			candidates[i] = poise.Sample{ID: fmt.Sprintf("backend-%04d", i), Weight: w, Load: poise.NewInFlight(0)}
		}
		v, err := poise.NewView(candidates)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("policy=SWRR/n=%d", n), func(b *testing.B) { benchmarkPicks(b, new(policy.SmoothWeightedRoundRobin), v, poise.Query{}) })
		b.Run(fmt.Sprintf("policy=RR/n=%d", n), func(b *testing.B) { benchmarkPicks(b, new(policy.RoundRobin), v, poise.Query{}) })
	}
}
