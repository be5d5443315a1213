package main

import (
	"reflect"
	"testing"

	"github.com/copyleftdev/poise-go/ci/record"
)

func TestDrift_TakesOverTheEvidenceOfEachType(t *testing.T) {
	exec, _ := replies(t, list("m\tm/drift\t[][]"), reply{has: "m/drift", out: events("start m/drift", "run m/drift TestEvidence",
		`output m/drift TestEvidence evidence_test.go:1: evidence: {"type":"pkg.View","promises":3,"kinds":{"law":["pkg/view_prop_test.go"]}}`,
		"pass m/drift TestEvidence", "pass m/drift")})
	r := drift(t.Context(), &workspace{exec: exec})
	want := []record.Evidence{{Type: "pkg.View", Promises: 3, Kinds: map[string][]string{"law": {"pkg/view_prop_test.go"}}}}
	if len(r.failures) > 0 || r.passed != 1 || !reflect.DeepEqual(r.evidence, want) {
		t.Errorf("got %+v", r)
	}
}

func TestDrift_FailsWithoutEvidence(t *testing.T) {
	exec, _ := replies(t, list("m\tm/drift\t[][]"), reply{has: "m/drift", out: events("start m/drift", "run m/drift TestLinks",
		"pass m/drift TestLinks", "pass m/drift")})
	if r := drift(t.Context(), &workspace{exec: exec}); len(r.failures) != 1 {
		t.Errorf("a run without evidence: %+v", r)
	}
}
