package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The ids of the claims of promising.
const (
	enterID = "pkg.Gate-f6f77a81"
	leaveID = "pkg.Gate-d33844db"
	emptyID = "pkg.Gate-e87640c5"
)

// killing runs the layer on promising, with an engine that has seen a change of Enter
// noticed, and with this list of claims that are open.
func killing(t *testing.T, engine reply, open string) result {
	t.Helper()
	exec, _ := replies(t, engine)
	return kills(t.Context(), &workspace{root: tree(t, promising, "-- ci/unnoticed.txt --\n"+open+"\n"), exec: exec})
}

func enterIsNoticed() reply {
	return reply{has: "go run ./mutation/claims -package ./pkg ", out: `[
		{"id": "` + enterID + `", "mutant": {"id": "m.Gate.Enter: increment", "file": "pkg/gate.go", "line": 12, "was": "g.n++", "becomes": "g.n--", "killer": "TestEnter"}, "tried": 1, "reached": 2},
		{"id": "` + leaveID + `", "tried": 3, "reached": 3}]`}
}

func TestKills_TakeOverWhatWasNoticed(t *testing.T) {
	r := killing(t, enterIsNoticed(), "# why\n"+leaveID+"\n"+emptyID)
	if len(r.failures) > 0 || len(r.shown.Noticed) != 1 || r.passed != 1 || r.figures["mutants tried"] != 4 || r.counts["not shown"] != 2 {
		t.Fatalf("noticed %+v, %d passed, %v, failures %v", r.shown.Noticed, r.passed, r.counts, failureNames(r))
	}
	if n := r.shown.Noticed[0]; n.Claim != enterID || n.At != "pkg/gate.go:12" || n.By != "TestEnter" || n.Becomes != "g.n--" {
		t.Errorf("noticed %+v", n)
	}
}

func TestKills_ReportEveryFault(t *testing.T) {
	for _, c := range []struct {
		name   string
		engine reply
		open   string
		want   []string
	}{
		{"a claim that nobody notices and that is not listed", enterIsNoticed(), leaveID, []string{emptyID + ": its checks notice no change of its code"}},
		{"a listed claim that is noticed", enterIsNoticed(), emptyID + "\n" + enterID + "\n" + leaveID, []string{"ci/unnoticed.txt:2: delete " + enterID}},
		{"a listed claim that is no more", enterIsNoticed(), emptyID + "\n" + leaveID + "\npkg.Gone-1", []string{"ci/unnoticed.txt:3: delete pkg.Gone-1"}},
		{"an engine that fails", reply{has: "go run", out: "[]", exit: 1}, emptyID + "\n" + enterID + "\n" + leaveID, []string{"judge the mutants of pkg"}},
		{"an engine that says nothing", reply{has: "go run"}, emptyID + "\n" + enterID + "\n" + leaveID, []string{"judge the mutants of pkg"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := failureNames(killing(t, c.engine, c.open)); !slices.Equal(got, c.want) {
				t.Errorf("failures are %q, want %q", got, c.want)
			}
		})
	}
}

func TestKills_OfOneClaimAsksForNoOther(t *testing.T) {
	engine := enterIsNoticed()
	engine.do = func(c command) {
		if text, err := os.ReadFile(c.argv[len(c.argv)-1]); err != nil || strings.Contains(string(text), leaveID) {
			t.Errorf("it was asked %s, %v", text, err)
		}
	}
	exec, _ := replies(t, engine)
	r := kills(t.Context(), &workspace{root: tree(t, promising, "-- ci/unnoticed.txt --\n"+leaveID+"\n"), exec: exec, settings: settings{claim: enterID}})
	if len(r.failures) > 0 || r.passed != 1 {
		t.Errorf("%d passed, failures %v", r.passed, r.failures)
	}
}

// The tests that are asked are those of the package of the code that the normal build
// has: the one behind a build tag is not.
func TestKills_AskTheTestsOfThePackage(t *testing.T) {
	asked := ""
	engine := enterIsNoticed()
	engine.do = func(c command) {
		text, err := os.ReadFile(c.argv[len(c.argv)-1])
		if err != nil {
			t.Error(err)
		}
		asked = string(text)
	}
	killing(t, engine, "")
	for _, want := range []string{
		`{"id":"` + enterID + `","code":[{"file":"pkg/gate.go","from":12,"to":12}],"tests":["TestEnter"]}`,
		`{"id":"` + leaveID + `","code":[{"file":"pkg/gate.go","from":12,"to":12},{"file":"pkg/gate.go","from":14,"to":14},{"file":"pkg/gate.go","from":16,"to":16}],"tests":["TestLeave"]}`,
	} {
		if !strings.Contains(asked, want) {
			t.Errorf("it was asked\n%s\nwant %s", asked, want)
		}
	}
}
