package poise_test

import (
	"fmt"

	poise "github.com/copyleftdev/poise-go/pkg"
)

func ExampleNewWeight() {
	w, err := poise.NewWeight(3)
	fmt.Println(w, err)
	_, err = poise.NewWeight(0)
	fmt.Println(err)
	// Output:
	// 3 <nil>
	// poise: weight must be at least 1: Weight is 0
}
