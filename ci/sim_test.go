package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// simTree is a workspace with one scenario, in which the simulator ends with the exit
// code and leaves the result; none if it is empty.
func simTree(t *testing.T, exit int, left string) (*workspace, *[]string) {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "sim/scenarios"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "sim/scenarios/a.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	exec, ran := replies(t, list("m\tm/sim\t[][]"),
		reply{has: "go test", out: events("start m/sim", "run m/sim TestX", "pass m/sim TestX", "pass m/sim")},
		reply{has: "go build"},
		reply{has: "-random", exit: exit, out: "the simulator's own words", do: func(c command) {
			if left == "" {
				return
			}
			folder := c.argv[slices.Index(c.argv, "-out")+1]
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Error(err)
			}
			if err := os.WriteFile(filepath.Join(folder, "result.json"), []byte(left), 0o600); err != nil {
				t.Error(err)
			}
		}})
	return &workspace{root: root, exec: exec, settings: settings{seed: 3, simSeeds: 5, simRandom: 7}}, ran
}

func TestSim_BoundsAreItsChecks(t *testing.T) {
	for _, c := range []struct {
		name   string
		exit   int
		left   string
		passed int
		want   []string
	}{
		{name: "bounds that hold pass", left: `{"held":4}`, passed: 5},
		{name: "a bound that fails fails even if the program exits 0", left: `{"held":4,"failures":[{"name":"x","text":"y"}]}`, passed: 5, want: []string{"x"}},
		{name: "a bad exit fails even if the result is fine", exit: 2, left: `{"held":4}`, passed: 5,
			want: []string{"the simulator ended with exit code 2 although its result names no failure"}},
		{name: "no result fails", passed: 1, want: []string{"the simulator left no result"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, ran := simTree(t, c.exit, c.left)
			r := sim(t.Context(), w)
			if got := failureNames(r); !slices.Equal(got, c.want) || r.passed != c.passed {
				t.Errorf("got %d passed and failures %q, want %d and %q", r.passed, got, c.passed, c.want)
			}
			if got := (*ran)[3]; !strings.Contains(got, "-seed 3000000 -seeds 5 -random 7") {
				t.Errorf("ran %q, want the seeds of SEED, SEEDS and RANDOM", got)
			}
		})
	}
}

func TestSim_WithoutScenariosFails(t *testing.T) {
	w, _ := simTree(t, 0, "")
	if err := os.Remove(filepath.Join(w.root, "sim/scenarios/a.txt")); err != nil {
		t.Fatal(err)
	}
	if got := failureNames(sim(t.Context(), w)); !slices.Equal(got, []string{"sim/scenarios: no scenario"}) {
		t.Errorf("failures are %q, want that there is no scenario", got)
	}
}

func TestSim_HandsOnTheScenarios(t *testing.T) {
	w, _ := simTree(t, 0, `{"held":4,"chapters":[{"name":"outage","title":"all fail","cases":1,"held":4,"of":4,"case":"outage","lines":[]}]}`)
	if r := sim(t.Context(), w); len(r.simulations) != 1 || r.simulations[0].Name != "outage" {
		t.Errorf("the scenarios are %+v, want the one of the result", r.simulations)
	}
}
