package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/ci/record"
)

// list is what go list answers for a module with these packages.
func list(lines ...string) reply {
	return reply{has: "go list", out: strings.Join(lines, "\n")}
}

func TestUnit_LeavesOwnedFoldersToTheirLayers(t *testing.T) {
	exec, ran := replies(t,
		list("m\tm/pkg\t[][]", "m\tm/drift\t[][]", "m\tm/drift/deep\t[][]", "m\tm/drifting\t[][]"),
		reply{has: "go test", out: events("start m/pkg", "run m/pkg TestX", "pass m/pkg TestX", "pass m/pkg")})
	w := &workspace{exec: exec, owned: []string{"drift"}, fresh: true}
	if r := unit(t.Context(), w); r.passed != 1 {
		t.Errorf("got %d passed and failures %q, want 1", r.passed, failureNames(r))
	}
	if got := (*ran)[1]; !strings.HasSuffix(got, "-count=1 m/pkg m/drifting") {
		t.Errorf("ran %q, want fresh tests of m/pkg and m/drifting alone", got)
	}
}

func TestLayers_WithoutTheirPackagesDoNotRun(t *testing.T) {
	exec, _ := replies(t, list("m\tm/ci\t[testing][]"))
	w := &workspace{exec: exec}
	for _, l := range layers {
		switch l.name {
		case "drift", "race", "props", "fuzz", "models", "lin", "tla", "sim", "bench", "demo":
			if r := l.run(t.Context(), w); r.notRun == "" {
				t.Errorf("%s: got %d passed and failures %q, want not run", l.name, r.passed, failureNames(r))
			}
		}
	}
}

func TestLayers_BrokenModuleFails(t *testing.T) {
	exec, _ := replies(t, reply{has: "go list", out: "go: errors parsing go.mod", exit: 1})
	if r := unit(t.Context(), &workspace{exec: exec}); len(r.failures) != 1 || !strings.Contains(r.failures[0].Text, "parsing go.mod") {
		t.Errorf("failures are %v, want what go list said", r.failures)
	}
}

func TestProps_OnlyPackagesWithAPropertyLibraryRunAndCasesAreCounted(t *testing.T) {
	exec, ran := replies(t,
		list("m\tm/pkg\t[testing pgregory.net/rapid][]", "m\tm/hash\t[][github.com/leanovate/gopter]", "m\tm/ci\t[testing][]"),
		reply{has: "go test", out: events("start m/pkg", "run m/pkg TestView_Law",
			"output m/pkg TestView_Law [rapid] OK, passed 300 tests (1.2ms)", "pass m/pkg TestView_Law", "pass m/pkg",
			"start m/hash", "run m/hash TestHash_Law", "output m/hash TestHash_Law + even: OK, passed 200 tests.",
			"pass m/hash TestHash_Law", "pass m/hash")})
	r := props(t.Context(), &workspace{exec: exec, settings: settings{seed: 7, checks: 300}})
	if r.passed != 2 || r.counts["generated cases"] != 500 {
		t.Errorf("got %d passed and %v, want 2 and 500 generated cases", r.passed, r.counts)
	}
	for _, want := range []string{"RAPID_SEED=7", "GOPTER_SEED=7", "RAPID_CHECKS=300", "GOPTER_CHECKS=300", "-run _Law m/pkg m/hash"} {
		if !strings.Contains((*ran)[1], want) {
			t.Errorf("ran %q, want it to contain %q", (*ran)[1], want)
		}
	}
	if strings.Contains((*ran)[1], "m/ci") {
		t.Errorf("ran %q, which has no property library", (*ran)[1])
	}
}

var corpus = reply{has: "-run ^Fuzz", out: events("start m/fuzz", "run m/fuzz FuzzX", "run m/fuzz FuzzX/seed#0",
	"pass m/fuzz FuzzX/seed#0", "pass m/fuzz FuzzX", "pass m/fuzz")}

func hunt(said string) reply {
	return reply{has: "-fuzz ^FuzzX$", out: events("start m/fuzz", "run m/fuzz FuzzX", "output m/fuzz FuzzX "+said,
		"pass m/fuzz FuzzX", "pass m/fuzz")}
}

