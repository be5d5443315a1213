package sim

import (
	"maps"
	"slices"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// policies makes the policies by name. The seed is not 0.
var policies = map[string]func(seed uint64) (poise.Policy, error){
	"round-robin": func(seed uint64) (poise.Policy, error) {
		return policy.NewRoundRobin(policy.RoundRobinConfig{Seed: seed}), nil
	},
	"random": func(seed uint64) (poise.Policy, error) {
		return policy.NewRandom(policy.RandomConfig{Seed: seed}), nil
	},
	"two-choices": func(seed uint64) (poise.Policy, error) {
		return policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: seed}), nil
	},
	"least-loaded": func(uint64) (poise.Policy, error) { return new(policy.LeastLoaded), nil },
	"weighted-random": func(seed uint64) (poise.Policy, error) {
		return policy.NewWeightedRandom(policy.WeightedRandomConfig{Seed: seed}), nil
	},
	"weighted-least-request": func(seed uint64) (poise.Policy, error) {
		return policy.NewWeightedLeastRequest(policy.WeightedLeastRequestConfig{Seed: seed}), nil
	},
	"smooth-weighted": func(uint64) (poise.Policy, error) {
		return policy.NewSmoothWeightedRoundRobin(policy.SmoothWeightedRoundRobinConfig{}), nil
	},
	"ring-hash": func(uint64) (poise.Policy, error) {
		return policy.NewRingHash(policy.RingHashConfig{})
	},
	"maglev": func(uint64) (poise.Policy, error) {
		return policy.NewMaglev(policy.MaglevConfig{TableSize: 2003})
	},
	"rendezvous": func(uint64) (poise.Policy, error) {
		return policy.NewRendezvous(policy.RendezvousConfig{}), nil
	},
	"priority": func(seed uint64) (poise.Policy, error) {
		return policy.NewPriority(policy.TopologyConfig{Seed: seed})
	},
}

// PolicyNames returns the names of the policies that scenarios can name.
func PolicyNames() []string { return slices.Sorted(maps.Keys(policies)) }
