package policy_test

import (
	"fmt"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

func ExamplePriority() {
	p, err := policy.NewPriority(policy.TopologyConfig{
		Endpoint: func(seed uint64) (poise.Policy, error) {
			return policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: seed}), nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	view, err := poise.NewView([]poise.Candidate{
		poise.Sample{ID: "here", Status: poise.Unavailable, Load: poise.NewInFlight(0)},
		poise.Sample{ID: "there", Priority: 1, Load: poise.NewInFlight(0)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	picker, err := p.Prepare(view)
	if err != nil {
		fmt.Println(err)
		return
	}
	var why poise.Decision
	if _, err := picker.Pick(poise.Query{Why: &why}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(why.String())
	// Output:
	// PowerOfTwoChoices chose there: only one left
	//   Priority chose priority 1
	//   of 2 candidates 1 are eligible, 0 tried before, 1 considered
	//   left out here: unavailable
}
