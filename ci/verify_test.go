package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/ci/record"
)

// planted is a layer that finds a fixed result.
func planted(name string, found result) layer {
	return layer{
		name: name, target: name, shows: "Something.", notShown: "Something else.", limit: time.Minute,
		run: func(context.Context, *workspace) result { return found },
	}
}

func failing(name, text string) result {
	r := result{passed: 3}
	r.fail(name, text)
	return r
}

// verifyIn runs the command in an empty folder, on a host that has everything,
// with the given layers.
func verifyIn(t *testing.T, ctx context.Context, root string, rows ...layer) (record.Record, string, error) {
	t.Helper()
	exec, _ := replies(t,
		reply{has: "rev-parse", out: strings.Repeat("0123456789", 4) + "\n"}, reply{has: "status"}, reply{has: "staticcheck", out: "staticcheck 1.2.3"},
		reply{has: "go env GOVERSION", out: "go1.26.1"}, reply{has: "go env CC", out: "cc"}, reply{has: "--version"}, reply{has: "java -version"}, reply{has: "cc -o"})
	var out strings.Builder
	w := &workspace{root: root, exec: exec, settings: settings{seed: 1, checks: 2, fuzzExecs: 3}}
	err := verify(ctx, w, &host{exec: exec, out: &out}, rows, &out)
	b, readErr := os.ReadFile(filepath.Join(root, recordFile))
	if readErr != nil {
		t.Fatalf("no record: %v, after %v and\n%s", readErr, err, out.String())
	}
	r, decodeErr := record.Decode(b)
	if decodeErr != nil {
		t.Fatal(decodeErr)
	}
	if _, err := os.Stat(filepath.Join(root, reportFile)); err != nil {
		t.Error(err)
	}
	return r, out.String(), err
}

func lastLine(out string) string {
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	return lines[len(lines)-1]
}

func TestVerify_AllPassed(t *testing.T) {
	r, out, err := verifyIn(t, t.Context(), t.TempDir(), planted("a", result{passed: 120}), planted("b", result{passed: 3}))
	if err != nil || !r.AllPassed() {
		t.Errorf("got %v and layers %+v, want all passed", err, r.Layers)
	}
	if got, want := lastLine(out), "123 passed, 0 failed"; got != want {
		t.Errorf("the last line is %q, want %q", got, want)
	}
	if r.Commit != strings.Repeat("0123456789", 4) || r.Dirty || r.Toolchain.Staticcheck != "1.2.3" {
		t.Errorf("the record says commit %q, dirty %t, staticcheck %q", r.Commit, r.Dirty, r.Toolchain.Staticcheck)
	}
}

func TestVerify_FailureDoesNotStopTheRest(t *testing.T) {
	r, out, err := verifyIn(t, t.Context(), t.TempDir(), planted("a", failing("TestX", "boom")), planted("b", result{passed: 3}))
	if !errors.Is(err, errNotAllPassed) {
		t.Errorf("verify returns %v, want errNotAllPassed", err)
	}
	if r.Layers[0].Status != record.Failed || r.Layers[1].Status != record.Passed {
		t.Errorf("statuses are %q and %q, want failed and passed", r.Layers[0].Status, r.Layers[1].Status)
	}
	if got, want := lastLine(out), "6 passed, 1 failed"; got != want {
		t.Errorf("the last line is %q, want %q", got, want)
	}
	if !strings.Contains(out, "boom") || r.Timing.Layers[0].Failures[0].Text != "boom" {
		t.Errorf("the failure's text is missing from the output or the record:\n%s", out)
	}
}

func TestVerify_LayerThatRanNothingFails(t *testing.T) {
	r, _, err := verifyIn(t, t.Context(), t.TempDir(), planted("empty", result{}))
	if !errors.Is(err, errNotAllPassed) || r.Layers[0].Status != record.Failed || r.Layers[0].Failures[0] != "ran nothing" {
		t.Errorf("got %v and %+v, want a failed layer that ran nothing", err, r.Layers[0])
	}
}

func TestVerify_LayerThatDidNotRunIsNotGreen(t *testing.T) {
	r, out, err := verifyIn(t, t.Context(), t.TempDir(), planted("a", result{passed: 5}), planted("gone", result{notRun: "there is no package in gone"}))
	if !errors.Is(err, errNotAllPassed) || r.Layers[1].Status != record.NotRun {
		t.Errorf("got %v and %+v, want a layer that did not run", err, r.Layers[1])
	}
	if got, want := lastLine(out), "5 passed, 1 failed"; got != want {
		t.Errorf("the last line is %q, want %q", got, want)
	}
	if !strings.Contains(out, "not run: gone") {
		t.Errorf("the output does not name the layer:\n%s", out)
	}
}

