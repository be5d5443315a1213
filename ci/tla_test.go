package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/ci/record"
)

// checker is a spec/tla that writes a summary and prints "said".
func checker(t *testing.T, summary string, exit int) reply {
	return reply{has: "go run ./spec/tla check", out: "said", exit: exit, do: func(c command) {
		if summary == "" {
			return
		}
		file := c.argv[slices.Index(c.argv, "-json")+1]
		if err := os.WriteFile(file, []byte(summary), 0o600); err != nil {
			t.Error(err)
		}
	}}
}

func TestTLA_JoinsWhatTLCFoundWithWhatWasWalked(t *testing.T) {
	exec, ran := replies(t, list("m\tm/spec/replay\t[][]", "m\tm/spec/tla\t[][]", "m\tm/pkg\t[][]"),
		checker(t, `{"version":"2.18","passed":9,"counts":{"bugs rejected":3},"figures":{"Gate seconds":2.5},"failures":[],
			"specs":[{"name":"Gate","states":70,"depth":4,"bugs":3,"witnesses":2,"graph_states":3,"graph_edges":8},{"name":"Door","graph_edges":5}]}`, 0),
		reply{has: "-tags interleave m/models/walk", out: events("start m/models/walk", "run m/models/walk TestGate",
			`output m/models/walk TestGate steps.go:1: walk: {"spec":"Gate","edges":8}`, "pass m/models/walk TestGate", "pass m/models/walk")},
		reply{has: "m/spec/replay m/spec/tla", out: events("start m/spec/replay", "run m/spec/replay TestGate",
			`output m/spec/replay TestGate walk.go:1: walk: {"spec":"Gate","edges":7}`, "pass m/spec/replay TestGate",
			"output m/spec/replay histories.go:1: counts: calls-looked-up=6", "pass m/spec/replay")})
	r := tla(t.Context(), &workspace{exec: exec, settings: settings{spec: "Gate"}})
	if len(r.failures) > 0 || r.passed != 11 || r.tlc != "2.18" || r.counts["bugs rejected"] != 3 || r.figures["Gate seconds"] != 2.5 {
		t.Errorf("got %+v", r)
	}
	want := []record.Spec{
		{Name: "Gate", States: 70, Depth: 4, Bugs: 3, Witnesses: 2, GraphStates: 3, GraphEdges: 8, Walked: 8}, {Name: "Door", GraphEdges: 5},
	}
	if !slices.Equal(r.specs, want) || r.counts["edges walked"] != 8 || r.counts["edges of graphs"] != 13 || r.counts["calls looked up"] != 6 {
		t.Errorf("specifications are %+v and counts %v, want %+v", r.specs, r.counts, want)
	}
	if !slices.ContainsFunc(*ran, func(s string) bool { return strings.HasSuffix(s, "-spec Gate") }) ||
		!slices.ContainsFunc(*ran, func(s string) bool { return strings.Contains(s, "-run Gate m/spec/replay") }) {
		t.Errorf("ran %q, want Gate alone", *ran)
	}
}

func TestTLA_ARunThatFailsOrBreaksFails(t *testing.T) {
	for _, c := range []struct {
		name, summary string
		exit          int
		want          string
	}{
		{"a configuration fails", `{"passed":1,"failures":[{"name":"Gate_Live","text":"violated"}]}`, 1, "Gate_Live"},
		{"nothing is written", "", 1, "spec/tla did not finish"},
		{"it fails and names nothing", `{"passed":1}`, 1, "spec/tla failed and named no failure"},
	} {
		t.Run(c.name, func(t *testing.T) {
			exec, _ := replies(t, list("m\tm/spec/tla\t[][]"), checker(t, c.summary, c.exit),
				reply{has: "go test", out: events("start m/spec/tla", "pass m/spec/tla")})
			r := tla(t.Context(), &workspace{exec: exec})
			if len(r.failures) != 1 || r.failures[0].Name != c.want {
				t.Errorf("failures are %q, want %q", failureNames(r), c.want)
			}
		})
	}
}

func TestVerify_RefusesToJudgeOneSpecificationOnly(t *testing.T) {
	t.Setenv("SPEC", "Gate")
	if err := run(t.Context(), []string{"verify"}, new(strings.Builder)); err == nil || !strings.Contains(err.Error(), "make tla") {
		t.Errorf("got %v", err)
	}
}
