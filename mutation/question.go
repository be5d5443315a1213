package mutation

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Question asks whether some tests of a package notice any small change of some of its
// code.
type Question struct {
	ID    string   `json:"id"`
	Code  []Lines  `json:"code"`
	Tests []string `json:"tests"`
}

// Lines are some lines of a file, below the root of the module.
type Lines struct {
	File string `json:"file"`
	From int    `json:"from"`
	To   int    `json:"to"`
}

// Answer is the first change that a test noticed.
type Answer struct {
	ID string `json:"id"`
	// Mutant is nil if none was noticed.
	Mutant *Mutant `json:"mutant,omitempty"`
	// Tried is how many were, of those Reached by the tests.
	Tried   int `json:"tried"`
	Reached int `json:"reached"`
}

// Ask answers the questions about one package. A change counts as noticed if a test
// fails, and not if it does not come to an end.
func Ask(ctx context.Context, cfg Config, questions []Question) ([]Answer, error) {
	if cfg.Workers == 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	root, err := filepath.Abs(cfg.Root)
	if err != nil {
		return nil, err
	}
	s, err := load(root, cfg.Package)
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	b, err := s.build(ctx, work)
	if err != nil {
		return nil, err
	}
	b.flags = profile(s.dir)
	if err := b.meet(ctx, work, cfg.Workers, questions); err != nil {
		return nil, err
	}
	answers := make([]Answer, len(questions))
	each(ctx, cfg.Workers, len(questions), func(i int) { answers[i] = b.answer(ctx, s.mutants, questions[i]) })
	return answers, ctx.Err()
}

// slowCensus is how long a test may take in which each place is counted. What is too slow
// would notice nothing, on a busy machine only.
const slowCensus = 5 * time.Minute

// meet takes the census of the tests that are asked. Those that fail without a mutant
// are unsound here, and notice nothing.
func (b *binary) meet(ctx context.Context, work string, workers int, questions []Question) error {
	var names []string
	for _, q := range questions {
		for _, name := range q.Tests {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	known, err := b.list(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("mutation: there is no test %s", name)
		}
	}
	tests := make([]*test, len(names))
	each(ctx, workers, len(names), func(i int) {
		census := filepath.Join(work, "census"+strconv.Itoa(i))
		counted := b.run(ctx, names[i:i+1], slowCensus, append(slices.Clone(fixedSeeds), "POISE_MUTANT_CENSUS="+census)...)
		if alone := b.run(ctx, names[i:i+1], slowCensus, fixedSeeds...); counted.passed && alone.passed {
			tests[i] = &test{name: names[i], took: alone.took, reaches: readCensus(census)}
		}
	})
	for i, t := range tests {
		if t != nil {
			b.tests = append(b.tests, t)
		} else {
			b.unsound = append(b.unsound, names[i])
		}
	}
	slices.SortStableFunc(b.tests, func(x, y *test) int { return int(x.took - y.took) })
	return ctx.Err()
}

// answer tries the mutants in the code until one is noticed.
func (b *binary) answer(ctx context.Context, all []*Mutant, q Question) Answer {
	a := Answer{ID: q.ID}
	var todo []*Mutant
	for _, m := range all {
		if m.Verdict == "" && slices.ContainsFunc(q.Code, func(l Lines) bool {
			return filepath.ToSlash(m.File) == l.File && l.From <= m.Line && m.Line <= l.To
		}) {
			todo = append(todo, m)
		}
	}
	slices.SortStableFunc(todo, func(x, y *Mutant) int { return rank(x) - rank(y) })
	for _, m := range todo {
		reached := false
		for _, t := range b.tests {
			if !slices.Contains(q.Tests, t.name) || !t.reaches[m.number] {
				continue
			}
			if !reached {
				reached = true
				a.Reached++
			}
			if a.Mutant != nil || ctx.Err() != nil {
				break
			}
			o := b.run(ctx, []string{t.name}, startTime+slower*t.took, append(slices.Clone(fixedSeeds), active(m))...)
			if !o.passed && (!o.late || strings.Contains(o.output, "--- FAIL")) {
				one := *m // the same mutant may answer another question by another test
				one.Verdict, one.Killer = Killed, t.name
				a.Mutant = &one
			}
		}
		if reached && (a.Mutant == nil || a.Mutant.ID == m.ID) {
			a.Tried++
		}
	}
	return a
}

// rank puts those mutants first that say most: a result that is zero says little, and
// what often does not come to an end says nothing.
func rank(m *Mutant) int {
	switch m.Rule {
	case loop.Name, increment.Name, locking.Name:
		return 2
	case zeroReturn.Name:
		return 1
	}
	return 0
}
