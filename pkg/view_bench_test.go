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

func BenchmarkScope(b *testing.B) {
	for _, n := range []int{64, 4096} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			v, err := poise.NewView(benchmarkCandidates(n))
			if err != nil {
				b.Fatal(err)
			}
			members := make([]int, n/2)
			for i := range members {
				members[i] = 2 * i
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Scope(members); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkUntried(b *testing.B) {
	const n = 64
	candidates := benchmarkCandidates(n)
	v, err := poise.NewView(candidates)
	if err != nil {
		b.Fatal(err)
	}
	for _, count := range []int{1, 4, 8, 12} {
		b.Run(fmt.Sprintf("n=%d/tried=%d", n, count), func(b *testing.B) {
			var tried poise.Tried
			for i := range count {
				tried.Add(candidates[i*5].Sample().ID, 0)
			}
			b.ReportAllocs()
			for b.Loop() {
				u := v.Untried(&tried)
				u.At(n / 2)
			}
		})
	}
}
