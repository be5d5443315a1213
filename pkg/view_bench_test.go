package poise_test

import (
	"fmt"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// benchmarkCandidates returns n candidates with loads, spread over three zones.
func benchmarkCandidates(n int) []poise.Candidate {
	candidates := make([]poise.Candidate, n)
	for i := range candidates {
		candidates[i] = poise.Sample{
			ID:       fmt.Sprintf("backend-%04d", i),
			Locality: fmt.Sprintf("zone-%d", i%3),
			Load:     poise.NewInFlight(0),
		}
	}
	return candidates
}

func BenchmarkNewView(b *testing.B) {
	for _, n := range []int{8, 64, 512, 4096} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			candidates := benchmarkCandidates(n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := poise.NewView(candidates); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
