package poise_test

import (
	"fmt"

	poise "github.com/copyleftdev/poise-go/pkg"
)

func ExampleView_Untried() {
	view, err := poise.NewView([]poise.Candidate{
		poise.Sample{ID: "a"}, poise.Sample{ID: "b"}, poise.Sample{ID: "c"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var tried poise.Tried
	tried.Add("b", 0)
	rest := view.Untried(&tried)
	for position := range rest.Len() {
		sample, err := view.Sample(rest.At(position))
		fmt.Println(sample.ID, err)
	}
	// Output:
	// a <nil>
	// c <nil>
}
