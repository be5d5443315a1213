package poise_test

import (
	"fmt"

	poise "github.com/copyleftdev/poise-go/pkg"
)

func ExampleInFlight() {
	load := poise.NewInFlight(1)
	lease, err := load.Acquire()
	fmt.Println(load.Current(), err)

	_, err = load.Acquire()
	fmt.Println(err)

	fmt.Println(lease.Release(), lease.Release(), load.Current())
	// Output:
	// 1 <nil>
	// poise: at capacity: limit 1
	// true false 0
}
