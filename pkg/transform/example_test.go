package transform_test

import (
	"fmt"
	"log"
	"strings"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/transform"
)

// A newcomer warms up over half a minute.
func ExampleSlowStart() {
	warming, err := transform.NewSlowStart(transform.SlowStartConfig{Window: 30 * time.Second, Refresh: 10 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	chain, err := transform.NewChain(warming)
	if err != nil {
		log.Fatal(err)
	}
	now := time.Unix(0, 0)
	for _, ids := range []string{"elder", "elder newcomer"} {
		var samples []poise.Sample
		for _, id := range strings.Fields(ids) {
			samples = append(samples, poise.Sample{ID: id})
		}
		if err := chain.Reset(samples); err != nil {
			log.Fatal(err)
		}
		for again := now; !again.IsZero(); {
			now = again
			if again, err = chain.Run(now); err != nil {
				log.Fatal(err)
			}
			fmt.Printf("second %d:", now.Unix())
			for _, s := range chain.Samples() {
				fmt.Printf(" %s %v", s.ID, s.Weight)
			}
			fmt.Println()
		}
	}
	// Output:
	// second 0: elder 1
	// second 0: elder 1000 newcomer 100
	// second 10: elder 1000 newcomer 333
	// second 20: elder 1000 newcomer 666
	// second 30: elder 1 newcomer 1
}

// Each client of a fleet uses three of a hundred backends.
func ExampleSubset() {
	var samples []poise.Sample
	for i := range 100 {
		samples = append(samples, poise.Sample{ID: fmt.Sprintf("backend-%d", i)})
	}
	for client := range uint64(2) {
		subset, err := transform.NewSubset(transform.SubsetConfig{Size: 3, Seed: client})
		if err != nil {
			log.Fatal(err)
		}
		show(samples, subset)
	}
	// Output:
	// backend-34 backend-47 backend-60
	// backend-12 backend-52 backend-93
}

// A client in the zone east uses the members there, and one more when they are few.
func ExampleZonePreference() {
	samples := []poise.Sample{
		{ID: "a", Locality: "east"}, {ID: "b", Locality: "east"},
		{ID: "c", Locality: "west"}, {ID: "d", Locality: "west"},
	}
	preference, err := transform.NewZonePreference(transform.ZonePreferenceConfig{Zone: "east", MinPercent: 50})
	if err != nil {
		log.Fatal(err)
	}
	show(samples, preference)
	samples[0].Status = poise.Unavailable
	show(samples, preference)
	// Output:
	// a b
	// b d
}

// A transform of the user's own: a member named canary gets little.
func ExampleTransform() {
	little := transform.Func(func(d *transform.Draft, _ time.Time) error {
		for i := range d.Len() {
			if d.Sample(i).ID != "canary" {
				weight, err := poise.NewWeight(100 * d.Sample(i).Weight.Value())
				if err != nil {
					return err
				}
				d.SetWeight(i, weight)
			}
		}
		return nil
	})
	chain, err := transform.NewChain(little)
	if err != nil {
		log.Fatal(err)
	}
	if err := chain.Reset([]poise.Sample{{ID: "stable"}, {ID: "canary"}}); err != nil {
		log.Fatal(err)
	}
	if _, err := chain.Run(time.Unix(0, 0)); err != nil {
		log.Fatal(err)
	}
	for _, s := range chain.Samples() {
		fmt.Println(s.ID, s.Weight)
	}
	// Output:
	// stable 100
	// canary 1
}

// show prints the members that the transform does not leave out.
func show(samples []poise.Sample, t transform.Transform) {
	chain, err := transform.NewChain(t)
	if err != nil {
		log.Fatal(err)
	}
	if err := chain.Reset(samples); err != nil {
		log.Fatal(err)
	}
	if _, err := chain.Run(time.Unix(0, 0)); err != nil {
		log.Fatal(err)
	}
	var ids []string
	for _, s := range chain.Samples() {
		if s.Excluded != poise.ExcludedOutOfScope {
			ids = append(ids, s.ID)
		}
	}
	fmt.Println(strings.Join(ids, " "))
}
