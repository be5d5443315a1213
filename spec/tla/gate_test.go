package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/spec/tla/tlc"
)

// says returns a runner that always answers the same.
func says(r tlc.Result, err error) runner {
	return func(context.Context, tlc.Job) (tlc.Result, error) { return r, err }
}

func TestGate_ComparesWhatTLCSaysWithTheManifest(t *testing.T) {
	tree, err := load(withGraph(t, goodTree()))
	if err != nil {
		t.Fatal(err)
	}
	good := tlc.Result{Verdict: tlc.Success, Distinct: 2, Depth: 2, Taken: map[string]int{"Flip": 2, "Blow": 1}}
	altered := func(f func(*tlc.Result)) tlc.Result {
		r := good
		f(&r)
		return r
	}
	for _, c := range []struct {
		name, config string
		result       tlc.Result
		err          error
		want         string // "" for no problem
	}{
		{name: "a good run passes", config: "Switch", result: good},
		{name: "a bug that is rejected passes", config: "Switch_Bug_Stuck",
			result: tlc.Result{Verdict: tlc.Safety, Violated: "Truth"}},
		{name: "a bug that is not rejected fails", config: "Switch_Bug_Stuck", result: good,
			want: `violated "" instead of "Truth"`},
		{name: "a bug that is rejected for something else fails", config: "Switch_Bug_Stuck",
			result: tlc.Result{Verdict: tlc.Safety, Violated: "TypeOK"}, want: `violated "TypeOK" instead of "Truth"`},
		{name: "a witness that is not reached fails", config: "Switch_Witness_On", result: good,
			want: `violated "" instead of "Witness_On"`},
		{name: "a violation where none is expected fails", config: "Switch",
			result: tlc.Result{Verdict: tlc.Safety, Violated: "Truth", Trace: "1: here"}, want: "1: here"},
		{name: "a deadlock fails", config: "Switch", result: tlc.Result{Verdict: tlc.Deadlock}, want: "(deadlock)"},
		{name: "a module that does not parse fails", config: "Switch_Bug_Stuck",
			result: tlc.Result{Verdict: tlc.Broken, Complaints: []string{"no such operator"}}, want: "no such operator"},
		{name: "another number of states fails", config: "Switch",
			result: altered(func(r *tlc.Result) { r.Distinct = 3 }), want: "3 distinct states of depth 2 instead of 2 and 2"},
		{name: "another depth fails", config: "Switch",
			result: altered(func(r *tlc.Result) { r.Depth = 1 }), want: "2 distinct states of depth 1 instead of 2 and 2"},
		{name: "a warning fails", config: "Switch",
			result: altered(func(r *tlc.Result) { r.Warnings = []string{"symmetry"} }), want: "TLC warns: symmetry"},
		{name: "an action that never happens fails", config: "Switch",
			result: altered(func(r *tlc.Result) { r.Taken = map[string]int{"Flip": 2, "Blow": 0} }),
			want:   "action Blow never happens"},
		{name: "a run that takes too long fails", config: "Switch", err: errors.New("stopped after 9s"), want: "stopped after 9s"},
		{name: "a dump that is cut off fails", config: "Switch_Dump", result: good, want: "cut off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var rows []row
			for _, r := range tree.rows {
				if r.Config == c.config {
					rows = append(rows, r)
				}
			}
			var out bytes.Buffer
			verdicts := tree.gate(t.Context(), rows, says(c.result, c.err), 2, &out)
			problems := strings.Join(verdicts[0].problems, "\n")
			if (c.want == "") != (problems == "") || !strings.Contains(problems, c.want) {
				t.Errorf("got %q, want %q", problems, c.want)
			}
			if sum := tree.summarise(verdicts); (sum.Passed == 1) != (c.want == "") || len(sum.Failures)+sum.Passed != 1 {
				t.Errorf("the summary counts %d passed and %d failed", sum.Passed, len(sum.Failures))
			}
		})
	}
}
