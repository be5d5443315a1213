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
	if n := Breadth(grow(t, wide(12), tests)).Checked; n != 2 {
		t.Errorf("it looked at %d claims, want 2", n)
	}
	plant(t, Breadth, wide(12)+tests, []fault{
		{"a claim of a wide type", wide(13), []string{`pkg/wide_test.go:3 all 13 functions of pkg.Wide are the code of "Wide is wide."`}},
	})
}
