package drift

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

func TestEvidence(t *testing.T) {
	rows := Evidence(repository(t))
	kinds := map[string]int{}
	for _, row := range rows {
		for _, claim := range row.Claims {
			for _, quote := range claim.By {
				if len(quote.Runs) == 0 {
					t.Errorf("%s:%d: no test runs what quotes %q", quote.File, quote.Line, claim.Text)
				}
			}
		}
		for means := range row.Means {
			kinds[means]++
		}
	}
	for _, kind := range Means {
		if kinds[kind] == 0 && kind != "simulation" { // no scenario quotes a promise yet
			t.Errorf("no %s quotes anything; teach evidence.go where it stands now", kind)
		}
	}
}

func TestEvidence_FindsCodeAndRuns(t *testing.T) {
	rows := Evidence(grow(t, soundClaims, `
-- pkg/policy/policy_test.go --
package policy_test

import "example.com/m/pkg/policytest"

func TestNew(t *testing.T) { suite(t) }

func suite(t *testing.T) { policytest.Run(t) }

func TestOther(t *testing.T) { t.Log() }
-- models/seed_test.go --
//go:build interleave

package models

// Claim: A seed replays.
// Code: New, T
func TestSeed(t *testing.T) { t.Log() }
-- spec/replay/close_test.go --
package replay_test

const graph = "../tla/close/Close.graph"

func TestClose_Walks(t *testing.T) { replay.Walk(t, graph) }

func TestClose_Loads(t *testing.T) { replay.Load(t, graph) }

func TestOther_Walks(t *testing.T) { replay.Walk(t, "../tla/other/Other.graph") }
`))
	code, runs := map[string]string{}, map[string]string{}
	ids := map[string]bool{}
	for _, row := range rows {
		for _, claim := range row.Claims {
			ids[claim.ID] = true
			for _, group := range claim.Code {
				for _, one := range group.Ranges {
					code[claim.Text] += fmt.Sprintf("%s:%s:%d ", group.Name, one.Name, one.From)
				}
			}
			for _, quote := range claim.By {
				runs[claim.Text] += fmt.Sprint(quote.Runs, quote.Law != nil, " ")
			}
		}
	}
	for text, want := range map[string]string{
		"New is pure.":                     "New:pkg.New:28 ",
		"Close is final.":                  "T.Close:pkg.T.Close:35 ",
		"Prepare builds.":                  "Policy.Prepare:pkg.T.Prepare:37 ",
		"Pick chooses among the eligible.": "Policy:pkg.T.Prepare:37 ",
		"A seed replays.":                  "New:pkg.New:28 T:pkg.T.Close:35 T:pkg.T.Prepare:37 ",
	} {
		if code[text] != want {
			t.Errorf("the code of %q is %q, want %q", text, code[text], want)
		}
	}
	for text, want := range map[string]string{
		"New is pure.":    "[{pkg FuzzNew }] false ",
		"Prepare builds.": "[{pkg/policy TestNew }] true ",
		"Close is final.": "[{spec/replay TestClose_Walks }] false ",
		"A seed replays.": "[{models TestSeed interleave}] false [{pkg TestPolicy_Works }] false ",
	} {
		if runs[text] != want {
			t.Errorf("%q runs in %q, want %q", text, runs[text], want)
		}
	}
	if len(ids) != 5 || !ids["pkg.New-c611c1e1"] {
		t.Errorf("the ids are %v", ids)
	}
}

func TestEvidence_TellsKindsApart(t *testing.T) {
	const claim = "\n\n// Claim: A seed replays.\n"
	repo := grow(t, soundClaims,
		"-- pkg/policy/law_test.go --\npackage policy_test"+claim+"func TestSeed_Law(t *testing.T) { t.Log() }\n",
		"-- models/seed_test.go --\npackage models"+claim+"func TestSeed(t *testing.T) { t.Log() }\n",
		"-- models/walk/seed_test.go --\npackage walk"+claim+"func TestSeed(t *testing.T) { t.Log() }\n",
		"-- linearizability/seed_test.go --\npackage linearizability"+claim+"func TestSeed(t *testing.T) { t.Log() }\n",
		"-- fuzz/seed_test.go --\npackage fuzz"+claim+"func FuzzSeed(f *testing.F) { f.Add() }\n",
		"-- sim/seed_test.go --\npackage sim"+claim+"func TestSeed(t *testing.T) { t.Log() }\n",
		"-- spec/tla/seed/Seed.tla --\n\\* Claim: A seed replays.\n",
	)
	rows := Evidence(repo)
	i := slices.IndexFunc(rows, func(r EvidenceRow) bool { return r.Type == "pkg.Policy" })
	if i < 0 {
		t.Fatalf("no row of the type: %v", rows)
	}
	byKind := map[string]string{}
	for _, claim := range rows[i].Claims {
		for _, quote := range claim.By {
			byKind[quote.Kind] += path.Base(path.Dir(quote.File)) + " "
		}
	}
	const want = "map[fuzz:fuzz  histories:linearizability  law:policy policytest  model:models  simulation:sim  specification:seed  test:pkg pkg  walk:walk ]"
	if got := fmt.Sprint(byKind); len(rows[i].Claims) != 3 || got != want {
		t.Errorf("%d claims, %s, want 3 and %s", len(rows[i].Claims), got, want)
	}
	quotes := 0
	for _, claim := range rows[i].Claims {
		if claim.File == "" || claim.Of == "" {
			t.Errorf("%+v does not say where it stands", claim)
		}
		if claim.Text == "A seed replays." {
			quotes = len(claim.By)
		}
	}
	if len(rows[i].Claims) != 3 || quotes < 7 {
		t.Errorf("%d claims, %d quotes of one, want 3 and at least 7", len(rows[i].Claims), quotes)
	}
}

