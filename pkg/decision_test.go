package poise_test

import (
	"errors"
	"fmt"
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
	d := poise.Decision{View: view(t, named(1)...), Policy: "mine", Rule: poise.RuleOnly, Considered: 1}
	const want = "mine chose backend-0000: only one left\n  of 1 candidates 1 are eligible, 0 tried before, 1 considered"
	if value, pointer := fmt.Sprint(d), fmt.Sprint(&d); value != want || pointer != want {
		t.Errorf("they read\n%s\nand\n%s", value, pointer)
	}
}

// What a policy of the user's own fills in may be wrong; reading it must not panic.
func TestDecision_ReadsWhateverAPolicyFilledIn(t *testing.T) {
	v := view(t, named(2)...)
	for _, row := range []struct {
		decision poise.Decision
		first    string // line
		lines    int
	}{
		{poise.Decision{View: v, Rule: poise.RuleDraw, Chosen: 7}, " chose ?: drawn at random", 2},
		{poise.Decision{View: v, Rule: poise.RuleDraw, Chosen: -1}, " chose ?: drawn at random", 2},
		{poise.Decision{View: v, Rule: 200, Chosen: 1}, " chose backend-0001: unknown rule", 2},
		{poise.Decision{View: v, Rule: poise.RuleTurn, ComparedLen: 3, Compared: [2]poise.Compared{{Index: 9}}}, " chose backend-0000: its turn", 4},
		{poise.Decision{View: v, Rule: poise.RuleTurn, ComparedLen: -1}, " chose backend-0000: its turn", 2},
		{poise.Decision{View: new(poise.View)}, " chose nothing: <nil>", 2},
	} {
		lines := strings.Split(row.decision.String(), "\n")
		if lines[0] != row.first || len(lines) != row.lines {
			t.Errorf("it reads %q", lines)
		}
	}
}

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

func ExampleDecision() {
	load := poise.NewInFlight(0)
	busy, err := load.Acquire()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer busy.Release()
	view, err := poise.NewView([]poise.Candidate{
		poise.Sample{ID: "ams-1", Load: load},
		poise.Sample{ID: "ams-2", Load: poise.NewInFlight(0)},
		poise.Sample{ID: "fra-1", Load: poise.NewInFlight(0), Status: poise.Draining},
		poise.Sample{ID: "fra-2", Load: poise.NewInFlight(0), Excluded: poise.ExcludedCircuitOpen},
		poise.Sample{ID: "lon-1", Load: poise.NewInFlight(0)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	two, err := policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	picker, err := two.Prepare(view)
	if err != nil {
		fmt.Println(err)
		return
	}

	var why poise.Decision
	var tried poise.Tried
	tried.Add("lon-1", 0)
	for range 2 {
		selection, err := picker.Pick(poise.Query{Tried: &tried, Why: &why})
		fmt.Println(why)
		if err != nil {
			return
		}
		index, err := view.Index(selection)
		fmt.Println("index", index, err)
		tried.Add("ams-1", 0)
		tried.Add("ams-2", 0)
	}
	// Output:
	// PowerOfTwoChoices chose ams-2: less loaded of two
	//   of 5 candidates 3 are eligible, 1 tried before, 2 considered
	//   compared ams-2: load 0
	//   compared ams-1: load 1
	//   left out fra-1: draining
	//   left out fra-2: circuit open
	// index 1 <nil>
	// PowerOfTwoChoices chose nothing: poise: every eligible candidate was tried
	//   of 5 candidates 3 are eligible, 3 tried before, 0 considered
	//   left out fra-1: draining
	//   left out fra-2: circuit open
}

func ExampleDecision_hash() {
	view, err := poise.NewView([]poise.Candidate{poise.Sample{ID: "a"}, poise.Sample{ID: "b"}, poise.Sample{ID: "c"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	scope, err := view.Scope([]int{0, 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	picker, err := new(policy.Rendezvous).Prepare(scope)
	if err != nil {
		fmt.Println(err)
		return
	}
	var why poise.Decision
	_, err = picker.Pick(poise.Query{Key: poise.StringKey("customer-42"), Why: &why})
	fmt.Println(why, err)
	// Output:
	// Rendezvous chose b: highest hash
	//   of 3 candidates 2 are eligible, 0 tried before, 2 considered
	//   compared b: hash dfb40c01dddfd0d2
	//   left out c: out of scope <nil>
}
