package drift

import (
	"fmt"
	"strings"
	"testing"
)

func TestTidy(t *testing.T) { judge(t, Tidy) }

const soundTidy = `
-- Makefile --
check: ## TODOS is another word
-- pkg/policy/doc.go --
// Package policy has a doc.
package policy
-- pkg/policy/round_robin.go --
package policy

type RoundRobin struct{}

var _ poise.Policy = (*RoundRobin)(nil)

func (*RoundRobin) Prepare(v *poise.View) (poise.Picker, error) { return nil, nil }
-- pkg/policy/maglev.go --
package policy

var _ poise.Policy = (*Maglev)(nil)
-- pkg/policy/policy_test.go --
package policy_test

import "example.com/m/pkg/policytest"

var table = []func() poise.Policy{newMaglev}

func newMaglev() poise.Policy { return policy.NewMaglev() }

func TestLaws(t *testing.T) {
	policytest.Run(t, func() poise.Policy { return &policy.RoundRobin{} })
	for _, make := range table {
		policytest.Run(t, make)
	}
	t.Error("the word Skip alone is allowed", strings.Skip)
}
-- fuzz/fuzz_test.go --
// Package fuzz has its doc in a test.
package fuzz
-- fuzz/README.md --
# Fuzz

## What runs
## What a pass means
## What it does not show
## How to reproduce a failure
-- pkg/utility.go --
// Package poise has a doc.
package poise
`

func TestTidy_ReportsEveryFault(t *testing.T) {
	plant(t, Tidy, soundTidy, []fault{
		{"names that say only that there is more code", `
-- pkg/util.go --
package poise
-- pkg/helpers_test.go --
package poise_test
-- ci/common/run.sh --
x
`, []string{
			"pkg/util.go:1 the name util.go says only", "pkg/helpers_test.go:1 the name helpers_test.go", "ci/common:1 the name common",
		}},
		{"work left for later, in Go, prose and scripts", `
-- pkg/more.go --
package poise

// More is more.
// TODO: less.
-- docs/more.md --
FIXME one day; ` + "`TODO`" + ` in code is a quotation.
-- spec/tla/x/X.tla --
\* TODO prove it
`, []string{"pkg/more.go:4 a TODO is left", "docs/more.md:1 a FIXME is left", "spec/tla/x/X.tla:1 a TODO is left"}},
		{"a package without a doc", `
-- pkg/health/health.go --
package health
`, []string{"pkg/health/health.go:1 the package in pkg/health has no doc"}},
		{"tests that may skip themselves, and laws that may", `
-- pkg/a_test.go --
package poise_test

func TestA(t *testing.T) { t.Skip() }

func FuzzA(f *testing.F) { f.Fuzz(func(t *testing.T) { t.SkipNow() }); f.Skipf("x") }
-- pkg/policytest/laws.go --
// Package policytest has a doc.
package policytest

func law(t *testing.T) { t.Skip() }
`, []string{
			"pkg/a_test.go:3 a test may skip itself", "pkg/a_test.go:5 a test may skip itself", "pkg/a_test.go:5 a test may skip itself",
			"pkg/policytest/laws.go:4 a test may skip itself",
		}},
		{"a verification folder without README, and one with other headings", `
-- models/a.go --
// Package models has a doc.
package models
-- fuzz/README.md --
# Fuzz
## What runs
## What a pass means
## How to reproduce a failure
### Seeds
`, []string{"models/README.md:1 the headings are []", `fuzz/README.md:1 the headings are ["What runs" "What a pass means" "How`}},
		{"a policy that no test holds to the common laws", `
-- pkg/policy/random.go --
package policy

var _ poise.Policy = (*Random)(nil)
-- pkg/policy/random_test.go --
package policy_test

func TestRandom(t *testing.T) { policy.NewRandom() }
`, []string{"pkg/policy/random.go:3 no test holds Random to the common laws"}},
		{"a policy that does not declare itself", `
-- pkg/policy/random.go --
package policy

func (*Random) Prepare(v *poise.View) (poise.Picker, error) { return nil, nil }
`, []string{"pkg/policy/random.go:3 Random has a Prepare and does not declare itself a policy"}},
		{"two policies in one file", `
-- pkg/policy/round_robin.go --
package policy

var _ poise.Policy = (*RoundRobin)(nil)
var _ poise.Policy = (*Maglev)(nil)
-- pkg/policy/maglev.go --
`, []string{"pkg/policy/round_robin.go:4 RoundRobin and Maglev share a file"}},
		{"policies that are all gone", `
-- pkg/policy/round_robin.go --
-- pkg/policy/maglev.go --
`, []string{"pkg/policy:1 no type declares itself a policy"}},
		{"a function and a file that are too long", `
-- pkg/policy/long.go --
package policy

func atTheLimit() {
	// comment
` + strings.Repeat("\tprintln()\n\n", functionLimit-2) + `}

func overIt() {
` + strings.Repeat("\tprintln()\n", functionLimit-1) + `}
` + strings.Repeat("var _ = 0\n", policyFileLimit-2*functionLimit-1) + `
`, []string{fmt.Sprintf("pkg/policy/long.go:%d overIt has 51 lines of code, more than 50", 2+3+2*(functionLimit-2)+2),
			"pkg/policy/long.go:1 the file has 301 lines of code, more than 300"}},
	})
}
