//go:build interleave

package models

import (
	"fmt"
	"testing"

	"github.com/copyleftdev/poise-go/models/explore"
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// zones returns a View of candidates in the localities, all of one priority.
func zones(localities ...string) *poise.View {
	candidates := make([]poise.Candidate, len(localities))
	for i, locality := range localities {
		candidates[i] = candidate{ID: fmt.Sprint(i), Locality: locality}
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		panic(err)
	}
	return v
}

// overTurns is a topology policy whose scopes take turns. Making a scope's policy
// lets others run.
func overTurns(fresh func(policy.TopologyConfig) (poise.Policy, error), seed uint64) poise.Policy {
	gate := new(explore.Uint64)
	p, err := fresh(policy.TopologyConfig{Seed: seed, Endpoint: func(uint64) (poise.Policy, error) {
		gate.Add(1)
		return new(policy.RoundRobin), nil
	}})
	if err != nil {
		panic(err)
	}
	return p
}

// topologies are the policies that choose a scope.
var topologies = []struct {
	name  string
	fresh func(policy.TopologyConfig) (poise.Policy, error)
}{
	{"Priority", func(cfg policy.TopologyConfig) (poise.Policy, error) { return policy.NewPriority(cfg) }},
	{"Locality", func(cfg policy.TopologyConfig) (poise.Policy, error) { return policy.NewLocality(cfg) }},
}

// publishing is a topology policy, or a twin of it with a planted bug, of which
// Pickers are made and used.
type publishing interface{ prepare() chooser }

type realPublishing struct{ policy poise.Policy }

func (p realPublishing) prepare() chooser { return prepared(zones("", "", ""), p.policy) }

// endpointEach makes an endpoint policy for each View.
type endpointEach struct{ fresh func() poise.Policy }

func (p endpointEach) prepare() chooser { return prepared(zones("", "", ""), p.fresh()) }

// endpointUnlocked looks for the endpoint policy and enters it later.
type endpointUnlocked struct {
	known explore.Pointer[policy.RoundRobin]
}

func (p *endpointUnlocked) prepare() chooser {
	endpoint := p.known.Load()
	if endpoint == nil {
		endpoint = new(policy.RoundRobin)
		p.known.Store(endpoint)
	}
	return prepared(zones("", "", ""), endpoint)
}

// Whoever prepares first makes the endpoint policy of a scope, and all others find
// it, so the turns of the scope are one rotation.
//
// Claim: Each priority has an endpoint policy of its own, which outlives the View as long as candidates of that priority exist.
func TestTopology_ScopesKeepTheirPolicy(t *testing.T) {
	for _, p := range topologies {
		t.Run(p.name, func(t *testing.T) {
			fresh := func() poise.Policy { return overTurns(p.fresh, 0) }
			explore.Check(t, explore.Model[publishing]{
				Name:     p.name + " over round robin: two publishers that prepare the first View, and pick",
				NotShown: "Scopes that come and go; draws, of which one scope needs none.",
				New:      func() publishing { return realPublishing{fresh()} },
				Tasks: same(2, "publisher", func(s publishing, h *explore.T) {
					picker := s.prepare()
					for range 2 {
						h.Call("Pick", nil, func() any { return picker.choose() })
					}
				}),
				Outcome: results[publishing],
				Spec:    seq.Turns([]bool{true, true, true}, 0),
				Bugs: []explore.Bug[publishing]{
					bug("an endpoint policy for each View", "history", func() publishing { return endpointEach{fresh} }),
					bug("look for the endpoint policy first and enter it second", "history", func() publishing { return new(endpointUnlocked) }),
				},
			})
		})
	}
}

// tornScopes draws a scope in two steps, and then takes the scope's turn.
type tornScopes struct {
	draws  []int // the scopes that are drawn, in order
	next   explore.Uint64
	scopes [2]chooser
}

func (c *tornScopes) choose() int {
	at := c.next.Load()
	c.next.Store(at + 1)
	return c.scopes[c.draws[at]].choose()
}

// Draws by several callers are one stream, and each scope takes its turns, also
// when a caller has drawn its scope and another one picks there first.
func TestTopology_ParallelPicksShareTheirStreams(t *testing.T) {
	const seed, tasks, picks = 5, 2, 2 // of the one who picks slowly, one
	localities := []string{"x", "x", "y", "y"}
	scope := func(at int) int { return at / 2 }
	fresh := func() chooser { return prepared(zones(localities...), overTurns(topologies[1].fresh, seed)) }
	alone, sequence := fresh(), make([]int, tasks*picks-1)
	met := [2]bool{}
	for i := range sequence {
		sequence[i] = alone.choose()
		met[scope(sequence[i])] = true
	}
	if met != [2]bool{true, true} {
		t.Fatalf("the seed draws one scope only: %v", sequence)
	}
	explore.Check(t, explore.Model[chooser]{
		Name:     "Locality over round robin: a caller of two picks, and one of one, slowly",
		NotShown: "An endpoint policy that draws from a stream of its own; Priority, which draws as Locality does.",
		New:      fresh,
		Tasks: numbered(tasks, "caller", func(n int, s chooser, h *explore.T) {
			if of, is := s.(realChooser); is && n == 1 {
				s = of.slowly()
			}
			for range picks - n {
				h.Call("Pick", nil, func() any { return s.choose() })
			}
		}),
		Outcome: results[chooser],
		Spec:    seq.Scoped("two localities", sequence, scope),
		Bugs: []explore.Bug[chooser]{bug("a draw that is loaded and stored", "history", func() chooser {
			twin := new(tornScopes)
			for _, at := range sequence {
				twin.draws = append(twin.draws, scope(at))
			}
			twin.draws = append(twin.draws, twin.draws[0])
			for i := range twin.scopes {
				eligible := make([]bool, len(localities))
				eligible[2*i], eligible[2*i+1] = true, true
				twin.scopes[i] = prepared(view(eligible...), new(policy.RoundRobin))
			}
			return twin
		})},
	})
}
