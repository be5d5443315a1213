package policy_test

import (
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// What the tests of Priority and Locality share.

func newPriority(t reporter, cfg policy.TopologyConfig) *policy.Priority {
	t.Helper()
	p, err := policy.NewPriority(cfg)
	if err != nil {
		t.Fatalf("NewPriority: %v", err)
	}
	return p
}

func newLocality(t reporter, cfg policy.TopologyConfig) *policy.Locality {
	t.Helper()
	p, err := policy.NewLocality(cfg)
	if err != nil {
		t.Fatalf("NewLocality: %v", err)
	}
	return p
}

// endpointPolicies are what may pick inside a scope, by name.
var endpointPolicies = map[string]func(seed uint64) (poise.Policy, error){
	"RoundRobin": func(seed uint64) (poise.Policy, error) {
		return policy.NewRoundRobin(policy.RoundRobinConfig{Seed: seed}), nil
	},
	"SmoothWeightedRoundRobin": func(seed uint64) (poise.Policy, error) {
		return policy.NewSmoothWeightedRoundRobin(policy.SmoothWeightedRoundRobinConfig{Seed: seed}), nil
	},
	"Random": func(seed uint64) (poise.Policy, error) {
		return policy.NewRandom(policy.RandomConfig{Seed: seed}), nil
	},
	"WeightedRandom": func(seed uint64) (poise.Policy, error) {
		return policy.NewWeightedRandom(policy.WeightedRandomConfig{Seed: seed}), nil
	},
	"LeastLoaded": func(uint64) (poise.Policy, error) { return new(policy.LeastLoaded), nil },
	"PowerOfTwoChoices": func(seed uint64) (poise.Policy, error) {
		return policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: seed}), nil
	},
	"WeightedLeastRequest": func(seed uint64) (poise.Policy, error) {
		return policy.NewWeightedLeastRequest(policy.WeightedLeastRequestConfig{Seed: seed}), nil
	},
	"Rendezvous":         func(uint64) (poise.Policy, error) { return new(policy.Rendezvous), nil },
	"WeightedRendezvous": func(uint64) (poise.Policy, error) { return new(policy.WeightedRendezvous), nil },
	"BoundedLoadRendezvous": func(uint64) (poise.Policy, error) {
		return policy.NewBoundedLoadRendezvous(policy.BoundedLoadRendezvousConfig{})
	},
	"RingHash": func(uint64) (poise.Policy, error) {
		return policy.NewRingHash(policy.RingHashConfig{PointsPerWeight: 3})
	},
	"Maglev": func(uint64) (poise.Policy, error) { return policy.NewMaglev(policy.MaglevConfig{TableSize: 211}) },
}

// eachTopology calls f with both policies of the config.
func eachTopology(t reporter, cfg policy.TopologyConfig, f func(name string, p poise.Policy)) {
	t.Helper()
	f("Priority", newPriority(t, cfg))
	f("Locality", newLocality(t, cfg))
}

// placed returns a ready candidate of weight 1 in the priority.
func placed(id string, priority uint32) poise.Sample {
	return poise.Sample{ID: id, Priority: priority, Load: poise.NewInFlight(0)}
}

// crowd returns size candidates of weight 1 in the priority, the first of which
// are ready and the others unavailable.
func crowd(id string, priority uint32, size, ready int) []poise.Sample {
	samples := make([]poise.Sample, size)
	for i := range samples {
		samples[i] = placed(id+"-"+string(rune('a'+i%26))+string(rune('a'+i/26)), priority)
		if i >= ready {
			samples[i].Status = poise.Unavailable
		}
	}
	return samples
}
