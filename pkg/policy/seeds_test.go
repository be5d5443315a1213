package policy_test

import (
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// chancy are the policies that draw, by a seed.
func chancy(t *testing.T) map[string]func(seed uint64) poise.Policy {
	topology := func(seed uint64) policy.TopologyConfig {
		return policy.TopologyConfig{Seed: seed, Overprovisioning: 100, PanicOff: true}
	}
	return map[string]func(seed uint64) poise.Policy{
		"Random":               func(seed uint64) poise.Policy { return newRandom(t, seed) },
		"WeightedRandom":       func(seed uint64) poise.Policy { return newWeightedRandom(t, seed) },
		"PowerOfTwoChoices":    func(seed uint64) poise.Policy { return newPowerOfTwoChoices(t, seed) },
		"WeightedLeastRequest": func(seed uint64) poise.Policy { return newWeightedLeastRequest(t, seed) },
		"Priority":             func(seed uint64) poise.Policy { return newPriority(t, topology(seed)) },
		"Locality":             func(seed uint64) poise.Policy { return newLocality(t, topology(seed)) },
		"Rendezvous without a key": func(seed uint64) poise.Policy {
			return newRendezvous(t, policy.RendezvousConfig{NoKey: newRandom(t, seed)})
		},
		// The endpoint policies draw from streams of their own; one member of each scope
		// would leave only the scopes to chance.
		"Locality over turns": func(seed uint64) poise.Policy {
			cfg := topology(seed)
			cfg.Endpoint = func(uint64) (poise.Policy, error) { return new(policy.RoundRobin), nil }
			return newLocality(t, cfg)
		},
		"Priority of one scope": func(seed uint64) poise.Policy { return newPriority(t, policy.TopologyConfig{Seed: seed}) },
	}
}

// The same seed replays, in the first form of a pick and in those that explain and pass
// over the tried; another seed does not give the same picks, nor does that seed with
// its sign turned round, and without a seed no two policies pick alike. A stream of 80
// picks of 6 is the same twice by chance once in 10^20 at most.
func TestPoliciesOfChance_ASeedReplaysAndNoneDoesNot(t *testing.T) {
	samples := weighing(t, 3, 1, 2, 1, 2, 3)
	for i := range samples {
		samples[i].Locality = []string{"x", "y"}[i%2]
	}
	for name, fresh := range chancy(t) {
		samples := slices.Clone(samples)
		if name == "Priority" { // so that there are two scopes, of which the first takes half
			for i := range samples {
				samples[i].Priority = uint32(i % 2)
				if i == 0 {
					samples[i].Status = poise.Unavailable
				}
			}
		}
		stream := func(seed uint64) []int {
			d := open(t, fresh(seed), samples)
			var list []int
			for k := range 80 {
				var q poise.Query
				switch k % 4 {
				case 2:
					q.Why = new(poise.Decision)
				case 3:
					q.Tried = retried(samples, 5)
				}
				list = append(list, d.pick(t, q))
			}
			return list
		}
		for _, seed := range []uint64{1, 7, 1 << 63, 1<<64 - 1} {
			if a, b := stream(seed), stream(seed); !slices.Equal(a, b) {
				t.Errorf("%s: seed %d gives %v and %v", name, seed, a, b)
			}
			if a := stream(seed); slices.Equal(a, stream(seed^5)) || -seed != seed && slices.Equal(a, stream(-seed)) {
				t.Errorf("%s: seed %d and another both give %v", name, seed, a)
			}
		}
		if a, b := stream(0), stream(0); slices.Equal(a, b) {
			t.Errorf("%s: without a seed both give %v", name, a)
		}
	}
}
