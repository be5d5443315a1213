package poise_test

import (
	"fmt"

	poise "github.com/copyleftdev/poise-go/pkg"
)

func ExampleGenerator() {
	generator := poise.NewGenerator(42)
	fmt.Println(generator.Below(6), generator.Below(6), generator.Below(6))
	fmt.Println(generator.Pair(6))
	// Output:
	// 4 0 1
	// 2 0
}
