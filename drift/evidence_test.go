package drift

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// The rows are printed for the report, which shows them as a table.
func TestEvidence(t *testing.T) {
	rows := Evidence(repository(t))
	kinds := map[string]int{}
	for _, row := range rows {
		text, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("evidence: %s", text)
		for kind := range row.Kinds {
			kinds[kind]++
		}
	}
	for _, kind := range []string{"test", "law", "fuzz", "model", "walk", "histories", "specification"} {
		if kinds[kind] == 0 {
			t.Errorf("no %s quotes anything; teach evidence.go where it stands now", kind)
		}
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
	const want = "map[fuzz:[fuzz/seed_test.go] histories:[linearizability/seed_test.go] law:[pkg/policy/law_test.go pkg/policytest/laws.go] model:[models/seed_test.go] " +
		"simulation:[sim/seed_test.go] specification:[spec/tla/seed/Seed.tla] test:[pkg/poise_test.go] walk:[models/walk/seed_test.go]]"
	if got := fmt.Sprint(rows[i].Kinds); rows[i].Promises != 3 || got != want {
		t.Errorf("%d promises, %s, want 3 and %s", rows[i].Promises, got, want)
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
