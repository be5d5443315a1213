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
					s := samples[turn/2%n]
					if turn%2 == 0 {
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

// BenchmarkJoinAndLeave is what a candidate more, and then one less, costs the tables
// of 10,000: a View and a Picker each.
func BenchmarkJoinAndLeave(b *testing.B) {
	const n = 10_000
	for _, name := range []string{"RingHash", "Maglev"} {
		for _, change := range []string{"join", "leave", "weight"} {
			b.Run(fmt.Sprintf("policy=%s/n=%d/change=%s", name, n, change), func(b *testing.B) {
				samples := weighted(b, backends(n+1), 2)
				samples[n].Weight = weightOf(b, 2)
				few, all := viewOf(b, samples[:n]), viewOf(b, samples)
				heavier, err := few.With(poise.Sample{ID: samples[7].ID, Weight: weightOf(b, 4)})
				if err != nil {
					b.Fatal(err)
				}
				// What is not measured brings the policy back to where it began.
				from, to := few, all
				switch change {
				case "leave":
					from, to = all, few
				case "weight":
					to = heavier
				}
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					var p poise.Policy = new(policy.Maglev)
					if name == "RingHash" {
						p = newRingHash(b, policy.RingHashConfig{PointsPerWeight: 100})
					}
					if _, err := p.Prepare(from); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
					if _, err := p.Prepare(to); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
