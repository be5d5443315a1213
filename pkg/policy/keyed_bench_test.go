package policy_test

import (
	"fmt"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// The fixtures of the keyed benchmarks: weights 1 to 4, loads 0 to 16, and 997 keys.
const benchmarkKeys = 997

// keyedSamples returns n candidates, of which percent are eligible, spread evenly,
// and at least one.
func keyedSamples(b *testing.B, n, percent int) []poise.Sample {
	b.Helper()
	samples := make([]poise.Sample, n)
	for i := range samples {
		w, err := poise.NewWeight(uint32(1 + i%4))
		if err != nil {
			b.Fatal(err)
		}
		samples[i] = poise.Sample{ID: fmt.Sprintf("backend-%04d", i), Weight: w, Load: holding(b, uint64(i%17))}
		if i > 0 && i*percent/100 == (i-1)*percent/100 {
			samples[i].Status = poise.Unavailable
		}
	}
	return samples
}

// keyedPolicies returns the keyed policies with their defaults. At 4096 the ring
// is given the points that it needs.
func keyedPolicies(b *testing.B, n int) map[string]poise.Policy {
	b.Helper()
	cfg := policy.RingHashConfig{}
	if n > 512 {
		cfg.MaxPoints = 1 << 21
	}
	ring, err := policy.NewRingHash(cfg)
	if err != nil {
		b.Fatal(err)
	}
	return map[string]poise.Policy{
		"Rendezvous":            new(policy.Rendezvous),
		"WeightedRendezvous":    new(policy.WeightedRendezvous),
		"BoundedLoadRendezvous": new(policy.BoundedLoadRendezvous),
		"RingHash":              ring,
		"Maglev":                new(policy.Maglev),
	}
}

var keyedNames = []string{"Rendezvous", "WeightedRendezvous", "BoundedLoadRendezvous", "RingHash", "Maglev"}

// benchmarkKeyedPicks are the rows of BenchmarkPick with keys and with candidates
// that are not eligible.
func benchmarkKeyedPicks(b *testing.B) {
	keys := make([]poise.Key, benchmarkKeys)
	for k := range keys {
		keys[k] = poise.StringKey(fmt.Sprintf("request-%05d", k))
	}
	for _, name := range keyedNames {
		for _, n := range benchmarkSizes {
			for _, percent := range []int{100, 50, 1} {
				b.Run(fmt.Sprintf("policy=%s/n=%d/eligible=%d", name, n, percent), func(b *testing.B) {
					d := open(b, keyedPolicies(b, n)[name], keyedSamples(b, n, percent))
					b.ReportAllocs()
					k := 0
					for b.Loop() {
						if _, err := d.picker.Pick(poise.Query{Key: keys[k]}); err != nil {
							b.Fatal(err)
						}
						if k++; k == len(keys) {
							k = 0
						}
					}
				})
			}
		}
	}
}

// BenchmarkPrepare goes from one View to another and back: of the same candidates,
// or with one of them lost and returned. Each turn of the loop prepares once.
func BenchmarkPrepare(b *testing.B) {
	for _, name := range keyedNames {
		for _, n := range benchmarkSizes[:3] {
			samples := keyedSamples(b, n, 100)
			lost := append(append([]poise.Sample{}, samples[:n/2]...), samples[n/2+1:]...)
			full := viewOf(b, samples)
			for change, views := range map[string][2]*poise.View{
				"none":     {full, viewOf(b, samples)},
				"lost-one": {full, viewOf(b, lost)},
			} {
				b.Run(fmt.Sprintf("policy=%s/n=%d/change=%s", name, n, change), func(b *testing.B) {
					p := keyedPolicies(b, n)[name]
					b.ReportAllocs()
					for turn := 0; b.Loop(); turn++ {
						if _, err := p.Prepare(views[turn%2]); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
