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

// drawing are the policies of which a pick is one draw, seeded.
var drawing = []struct {
	name  string
	fresh func() (poise.Policy, error)
}{
	{"Random", func() (poise.Policy, error) { return policy.NewRandom(policy.RandomConfig{Seed: 7}), nil }},
	{"WeightedRandom", func() (poise.Policy, error) {
		return policy.NewWeightedRandom(policy.WeightedRandomConfig{Seed: 7}), nil
	}},
	{"PowerOfTwoChoices", func() (poise.Policy, error) {
		return policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: 7}), nil
	}},
}

// tornDraws are picks of which the next is loaded and stored.
type tornDraws struct {
	picks []int
	next  explore.Uint64
}

func (c *tornDraws) choose() int {
	at := c.next.Load()
	c.next.Store(at + 1)
	return c.picks[at]
}

// Whichever of two Pickers of one policy picks, together they take the draws in
// turn, each draw once.
func TestSeededPicks_AreOneStream(t *testing.T) {
	const tasks, picks = 2, 2
	for _, p := range drawing {
		t.Run(p.name, func(t *testing.T) {
			fresh := func() *twoViews {
				of, err := p.fresh()
				if err != nil {
					panic(err)
				}
				return &twoViews{prepared(view(true, true, true), of), prepared(view(true, true, true), of).slowly()}
			}
			sequence, alone := make([]int, tasks*picks), fresh()
			for i := range sequence {
				sequence[i] = alone.old.choose()
			}
			explore.Check(t, explore.Model[*twoViews]{
				Name:     fmt.Sprintf("%s, seeded: picks on an old and on a new View, these slowly", p.name),
				NotShown: "Draws that are drawn again; loads that change.",
				New:      fresh,
				Tasks: numbered(tasks, "caller", func(n int, s *twoViews, h *explore.T) {
					for range picks {
						h.Call("Pick", nil, func() any { return []chooser{s.old, s.fresh}[n].choose() })
					}
				}),
				Outcome: results[*twoViews],
				Spec:    seq.Picks(p.name+" over three", sequence),
				Bugs: []explore.Bug[*twoViews]{
					bug("a stream for each View", "history", func() *twoViews { return &twoViews{fresh().old, fresh().old} }),
					bug("a draw that is loaded and stored", "history", func() *twoViews {
						twin := &tornDraws{picks: sequence}
						return &twoViews{twin, twin}
					}),
				},
			})
		})
	}
}
