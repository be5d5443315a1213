package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/copyleftdev/poise-go/ci/record"
	"github.com/copyleftdev/poise-go/drift"
)

// claims runs every test that quotes a promise alone, and looks whether it reaches the
// code that keeps the promise. It counts each quotation and each part of that code.
func claims(ctx context.Context, w *workspace) result {
	r := result{counts: map[string]int{}}
	repo, err := drift.Load(os.DirFS(w.root))
	if err != nil {
		r.fail("read the tree", err.Error())
		return r
	}
	rows := evidence(repo, w.settings.claim)
	dir, err := os.MkdirTemp("", "claims")
	if err != nil {
		r.fail("make a folder", err.Error())
		return r
	}
	defer os.RemoveAll(dir)
	c := newCitations(repo.Module, rows)
	if err := c.build(ctx, w, dir); err != nil {
		r.fail("build the tests that quote a promise", err.Error())
	}
	c.runAll(ctx, w, dir)
	for _, run := range c.runs {
		if t := c.found[run]; t.failed != "" {
			r.fail(run.Folder+" "+run.Test+": does not pass alone", t.failed)
		}
	}
	r.counts["tests"], r.shown.Reached = len(c.runs), map[string][]string{}
	for _, row := range rows {
		r.evidence = append(r.evidence, c.judge(&r, row))
	}
	return r
}

// evidence returns the claims whose id holds the text.
func evidence(repo *drift.Repo, text string) []drift.EvidenceRow {
	rows := slices.Clone(drift.Evidence(repo))
	for i := range rows {
		rows[i].Claims = slices.Clone(rows[i].Claims)
		rows[i].Claims = slices.DeleteFunc(rows[i].Claims, func(c drift.EvidenceClaim) bool { return !strings.Contains(c.ID, text) })
	}
	return slices.DeleteFunc(rows, func(row drift.EvidenceRow) bool { return len(row.Claims) == 0 })
}

// citations are the tests that quote promises, and what each of them reaches.
type citations struct {
	module string
	runs   []drift.Run
	ranges map[string][]drift.CodeRange // by file
	found  map[drift.Run]*citation
}

// citation is what one test has shown.
type citation struct {
	failed  string // what it said, if it did not pass
	reached map[string]bool
}

func newCitations(module string, rows []drift.EvidenceRow) *citations {
	c := &citations{module: module, ranges: map[string][]drift.CodeRange{}, found: map[drift.Run]*citation{}}
	wanted := map[drift.CodeRange]bool{}
	for _, row := range rows {
		for _, claim := range row.Claims {
			for _, group := range claim.Code {
				for _, one := range group.Ranges {
					wanted[one] = true
				}
			}
			for _, quote := range claim.By {
				if quote.Law != nil {
					wanted[*quote.Law] = true
				}
				for _, run := range quote.Runs {
					if c.found[run] == nil {
						c.found[run] = &citation{failed: "it did not run", reached: map[string]bool{}}
						c.runs = append(c.runs, run)
					}
				}
			}
		}
	}
	for one := range wanted {
		c.ranges[one.File] = append(c.ranges[one.File], one)
	}
	slices.SortFunc(c.runs, drift.Run.Compare)
	return c
}

// build makes a test binary of each folder, for each tag that its files ask for, in
// which every package of the library counts what is reached.
func (c *citations) build(ctx context.Context, w *workspace, dir string) error {
	folders := map[string][]string{}
	for _, run := range c.runs {
		if !slices.Contains(folders[run.Tag], run.Folder) {
			folders[run.Tag] = append(folders[run.Tag], run.Folder)
		}
	}
	for _, tag := range slices.Sorted(maps.Keys(folders)) {
		argv := []string{"go", "test", "-c", "-vet=off", "-cover", "-coverpkg=./pkg/...", "-tags", tag, "-o", filepath.Join(dir, "tag"+tag) + "/"}
		for _, folder := range folders[tag] {
			argv = append(argv, "./"+folder)
		}
		var said strings.Builder
		exit, err := w.exec(ctx, command{dir: w.root, argv: argv, out: &said, err: &said})
		if err != nil || exit != 0 {
			return fmt.Errorf("%v: exit code %d, %v\n%s", argv, exit, err, said.String())
		}
	}
	return nil
}

// fewCases is enough to learn what a law reaches; the layer props judges it.
const fewCases = 30

func (c *citations) runAll(ctx context.Context, w *workspace, dir string) {
	s := w.settings
	s.checks = fewCases
	env := append(s.env(), fmt.Sprintf("RAPID_CHECKS=%d", fewCases), fmt.Sprintf("GOPTER_CHECKS=%d", fewCases))
	var mu sync.Mutex
	next := 0
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= len(c.runs) || ctx.Err() != nil {
					return
				}
				run := c.runs[i]
				binary := filepath.Join(dir, "tag"+run.Tag, path.Base(run.Folder)+".test")
				c.found[run].run(ctx, w, c, run, binary, filepath.Join(dir, strconv.Itoa(i)), env)
			}
		})
	}
	workers.Wait()
}

