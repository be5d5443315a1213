package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/copyleftdev/poise-go/ci/record"
)

// tlaSummary is what the command spec/tla writes.
type tlaSummary struct {
	Version  string             `json:"version"` // of TLC
	Passed   int                `json:"passed"`
	Counts   map[string]int     `json:"counts"`
	Figures  map[string]float64 `json:"figures"`
	Failures []record.Failure   `json:"failures"`
	Specs    []record.Spec      `json:"specs"`
}

// tla has TLC judge the specifications, then walks their graphs on the shipped
// types. With a SPEC it judges that one alone.
func tla(ctx context.Context, w *workspace) result {
	module, pkgs, err := w.packages(ctx, "spec")
	r, stop := cannot(pkgs, err, "there is no package in spec")
	if stop {
		return r
	}
	r.figures = map[string]float64{}
	r.add(w.modelChecked(ctx))
	var only []string
	if w.settings.spec != "" {
		only = []string{"-run", w.settings.spec}
	}
	walked := map[string]int{}
	for _, args := range [][]string{
		append(only, paths(pkgs)...),
		append(only, "-tags", "interleave", module+"/models/walk"),
	} {
		s := newStream(module)
		lines := result{counts: map[string]int{}, figures: map[string]float64{}}
		s.onText = func(_, output string) {
			readWalk(walked, output)
			lines.read(output)
		}
		r.add(w.goTest(ctx, s, nil, args...))
		r.add(lines)
	}
	for i, s := range r.specs {
		r.specs[i].Walked = walked[s.Name]
		r.counts["edges walked"] += walked[s.Name]
		r.counts["edges of graphs"] += s.GraphEdges
	}
	return r
}

// modelChecked runs TLC on every configuration, by the command that knows how.
func (w *workspace) modelChecked(ctx context.Context) (r result) {
	dir, err := os.MkdirTemp("", "tla")
	if err != nil {
		r.fail("make a folder", err.Error())
		return r
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "summary.json")
	var said strings.Builder
	exit, err := w.exec(ctx, command{
		dir: w.root, argv: []string{"go", "run", "./spec/tla", "check", "-json", file, "-spec", w.settings.spec}, out: &said, err: &said,
	})
	var s tlaSummary
	b, readErr := os.ReadFile(file)
	if readErr == nil {
		readErr = json.Unmarshal(b, &s)
	}
	switch {
	case err != nil || readErr != nil:
		r.fail("spec/tla did not finish", errors.Join(err, readErr).Error()+"\n"+said.String())
		return r
	case exit != 0 && len(s.Failures) == 0:
		r.fail("spec/tla failed and named no failure", said.String())
	}
	r.passed, r.counts, r.figures, r.failures = s.Passed, s.Counts, s.Figures, append(r.failures, s.Failures...)
	r.specs, r.tlc = s.Specs, s.Version
	return r
}

// walkLine is how a test says which edges of a graph it made on the shipped code.
var walkLine = regexp.MustCompile(`\bwalk: (\{.*\})\n?$`)

// readWalk takes one line of a test's output. Two grains may walk one graph: the
// edges are the same.
func readWalk(walked map[string]int, line string) {
	m := walkLine.FindStringSubmatch(line)
	if m == nil {
		return
	}
	var row struct {
		Spec  string
		Edges int
	}
	if json.Unmarshal([]byte(m[1]), &row) == nil {
		walked[row.Spec] = max(walked[row.Spec], row.Edges)
	}
}
