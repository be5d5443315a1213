package policy_test

import (
	"fmt"
	"log"
	"strings"
	"time"

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

// A newcomer warms up over half a minute.
func ExampleSlowStart() {
	warming, err := policy.NewSlowStart(policy.SlowStartConfig{Window: 30 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	candidates := []poise.Candidate{poise.Sample{ID: "elder"}, poise.Sample{ID: "newcomer"}}
	start := time.Unix(0, 0)
	warming.Apply(candidates[:1], start)
	for _, second := range []time.Duration{0, 10, 20, 30} {
		now := start.Add(second * time.Second)
		view, err := poise.NewView(warming.Apply(candidates, now))
		if err != nil {
			log.Fatal(err)
		}
		for _, s := range view.All() {
			fmt.Print(s.ID, " ", s.Weight, "  ")
		}
		fmt.Println(warming.Warming(), "warming")
	}
	// Output:
	// elder 1000  newcomer 100  1 warming
	// elder 1000  newcomer 333  1 warming
	// elder 1000  newcomer 666  1 warming
	// elder 1000  newcomer 1000  0 warming
}

// Each client of a fleet uses three of a hundred backends.
func ExampleSubset() {
	var candidates []poise.Candidate
	for i := range 100 {
		candidates = append(candidates, poise.Sample{ID: fmt.Sprintf("backend-%d", i)})
	}
	for client := range uint64(2) {
		subset, err := policy.NewSubset(policy.SubsetConfig{Size: 3, Seed: client})
		if err != nil {
			log.Fatal(err)
		}
		var ids []string
		for _, c := range subset.Choose(candidates) {
			ids = append(ids, c.Sample().ID)
		}
		fmt.Println(strings.Join(ids, " "))
	}
	// Output:
	// backend-34 backend-47 backend-60
	// backend-12 backend-52 backend-93
}
