package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/copyleftdev/poise-go/ci/record"
)

// cleanPackages are those in which every mutant is noticed or explained. What is done
// stays done: a mutant of theirs that survives fails the layer. The others are judged by
// make mutate PKG=….
var cleanPackages = []string{"./pkg/internal/enum", "./pkg/internal/printable", "./pkg/observe", "./pkg/transform"}

// judgedAgain is how many mutants of each package are judged in builds of their own.
const judgedAgain = 5

// mutationResult is what the engine writes about one package.
type mutationResult struct {
	Package string
	Mutants []struct {
		ID, File, Verdict string
		Line              int
	}
	Stale, Unsound []string
}

// mutation tests the engine, and has it judge the clean packages.
func mutation(ctx context.Context, w *workspace) result {
	module, pkgs, err := w.packages(ctx, "mutation")
	r, stop := cannot(pkgs, err, "there is no package in mutation")
	if stop {
		return r
	}
	r.counts = map[string]int{}
	r.add(w.goTest(ctx, newStream(module), nil, paths(pkgs)...))
	dir, err := os.MkdirTemp("", "mutation")
	if err != nil {
		r.fail("make a folder", err.Error())
		return r
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "result.json")
	argv := []string{"go", "run", "./mutation/cmd", "-q", "-json", file, "-agree", fmt.Sprint(judgedAgain), "-seed", fmt.Sprint(w.settings.seed)}
	var said strings.Builder
	exit, err := w.exec(ctx, command{dir: w.root, argv: append(argv, cleanPackages...), out: &said, err: &said})
	if err != nil {
		r.fail("the engine did not finish", err.Error()+"\n"+said.String())
		return r
	}
	text, err := os.ReadFile(file)
	var found []mutationResult
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	if err != nil || len(found) != len(cleanPackages) {
		r.fail("the engine left no result", fmt.Sprint(err)+"\n"+said.String())
		return r
	}
	for _, p := range found {
		r.counts["packages"]++
		for _, m := range p.Mutants {
			r.counts["mutants"]++
			switch m.Verdict {
			case "killed", "timeout", "equivalent", "does not compile":
				r.passed++
			default:
				r.fail(fmt.Sprintf("%s:%d: a mutant is %s", m.File, m.Line, m.Verdict), m.ID)
			}
		}
		for _, s := range p.Stale {
			r.fail("mutation/equivalents.toml", s)
		}
	}
	if exit != 0 && len(r.failures) == 0 {
		r.failures = append(r.failures, record.Failure{Name: "the engine is not content", Text: said.String()})
	}
	return r
}
