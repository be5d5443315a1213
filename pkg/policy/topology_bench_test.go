package policy_test

import (
	"fmt"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// placedView returns n candidates of weights 1 to 4, in three priorities and three
// localities by turns, all ready.
func placedView(b *testing.B, n int) *poise.View {
	b.Helper()
	candidates := make([]poise.Candidate, n)
	for i := range candidates {
		candidates[i] = poise.Sample{
			ID: fmt.Sprintf("backend-%04d", i), Weight: weightOf(b, uint32(1+i%4)), Load: poise.NewInFlight(0),
			Priority: uint32(i % 3), Locality: fmt.Sprint("zone-", i%3),
		}
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		b.Fatal(err)
	}
	return v
}

// spillView returns candidates of which half of the first priority is not ready, so
// that the second takes 30 % of the traffic; each has three localities to draw.
func spillView(b *testing.B, n int) *poise.View {
	b.Helper()
	candidates := make([]poise.Candidate, n)
	for i := range candidates {
		s := poise.Sample{
			ID: fmt.Sprintf("backend-%04d", i), Weight: weightOf(b, uint32(1+i/2%4)),
			Priority: uint32(i % 2), Locality: fmt.Sprint("zone-", i/4%3),
		}
		if i%4 == 0 {
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

// benchmarkTopology is the part of BenchmarkPick that has priorities and localities.
func benchmarkTopology(b *testing.B) {
	for name, p := range benchmarkTopologies(b) {
		for _, n := range benchmarkSizes {
			b.Run(fmt.Sprintf("policy=%s/n=%d", name, n), func(b *testing.B) {
				benchmarkPicks(b, p, placedView(b, n), poise.Query{})
			})
			b.Run(fmt.Sprintf("policy=%s/n=%d/spill", name, n), func(b *testing.B) {
				benchmarkPicks(b, p, spillView(b, n), poise.Query{})
			})
		}
	}
}

func benchmarkTopologies(b *testing.B) map[string]poise.Policy {
	return map[string]poise.Policy{
		"Priority": newPriority(b, policy.TopologyConfig{Seed: 0x5eed}),
		"Locality": newLocality(b, policy.TopologyConfig{Seed: 0x5eed}),
	}
}

// BenchmarkPrepareTopology prepares nine scopes at most.
func BenchmarkPrepareTopology(b *testing.B) {
	for name, p := range benchmarkTopologies(b) {
		for _, n := range benchmarkSizes {
			b.Run(fmt.Sprintf("policy=%s/n=%d", name, n), func(b *testing.B) {
				v := spillView(b, n)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.Prepare(v); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
