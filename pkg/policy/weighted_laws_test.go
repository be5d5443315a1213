package policy_test

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

func TestWeightedPolicies_SayWhichRuleDecided(t *testing.T) {
	for _, row := range []struct {
		policy     string
		ids        []string
		tried      []int
		rule       poise.Rule
		considered int
	}{
		{"SmoothWeightedRoundRobin", []string{"a"}, nil, policy.RuleTurn, 1},
		{"SmoothWeightedRoundRobin", []string{"a", "b", "c"}, nil, policy.RuleTurn, 3},
		{"SmoothWeightedRoundRobin", []string{"a", "b", "c"}, []int{1}, policy.RuleTurn, 2},
		{"WeightedRandom", []string{"a"}, nil, policy.RuleOnly, 1},
		{"WeightedRandom", []string{"a", "b", "c"}, nil, policy.RuleDraw, 3},
		{"WeightedRandom", []string{"a", "b", "c"}, []int{1}, policy.RuleDraw, 2},
		{"WeightedRandom", []string{"a", "b", "c"}, []int{1, 2}, policy.RuleOnly, 1},
		{"WeightedLeastRequest", []string{"a"}, nil, policy.RuleOnly, 1},
		{"WeightedLeastRequest", []string{"a", "b", "c"}, nil, policy.RuleTieOfTwoByWeight, 2},
		{"WeightedLeastRequest", []string{"a", "b", "c"}, []int{1}, policy.RuleTieOfTwoByWeight, 2},
		{"WeightedLeastRequest", []string{"a", "b", "c"}, []int{1, 2}, policy.RuleOnly, 1},
	} {
		samples := named(row.ids...)
		var why poise.Decision
		index := open(t, allWeighted(t)[row.policy], samples).pick(t, poise.Query{Tried: retried(samples, row.tried...), Why: &why})
		if why.Policy != row.policy || why.Rule != row.rule || why.Chosen != index ||
			why.Considered != row.considered || why.Tried != len(row.tried) {
			t.Errorf("%s over %v, tried %v: %+v", row.policy, row.ids, row.tried, why)
		}
	}
}
