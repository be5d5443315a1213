package policy_test

import (
	"fmt"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// weightedView returns n candidates of weights 1, 2, 3, 4 and so on round, of
// which so many percent are eligible, at least one, evenly spread.
func weightedView(b *testing.B, n, percent int) *poise.View {
	b.Helper()
	candidates := make([]poise.Candidate, n)
	for i := range candidates {
		s := poise.Sample{
			ID:     fmt.Sprintf("backend-%04d", i),
			Weight: weightOf(b, uint32(1+i%4)),
			Load:   poise.NewInFlight(0),
		}
		if i > 0 && i*percent/100 == (i-1)*percent/100 {
			s.Status = poise.Unavailable
		}
		candidates[i] = s
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		b.Fatal(err)
	}
	return v
}

func BenchmarkPickWeighted(b *testing.B) {
	for _, p := range []struct {
		name string
		new  func() poise.Policy
	}{
		{"SmoothWeightedRoundRobin", func() poise.Policy { return new(policy.SmoothWeightedRoundRobin) }},
		{"WeightedRandom", func() poise.Policy { return newWeightedRandom(b, 0x5eed) }},
		{"WeightedLeastRequest", func() poise.Policy { return newWeightedLeastRequest(b, 0x5eed) }},
	} {
		for _, n := range benchmarkSizes {
			for _, percent := range []int{100, 50, 1} {
				b.Run(fmt.Sprintf("policy=%s/n=%d/eligible=%d", p.name, n, percent), func(b *testing.B) {
					benchmarkPicks(b, p.new(), weightedView(b, n, percent), poise.Query{})
				})
			}
		}
	}
}

// BenchmarkPickAfterChange is a pick of SmoothWeightedRoundRobin that runs live,
// because the weights' period is too long to be stored (B09).
func BenchmarkPickAfterChange(b *testing.B) {
	for _, n := range benchmarkSizes {
		b.Run(fmt.Sprintf("policy=SmoothWeightedRoundRobin/n=%d", n), func(b *testing.B) {
			samples := backends(n)
			samples[n-1].Weight = weightOf(b, 1<<32-1)
			benchmarkPicks(b, new(policy.SmoothWeightedRoundRobin), viewOf(b, samples), poise.Query{})
		})
	}
}

// BenchmarkRebuild prepares a View after the loss of one member.
func BenchmarkRebuildWeighted(b *testing.B) {
	for _, n := range benchmarkSizes {
		full := weightedView(b, n, 100)
		members := make([]int, 0, n)
		for i := range n {
			if i != n/2 {
				members = append(members, i)
			}
		}
		reduced, err := full.Scope(members)
		if err != nil {
			b.Fatal(err)
		}
		for name, p := range map[string]poise.Policy{
			"SmoothWeightedRoundRobin": new(policy.SmoothWeightedRoundRobin),
			"WeightedRandom":           newWeightedRandom(b, 1),
		} {
			b.Run(fmt.Sprintf("policy=%s/n=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				views := []*poise.View{full, reduced}
				for k := 0; b.Loop(); k++ {
					picker, err := p.Prepare(views[k%2])
					if err != nil {
						b.Fatal(err)
					}
					if _, err := picker.Pick(poise.Query{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
