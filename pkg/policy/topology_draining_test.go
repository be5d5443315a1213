package policy_test

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// Draining is draining whoever says it: the status, or a wrapper's exclusion.
//
// Claim: A draining member is no capacity and is never picked by Priority.
func TestTopology_DrainingByAWrapperCountsAsDraining(t *testing.T) {
	for name, build := range map[string]func(policy.TopologyConfig) (poise.Policy, error){
		"Priority": func(cfg policy.TopologyConfig) (poise.Policy, error) { return policy.NewPriority(cfg) },
		"Locality": func(cfg policy.TopologyConfig) (poise.Policy, error) { return policy.NewLocality(cfg) },
	} {
		heavy, err := poise.NewWeight(5)
		if err != nil {
			t.Fatal(err)
		}
		picks := func(draining poise.Sample) (ids [200]string) {
			p, err := build(policy.TopologyConfig{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			v, err := poise.NewView([]poise.Candidate{
				poise.Sample{ID: "ready"},
				draining,
				poise.Sample{ID: "down", Status: poise.Unavailable, Weight: heavy},
				poise.Sample{ID: "next", Priority: 1},
			})
			if err != nil {
				t.Fatal(err)
			}
			picker, err := p.Prepare(v)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i := range ids {
				selection, err := picker.Pick(poise.Query{})
				if err != nil {
					t.Fatal(err)
				}
				index, err := v.Index(selection)
				if err != nil {
					t.Fatal(err)
				}
				sample, err := v.Sample(index)
				if err != nil {
					t.Fatal(err)
				}
				ids[i] = sample.ID
				if sample.ID == "draining" {
					t.Fatalf("%s picked a draining member", name)
				}
			}
			return ids
		}
		byStatus := picks(poise.Sample{ID: "draining", Status: poise.Draining})
		byWrapper := picks(poise.Sample{ID: "draining", Excluded: poise.ExcludedDraining})
		if byStatus != byWrapper {
			t.Errorf("%s: the two ways to drain give different picks", name)
		}
	}
}
