package poise_test

import (
	"fmt"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// breaker is a wrapper: a candidate that leaves itself out while its circuit is
// open.
type breaker struct {
	poise.Candidate
	open bool
}

func (b breaker) Sample() poise.Sample {
	s := b.Candidate.Sample()
	if b.open {
		s.Excluded = poise.ExcludedCircuitOpen
	}
	return s
}

func ExampleCandidate() {
	view, err := poise.NewView([]poise.Candidate{
		breaker{poise.Sample{ID: "a"}, true},
		breaker{poise.Sample{ID: "b"}, false},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, sample := range view.All() {
		fmt.Println(sample.ID, view.Reason(i))
	}
	// Output:
	// a circuit open
	// b eligible
}

func ExampleNewView_refused() {
	_, err := poise.NewView([]poise.Candidate{
		poise.Sample{ID: "a"}, poise.Sample{ID: "b"}, poise.Sample{ID: "a"},
	})
	fmt.Println(err)
	// Output:
	// poise: identity occurs twice: candidates[2].ID is "a"
}

func ExampleView_Scope() {
	view, err := poise.NewView([]poise.Candidate{
		poise.Sample{ID: "near", Locality: "x"},
		poise.Sample{ID: "near, down", Locality: "x", Status: poise.Unavailable},
		poise.Sample{ID: "far", Locality: "y"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	// A panic in locality x: whoever is there counts, healthy or not.
	scope, err := view.Scope([]int{0, 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	selection, err := scope.Select(1)
	fmt.Println(scope.EligibleLen(), view.EligibleLen(), err)
	fmt.Println(view.Index(selection))
	// Output:
	// 2 2 <nil>
	// 1 <nil>
}
