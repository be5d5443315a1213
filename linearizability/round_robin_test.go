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
// explains itself, which is another path through the policy.
func prepared(t testing.TB, p poise.Policy, candidates []poise.Candidate) (pick func() any) {
	view, err := poise.NewView(candidates)
	if err != nil {
		t.Fatal(err)
	}
	picker, err := p.Prepare(view)
	if err != nil {
		t.Fatal(err)
	}
	var picks atomic.Uint64
	return func() any {
		var q poise.Query
		if picks.Add(1)%2 == 0 {
			q.Why = new(poise.Decision)
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
		picks := [2]func() any{prepared(t, p, someEligible()), prepared(t, p, someEligible())}
		return func(c *Caller, _, pick int) { c.Call("Pick", nil, picks[pick%2]) }
	},
	good: serial(call("Pick", nil, 0), call("Pick", nil, 2), call("Pick", nil, 3), call("Pick", nil, 0)),
	mutants: []mutant{
		returns("a candidate that is not eligible", 1, 1),
		returns("a candidate twice in a row", 3, 3),
		without("a turn is lost", 1),
		swapped("turns out of order", 1, 2),
	},
}

// Claim: Parallel picks on one View take exactly the turns that as many picks in sequence would.
// Claim: The cursor outlives the View.
func TestRoundRobin_Linearizable(t *testing.T)     { allowed(t, roundRobin) }
func TestRoundRobin_Linearizable_Law(t *testing.T) { law(t, roundRobin) }
