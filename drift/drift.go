// Package drift finds the texts of this repository that have stopped being true.
//
// A sentence in a document, a rule of the architecture and a number in prose all
// become false without anybody noticing. Each checker here reads the repository
// as files, compares one kind of text with what it speaks about, and reports
// every difference. No checker imports the library, so a library that does not
// compile can still be judged.
//
// Every checker takes a [Repo] and returns a [Report]. The tests of this package
// run it on the real tree, and also on small trees with a planted fault that it
// must report: a checker that cannot fail is no evidence.
package drift

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one difference between a text and what it speaks about.
type Problem struct {
	File  string
	Line  int
	Wrong string // what is wrong
	Do    string // what to do instead
}

// String returns the problem in the form that editors and terminals can jump to.
func (p Problem) String() string {
	return fmt.Sprintf("%s:%d: %s; %s", p.File, p.Line, p.Wrong, p.Do)
}

// Report is everything one checker found. The list is complete: whoever mends a
// text wants to see all of its faults at once.
type Report struct {
	Checker string
	// Checked is how many things were looked at, and Things is what they are. A
	// report without problems that looked at nothing is not good news.
	Checked  int
	Things   string
	Problems []Problem
}

func (r *Report) fail(file string, line int, do, wrong string, args ...any) {
	r.Problems = append(r.Problems, Problem{file, line, fmt.Sprintf(wrong, args...), do})
}

// Verdict returns the problems in the order of the files. A checker that looked
// at nothing although the library has policies is itself a problem: the pattern
// it looks for has moved away.
func (r Report) Verdict(repo *Repo) []Problem {
	problems := slices.Clone(r.Problems)
	if r.Checked == 0 && repo.HasFolder("pkg/policy") {
		problems = append(problems, Problem{"drift/README.md", 1,
			fmt.Sprintf("the checker %s found no %s to look at", r.Checker, r.Things),
			"teach it the new form, or write what it expects"})
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	return problems
}
