package linearizability

import (
	"fmt"
	"sync/atomic"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/spec/seq"
)

var eligible = []bool{true, false, true, true, false}

type candidate poise.Sample

func (c candidate) Sample() poise.Sample { return poise.Sample(c) }

// someEligible returns candidates of which some are.
func someEligible() (candidates []poise.Candidate) {
	for i, ok := range eligible {
		c := candidate{ID: fmt.Sprint(i)}
		if !ok {
			c.Status = poise.Draining
		}
		candidates = append(candidates, c)
	}
	return candidates
}

// prepared returns what picks on a new View of the candidates. Every other pick
// explains itself and looks for the tried, which is another path through the policy.
func prepared(t testing.TB, p poise.Policy, candidates []poise.Candidate) (pick func() any) {
	passing := passing(t, p, candidates)
	return func() any { return passing(0) }
}

// passing is prepared whose picks pass over the tried, given as bits.
func passing(t testing.TB, p poise.Policy, candidates []poise.Candidate) (pick func(tried int) any) {
	view, err := poise.NewView(candidates)
	if err != nil {
		t.Fatal(err)
	}
	picker, err := p.Prepare(view)
	if err != nil {
		t.Fatal(err)
	}
	var picks atomic.Uint64
	return func(tried int) any {
		var q poise.Query
		if picks.Add(1)%2 == 0 || tried != 0 {
			q.Why, q.Tried = new(poise.Decision), new(poise.Tried)
			q.Tried.Add("stranger", 0)
			for i, c := range candidates {
				if tried>>i&1 != 0 {
					q.Tried.Add(c.Sample().ID, c.Sample().Incarnation)
				}
			}
		}
		selection, err := picker.Pick(q)
		if err != nil {
			return -1
		}
		at, err := view.Index(selection)
		if err != nil {
			return -2
		}
		return at
	}
}

// Picks share one cursor, so the rotation is one object.
var roundRobin = subject{
	spec: seq.Turns(eligible, 0),
	fresh: func(t testing.TB) func(*Caller, int, int) {
		p := new(policy.RoundRobin)
		picks := [2]func(int) any{passing(t, p, someEligible()), passing(t, p, someEligible())}
		return func(c *Caller, _, pick int) {
			tried := 0
			if pick >= 128 {
				tried = 1 << (pick / 2 % len(eligible)) // of one candidate at most
			}
			c.Call("Pick", tried, func() any { return picks[pick%2](tried) })
		}
	},
	good: serial(call("Pick", 0, 0), call("Pick", 0, 2), call("Pick", 0b00001, 3), call("Pick", 0, 0)),
	mutants: []mutant{
		returns("a candidate that is not eligible", 1, 1),
		returns("a candidate twice in a row", 3, 3),
		without("a turn is lost", 1),
		swapped("turns out of order", 1, 2),
		returns("a retry that meets who was tried", 2, 0),
	},
}

// Claim: Parallel picks on one View take exactly the turns that as many picks in sequence would.
// Claim: The cursor outlives the View.
func TestRoundRobin_Linearizable(t *testing.T)     { allowed(t, roundRobin) }
func TestRoundRobin_Linearizable_Law(t *testing.T) { law(t, roundRobin) }
