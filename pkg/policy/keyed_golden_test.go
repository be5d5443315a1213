package policy_test

import (
	"fmt"
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

var goldenNames = map[string]string{
	"Rendezvous": "rendezvous", "WeightedRendezvous": "weighted_rendezvous", "RingHash": "ring_hash",
	"BoundedLoadRendezvous": "bounded_load_rendezvous", "Maglev": "maglev",
}

// The keyed policies have no seed. Their golden files freeze where keys of every
// kind go, and in which order retries would follow, in every process.
//
// Cases: E1.
func TestKeyedPolicies_Golden(t *testing.T) {
	for _, name := range kindNames {
		t.Run(name, func(t *testing.T) {
			p := keyedKinds[name](t, keyedConfig{})
			var lines []string
			for _, n := range []int{1, 2, 3, 7, 100} {
				samples := backends(n)
				for i := range samples {
					samples[i].Weight, samples[i].Load = weightOf(t, uint32(1+i%4)), holding(t, uint64(i%17))
					if i%6 == 5 {
						samples[i].Status = poise.Draining
					}
				}
				d := open(t, p, samples)
				picks, order := fmt.Sprintf("picks of %d:", n), ""
				for k := range uint64(24) {
					key := []poise.Key{
						poise.Uint64Key(k), poise.StringKey(fmt.Sprintf("request-%05d", k)), poise.BytesKey([]byte{byte(k), 0xff}),
					}[k%3]
					picks += fmt.Sprintf(" %d", d.pick(t, poise.Query{Key: key}))
					if k < 2 {
						listed := slices.Collect(d.picker.(poise.Preferrer).Preference(key))
						order += fmt.Sprintf("\npreference of %d: %v", n, listed[:min(12, len(listed))])
					}
				}
				lines = append(lines, picks+order)
			}
			checkGolden(t, goldenNames[name], lines)
		})
	}
}
