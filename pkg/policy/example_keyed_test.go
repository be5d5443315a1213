package policy_test

import (
	"fmt"
	"log"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

var threeZones = []poise.Candidate{poise.Sample{ID: "west"}, poise.Sample{ID: "east"}, poise.Sample{ID: "south"}}

func ExampleMaglev() {
	show(new(policy.Maglev), threeZones, "customer-1", "customer-4", "customer-7", "customer-1")
	// Output: south east west south
}

func ExampleNewRingHash() {
	p, err := policy.NewRingHash(policy.RingHashConfig{PointsPerWeight: 200, NoKey: new(policy.RoundRobin)})
	if err != nil {
		log.Fatal(err)
	}
	show(p, threeZones, "customer-1", "customer-2", "customer-1", "", "", "")
	// Output: south south south west east south
}

func ExampleWeightedRendezvous() {
	four, err := poise.NewWeight(4)
	if err != nil {
		log.Fatal(err)
	}
	show(new(policy.WeightedRendezvous), []poise.Candidate{poise.Sample{ID: "small"}, poise.Sample{ID: "large", Weight: four}},
		"customer-42", "customer-43", "customer-44", "customer-45")
	// Output: large small large large
}

// A key whose owner is full goes to the next best that has room, and Why says so.
func ExampleBoundedLoadRendezvous() {
	hot, cool := poise.NewInFlight(0), poise.NewInFlight(0)
	view, err := poise.NewView([]poise.Candidate{poise.Sample{ID: "hot", Load: hot}, poise.Sample{ID: "cool", Load: cool}})
	if err != nil {
		log.Fatal(err)
	}
	picker, err := new(policy.BoundedLoadRendezvous).Prepare(view)
	if err != nil {
		log.Fatal(err)
	}
	for range 3 { // the work of other keys
		lease, err := hot.Acquire()
		if err != nil {
			log.Fatal(err)
		}
		defer lease.Release()
	}
	var why poise.Decision
	if _, err := picker.Pick(poise.Query{Key: poise.StringKey("popular"), Why: &why}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(why.String())
	// Output:
	// BoundedLoadRendezvous chose cool: spilled from the owner
	//   of 2 candidates 2 are eligible, 0 tried before, 2 considered
	//   compared cool: load 0
	//   compared hot: load 3
	//   load bound: 3
	//   owner of the key: hot
}

// In which order a key would go through the candidates if calls failed.
func ExampleMaglev_preference() {
	view, err := poise.NewView(threeZones)
	if err != nil {
		log.Fatal(err)
	}
	picker, err := new(policy.Maglev).Prepare(view)
	if err != nil {
		log.Fatal(err)
	}
	for index := range picker.(poise.Preferrer).Preference(poise.StringKey("customer-2")) {
		fmt.Println(index)
	}
	// Output:
	// 2
	// 0
	// 1
}
