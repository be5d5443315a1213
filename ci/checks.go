package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/format"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/copyleftdev/poise-go/ci/record"
)

func formatted(ctx context.Context, w *workspace) result {
	var r result
	files, err := w.files(ctx)
	if err != nil {
		r.fail("list the files", err.Error())
		return r
	}
	for _, f := range files {
		// The go command ignores testdata, and so may a fixture ignore gofmt.
		if path.Ext(f) != ".go" || strings.Contains("/"+f, "/testdata/") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(w.root, f))
		if err != nil {
			r.fail(f, err.Error())
			continue
		}
		switch tidy, err := format.Source(b); {
		case err != nil:
			r.fail(f, err.Error())
		case !bytes.Equal(b, tidy):
			r.fail(f, "run gofmt -w "+f)
		default:
			r.passed++
		}
	}
	return r
}

func vet(ctx context.Context, w *workspace) result {
	return w.judge(ctx, "go", "vet")
}

// staticcheck is pinned in a module of its own.
func staticcheck(ctx context.Context, w *workspace) result {
	return w.judge(ctx, "go", "tool", "-modfile=ci/tools/go.mod", "staticcheck")
}

// judge runs a static checker over every variant; each is one check.
func (w *workspace) judge(ctx context.Context, argv ...string) result {
	var r result
	variants, err := w.variants(ctx)
	if err != nil {
		r.fail("list the files", err.Error())
		return r
	}
	for _, flags := range variants {
		r.add(w.judgeOnce(ctx, append(append(append([]string{}, argv...), flags...), "./...")...))
	}
	return r
}

func (w *workspace) judgeOnce(ctx context.Context, argv ...string) (r result) {
	if _, err := w.exec.output(ctx, w.root, argv...); err != nil {
		r.fail(strings.Join(argv, " "), err.Error())
	} else {
		r.passed++
	}
	return r
}

// unit runs whatever no other layer owns.
func unit(ctx context.Context, w *workspace) result {
	module, pkgs, err := w.packages(ctx)
	var mine []goPackage
	for _, p := range pkgs {
		if !under(p.dir, w.owned) {
			mine = append(mine, p)
		}
	}
	if r, stop := cannot(mine, err, "there is no package"); stop {
		return r
	}
	return w.goTest(ctx, newStream(module), nil, paths(mine)...)
}

// texts compares what the documents and the comments say with the code.
func texts(ctx context.Context, w *workspace) result {
	module, pkgs, err := w.packages(ctx, "drift")
	if r, stop := cannot(pkgs, err, "there is no package in drift"); stop {
		return r
	}
	return w.goTest(ctx, newStream(module), nil, paths(pkgs)...)
}

func race(ctx context.Context, w *workspace) result {
	module, pkgs, err := w.packages(ctx, "pkg")
	if r, stop := cannot(pkgs, err, "there is no package in pkg"); stop {
		return r
	}
	return w.goTest(ctx, newStream(module), []string{"CGO_ENABLED=1"}, append([]string{"-race"}, paths(pkgs)...)...)
}

// okChecks is how rapid and gopter report a law that held.
var okChecks = regexp.MustCompile(`OK, passed (\d+) tests`)

// props runs the laws again with more cases. Only packages that test with a
// property library take part: the names of other tests may end in Law by chance.
func props(ctx context.Context, w *workspace) result {
	module, pkgs, err := w.packages(ctx)
	var mine []goPackage
	for _, p := range pkgs {
		if strings.Contains(p.testImports, "pgregory.net/rapid") || strings.Contains(p.testImports, "leanovate/gopter") {
			mine = append(mine, p)
		}
	}
	if r, stop := cannot(mine, err, "no package tests with a property library"); stop {
		return r
	}
	cases := 0
	s := newStream(module)
	s.onText = func(_, output string) {
		if m := okChecks.FindStringSubmatch(output); m != nil {
			n, _ := strconv.Atoi(m[1]) // the pattern admits only digits
			cases += n
		}
	}
	env := []string{fmt.Sprintf("RAPID_CHECKS=%d", w.settings.checks), fmt.Sprintf("GOPTER_CHECKS=%d", w.settings.checks)}
	r := w.goTest(ctx, s, env, append([]string{"-run", "_Law"}, paths(mine)...)...)
	r.counts["generated cases"] = cases
	return r
}

var execsDone = regexp.MustCompile(`execs: (\d+) .*new interesting: (\d+)`)

