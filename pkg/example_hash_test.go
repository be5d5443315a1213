package poise_test

import (
	"fmt"

	poise "github.com/copyleftdev/poise-go/pkg"
)

func ExampleFNV() {
	// The beginning is hashed once and continued for each identity.
	prefix := poise.FNVBasis.Byte(0).Key(poise.StringKey("customer-42")).Byte(1)
	for _, id := range []string{"west", "east"} {
		fmt.Printf("%s %016x\n", id, poise.Mix64(uint64(prefix.String(id))))
	}
	// Output:
	// west 64a13fd5cac5f3a7
	// east e8031bb3f8ada6c9
}