func TestVerify_NoLayersIsNoSuccess(t *testing.T) {
	exec, _ := replies(t)
	err := verify(t.Context(), &workspace{root: t.TempDir(), exec: exec}, &host{exec: exec, out: new(strings.Builder)}, nil, new(strings.Builder))
	if err == nil {
		t.Error("a run without layers succeeds")
	}
}

func TestVerify_LayerBeyondItsLimitFails(t *testing.T) {
	slow := planted("slow", result{})
	slow.limit = time.Nanosecond
	slow.run = func(ctx context.Context, w *workspace) result {
		_, err := runCommand(ctx, command{argv: []string{"go", "version"}, out: new(strings.Builder)})
		return failing("go version", fmt.Sprint(err))
	}
	r, _, _ := verifyIn(t, t.Context(), t.TempDir(), slow)
	if got, want := r.Timing.Layers[0].Failures[0].Text, "stopped after its limit of 1ns"; got != want {
		t.Errorf("the failure says %q, want %q", got, want)
	}
}

func TestVerify_InterruptionLeavesARecordOfWhatDidNotRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	broken := planted("broken off", result{})
	broken.run = func(context.Context, *workspace) result {
		cancel()
		return failing("TestX", "killed")
	}
	r, _, err := verifyIn(t, ctx, t.TempDir(), planted("a", result{passed: 1}), broken, planted("b", result{passed: 1}))
	if !errors.Is(err, errNotAllPassed) || r.Layers[0].Status != record.Passed {
		t.Errorf("got %v and %+v, want the first layer passed", err, r.Layers[0])
	}
	for _, l := range r.Layers[1:] {
		if l.Status != record.NotRun || l.Reason != "interrupted" {
			t.Errorf("%s is %q because %q, want not run, interrupted", l.Name, l.Status, l.Reason)
		}
	}
}

func TestVerify_MissingNeedKeepsItsLayersFromRunning(t *testing.T) {
	l := planted("race", result{passed: 1})
	l.needs = []string{"C compiler"}
	r := runLayers(t.Context(), &workspace{}, []layer{l, planted("unit", result{passed: 1})}, []string{"C compiler"}, new(strings.Builder))
	if r.Layers[0].Status != record.NotRun || r.Layers[0].Reason != "missing: C compiler" || r.Layers[1].Status != record.Passed {
		t.Errorf("layers are %+v, want race not run for its compiler and unit passed", r.Layers)
	}
}

func TestVerify_StaleRecordDoesNotSurviveABadOne(t *testing.T) {
	root := t.TempDir()
	if _, _, err := verifyIn(t, t.Context(), root, planted("a", result{passed: 1})); err != nil {
		t.Fatal(err)
	}
	exec, _ := replies(t)
	unnamed := planted("", result{passed: 1})
	err := verify(t.Context(), &workspace{root: root, exec: exec, settings: settings{seed: 1, checks: 1, fuzzExecs: 1}}, &host{exec: exec, out: new(strings.Builder)}, []layer{unnamed}, new(strings.Builder))
	if err == nil {
		t.Error("a record that breaks the schema is accepted")
	}
	for _, f := range []string{recordFile, reportFile} {
		if _, err := os.Stat(filepath.Join(root, f)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s of the run before is still there", f)
		}
	}
}

