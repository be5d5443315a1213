package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/ci/record"
)

func TestModels_CountsAreAddedUpAndTheLargestMaximumIsKept(t *testing.T) {
	exec, ran := replies(t, list("m\tm/models\t[][]", "m\tm/models/explore\t[][]", "m\tm/pkg\t[][]"),
		reply{has: "go vet"},
		reply{has: "go test", out: events(
			"start m/models", "run m/models TestA",
			"output m/models TestA check.go:1: counts: models=1 executions=70 max-steps=9",
			"output m/models TestA check.go:1: counts: models=1 executions=30 max-steps=4",
			`output m/models TestA check.go:2: model: {"name":"a","reduced":70,"brute_force":1000,"estimated":false,"outcomes":2}`,
			"output m/models TestA check.go:3: timing: took=1.5",
			"output m/models TestA check.go:3: counts: are not all that is said",
			"pass m/models TestA", "pass m/models",
			"start m/models/explore", "run m/models/explore TestB", "output m/models/explore TestB check.go:1: counts: models=8",
			"pass m/models/explore TestB", "pass m/models/explore")})
	r := models(t.Context(), &workspace{exec: exec})
	if len(r.failures) > 0 || r.passed != 5 { // vet, and two tests in each build
		t.Errorf("got %d passed and failures %q, want 5 and none", r.passed, failureNames(r))
	}
	want := "map[executions:200 max steps:9 models:4 packages:4 tests:4]"
	if got := fmt.Sprint(r.counts); got != want {
		t.Errorf("counts are %s, want %s", got, want)
	}
	if got := fmt.Sprint(r.figures); got != "map[took:3]" {
		t.Errorf("figures are %s", got)
	}
	row := record.Model{Name: "a", Reduced: 70, BruteForce: 1000, Outcomes: 2}
	if !slices.Equal(r.models, []record.Model{row, row}) {
		t.Errorf("models are %v", r.models)
	}
	for i, want := range []string{"go list", "go vet -race -tags interleave ./models/...", "-vet=off -tags interleave m/models m/models/explore ./pkg/internal/...",
		"-vet=off -race -tags interleave m/models m/models/explore ./pkg/internal/..."} {
		if !slices.ContainsFunc(*ran, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("command %d: none of %q contains %q", i, *ran, want)
		}
	}
}

func TestLin_RunsBothBuilds(t *testing.T) {
	exec, ran := replies(t, list("m\tm/linearizability\t[][]"),
		reply{has: "go test", out: events("start m/linearizability", "run m/linearizability TestA",
			"output m/linearizability TestA x.go:1: counts: goroutine-histories=250",
			"output m/linearizability TestA x.go:1: timing: goroutine-operations=9 max-check-p99-ms=0.25",
			"fail m/linearizability TestA", "fail m/linearizability"), exit: 1})
	r := lin(t.Context(), &workspace{exec: exec})
	if len(r.failures) != 2 || r.counts["goroutine histories"] != 500 || r.figures["max check p99 ms"] != 0.25 || r.figures["goroutine operations"] != 18 {
		t.Errorf("failures %q, counts %v, figures %v", failureNames(r), r.counts, r.figures)
	}
	for _, want := range []string{"-race m/linearizability", "-race -tags interleave m/linearizability"} {
		if !slices.ContainsFunc(*ran, func(s string) bool { return strings.HasSuffix(s, want) }) {
			t.Errorf("none of %q ends in %q", *ran, want)
		}
	}
}
