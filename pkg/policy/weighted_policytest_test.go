package policy_test

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/pkg/policytest"
)

func TestSmoothWeightedRoundRobin_KeepsTheLawsOfPolicies(t *testing.T) {
	t.Run("zero value", func(t *testing.T) {
		policytest.Run(t, policytest.Suite{New: func() poise.Policy { return new(policy.SmoothWeightedRoundRobin) }})
	})
	t.Run("seeded", func(t *testing.T) {
		policytest.Run(t, policytest.Suite{New: func() poise.Policy { return newSmooth(t, 7) }})
	})
}

func TestWeightedRandom_KeepsTheLawsOfPolicies(t *testing.T) {
	policytest.Run(t, policytest.Suite{New: func() poise.Policy { return newWeightedRandom(t, 7) }})
}

func TestWeightedLeastRequest_KeepsTheLawsOfPolicies(t *testing.T) {
	policytest.Run(t, policytest.Suite{New: func() poise.Policy { return newWeightedLeastRequest(t, 7) }})
}
