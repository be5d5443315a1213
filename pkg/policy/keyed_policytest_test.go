package policy_test

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/pkg/policytest"
)

// keepsTheLaws holds a keyed policy against the laws in its variants.
func keepsTheLaws(t *testing.T, name string, zero func() poise.Policy) {
	t.Helper()
	short := func(stream []byte) uint64 { return uint64(len(stream) % 3) }
	for variant, make := range map[string]func() poise.Policy{
		"zero value":  zero,
		"small":       func() poise.Policy { return keyedKinds[name](t, keyedConfig{small: true}) },
		"custom hash": func() poise.Policy { return keyedKinds[name](t, keyedConfig{hash: short, small: true}) },
		"round robin without key": func() poise.Policy {
			return keyedKinds[name](t, keyedConfig{noKey: new(policy.RoundRobin), small: true})
		},
		"power of two without key": func() poise.Policy {
			return keyedKinds[name](t, keyedConfig{hash: short, noKey: newPowerOfTwoChoices(t, 3), small: true})
		},
	} {
		t.Run(variant, func(t *testing.T) { policytest.Run(t, policytest.Suite{New: make}) })
	}
}

func TestWeightedRendezvous_KeepsTheLawsOfPolicies(t *testing.T) {
	keepsTheLaws(t, "WeightedRendezvous", func() poise.Policy { return new(policy.WeightedRendezvous) })
}

func TestBoundedLoadRendezvous_KeepsTheLawsOfPolicies(t *testing.T) {
	keepsTheLaws(t, "BoundedLoadRendezvous", func() poise.Policy { return new(policy.BoundedLoadRendezvous) })
}

func TestRingHash_KeepsTheLawsOfPolicies(t *testing.T) {
	keepsTheLaws(t, "RingHash", func() poise.Policy { return new(policy.RingHash) })
}

func TestMaglev_KeepsTheLawsOfPolicies(t *testing.T) {
	keepsTheLaws(t, "Maglev", func() poise.Policy { return new(policy.Maglev) })
}
