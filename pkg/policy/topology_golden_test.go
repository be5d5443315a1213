package policy_test

import (
	"fmt"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// spread places n candidates in three priorities and three localities, one in four
// of them unavailable.
func spread(n int) []poise.Sample {
	samples := backends(n)
	for i := range samples {
		samples[i].Priority = uint32(i % 3)
		samples[i].Locality = fmt.Sprint("zone-", i%2)
		if i%4 == 3 || i%3 == 0 && i%2 == 0 && n > 3 {
			samples[i].Status = poise.Unavailable
		}
	}
	return samples
}

// Cases: G25.
func TestPriority_SeedsReplayForEver(t *testing.T) {
	checkGolden(t, "priority", goldenLines(t, func(seed uint64) poise.Policy {
		return newPriority(t, policy.TopologyConfig{Seed: seed})
	}, spread))
}

// Cases: G25.
func TestLocality_SeedsReplayForEver(t *testing.T) {
	checkGolden(t, "locality", goldenLines(t, func(seed uint64) poise.Policy {
		return newLocality(t, policy.TopologyConfig{Seed: seed})
	}, spread))
}

// A key goes to the same scope in every process and every later version.
func TestTopology_KeysKeepTheirScopesForEver(t *testing.T) {
	var lines []string
	for _, n := range []int{3, 7, 100} {
		d := open(t, newLocality(t, policy.TopologyConfig{ByKey: true, Endpoint: endpointPolicies["Rendezvous"]}), spread(n))
		line := fmt.Sprintf("of %d:", n)
		for k := range 32 {
			line += fmt.Sprintf(" %d", d.pick(t, poise.Query{Key: poise.Uint64Key(uint64(k))}))
		}
		lines = append(lines, line)
	}
	checkGolden(t, "topology_by_key", lines)
}
