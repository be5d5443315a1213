package policy_test

import (
	"fmt"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// BenchmarkFlip is what one candidate that becomes ineligible or eligible again
// costs until it counts: a View and a Picker.
func BenchmarkFlip(b *testing.B) {
	for _, name := range []string{"RoundRobin", "Random", "PowerOfTwoChoices", "LeastLoaded", "RingHash", "Maglev"} {
		for _, n := range []int{100, 1000, 10000} {
			b.Run(fmt.Sprintf("policy=%s/n=%d", name, n), func(b *testing.B) {
				samples := backends(n)
				v := viewOf(b, samples)
				p := benchmarkPolicies(b, 0)[name]
				if name == "RingHash" {
					p = newRingHash(b, policy.RingHashConfig{PointsPerWeight: 100})
				}
				if _, err := p.Prepare(v); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for turn := 0; b.Loop(); turn++ {
					s := samples[turn%n]
					if turn/n%2 == 0 {
						s.Status = poise.Unavailable
					}
					var err error
					if v, err = v.With(s); err != nil {
						b.Fatal(err)
					}
					if _, err = p.Prepare(v); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
