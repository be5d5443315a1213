package drift

import "testing"

func TestSentences(t *testing.T) { judge(t, Sentences) }

const soundSentences = `
-- pkg/poise.go --
package poise

// View is a view.
//
// # Contract
//
//   - A View never changes.
type View struct{ n int }

func (v View) Len() int { return v.n }
-- pkg/poise_test.go --
package poise_test

// Claim: A View never changes.
func TestView(t *testing.T) { t.Log() }
-- README.md --
# A heading with 3 words that is never judged

It needs Go 1.26 and RFC 6724, answers 503, and is a 64-bit thing of ` + "`only 7`" + `. See [it](docs/only.md).
There are <!-- count:policies -->14<!-- /count --> of <!-- default:pkg.Config.Most -->5<!-- /default -->.

**Invariant:** it is never
more than 5.

- **Tradeoff:** always 1.
- **Operational rule:** only 2.
- **Non-goal:** never 3.

1. A View never changes. <!-- is: claim pkg.View-e5e9ccee -->
2. Twice 2 is 4.
   <!-- is: example -->
-- GLOSSARY.md --
It is never judged.
-- docs/old.md --
It is only 5.
-- drift/unread.txt --
# why
docs/old.md
`

func TestSentences_ReportsEveryFault(t *testing.T) {
	if n := Sentences(grow(t, soundSentences)).Checked; n != 8 {
		t.Errorf("it looked at %d sentences of the sound tree, want 8", n)
	}
	plant(t, Sentences, soundSentences, []fault{
		{"sentences that nobody has classified", `
-- docs/more.md --
It is always so,
and Never otherwise.

Some 1,024 of them, or (99.5 %) or ≤3.

| a | only |
|---|---|
| b | never 7 |
-- ARCHITECTURE.md --
- one
- two, only
`, []string{`docs/more.md:1 the sentence with "always"`, `docs/more.md:2 the sentence with "Never"`, `docs/more.md:4 the sentence with "1,024"`,
			`docs/more.md:6 the sentence with "only"`, `docs/more.md:8 the sentence with "never"`, `ARCHITECTURE.md:2 the sentence with "only"`}},
		{"a class of one item is not that of the next", `
-- docs/more.md --
- It is always so. <!-- is: history -->
- It is always so.

**Invariant:** never.

Never again.
`, []string{"docs/more.md:2 nothing says", "docs/more.md:6 nothing says"}},
		{"marks that say nothing", `
-- docs/more.md --
It is always so. <!-- is: true -->

It is never so. <!-- is: claim pkg.View-e5e9ccee, pkg.View-00000000 -->

It is only so. <!-- is: invariant
-->
`, []string{`docs/more.md:1 no sentence is a "true"`, "docs/more.md:3 there is no claim pkg.View-00000000",
			"docs/more.md:5 a mark of a sentence is torn", `docs/more.md:5 nothing says what the sentence with "only"`}},
		{"a mark that code hides", "\n-- docs/more.md --\nIt is always so. `<!-- is: invariant -->`\n",
			[]string{`docs/more.md:1 nothing says what the sentence with "always"`}},
		{"a mark that is a part of code", "\n-- docs/more.md --\nIt is so `and <!-- is: invariant --> of `it`.\n\nOr `<!-- is: invariant` of it.\n",
			[]string{"docs/more.md:1 code hides a mark of a sentence: and", "docs/more.md:3 code hides a part of a mark of a sentence"}},
		{"a reworded promise", `
-- pkg/poise.go --
package poise

// View is a view.
//
// # Contract
//
//   - A View changes.
type View struct{ n int }

func (v View) Len() int { return v.n }
`, []string{"README.md:13 there is no claim pkg.View-e5e9ccee"}},
		{"a list of unread documents that is not needed", `
-- docs/old.md --
It is so.
-- drift/unread.txt --
docs/old.md
docs/gone.md
`, []string{"drift/unread.txt:1 every sentence of docs/old.md is classified", "drift/unread.txt:2 there is no document docs/gone.md"}},
	})
}
