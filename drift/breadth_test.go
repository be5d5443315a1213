package drift

import (
	"fmt"
	"strings"
	"testing"
)

func TestBreadth(t *testing.T) { judge(t, Breadth) }

// wide is a type with so many methods and two claims, of which the second has a Code line.
func wide(methods int) string {
	var b strings.Builder
	b.WriteString("-- pkg/wide.go --\npackage poise\n\n// Wide is wide.\n//\n// # Contract\n//\n//   - Wide is wide.\n//   - Wide is long.\ntype Wide struct{}\n")
	for i := range methods {
		fmt.Fprintf(&b, "\nfunc (Wide) M%d() int { return 1 }\n", i)
	}
	return b.String()
}

func TestBreadth_ReportsEveryFault(t *testing.T) {
	const tests = `
-- pkg/wide_test.go --
package poise_test

// Claim: Wide is wide.
func TestWide(t *testing.T) { t.Log() }

// Claim: Wide is long.
// Code: Wide.M0
func TestLong(t *testing.T) { t.Log() }
`
	plant(t, Breadth, wide(12)+tests, []fault{
		{"a claim of a wide type", wide(13), []string{`pkg/wide_test.go:3 all 13 functions of pkg.Wide are the code of "Wide is wide."`}},
		{"more claims than the list says", wide(13) + "-- pkg/wide_test.go --\npackage poise_test\n\n// Claim: Wide is wide.\n// Claim: Wide is long.\nfunc TestWide(t *testing.T) { t.Log() }\n" +
			"-- drift/broad.txt --\n# why\npkg.Wide 1\n", []string{"drift/broad.txt:2 2 claims of pkg.Wide have the whole type as their code, and the list says 1"}},
		{"a line that is not needed, one of no type and one that is none", "-- drift/broad.txt --\npkg.Wide 1\npkg.Gone 2\npkg.Wide many\n", []string{
			"drift/broad.txt:1 0 claims of pkg.Wide", "drift/broad.txt:2 no claim is one of pkg.Gone", `drift/broad.txt:3 the line "pkg.Wide many" is none`,
		}},
	})
	expect(t, Breadth, grow(t, wide(13), tests, "-- drift/broad.txt --\npkg.Wide 1\n"), nil)
}
