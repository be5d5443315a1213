package policy_test

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/pkg/policytest"
)

// A panic picks members that are not eligible, which is its purpose and breaks the
// law that no other policy may break: so the laws are asked without panic, and of
// a panic that rejects.

func topologyConfigs() map[string]policy.TopologyConfig {
	configs := map[string]policy.TopologyConfig{
		"by key":      {PanicOff: true, Seed: 7, ByKey: true},
		"fail closed": {FailClosed: true, Seed: 7},
		"Priority within": {PanicOff: true, Seed: 7, Endpoint: func(seed uint64) (poise.Policy, error) {
			return policy.NewPriority(policy.TopologyConfig{Seed: seed})
		}},
		"Locality within": {PanicOff: true, Seed: 7, Endpoint: func(seed uint64) (poise.Policy, error) {
			return policy.NewLocality(policy.TopologyConfig{Seed: seed, Endpoint: endpointPolicies["Rendezvous"]})
		}},
	}
	for name, endpoint := range endpointPolicies {
		configs["over "+name] = policy.TopologyConfig{PanicOff: true, Seed: 7, Endpoint: endpoint}
	}
	return configs
}

func TestPriority_KeepsTheLawsOfPolicies(t *testing.T) {
	for name, cfg := range topologyConfigs() {
		t.Run(name, func(t *testing.T) {
			policytest.Run(t, policytest.Suite{
				New:      func() poise.Policy { return newPriority(t, cfg) },
				Refusals: []error{poise.ErrPanicRejected},
			})
		})
	}
}

func TestLocality_KeepsTheLawsOfPolicies(t *testing.T) {
	for name, cfg := range topologyConfigs() {
		t.Run(name, func(t *testing.T) {
			policytest.Run(t, policytest.Suite{
				New:      func() poise.Policy { return newLocality(t, cfg) },
				Refusals: []error{poise.ErrPanicRejected},
			})
		})
	}
}
