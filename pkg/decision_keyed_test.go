package poise_test

import (
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// What the keyed policies add to an explanation is said in words.
func TestDecision_ExplainsKeyedPicks(t *testing.T) {
	view, err := poise.NewView([]poise.Candidate{poise.Sample{ID: "a"}, poise.Sample{ID: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		decision poise.Decision
		want     []string
		absent   []string
	}{
		{
			poise.Decision{Rule: policy.RuleRing, Measure: policy.MeasurePlace, Notes: [2]poise.Note{{Name: policy.NoteTable, Value: 7}}, Compared: [2]poise.Compared{{Index: 1, Figure: 12}}, ComparedLen: 1},
			[]string{"P chose b: next on the ring", "compared b: place 12", "table of the policy: 7"},
			[]string{"bound", "owner"},
		},
		{
			poise.Decision{Rule: policy.RuleTable, Measure: policy.MeasurePlace, Compared: [2]poise.Compared{{Index: 1, Figure: 3}}, ComparedLen: 1},
			[]string{"slot in the table", "compared b: place 3"}, nil,
		},
		{
			poise.Decision{Rule: policy.RuleWalked, Measure: policy.MeasurePlace, Compared: [2]poise.Compared{{Index: 1, Figure: 3}}, ComparedLen: 1},
			[]string{"next untried from the key's place", "place 3"}, []string{"table of"},
		},
		{
			poise.Decision{Rule: policy.RuleWeightedHash, Measure: poise.MeasureHash, Compared: [2]poise.Compared{{Index: 1, Figure: 255}}, ComparedLen: 1},
			[]string{"best hash for its weight", "compared b: hash 00000000000000ff"}, []string{"table of"},
		},
		{
			poise.Decision{
				Rule: policy.RuleSpilled, ComparedLen: 2,
				Notes:    [2]poise.Note{{Name: policy.NoteOwner, Candidate: true}, {Name: policy.NoteCapacity, Value: 5}},
				Compared: [2]poise.Compared{{Index: 1, Figure: 2}, {Index: 0, Figure: 9}},
			},
			[]string{"spilled from the owner", "compared b: load 2", "compared a: load 9", "load bound: 5", "owner of the key: a"}, nil,
		},
		{
			poise.Decision{Rule: policy.RuleOwner, Notes: [2]poise.Note{{Name: policy.NoteCapacity, Value: 1}}, ComparedLen: 1, Compared: [2]poise.Compared{{Index: 1}}},
			[]string{"owner of the key", "load bound: 1"}, []string{"owner of the key:"},
		},
	} {
		row.decision.View, row.decision.Policy, row.decision.Chosen = view, "P", 1
		text := row.decision.String()
		for _, want := range row.want {
			if !strings.Contains(text, want) {
				t.Errorf("%v does not say %q:\n%s", row.decision.Rule, want, text)
			}
		}
		for _, absent := range row.absent {
			if strings.Contains(text, absent) {
				t.Errorf("%v says %q:\n%s", row.decision.Rule, absent, text)
			}
		}
	}
}
