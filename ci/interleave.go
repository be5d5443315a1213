package main

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/copyleftdev/poise-go/ci/record"
)

// models runs the shipped types under every schedule, then once more in the race
// build, whose files no other layer vets. The hooked types are tested as they are
// without an explorer too.
func models(ctx context.Context, w *workspace) result {
	const tag = "interleave"
	_, pkgs, err := w.packages(ctx, "models")
	pkgs = slices.DeleteFunc(pkgs, func(p goPackage) bool { return p.dir == "models/walk" }) // the layer tla runs it
	r, stop := cannot(pkgs, err, "there is no package in models")
	if stop {
		return r
	}
	r.figures = map[string]float64{}
	r.add(w.judgeOnce(ctx, "go", "vet", "-race", "-tags", tag, "./models/...", "./linearizability/..."))
	for _, flags := range [][]string{{"-tags", tag}, {"-race", "-tags", tag}} {
		r.add(w.counted(ctx, "models", append(flags, append(paths(pkgs), "./pkg/internal/...")...)...))
	}
	return r
}

// lin judges histories of goroutines, of generated programs and of the explorer,
// then those of goroutines that yield inside the library.
func lin(ctx context.Context, w *workspace) result {
	_, pkgs, err := w.packages(ctx, "linearizability")
	r, stop := cannot(pkgs, err, "there is no package in linearizability")
	if stop {
		return r
	}
	r.figures = map[string]float64{}
	r.add(w.counted(ctx, "linearizability", append([]string{"-race"}, paths(pkgs)...)...))
	r.add(w.counted(ctx, "linearizability", append([]string{"-race", "-tags", "interleave"}, paths(pkgs)...)...))
	return r
}

// add takes over what another run of the same layer found.
func (r *result) add(o result) {
	r.passed += o.passed
	r.failures = append(r.failures, o.failures...)
	for k, n := range o.counts {
		r.counts[k] = joined(k, r.counts[k], n)
	}
	for k, n := range o.figures {
		r.figures[k] = joined(k, r.figures[k], n)
	}
	r.models = append(r.models, o.models...)
	r.specs = append(r.specs, o.specs...)
	r.simulations = append(r.simulations, o.simulations...)
	r.evidence = append(r.evidence, o.evidence...)
	r.tlc = cmp.Or(r.tlc, o.tlc)
}

// joined adds up, but of what is called a maximum it takes the larger.
func joined[N int | float64](name string, a, b N) N {
	if strings.HasPrefix(name, "max ") {
		return max(a, b)
	}
	return a + b
}

// Tests print what they counted in lines that end in one of these forms. Counts
// are the same in every run of one commit, timing is what varies, and a model is
// one row of the table of models.
var (
	countsLine = regexp.MustCompile(`\bcounts: ([a-z0-9=. -]+)\n?$`)
	timingLine = regexp.MustCompile(`\btiming: ([a-z0-9=. -]+)\n?$`)
	modelLine  = regexp.MustCompile(`\bmodel: (\{.*\})\n?$`)
)

// counted runs tests and adds up the lines of those in one folder; what the
// engine's own tests count would only swell the sums.
func (w *workspace) counted(ctx context.Context, folder string, args ...string) result {
	module, _, err := w.packages(ctx, folder)
	if r, stop := cannot([]goPackage{{}}, err, ""); stop {
		return r
	}
	lines := result{counts: map[string]int{}, figures: map[string]float64{}}
	s := newStream(module)
	s.onText = func(pkg, output string) {
		if pkg == module+"/"+folder {
			lines.read(output)
		}
	}
	r := w.goTest(ctx, s, []string{"CGO_ENABLED=1"}, args...)
	r.figures = map[string]float64{}
	r.add(lines)
	return r
}

// read takes one line of a test's output.
func (r *result) read(line string) {
	if m := countsLine.FindStringSubmatch(line); m != nil {
		for name, text := range fields(m[1]) {
			if n, err := strconv.Atoi(text); err == nil {
				r.counts[name] = joined(name, r.counts[name], n)
			}
		}
	}
	if m := timingLine.FindStringSubmatch(line); m != nil {
		for name, text := range fields(m[1]) {
			if v, err := strconv.ParseFloat(text, 64); err == nil {
				r.figures[name] = joined(name, r.figures[name], v)
			}
		}
	}
	if m := modelLine.FindStringSubmatch(line); m != nil {
		var row record.Model
		if json.Unmarshal([]byte(m[1]), &row) == nil {
			r.models = append(r.models, row)
		}
	}
}

// fields yields the names and the values of "a-name=1 another=2"; names are shown
// with spaces.
func fields(line string) func(yield func(name, value string) bool) {
	return func(yield func(name, value string) bool) {
		for field := range strings.FieldsSeq(line) {
			name, value, _ := strings.Cut(field, "=")
			if !yield(strings.ReplaceAll(name, "-", " "), value) {
				return
			}
		}
	}
}
