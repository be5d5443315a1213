package poise_test

import (
	"fmt"
	"log"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// One decision from beginning to end: sample, compile, pick, resolve, admit.
func Example_pick() {
	loads := []*poise.InFlight{poise.NewInFlight(100), poise.NewInFlight(100), poise.NewInFlight(100)}
	view, err := poise.NewView([]poise.Candidate{
		poise.Sample{ID: "a", Load: loads[0]},
		poise.Sample{ID: "b", Load: loads[1]},
		poise.Sample{ID: "c", Load: loads[2], Status: poise.Draining},
	})
	if err != nil {
		log.Fatal(err)
	}
	picker, err := new(policy.LeastLoaded).Prepare(view)
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		var why poise.Decision
		selection, err := picker.Pick(poise.Query{Why: &why})
		if err != nil {
			log.Fatal(err)
		}
		index, err := view.Index(selection)
		if err != nil {
			log.Fatal(err)
		}
		lease, err := loads[index].Acquire()
		if err != nil {
			log.Fatal(err)
		}
		defer lease.Release()
		fmt.Println(why.String())
	}
	// Output:
	// LeastLoaded chose a: least load
	//   of 3 candidates 2 are eligible, 0 tried before, 2 considered
	//   compared a: load 0
	//   left out c: draining
	// LeastLoaded chose b: least load
	//   of 3 candidates 2 are eligible, 0 tried before, 2 considered
	//   compared b: load 0
	//   left out c: draining
}
