package drift

import (
	"fmt"
	"strings"
	"testing"
)

func TestContracts(t *testing.T) { judge(t, Contracts) }

// promising is a file of a type with that many promises.
func promising(name string, promises int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "-- pkg/%s.go --\npackage poise\n\n// %s is one.\n//\n// # Contract\n//\n", strings.ToLower(name), name)
	for i := range promises {
		fmt.Fprintf(&b, "//   - %s does %d.\n", name, i)
	}
	fmt.Fprintf(&b, "type %s struct{}\n", name)
	return b.String()
}

func TestContracts_ReportsEveryFault(t *testing.T) {
	sound := promising("Short", 10) + promising("Long", 12) + "-- drift/contracts.txt --\n# why\n\npkg.Long 12 # four stages, one reader\n"
	plant(t, Contracts, sound, []fault{
		{"a Contract that is too long", promising("Short", 11), []string{"pkg/short.go:18 the Contract of pkg.Short has 11 sentences, more than 10"}},
		{"one that has grown", promising("Long", 13), []string{"drift/contracts.txt:3 the Contract of pkg.Long has 13 sentences, and the list says 12"}},
		{"one that is short enough now", promising("Long", 10), []string{"drift/contracts.txt:3 the Contract of pkg.Long has 10 sentences and needs no exception"}},
		{"one that is gone", "-- pkg/long.go --\n", []string{"drift/contracts.txt:3 there is no Contract of pkg.Long"}},
		{"an exception without a reason", "-- drift/contracts.txt --\npkg.Long 12 #\n", []string{
			`drift/contracts.txt:1 the line "pkg.Long 12 #" is none`, "pkg/long.go:19 the Contract of pkg.Long has 12 sentences",
		}},
	})
}
