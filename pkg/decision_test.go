package poise_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

func TestDecision_ZeroValueDescribesNoPick(t *testing.T) {
	var d poise.Decision
	if got := d.String(); got != "no decision" {
		t.Errorf("it reads %q", got)
	}
}

func TestDecision_ReadsTheSameAsValueAndAsPointer(t *testing.T) {
	d := poise.Decision{View: view(t, named(1)...), Policy: "mine", Rule: policy.RuleOnly, Considered: 1}
	const want = "mine chose backend-0000: only one left\n  of 1 candidates 1 are eligible, 0 tried before, 1 considered"
	if value, pointer := fmt.Sprint(d), fmt.Sprint(&d); value != want || pointer != want {
		t.Errorf("they read\n%s\nand\n%s", value, pointer)
	}
}

// Claim: Note finds what AddNote added, as long as there was room for it.
// Claim: A Decision with more notes than it has room for keeps the first.
func TestDecision_KeepsTheFirstNotes(t *testing.T) {
	var d poise.Decision
	for k, name := range []string{"a", "b", "c"} {
		d.AddNote(poise.Note{Name: name, Value: uint64(k) + 1})
	}
	for k, name := range []string{"a", "b", "c", ""} {
		value, found := d.Note(name)
		if found != (k < 2) || found && value != uint64(k)+1 {
			t.Errorf("note %q is %d, %t", name, value, found)
		}
	}
}

// What a policy of the user's own fills in may be wrong; reading it must not panic.
//
// Claim: A Decision can be printed whatever a policy filled in.
func TestDecision_ReadsWhateverAPolicyFilledIn(t *testing.T) {
	v := view(t, named(2)...)
	for _, row := range []struct {
		decision poise.Decision
		first    string // line
		lines    int
	}{
		{poise.Decision{View: v, Rule: policy.RuleDraw, Chosen: 7}, " chose ?: drawn at random", 2},
		{poise.Decision{View: v, Rule: policy.RuleDraw, Chosen: -1}, " chose ?: drawn at random", 2},
		{poise.Decision{View: v, Rule: "a rule of my own", Chosen: 1}, " chose backend-0001: a rule of my own", 2},
		{poise.Decision{View: v, Rule: "mine", Notes: [2]poise.Note{{Name: "who", Value: math.MaxUint64, Candidate: true}, {Name: "n", Value: 9}}}, " chose backend-0000: mine", 4},
		{poise.Decision{View: v, Rule: policy.RuleTurn, ComparedLen: 3, Compared: [2]poise.Compared{{Index: 9}}}, " chose backend-0000: its turn", 4},
		{poise.Decision{View: v, Rule: policy.RuleTurn, ComparedLen: -1}, " chose backend-0000: its turn", 2},
		{poise.Decision{View: new(poise.View)}, " chose nothing: <nil>", 2},
	} {
		lines := strings.Split(row.decision.String(), "\n")
		if lines[0] != row.first || len(lines) != row.lines {
			t.Errorf("it reads %q", lines)
		}
	}
}

// Claim: String names the policy, the candidate that was chosen or why none was, and each candidate that was left out.
func TestDecision_OfAFailureSaysWhy(t *testing.T) {
	v := view(t, poise.Sample{ID: "a", Status: poise.Draining}, poise.Sample{ID: "b", Excluded: poise.ExcludedCircuitOpen})
	picker, err := new(policy.RoundRobin).Prepare(v)
	if err != nil {
		t.Fatal(err)
	}
	var why poise.Decision
	if _, err := picker.Pick(poise.Query{Why: &why}); !errors.Is(err, poise.ErrNoEligible) {
		t.Errorf("Pick: %v", err)
	}
	want := why.Policy + ` chose nothing: poise: no eligible candidate
  of 2 candidates 0 are eligible, 0 tried before, 0 considered
  left out a: draining
  left out b: circuit open`
	if got := why.String(); got != want {
		t.Errorf("it reads\n%s\nwant\n%s", got, want)
	}
}

// Cases: B114.
func TestDecision_AndErrorsQuoteIdentitiesThatCouldPassForMore(t *testing.T) {
	v := view(t,
		poise.Sample{ID: "a\n  left out b: draining", Status: poise.Draining, Load: &meter{err: errors.New("lost")}},
		poise.Sample{ID: "b\x1b[2J\xff"}, poise.Sample{ID: "grün"},
	)
	for chosen, want := range []string{`"a\n  left out b: draining"`, `"b\x1b[2J\xff"`, "grün"} {
		text := poise.Decision{View: v, Policy: "mine", Rule: policy.RuleDraw, Chosen: chosen}.String()
		if lines := strings.Split(text, "\n"); len(lines) != 3 || !strings.HasPrefix(lines[0], "mine chose "+want+":") {
			t.Errorf("it reads %q", text)
		}
	}
	if _, err := v.Load(0, start); err == nil || strings.ContainsRune(err.Error(), '\n') {
		t.Errorf("the error reads %q", err)
	}
}

// Claim: The text of a Decision has no control characters but its own line breaks.
func TestDecision_EscapesWhateverAPolicyFilledIn(t *testing.T) {
	const odd = "a\r\nb\x1b[2J\u202e"
	d := poise.Decision{
		View: view(t, poise.Sample{ID: odd}), Policy: odd, Measure: odd, ComparedLen: 1, Err: errors.New(odd),
		Scope: poise.ScopeChoice{Policy: odd, Locality: odd, EffectiveWeight: 1},
		Notes: [2]poise.Note{{Name: odd}, {Name: odd, Candidate: true}},
	}
	for _, rule := range []poise.Rule{poise.RuleNone, odd} {
		d.Rule = rule
		text := d.String()
		if strings.ContainsAny(text, "\r\x1b\u202e") || strings.Count(text, "\n") != 5 {
			t.Errorf("it reads %q", text)
		}
	}
}