func TestFuzz_CorpusThenAFixedNumberOfExecutions(t *testing.T) {
	exec, ran := replies(t, list("m\tm/fuzz\t[][]"), corpus, hunt("fuzz: elapsed: 0s, execs: 1003 (1/sec), new interesting: 3 (total: 4)"))
	r := fuzz(t.Context(), &workspace{exec: exec, settings: settings{fuzzExecs: 1000}})
	if len(r.failures) > 0 || r.counts["executions"] != 1000 || r.counts["corpus entries"] != 1 || r.counts["fuzz targets"] != 1 {
		t.Errorf("got %v and failures %q, want 1 target, 1 corpus entry and the 1000 executions asked for", r.counts, failureNames(r))
	}
	if r.figures["FuzzX executions"] != 1003 {
		t.Errorf("figures are %v, want what varies: 1003 executions", r.figures)
	}
	if got := (*ran)[2]; !strings.Contains(got, "-fuzztime=1000x") {
		t.Errorf("ran %q, want 1000 executions", got)
	}
}

func TestFuzz_HuntThatStopsEarlyFails(t *testing.T) {
	exec, _ := replies(t, list("m\tm/fuzz\t[][]"), corpus, hunt("fuzz: elapsed: 0s, execs: 12 (1/sec), new interesting: 0 (total: 1)"))
	r := fuzz(t.Context(), &workspace{exec: exec, settings: settings{fuzzExecs: 1000}})
	if got, want := failureNames(r), []string{"fuzz FuzzX: stopped early"}; !slices.Equal(got, want) {
		t.Errorf("failures are %q, want %q", got, want)
	}
}

func TestFuzz_FoundInputFails(t *testing.T) {
	exec, _ := replies(t, list("m\tm/fuzz\t[][]"), corpus, reply{has: "-fuzz ^FuzzX$", exit: 1, out: events("start m/fuzz", "run m/fuzz FuzzX",
		"output m/fuzz FuzzX Failing input written to testdata/fuzz/FuzzX/1", "fail m/fuzz FuzzX", "fail m/fuzz")})
	r := fuzz(t.Context(), &workspace{exec: exec, settings: settings{fuzzExecs: 1000}})
	if len(r.failures) != 1 || !strings.Contains(r.failures[0].Text, "Failing input written") || r.counts["executions"] != 0 {
		t.Errorf("failures are %v with counts %v, want the found input and no executions", r.failures, r.counts)
	}
}

// demoSays is a demo program that writes a summary and exits.
func demoSays(t *testing.T, exit int, summary string) execFunc {
	exec, _ := replies(t, list("m\tm/examples/demo\t[][]"), reply{has: "go build"},
		reply{has: "-policy", exit: exit, out: "the demo's own words", do: func(c command) {
			if summary != "" {
				if err := os.WriteFile(c.argv[len(c.argv)-1], []byte(summary), 0o600); err != nil {
					t.Error(err)
				}
			}
		}})
	return exec
}

func demoSummary(t *testing.T, promises ...record.Promise) string {
	t.Helper()
	b, err := json.Marshal(record.Demo{Policy: "random", Promises: promises, Backends: []record.Backend{{Name: "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestDemo_PromisesAreItsChecks(t *testing.T) {
	kept := record.Promise{Name: "no slot leaks", Held: true}
	broken := record.Promise{Name: "no goroutine stays", Detail: "2 stayed"}
	for _, c := range []struct {
		name    string
		exit    int
		summary string
		passed  int
		want    []string
	}{
		{name: "kept promises pass", summary: demoSummary(t, kept, kept), passed: 2},
		{name: "a broken promise fails even if the demo exits 0", summary: demoSummary(t, kept, broken), passed: 1, want: []string{"broken: no goroutine stays"}},
		{name: "a bad exit fails even if the summary is fine", exit: 3, summary: demoSummary(t, kept), passed: 1,
			want: []string{"the demo ended with exit code 3 although its summary breaks no promise"}},
		{name: "no summary fails", want: []string{"the demo left no summary"}},
		{name: "a summary without promises fails", summary: demoSummary(t), want: []string{"the demo left no summary"}},
		{name: "a summary with an unknown key fails", summary: `{"polic":"random"}`, want: []string{"the demo left no summary"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := demo(t.Context(), &workspace{exec: demoSays(t, c.exit, c.summary)})
			if got := failureNames(r); !slices.Equal(got, c.want) || r.passed != c.passed {
				t.Errorf("got %d passed and failures %q, want %d and %q", r.passed, got, c.passed, c.want)
			}
		})
	}
}

func TestDemo_BuildFailureIsTold(t *testing.T) {
	exec, _ := replies(t, list("m\tm/examples/demo\t[][]"), reply{has: "go build", exit: 1, out: "main.go:3: undefined: x"})
	r := demo(t.Context(), &workspace{exec: exec})
	if len(r.failures) != 1 || r.failures[0].Name != "examples/demo: build failed" || !strings.Contains(r.failures[0].Text, "undefined") {
		t.Errorf("failures are %v, want the build failure", r.failures)
	}
}
