package drift

import (
	"os"
	"testing"
)

func TestCases(t *testing.T) {
	if *update {
		if err := os.WriteFile("../"+casesFile, []byte(renewedCases(repository(t))), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	judge(t, Cases)
}

const soundCases = `
-- docs/cases.md --
| Id | What went wrong | What is right | Tested in |
|---|---|---|---|
| B01 | The cursor moved. | It stays. | [fuzz](../fuzz), [policy](../pkg/policy) |
| E2b | Indexes. | None. | [policy](../pkg/policy) |
| G16 | By hand. | By itself. | none: no endpoint is out yet |
-- pkg/policy/a_test.go --
package policy_test

// It stays.
//
// Cases: B01 (a), and
// E2b.
//
// G17 is no citation, nor is that of a line after a Claim: G18.
func TestA(t *testing.T) {}
-- fuzz/b_test.go --
package fuzz

func FuzzB(f *testing.F) {
	// Cases: B01.
}
`

func TestCases_ReportsEveryFault(t *testing.T) {
	plant(t, Cases, soundCases, []fault{
		{"an id that no row has", "-- fuzz/c_test.go --\npackage fuzz\n\n// Cases: B01, B99.\n",
			[]string{"fuzz/c_test.go:3 there is no case B99"}},
		{"a citation of something else", "-- fuzz/c_test.go --\npackage fuzz\n\n// Cases: chapter 9, law 12.\n",
			[]string{"fuzz/c_test.go:3 a line cites no case"}},
		{"one in a specification", "-- spec/tla/x/X.tla --\n\\* Cases: E99.\n", []string{"spec/tla/x/X.tla:1 there is no case E99"}},
		{"a row that nothing cites any more", "-- fuzz/b_test.go --\n-- pkg/policy/a_test.go --\npackage policy_test\n\n// Cases: B01.\n",
			[]string{"docs/cases.md:3 B01 is cited in other folders than its row says", "docs/cases.md:4 nothing cites E2b"}},
		{"an exception that is none", "-- fuzz/c_test.go --\npackage fuzz\n\n// Cases: G16.\n",
			[]string{"docs/cases.md:5 G16 is cited, and its row says that it is not"}},
		{"an exception without a reason, a row twice, and a torn one", `
-- docs/cases.md --
| B01 | The cursor moved. | It stays. | [fuzz](../fuzz), [policy](../pkg/policy) |
| E2b | Indexes. | None. | [policy](../pkg/policy) |
| E2b | Indexes. | None. | [policy](../pkg/policy) |
| G16 | By hand. | By itself. | none:  |
| G18 | Torn. |
`, []string{"docs/cases.md:3 E2b stands twice", "docs/cases.md:4 nothing cites G16", "docs/cases.md:5 the row is torn"}},
	})
}

func TestCases_AreRenewed(t *testing.T) {
	repo := grow(t, soundCases, "-- fuzz/c_test.go --\npackage fuzz\n\n// Cases: G16, E2b.\n")
	want := grow(t, "-- docs/cases.md --\n"+`| Id | What went wrong | What is right | Tested in |
|---|---|---|---|
| B01 | The cursor moved. | It stays. | [fuzz](../fuzz), [policy](../pkg/policy) |
| E2b | Indexes. | None. | [fuzz](../fuzz), [policy](../pkg/policy) |
| G16 | By hand. | By itself. | [fuzz](../fuzz) |
`).text(casesFile)
	if got := renewedCases(repo); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
