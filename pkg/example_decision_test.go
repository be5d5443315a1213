package poise_test

import (
	"fmt"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

func ExampleDecision() {
	load := poise.NewInFlight(0)
	busy, err := load.Acquire()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer busy.Release()
	view, err := poise.NewView([]poise.Candidate{
		poise.Sample{ID: "ams-1", Load: load},
		poise.Sample{ID: "ams-2", Load: poise.NewInFlight(0)},
		poise.Sample{ID: "fra-1", Load: poise.NewInFlight(0), Status: poise.Draining},
		poise.Sample{ID: "fra-2", Load: poise.NewInFlight(0), Excluded: poise.ExcludedCircuitOpen},
		poise.Sample{ID: "lon-1", Load: poise.NewInFlight(0)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	two := policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: 1})
	picker, err := two.Prepare(view)
	if err != nil {
		fmt.Println(err)
		return
	}

	var why poise.Decision
	var tried poise.Tried
	tried.Add("lon-1", 0)
	for range 2 {
		selection, err := picker.Pick(poise.Query{Tried: &tried, Why: &why})
		fmt.Println(why)
		if err != nil {
			return
		}
		index, err := view.Index(selection)
		fmt.Println("index", index, err)
		tried.Add("ams-1", 0)
		tried.Add("ams-2", 0)
	}
	// Output:
	// PowerOfTwoChoices chose ams-2: less loaded of two
	//   of 5 candidates 3 are eligible, 1 tried before, 2 considered
	//   compared ams-2: load 0
	//   compared ams-1: load 1
	//   left out fra-1: draining
	//   left out fra-2: circuit open
	// index 1 <nil>
	// PowerOfTwoChoices chose nothing: poise: every eligible candidate was tried
	//   of 5 candidates 3 are eligible, 3 tried before, 0 considered
	//   left out fra-1: draining
	//   left out fra-2: circuit open
}

func ExampleDecision_hash() {
	view, err := poise.NewView([]poise.Candidate{poise.Sample{ID: "a"}, poise.Sample{ID: "b"}, poise.Sample{ID: "c"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	scope, err := view.Scope([]int{0, 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	picker, err := new(policy.Rendezvous).Prepare(scope)
	if err != nil {
		fmt.Println(err)
		return
	}
	var why poise.Decision
	_, err = picker.Pick(poise.Query{Key: poise.StringKey("customer-42"), Why: &why})
	fmt.Println(why, err)
	// Output:
	// Rendezvous chose b: highest hash
	//   of 3 candidates 2 are eligible, 0 tried before, 2 considered
	//   compared b: hash dfb40c01dddfd0d2
	//   left out c: out of scope <nil>
}