// fuzz runs every target over its committed corpus, then over mutated inputs. A
// target that fails its own corpus is not mutated: it would only fail again.
func fuzz(ctx context.Context, w *workspace) result {
	module, pkgs, err := w.packages(ctx, "fuzz")
	if r, stop := cannot(pkgs, err, "there is no package in fuzz"); stop {
		return r
	}
	var targets []event
	s := newStream(module)
	s.onEnd = func(e event) {
		if kind(e.Test) == "fuzz targets" {
			targets = append(targets, e)
		}
	}
	r := w.goTest(ctx, s, nil, append([]string{"-run", "^Fuzz"}, paths(pkgs)...)...)
	r.figures = map[string]float64{}
	for _, t := range targets {
		done, interesting := 0, 0
		s := newStream(module)
		s.onText = func(_, output string) {
			if m := execsDone.FindStringSubmatch(output); m != nil {
				done, _ = strconv.Atoi(m[1]) // the pattern admits only digits
				interesting, _ = strconv.Atoi(m[2])
			}
		}
		found := w.goTest(ctx, s, nil, "-run", "^$", "-fuzz", "^"+t.Test+"$",
			fmt.Sprintf("-fuzztime=%dx", w.settings.fuzzExecs), "-fuzzminimizetime=1000x", t.Package)
		r.failures = append(r.failures, found.failures...)
		if len(found.failures) > 0 {
			continue
		}
		if done < w.settings.fuzzExecs {
			r.fail(s.short(t.Package)+" "+t.Test+": stopped early",
				fmt.Sprintf("%d of %d executions", done, w.settings.fuzzExecs))
			continue
		}
		r.counts["executions"] += w.settings.fuzzExecs
		r.figures[t.Test+" executions"] = float64(done)
		r.figures[t.Test+" new interesting inputs"] = float64(interesting)
	}
	return r
}

// demo builds the main job, runs it once and believes neither its exit code nor
// its summary alone.
func demo(ctx context.Context, w *workspace) result {
	_, pkgs, err := w.packages(ctx, "examples/demo")
	r, stop := cannot(pkgs, err, "there is no package in examples/demo")
	if stop {
		return r
	}
	dir, err := os.MkdirTemp("", "demo")
	if err != nil {
		r.fail("make a folder", err.Error())
		return r
	}
	defer os.RemoveAll(dir)
	program, summary := filepath.Join(dir, "demo.exe"), filepath.Join(dir, "demo.json")
	if _, err := w.exec.output(ctx, w.root, "go", "build", "-buildvcs=false", "-o", program, "./examples/demo"); err != nil {
		r.fail("examples/demo: build failed", err.Error())
		return r
	}
	var said strings.Builder
	exit, err := w.exec(ctx, command{
		dir: w.root, argv: []string{program, "-policy", w.settings.policy, "-json", summary}, out: &said, err: &said,
	})
	b, readErr := os.ReadFile(summary)
	d, decodeErr := record.DecodeDemo(b)
	switch {
	case err != nil:
		r.fail("the demo did not finish", err.Error()+"\n"+said.String())
		return r
	case readErr != nil || decodeErr != nil:
		r.fail("the demo left no summary", errors.Join(readErr, decodeErr).Error()+"\n"+said.String())
		return r
	}
	for _, p := range d.Promises {
		if p.Held {
			r.passed++
		} else {
			r.fail("broken: "+p.Name, p.Detail)
		}
	}
	if exit != 0 && len(r.failures) == 0 {
		r.fail(fmt.Sprintf("the demo ended with exit code %d although its summary breaks no promise", exit), said.String())
	}
	r.counts["backends"] = len(d.Backends)
	r.shown.Demo = &d
	return r
}

// screensFolder is where the pictures of the report's first page are left.
const screensFolder = "out/screens"

// inBrowser renders the report of a large record in a browser. No other layer vets
// its tests, which are behind a build tag.
func inBrowser(ctx context.Context, w *workspace) result {
	module, pkgs, err := w.packages(ctx, "ci/report/browser")
	r, stop := cannot(pkgs, err, "there is no package in ci/report/browser")
	if stop {
		return r
	}
	folder := filepath.Join(w.root, screensFolder)
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o755)); err != nil {
		r.fail("empty "+screensFolder, err.Error())
		return r
	}
	r.add(w.judgeOnce(ctx, append([]string{"go", "vet", "-tags", "browser"}, paths(pkgs)...)...))
	r.add(w.goTest(ctx, newStream(module), nil, append([]string{"-tags", "browser", "-artifacts", "-outputdir", folder}, paths(pkgs)...)...))
	return r
}

// cannot tells whether a layer has to stop before it began.
func cannot(pkgs []goPackage, err error, why string) (result, bool) {
	r := result{counts: map[string]int{}}
	switch {
	case err != nil:
		r.fail("list the packages", err.Error())
	case len(pkgs) == 0:
		r.notRun = why
	default:
		return r, false
	}
	return r, true
}

func paths(pkgs []goPackage) []string {
	var all []string
	for _, p := range pkgs {
		all = append(all, p.path)
	}
	return all
}
