package drift

import "testing"

func TestCounts(t *testing.T) { judge(t, Counts) }

const soundCounts = soundClaims + `
-- Makefile --
check: ## quick
verify: check ## all
internal-step:
-- pkg/policy/a.go --
package policy

var _ poise.Policy = (*A)(nil)
-- pkg/policy/b.go --
package policy

var _ poise.Policy = B{}
-- README.md --
There are <!-- count:policies -->2<!-- /count --> policies, <!-- count:laws -->1<!-- /count --> law and
<!--count:fuzz-targets-->1<!--/count--> target; <!-- count:contract-bullets -->5<!-- /count --> promises.

Write ` + "`<!-- count:x -->1<!-- /count -->`" + ` for a number.
-- docs/make.md --
The <!-- count:make-targets -->2<!-- /count --> targets.
`

func TestCounts_ReportsEveryFault(t *testing.T) {
	plant(t, Counts, soundCounts, []fault{
		{"a number that is no longer true, and one in words", `
-- docs/more.md --
<!-- count:policies -->3<!-- /count --> policies

<!-- count:laws -->one<!-- /count --> law
`, []string{
			`docs/more.md:1 the text says "3" for policy types of pkg/policy that declare themselves a poise.Policy; write 2`,
			`docs/more.md:3 the text says "one"`,
		}},
		{"a marker of unknown name", `
-- docs/more.md --
<!-- count:bugs -->0<!-- /count --> bugs
`, []string{`docs/more.md:1 nothing counts "bugs"; use one of contract-bullets, fuzz-targets`}},
		{"a torn marker", `
-- docs/more.md --
<!-- count:policies -->2 policies
2<!-- /count --> policies
`, []string{"docs/more.md:1 a count marker is torn", "docs/more.md:2 a count marker is torn"}},
		{"a marker that an open backtick hides", "\n-- docs/more.md --\nThe `open one <!-- count:policies -->9<!-- /count --> of `Policy`.\n", []string{
			"docs/more.md:1 code hides a count marker: open one", "docs/more.md:1 a backtick is open: `.",
		}},
		{"a marker of which code hides a part", "\n-- docs/more.md --\nThe `<!-- count:policies -->9` of them.\n", []string{
			"docs/more.md:1 code hides a part of a count marker: <!-- count:policies -->9",
		}},
		{"an open backtick in one item and another in the next", "\n-- docs/more.md --\n- The `open <!-- count:policies -->2<!-- /count -->\n- and `more\n", []string{
			"docs/more.md:1 a backtick is open", "docs/more.md:2 a backtick is open",
		}},
		{"a line that a merge has left twice", `
-- docs/more.md --
There are <!-- count:policies -->2<!-- /count --> policies in this library, all of them good.
There are <!-- count:policies -->3<!-- /count --> policies in this library, all of them good.
`, []string{`docs/more.md:2 the text says "3"`, "docs/more.md:2 the line above says the same"}},
		{"a number that no document states any more", `
-- docs/make.md --
`, []string{"README.md:1 no document states count:make-targets"}},
	})
}

func TestCounts_ExpectsNoNumberOfWhatDoesNotExistYet(t *testing.T) {
	expect(t, Counts, grow(t, "-- README.md --\n# Title\n"), nil)
}
