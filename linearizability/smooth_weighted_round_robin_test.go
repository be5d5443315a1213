package linearizability

import (
	"fmt"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// lists are two sets of weights of the same candidates.
var lists = [2][3]uint32{{5, 1, 1}, {1, 2, 4}}

func weighted(t testing.TB, list int) (candidates []poise.Candidate) {
	for i, w := range lists[list] {
		weight, err := poise.NewWeight(w)
		if err != nil {
			t.Fatal(err)
		}
		candidates = append(candidates, candidate{ID: fmt.Sprint(i), Weight: weight})
	}
	return candidates
}

// Picks share the credits, under an old and a new list alike. Most go by the same
// list for a while, so that turns are replayed and recorded afresh.
var smooth = subject{
	spec: seq.SmoothTurns(lists[0], lists[1]),
	fresh: func(t testing.TB) func(*Caller, int, int) {
		p := new(policy.SmoothWeightedRoundRobin)
		picks := [2]func(int) any{passing(t, p, weighted(t, 0)), passing(t, p, weighted(t, 1))}
		return func(c *Caller, step, pick int) {
			list := step / 20 % 2
			if pick < 16 {
				list = 1 - list
			}
			tried := 0
			if pick >= 192 {
				tried = 1 << (pick % 3)
			}
			c.Call("Pick", list+4*tried, func() any { return picks[list](tried) })
		}
	},
	good: serial(call("Pick", 0, 0), call("Pick", 0, 0), call("Pick", 0, 1), call("Pick", 0, 0), call("Pick", 1, 2), call("Pick", 4*0b001, 1), call("Pick", 4*0b001, 2)),
	mutants: []mutant{
		returns("the heaviest out of turn", 2, 0),
		without("a turn is lost", 1),
		swapped("turns out of order", 1, 2),
		returns("credits of the list's own", 4, 1),
		returns("a retry by the credits of turns", 6, 1),
	},
}

// Claim: Picks in parallel take exactly the turns that as many picks in sequence would.
func TestSmoothWeightedRoundRobin_Linearizable(t *testing.T)     { allowed(t, smooth) }
func TestSmoothWeightedRoundRobin_Linearizable_Law(t *testing.T) { law(t, smooth) }
