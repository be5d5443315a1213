package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/spec/replay"
	"github.com/copyleftdev/poise-go/spec/tla/tlc"
)

const boxModule = `---- MODULE Box ----
CONSTANTS Bug
VARIABLES full, n, pc, last

\* Go: (*Box).Put, which fills it.
Put(c) == /\ ~full
          /\ n < 3 \/ Bug = "NoLimit"
          /\ Bug # "Stuck"
          /\ full' = TRUE
          /\ n' = IF full
                  THEN n ELSE n + 1
          /\ pc' = "out"
          /\ Say("Put", 0)

Next == Put(1)
Say(op, res) == last' = [op |-> op, res |-> res]
TypeOK == pc \in {"in", "out", ""}
Witness_Full == ~full
====
`

func box(t *testing.T) module {
	t.Helper()
	m, err := parseModule("box/Box.tla", boxModule)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMutants_ChangeOneThingEach(t *testing.T) {
	var got []string
	for _, m := range mutants(box(t)) {
		got = append(got, m.name())
		if strings.Count(m.text, "\n") != strings.Count(boxModule, "\n") || m.text == boxModule {
			t.Errorf("%s: the text is not one changed line", m.name())
		}
	}
	want := []string{
		`Box.Put: Put(c) == /\ ~full  →  Put(c) == /\ TRUE`,
		`Box.Put: /\ n < 3 \/ Bug = "NoLimit"  →  /\ TRUE`,
		`Box.Put: /\ n < 3 \/ Bug = "NoLimit"  →  /\ n < 4 \/ Bug = "NoLimit"`,
		`Box.Put: /\ full' = TRUE  →  /\ full' = full`,
		`Box.Put: /\ full' = TRUE  →  /\ full' = FALSE`,
		`Box.Put: THEN n ELSE n + 1  →  THEN n ELSE n + 2`,
		`Box.Put: /\ pc' = "out"  →  /\ pc' = pc`,
		`Box.Put: /\ pc' = "out"  →  /\ pc' = ""`,
		`Box.Put: /\ Say("Put", 0)  →  /\ Say("Put", 1)`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestSpread_KeepsMutantsFromEverywhere(t *testing.T) {
	all := make([]mutant, 10)
	for i := range all {
		all[i].line = i
	}
	var lines []int
	for _, m := range spread(all, 4) {
		lines = append(lines, m.line)
	}
	if fmt.Sprint(lines) != "[0 2 5 7]" || len(spread(all, 10)) != 10 {
		t.Errorf("kept lines %v", lines)
	}
}

// switchDot is the graph of the switch of the good tree, with an edge more if asked.
func switchDot(edges ...string) string {
	return "strict digraph D {\n" +
		`1 [label="/\\ on = FALSE\n/\\ last = [op |-> \"Init\", res |-> FALSE]",style = filled]` + "\n" +
		`2 [label="/\\ on = TRUE\n/\\ last = [op |-> \"Flip\", res |-> TRUE]"];` + "\n" +
		strings.Join(edges, "\n") + "\n}\n"
}

func TestKilling_NamesWhoNotices(t *testing.T) {
	const flip = `1 -> 2 [label="Flip",color="black",fontcolor="black"];`
	tree, err := load(withGraph(t, goodTree()))
	if err != nil {
		t.Fatal(err)
	}
	good := tlc.Result{Verdict: tlc.Success, Initial: 1, Generated: 2, Distinct: 2, Dot: switchDot(flip), Said: `"reached On"`}
	g, err := replay.FromDot(good.Dot, replay.Counts{Initial: 1, Generated: 2, Distinct: 2})
	if err != nil {
		t.Fatal(err)
	}
	g.Spec, g.Source = "Switch", "text"
	tree.graphs["switch/Switch.graph"] = g.String()
	other := good
	other.Generated, other.Dot = 3, switchDot(flip, strings.Replace(flip, "1 ->", "2 ->", 1))
	silent := other
	silent.Said = ""
	tree.configs["Switch_Live"] = "SPECIFICATION Spec\nPROPERTY GoesOff\n"
	for _, c := range []struct {
		name   string
		result tlc.Result
		err    error
		live   tlc.Verdict
		walks  bool // refuse
		want   []judge
	}{
		{name: "an invariant", result: tlc.Result{Verdict: tlc.Safety}, want: []judge{bySafety}},
		{name: "a deadlock", result: tlc.Result{Verdict: tlc.Deadlock}, want: []judge{bySafety}},
		{name: "a run without end", err: fmt.Errorf("stopped: %w", context.DeadlineExceeded), want: []judge{bySafety}},
		{name: "nothing to notice", result: good, want: []judge{equal}},
		{name: "a walk", result: other, walks: true, want: []judge{byReplay}},
		{name: "a witness, and a walk", result: silent, walks: true, want: []judge{byWitnesses, byReplay}},
		{name: "liveness alone", result: other, live: tlc.Liveness, want: []judge{byLiveness}},
		{name: "nobody", result: other, live: tlc.Success, want: []judge{survives}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := &killing{
				tree: tree, reached: map[string][]string{"Switch": {"On"}},
				run: func(_ context.Context, job tlc.Job) (tlc.Result, error) {
					if job.Name == "SwitchNoted" {
						return c.result, c.err
					}
					return tlc.Result{Verdict: c.live}, nil
				},
				walks: func(context.Context, string, *replay.Graph) (bool, error) { return c.walks, nil },
			}
			m := mutants(tree.modules["Switch"])[:1]
			var out bytes.Buffer
			tallies, survivors, err := k.campaign(t.Context(), m, 1, &out)
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range c.want {
				if tallies["Switch"][j] != 1 {
					t.Errorf("got %v, want %v", tallies, c.want)
				}
			}
			if len(tallies["Switch"]) != len(c.want)+1 || (len(survivors) == 1) != slices.Contains(c.want, survives) {
				t.Errorf("got %v and survivors %q, want %v", tallies, survivors, c.want)
			}
			if table := killTable(tallies); !strings.Contains(table, "| Switch | 1 |") {
				t.Errorf("the table is\n%s", table)
			}
		})
	}
}

func TestSurvivors_HaveReasonsAndReasonsSurvivors(t *testing.T) {
	reasons, err := parseReasons("# why\nA.x: 1\n  because\n  of that\nB.*\n  no walk\nC.y: 2\n  gone\n")
	if err != nil {
		t.Fatal(err)
	}
	got := unexplained([]string{"A.x: 1", "B.z: 3", "D.w: 4"}, reasons, "")
	want := []string{"survives without a reason: D.w: 4", "spec/tla/survivors.txt: no survivor is C.y: 2; take the reason out"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := unexplained(nil, reasons, "D"); len(got) > 0 {
		t.Errorf("reasons of other specifications are asked for: %q", got)
	}
	for _, text := range []string{"  a reason\n", "A.x: 1\n"} {
		if _, err := parseReasons(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
