package poisegrpc

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"google.golang.org/grpc/serviceconfig"
)

// ServiceConfig are the settings that a service config may have, all of them optional.
// Fields that it does not know are ignored, as gRPC asks; values that it cannot use are
// refused.
type ServiceConfig struct {
	serviceconfig.LoadBalancingConfig `json:"-"`

	// Policy is the name of a policy, as [Policies] lists them; default
	// "power_of_two_choices".
	Policy string `json:"policy"`
	// Topology puts priorities, or priorities and localities, before the policy:
	// "priority", "locality" or "" for neither.
	Topology string `json:"topology"`
	// KeyMetadata names the metadata of a call whose first value is its key. A policy by
	// key needs it, unless Config.Key is set.
	KeyMetadata string `json:"keyMetadata"`
	// Limit is how many calls an endpoint may hold at once; 0 is no limit. Calls beyond
	// that wait for room.
	Limit uint64 `json:"limit"`
	// PassiveHealthOff ejects nobody by how calls end.
	PassiveHealthOff bool `json:"passiveHealthOff"`
}

// named are the policies by name, and whether they need a key.
var named = map[string]struct {
	make  func(seed uint64) (poise.Policy, error)
	keyed bool
}{
	"round_robin": {make: func(seed uint64) (poise.Policy, error) {
		return policy.NewRoundRobin(policy.RoundRobinConfig{Seed: seed}), nil
	}},
	"random": {make: func(seed uint64) (poise.Policy, error) { return policy.NewRandom(policy.RandomConfig{Seed: seed}), nil }},
	"power_of_two_choices": {make: func(seed uint64) (poise.Policy, error) {
		return policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: seed}), nil
	}},
	"least_loaded": {make: func(uint64) (poise.Policy, error) { return new(policy.LeastLoaded), nil }},
	"weighted_random": {make: func(seed uint64) (poise.Policy, error) {
		return policy.NewWeightedRandom(policy.WeightedRandomConfig{Seed: seed}), nil
	}},
	"weighted_least_request": {make: func(seed uint64) (poise.Policy, error) {
		return policy.NewWeightedLeastRequest(policy.WeightedLeastRequestConfig{Seed: seed}), nil
	}},
	"smooth_weighted_round_robin": {make: func(uint64) (poise.Policy, error) {
		return policy.NewSmoothWeightedRoundRobin(policy.SmoothWeightedRoundRobinConfig{}), nil
	}},
	"ring_hash": {keyed: true, make: func(uint64) (poise.Policy, error) { return policy.NewRingHash(policy.RingHashConfig{}) }},
	"maglev":    {keyed: true, make: func(uint64) (poise.Policy, error) { return policy.NewMaglev(policy.MaglevConfig{}) }},
	"rendezvous": {keyed: true, make: func(uint64) (poise.Policy, error) {
		return policy.NewRendezvous(policy.RendezvousConfig{}), nil
	}},
	"bounded_load_rendezvous": {keyed: true, make: func(uint64) (poise.Policy, error) {
		return policy.NewBoundedLoadRendezvous(policy.BoundedLoadRendezvousConfig{})
	}},
}

// Policies returns the names of the policies that a service config may name.
func Policies() []string { return slices.Sorted(maps.Keys(named)) }

// parse reads the settings, and refuses values that cannot be used. A key may come from
// elsewhere.
func parse(text json.RawMessage, hasKey bool) (*ServiceConfig, error) {
	cfg := new(ServiceConfig)
	if len(text) > 0 {
		if err := json.Unmarshal(text, cfg); err != nil {
			return nil, fmt.Errorf("poisegrpc: service config: %w", err)
		}
	}
	if cfg.Policy == "" {
		cfg.Policy = "power_of_two_choices"
	}
	of, known := named[cfg.Policy]
	switch {
	case !known:
		return nil, &poise.FieldError{Field: "policy", Value: cfg.Policy, Err: ErrUnknown}
	case cfg.Topology != "" && cfg.Topology != "priority" && cfg.Topology != "locality":
		return nil, &poise.FieldError{Field: "topology", Value: cfg.Topology, Err: ErrUnknown}
	case of.keyed && cfg.KeyMetadata == "" && !hasKey:
		return nil, &poise.FieldError{Field: "keyMetadata", Value: "", Err: ErrMissing}
	case strings.ToLower(cfg.KeyMetadata) != cfg.KeyMetadata:
		return nil, &poise.FieldError{Field: "keyMetadata", Value: cfg.KeyMetadata, Err: ErrNotLower}
	}
	return cfg, nil
}

// policy makes the policy that the settings name.
func (c *ServiceConfig) policy(seed uint64) (poise.Policy, error) {
	of := named[c.Policy]
	topology := policy.TopologyConfig{Endpoint: of.make, ByKey: of.keyed, Seed: seed}
	switch c.Topology {
	case "priority":
		return policy.NewPriority(topology)
	case "locality":
		return policy.NewLocality(topology)
	}
	return of.make(seed)
}