func (t *citation) run(ctx context.Context, w *workspace, c *citations, run drift.Run, binary, profile string, env []string) {
	var out bytes.Buffer
	exit, err := w.exec(ctx, command{
		dir: filepath.Join(w.root, filepath.FromSlash(run.Folder)), env: env, out: &out, err: &out,
		argv: []string{binary, "-test.run", "^" + run.Test + "$", "-test.v", "-test.coverprofile", profile},
	})
	if err != nil || exit != 0 || !passedAlone(out.String(), run.Test) {
		t.failed = fmt.Sprintf("exit code %d, %v\n%s", exit, err, out.String())
		return
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		t.failed = err.Error()
		return
	}
	_ = os.Remove(profile) // each is as large as the library is long
	t.failed = ""
	t.reached = c.reachedBy(string(text))
}

// passedAlone reports whether the output names the test as one that passed; one that is
// skipped, or that is not there, ends with exit code 0 too.
func passedAlone(out, test string) bool {
	return strings.HasPrefix(out, "--- PASS: "+test+" (") || strings.Contains(out, "\n--- PASS: "+test+" (")
}

// reachedBy reads a coverage profile: file:line.column,line.column statements count.
func (c *citations) reachedBy(profile string) map[string]bool {
	reached := map[string]bool{}
	for line := range strings.Lines(profile) {
		block, ok := strings.CutSuffix(strings.TrimSpace(line), " 0")
		at, rest, isBlock := strings.Cut(strings.TrimPrefix(block, c.module+"/"), ":")
		if ok || !isBlock || c.ranges[at] == nil {
			continue
		}
		begin, _, _ := strings.Cut(rest, ".")
		n, err := strconv.Atoi(begin)
		if err != nil {
			continue
		}
		for _, one := range c.ranges[at] {
			if one.From <= n && n <= one.To {
				reached[one.Name] = true
			}
		}
	}
	return reached
}

// judge says of each promise of a type which of its quotations reach its code, and
// which parts of the code none of them reaches.
func (c *citations) judge(r *result, row drift.EvidenceRow) record.Evidence {
	e := record.Evidence{Type: row.Type, Means: map[string][]record.Check{}}
	for means, checks := range row.Means {
		for _, one := range checks {
			e.Means[means] = append(e.Means[means], record.Check(one))
		}
	}
	for _, claim := range row.Claims {
		one := record.Claim{ID: claim.ID, Text: claim.Text, File: claim.File, Of: claim.Of, By: []record.Quote{}}
		reached := map[string]bool{}
		for _, quote := range claim.By {
			by := record.Quote{Kind: quote.Kind, File: quote.File, Of: quote.Of}
			for name := range c.reach(claim, quote) {
				by.Reaches, reached[name] = true, true
			}
			one.By = append(one.By, by)
			if r.passed++; !by.Reaches {
				r.passed--
				r.fail(fmt.Sprintf("%s:%d: %s does not reach the code of the promise that it quotes", quote.File, quote.Line, quote.Of),
					fmt.Sprintf("%s: %s\nits code is %s", claim.ID, claim.Text, groupNames(claim.Code)))
			}
		}
		for _, group := range claim.Code {
			one.Code = append(one.Code, group.Name)
			if r.passed++; !slices.ContainsFunc(group.Ranges, func(f drift.CodeRange) bool { return reached[f.Name] }) {
				r.passed--
				r.fail(fmt.Sprintf("%s: no test that quotes it reaches %s", claim.ID, group.Name), claim.Text)
			}
		}
		r.shown.Reached[claim.ID] = slices.Sorted(maps.Keys(reached))
		e.Claims = append(e.Claims, one)
	}
	return e
}

// reach is the code of the claim that the quoting check reaches. A law reaches what a
// test reaches in which it ran.
func (c *citations) reach(claim drift.EvidenceClaim, quote drift.EvidenceQuote) map[string]bool {
	all := map[string]bool{}
	for _, run := range quote.Runs {
		reached := c.found[run].reached
		if quote.Law != nil && !reached[quote.Law.Name] {
			continue
		}
		for _, group := range claim.Code {
			for _, one := range group.Ranges {
				if reached[one.Name] {
					all[one.Name] = true
				}
			}
		}
	}
	return all
}

func groupNames(groups []drift.CodeGroup) string {
	var names []string
	for _, g := range groups {
		names = append(names, g.Name)
	}
	return strings.Join(names, ", ")
}
