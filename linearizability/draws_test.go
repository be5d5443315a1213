package linearizability

import (
	"fmt"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// quarters are candidates in four localities, two in each, whose loads are equal.
func quarters() (candidates []poise.Candidate) {
	for i := range 8 {
		candidates = append(candidates, candidate{ID: fmt.Sprint(i), Locality: fmt.Sprint(i / 2), Load: new(poise.InFlight)})
	}
	return candidates
}

func quarter(pick int) int { return pick / 2 }

// alone returns what picks in sequence return, as many as a recording has.
func alone(t testing.TB, p poise.Policy) []int {
	picks := make([]int, callers*steps)
	pick := prepared(t, p, quarters())
	for i := range picks {
		picks[i] = pick().(int)
	}
	return picks
}

// streamed is a policy whose picks under two Views are one stream.
func streamed(t testing.TB, spec func([]int) seq.Spec, policy func(testing.TB) poise.Policy) subject {
	picks := alone(t, policy(t))
	first := func(n int) (h []seq.Op) {
		for _, pick := range picks[:n] {
			h = append(h, call("Pick", nil, pick))
		}
		return h
	}
	return subject{
		spec: spec(picks),
		fresh: func(t testing.TB) func(*Caller, int, int) {
			p := policy(t)
			picks := [2]func() any{prepared(t, p, quarters()), prepared(t, p, quarters())}
			return func(c *Caller, _, pick int) { c.Call("Pick", nil, picks[pick%2]) }
		},
		good: serial(first(5)...),
		mutants: []mutant{
			returns("a candidate that was not drawn", 1, (picks[1]+1)%8),
			returns("nobody", 2, -1),
			{"a stream that begins anew", func(seq.History) seq.History { return serial(append(first(5), first(5)...)...) }},
		},
	}
}

// drawing are the seeded policies of which a pick is one draw.
var drawing = []struct {
	name  string
	fresh func(testing.TB) poise.Policy
}{
	{"Random", func(t testing.TB) poise.Policy {
		return policy.NewRandom(policy.RandomConfig{Seed: streamSeed})
	}},
	{"WeightedRandom", func(t testing.TB) poise.Policy {
		return policy.NewWeightedRandom(policy.WeightedRandomConfig{Seed: streamSeed})
	}},
	{"PowerOfTwoChoices", func(t testing.TB) poise.Policy {
		return policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: streamSeed})
	}},
}

func made(t testing.TB) func(poise.Policy, error) poise.Policy {
	return func(p poise.Policy, err error) poise.Policy {
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

// drawn are those policies: the draws are one stream, whoever takes them.
func drawn(t testing.TB, k int) subject {
	d := drawing[k]
	return streamed(t, func(picks []int) seq.Spec { return seq.Picks(d.name, picks) }, d.fresh)
}

func TestDrawnPicks_Linearizable(t *testing.T) {
	for k, d := range drawing {
		t.Run(d.name, func(t *testing.T) { allowed(t, drawn(t, k)) })
	}
}

func TestDrawnPicks_Linearizable_Law(t *testing.T) {
	for k, d := range drawing {
		t.Run(d.name, func(t *testing.T) { law(t, drawn(t, k)) })
	}
}

// locality draws a locality and then lets it take its turn. Between the two others
// may pick, so a pick is two steps.
func locality(t testing.TB) subject {
	return streamed(t, func(picks []int) seq.Spec { return seq.Scoped("Locality", picks, quarter) },
		func(t testing.TB) poise.Policy {
			return made(t)(policy.NewLocality(policy.TopologyConfig{
				Seed:     streamSeed,
				Endpoint: func(uint64) (poise.Policy, error) { return new(policy.RoundRobin), nil },
			}))
		})
}

func TestLocality_Linearizable(t *testing.T) { allowed(t, locality(t)) }

// A pick counts as two calls, so programs are half as long.
func TestLocality_Linearizable_Law(t *testing.T) {
	s := locality(t)
	whole := s.fresh
	s.fresh = func(t testing.TB) func(*Caller, int, int) {
		step := whole(t)
		return func(c *Caller, i, pick int) {
			if i%2 == 0 {
				step(c, i/2, pick)
			}
		}
	}
	law(t, s)
}
