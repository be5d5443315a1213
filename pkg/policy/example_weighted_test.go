package policy_test

import (
	"log"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// The published order of the weights 5, 1 and 1: the light ones are spread.
func ExampleSmoothWeightedRoundRobin() {
	five, err := poise.NewWeight(5)
	if err != nil {
		log.Fatal(err)
	}
	candidates := []poise.Candidate{poise.Sample{ID: "a", Weight: five}, poise.Sample{ID: "b"}, poise.Sample{ID: "c"}}
	show(new(policy.SmoothWeightedRoundRobin), candidates, "", "", "", "", "", "", "")
	// Output: a a b a c a a
}
