package mutation

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
)

// Mutant is one small change of one place in the code.
type Mutant struct {
	// ID names the mutant as long as its function and its text stand: the function, the
	// rule, the text, and a number where the function has several of that text.
	ID string `json:"id"`
	// Rule is the name of the operator that made it.
	Rule string `json:"rule"`
	// Func is the function it is in, "init" for a package-level initialiser.
	Func string `json:"func"`
	// File, Line and Column are its place, for people.
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	// Was and Becomes are the text without and with the change.
	Was     string `json:"was"`
	Becomes string `json:"becomes"`

	// Verdict is what the tests made of it.
	Verdict Verdict `json:"verdict"`
	// Killer is the test that noticed it.
	Killer string `json:"killer,omitempty"`
	// Reached is how many tests run the place.
	Reached int `json:"reached"`
	// Why is the compiler's word, or the reason that the ledger gives.
	Why string `json:"why,omitempty"`

	number int32
	at     token.Position
	to     int    // the offset of its end
	plain  string // what stands there in a source that has this change alone
}

// name gives the mutants their IDs. Their order is that of the text.
func name(mutants []*Mutant) {
	count := map[string]int{}
	for _, m := range mutants {
		id := fmt.Sprintf("%s: %s: %s → %s", m.Func, m.Rule, m.Was, m.Becomes)
		count[id]++
		if n := count[id]; n > 1 {
			id = fmt.Sprintf("%s #%d", id, n)
		}
		m.ID = id
	}
}

func inOrder(mutants []*Mutant) {
	slices.SortStableFunc(mutants, func(a, b *Mutant) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.at.Offset, b.at.Offset), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Becomes, b.Becomes))
	})
}

// Verdict is what became of a mutant.
type Verdict string

// The verdicts. Every mutant has exactly one of them.
const (
	// Killed: a test failed.
	Killed Verdict = "killed"
	// TimedOut: a test did not end within its time, and did without the change.
	TimedOut Verdict = "timeout"
	// Survived: all tests that reach it passed.
	Survived Verdict = "survived"
	// Uncovered: no test reaches it.
	Uncovered Verdict = "uncovered"
	// NotCompiled: the change does not compile. It is never counted as killed.
	NotCompiled Verdict = "does not compile"
	// Equivalent: it survived, and the ledger says why it cannot be noticed.
	Equivalent Verdict = "equivalent"
)

// Verdicts are all verdicts, in the order of tables.
var Verdicts = []Verdict{Killed, TimedOut, Survived, Uncovered, NotCompiled, Equivalent}
