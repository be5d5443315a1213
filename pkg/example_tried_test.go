package poise_test

import (
	"fmt"

	poise "github.com/copyleftdev/poise-go/pkg"
)

func ExampleTried() {
	var tried poise.Tried
	fmt.Println(tried.Add("a", 1), tried.Add("a", 1))
	fmt.Println(tried.Has("a", 1), tried.Has("a", 2), tried.Len())
	// Output:
	// true false
	// true false 1
}