// Two runs that differ in everything that a run may differ in: time, figures, the
// order in which go test names failures, and what a failing test printed.
func TestVerify_RecordsOfOneCommitDifferOnlyInTiming(t *testing.T) {
	first := result{passed: 2, counts: map[string]int{"tests": 1, "subtests": 1, "packages": 9}, figures: map[string]float64{"x": 1}}
	first.fail("TestA", "took 1 ms")
	first.fail("TestB", "at 0xc0001")
	first.shown = record.Timing{Benchmarks: []record.Benchmark{{Name: "B", Runs: 5, NsPerOp: 1}}, Demo: &record.Demo{
		Policy: "p", Promises: []record.Promise{{Name: "n", Held: true}}, Backends: []record.Backend{{Name: "a"}},
	}}
	second := result{passed: 2, counts: map[string]int{"packages": 9, "subtests": 1, "tests": 1}, figures: map[string]float64{"y": 2}}
	second.fail("TestB", "at 0xc0002")
	second.fail("TestA", "took 2 ms")
	second.shown = record.Timing{Benchmarks: []record.Benchmark{{Name: "B", Runs: 5, NsPerOp: 2}}}

	var without [2][]byte
	for i, found := range []result{first, second} {
		root := t.TempDir()
		_, _, _ = verifyIn(t, t.Context(), root, planted("a", found), planted("b", result{passed: 1}))
		b, err := os.ReadFile(filepath.Join(root, recordFile))
		if err != nil {
			t.Fatal(err)
		}
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(b, &keys); err != nil {
			t.Fatal(err)
		}
		delete(keys, "timing")
		if without[i], err = json.Marshal(keys); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(without[0], without[1]) {
		t.Errorf("without timing the records are\n%s\n%s", without[0], without[1])
	}
}

func TestSome_UnknownLayerIsNamed(t *testing.T) {
	err := some(t.Context(), &workspace{}, []string{"unti"}, new(strings.Builder))
	if err == nil || !strings.Contains(err.Error(), "unti") {
		t.Errorf("got %v, want an error that names the layer", err)
	}
}

func TestRun_UnknownCommandIsAUsageError(t *testing.T) {
	for _, args := range [][]string{nil, {"verfy"}, {"layer"}, {"verify", "unit"}} {
		if err := run(t.Context(), args, new(strings.Builder)); !errors.Is(err, errUsage) {
			t.Errorf("%q gives %v, want the usage", args, err)
		}
	}
}

func TestClip_KeepsBothEndsOfALongText(t *testing.T) {
	long := "first" + strings.Repeat("ß", 50_000) + "last"
	got := clip(long)
	if len(got) > 13_000 || !strings.HasPrefix(got, "first") || !strings.HasSuffix(got, "last") || !strings.Contains(got, "[…]") {
		t.Errorf("got %d bytes from %q to %q", len(got), got[:10], got[len(got)-10:])
	}
}

// The table of layers, the Makefile and the README are three texts about one
// thing, so they are read together.

func repoFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var makeTarget = regexp.MustCompile(`(?m)^([a-z-]+):.*## .+\n((?:\t.*\n)+)`)

func TestMakefile_EveryLayerHasItsTarget(t *testing.T) {
	recipes := map[string]string{}
	for _, m := range makeTarget.FindAllStringSubmatch(repoFile(t, "Makefile"), -1) {
		recipes[m[1]] = m[2]
	}
	for _, l := range layers {
		words := strings.Fields(recipes[l.target])
		switch {
		case l.name == "demo": // its target leaves the terminal to the program
			if !strings.Contains(recipes["demo"], "go run ./examples/demo -policy $(POLICY)") {
				t.Errorf("make demo runs %q", recipes["demo"])
			}
		case !strings.Contains(recipes[l.target], "$(CI) layer ") || !slices.Contains(words, l.name):
			t.Errorf("make %s does not run the layer %s: %q", l.target, l.name, recipes[l.target])
		}
	}
}

func TestMakefile_EveryTargetIsPhonyAndInHelp(t *testing.T) {
	text := repoFile(t, "Makefile")
	phony := strings.Fields(regexp.MustCompile(`(?m)^\.PHONY:(.*)$`).FindStringSubmatch(text)[1])
	help, err := execFunc(runCommand).output(t.Context(), "..", "make", "--no-print-directory", "help")
	if err != nil {
		t.Fatal(err)
	}
	targets := regexp.MustCompile(`(?m)^([a-z][a-z-]*):`).FindAllStringSubmatch(text, -1)
	if len(targets) != len(phony) {
		t.Errorf("the Makefile has %d targets and %d phony ones", len(targets), len(phony))
	}
	for _, m := range targets {
		if !slices.Contains(phony, m[1]) || !slices.Contains(strings.Fields(help), m[1]) {
			t.Errorf("make %s is not phony or not in help", m[1])
		}
	}
}

func TestReadme_ListsTheLayers(t *testing.T) {
	var rows strings.Builder
	for _, l := range layers {
		fmt.Fprintf(&rows, "| %s | `make %s` | %s | %s |\n", l.name, l.target, l.shows, l.notShown)
	}
	if !strings.Contains(repoFile(t, "ci/README.md"), rows.String()) {
		t.Errorf("ci/README.md does not hold these rows:\n%s", rows.String())
	}
}

func TestLayers_AreNamedOnceAndBounded(t *testing.T) {
	seen := map[string]bool{}
	known := map[string]bool{}
	for _, n := range needs {
		known[n.name] = true
	}
	for _, l := range layers {
		if seen[l.name] || l.limit <= 0 || l.run == nil {
			t.Errorf("layer %q is there twice, has no limit or runs nothing", l.name)
		}
		seen[l.name] = true
		for _, n := range l.needs {
			if !known[n] {
				t.Errorf("layer %q needs %q, which setup does not know", l.name, n)
			}
		}
	}
}
