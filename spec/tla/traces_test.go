package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/spec/replay"
	"github.com/copyleftdev/poise-go/spec/tla/tlc"
)

// tracedTree is the good tree with a graph of its switch, and a history.
func tracedTree(t *testing.T, history string) *tree {
	t.Helper()
	tree, err := load(withGraph(t, goodTree()))
	if err != nil {
		t.Fatal(err)
	}
	step := func(res bool) replay.Value {
		return replay.Record{"op": replay.Of("Flip"), "res": replay.Of(res)}.Value()
	}
	g := &replay.Graph{
		Spec: "Switch", Source: tree.source("Switch"), Go: map[string]string{"Flip": "(*Switch).Flip"},
		States:  []replay.Record{{"on": replay.Of(false)}, {"on": replay.Of(true)}},
		Initial: []int{0},
		Edges:   []replay.Edge{{From: 0, To: 1, Step: step(true)}, {From: 1, To: 0, Step: step(false)}},
	}
	tree.graphs["switch/Switch.graph"] = g.String()
	tree.histories["switch/Switch.histories"] = "history []\n" + history
	return tree
}

func TestTraces_FollowWhatTheCodeDidAndRefuseWhatItDidNot(t *testing.T) {
	const (
		on  = "0 1 (*Switch).Flip [] => TRUE\n"
		off = "2 3 (*Switch).Flip [] => FALSE\n"
	)
	for _, c := range []struct {
		name, history string
		result        tlc.Result
		want          string // "" for no problem
	}{
		// Two steps have three states, and a wrong second step leaves two.
		{"both are as they should be", on + off, tlc.Result{Verdict: tlc.Success, Distinct: 5}, ""},
		{"TLC cannot follow", on + off, tlc.Result{Verdict: tlc.Success, Distinct: 4}, "4 steps of traces instead of 5"},
		{"TLC follows a wrong trace", on + off, tlc.Result{Verdict: tlc.Safety, Violated: "WrongTracesEndEarly"}, "TLC says safety"},
		{"the graph has no such path", on + on, tlc.Result{Verdict: tlc.Success, Distinct: 5}, "no path returns from"},
		{"the history cannot be read", "nonsense\n", tlc.Result{}, "Switch.histories: line 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := tracedTree(t, c.history)
			var asked tlc.Job
			run := func(_ context.Context, job tlc.Job) (tlc.Result, error) {
				if job.Name == "SwitchTraces" {
					asked = job
					return c.result, nil
				}
				return tlc.Result{Verdict: tlc.Success}, nil
			}
			var out bytes.Buffer
			verdicts := tree.gate(t.Context(), tree.of("Switch"), run, 1, &out)
			got := verdicts[len(verdicts)-1]
			if text := strings.Join(got.problems, "\n"); (text == "") != (c.want == "") || !strings.Contains(text, c.want) {
				t.Errorf("got %q, want %q", text, c.want)
			}
			if c.want != "" {
				return
			}
			for _, part := range []string{"Wrong == {2}", `<<[op |-> "Flip", res |-> TRUE],`, `[op |-> "Flip", res |-> TRUE]>>`} {
				if !strings.Contains(asked.Module, part) {
					t.Errorf("the module lacks %q:\n%s", part, asked.Module)
				}
			}
			if asked.Beside["Switch"] == "" || !strings.Contains(asked.Config, `Bug = "None"`) {
				t.Errorf("TLC is given %v and %q", asked.Beside, asked.Config)
			}
			if sum := tree.summarise(verdicts[len(verdicts)-1:]); sum.Passed != 1 || sum.Counts["traces followed"] != 2 || sum.Counts["configurations"] != 0 {
				t.Errorf("the summary is %+v", sum)
			}
		})
	}
}