// What is gathered from maps is in order, so that two records of one commit agree.
func TestEvidence_IsTheSameEachTime(t *testing.T) {
	tree := ""
	for _, name := range []string{"D", "B", "C", "A", "E"} {
		tree += "-- pkg/" + strings.ToLower(name) + "/x.go --\npackage x\n\ntype " + name + " int\n\nfunc (" + name + ") Prepare() error { return nil }\n" +
			"-- pkg/" + strings.ToLower(name) + "/x_test.go --\npackage x\n\nimport \"example.com/m/pkg/policytest\"\n\nfunc Test" + name + "(t *testing.T) { policytest.Check(t) }\n"
	}
	rows := Evidence(grow(t, soundClaims, tree, `
-- pkg/policytest/own_test.go --
package policytest

import "example.com/m/pkg/policytest"

// Claim: New is pure.
func TestOwn(t *testing.T) { policytest.Run(t) }
-- drift/other_test.go --
package drift

import "example.com/m/pkg/policytest"

func TestOther(t *testing.T) { policytest.Run(t) }
-- models/plain_test.go --
//go:build !interleave

package models

// Claim: New is pure.
func TestPlain(t *testing.T) { t.Log() }
`))
	got := ""
	for _, row := range rows {
		for _, claim := range row.Claims {
			switch claim.Text {
			case "Prepare builds.":
				for _, one := range claim.Code[0].Ranges {
					got += one.Name + " "
				}
				got += fmt.Sprint(claim.By[0].Runs)
			case "New is pure.":
				for _, quote := range claim.By {
					got += fmt.Sprint(quote.Runs)
				}
			}
		}
	}
	const want = "[{models TestPlain }][{pkg FuzzNew }][{pkg/policytest TestOwn }]" +
		"pkg.T.Prepare pkg/a.A.Prepare pkg/b.B.Prepare pkg/c.C.Prepare pkg/d.D.Prepare pkg/e.E.Prepare " +
		"[{pkg/a TestA } {pkg/b TestB } {pkg/c TestC } {pkg/d TestD } {pkg/e TestE }]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestEvidence_TellsWhatTestsJudgeBy(t *testing.T) {
	rows := Evidence(grow(t, soundClaims, `
-- pkg/means_test.go --
package poise_test

import (
	"strings"
	"testing"

	"github.com/leanovate/gopter"
	laws "github.com/leanovate/gopter/prop"
	"pgregory.net/rapid"
)

// Claim: New is pure.
func TestRapid(t *testing.T) { rapid.Check(t, func(t *rapid.T) { compare(twinOf(t)) }) }

// Claim: New is pure.
func TestGopter(t *testing.T) { _ = laws.ForAll }

// Claim: New is pure.
func TestProperties(t *testing.T) { gopter.NewProperties(nil) }

// Claim: New is pure.
func TestGo(t *testing.T) { go func() { t.Log() }() }

// Claim: New is pure.
func TestGroup(t *testing.T) { wg.Go(nil) }

// Claim: New is pure.
func TestNew_Golden(t *testing.T) { t.Log() }

// Claim: New is pure.
func TestFile(t *testing.T) { goldenFile(t) }

// Claim: New is pure.
func TestPlain(t *testing.T) { t.Log() }
-- pkg/slow_reference_test.go --
package poise_test

// Claim: New is pure.
func TestSlow(t *testing.T) { t.Log() }
`))
	i := slices.IndexFunc(rows, func(r EvidenceRow) bool { return r.Type == "pkg.New" })
	got := ""
	for _, means := range Means {
		for _, check := range rows[i].Means[means] {
			got += means + " " + check.Of + ", "
		}
	}
	const want = "example TestPlain, rapid TestRapid, gopter TestGopter, gopter TestProperties, golden TestFile, golden TestNew_Golden, " +
		"twin TestRapid, twin TestSlow, race TestGo, race TestGroup, fuzz FuzzNew, "
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
