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

// shares are the weights of two candidates.
type shares [2]uint32

func (w shares) view() *poise.View {
	var candidates []poise.Candidate
	for i := range w {
		weight, err := poise.NewWeight(w[i])
		if err != nil {
			panic(err)
		}
		candidates = append(candidates, candidate{ID: fmt.Sprint(i), Weight: weight})
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		panic(err)
	}
	return v
}

// turn is the textbook: who is next, and the credits after.
func (w shares) turn(credits [2]int64) (at int, after [2]int64) {
	for i := range w {
		credits[i] += int64(w[i])
	}
	if credits[1] > credits[0] {
		at = 1
	}
	credits[at] -= int64(w[0]) + int64(w[1])
	return at, credits
}

// three are the weights as spec/seq has them.
func (w shares) three() [3]uint32 { return [3]uint32{w[0], w[1]} }

// torn is the textbook over credits that are read and written apart.
type torn struct {
	credits [2]*explore.Uint64
	weights shares
}

func (c torn) choose() int {
	var credits [2]int64
	for i := range credits {
		credits[i] = int64(c.credits[i].Load())
	}
	at, after := c.weights.turn(credits)
	for i := range after {
		c.credits[i].Store(uint64(after[i]))
	}
	return at
}

// Claim: Picks in parallel take exactly the turns that as many picks in sequence would.
func TestSmoothWeightedRoundRobin_ParallelPicksTakeTurns(t *testing.T) {
	weights := shares{2, 1}
	for _, c := range []struct{ tasks, picks int }{{2, 2}, {3, 1}} {
		t.Run(fmt.Sprintf("%d_tasks_of_%d", c.tasks, c.picks), func(t *testing.T) {
			explore.Check(t, explore.Model[chooser]{
				Name:     fmt.Sprintf("smooth weighted round robin: %d tasks of %d picks, the first of which opens the cycle", c.tasks, c.picks),
				NotShown: "Tried candidates; more picks.",
				New: func() chooser {
					return prepared(weights.view(), new(policy.SmoothWeightedRoundRobin))
				},
				Tasks: same(c.tasks, "caller", func(s chooser, h *explore.T) {
					for range c.picks {
						h.Call("Pick", nil, func() any { return s.choose() })
					}
				}),
				Outcome: results[chooser],
				Spec:    seq.SmoothTurns(weights.three()),
				Bugs: []explore.Bug[chooser]{bug("credits that are read and written apart", "history", func() chooser {
					return torn{[2]*explore.Uint64{new(explore.Uint64), new(explore.Uint64)}, weights}
				})},
			})
		})
	}
}

// Picks that replay the old list's cycle overlap with picks on the new one, which
// close it and carry the credits over: no turn is lost and none is taken twice.
func TestSmoothWeightedRoundRobin_CreditIsCarriedOverWhole(t *testing.T) {
	lists := []shares{{2, 1}, {1, 3}}
	_, begun := lists[0].turn([2]int64{})
	for _, c := range []struct{ old, fresh int }{{2, 1}, {1, 2}} {
		t.Run(fmt.Sprintf("%d_old_%d_new", c.old, c.fresh), func(t *testing.T) {
			explore.Check(t, explore.Model[*twoViews]{
				Name:     fmt.Sprintf("smooth weighted round robin: %d picks on the old list, in the middle of its cycle, and %d on the new", c.old, c.fresh),
				NotShown: "A cycle that is recorded again while a pick sleeps in it; a test of the cycle itself has that.",
				New: func() *twoViews {
					p := new(policy.SmoothWeightedRoundRobin)
					s := &twoViews{prepared(lists[0].view(), p), prepared(lists[1].view(), p).slowly()}
					s.old.choose()
					return s
				},
				Tasks: numbered(2, "caller", func(n int, s *twoViews, h *explore.T) {
					for range []int{c.old, c.fresh}[n] {
						h.Call("Pick", n, func() any { return []chooser{s.old, s.fresh}[n].choose() })
					}
				}),
				Outcome: results[*twoViews],
				Spec:    seq.After(seq.SmoothTurns(lists[0].three(), lists[1].three()), seq.Op{Name: "Pick", Arg: 0, Result: 0}),
				Bugs: []explore.Bug[*twoViews]{
					bug("credits of their own for each list", "history", func() *twoViews {
						old := prepared(lists[0].view(), new(policy.SmoothWeightedRoundRobin))
						old.choose()
						return &twoViews{old, prepared(lists[1].view(), new(policy.SmoothWeightedRoundRobin))}
					}),
					bug("credits that are read and written apart", "history", func() *twoViews {
						credits := [2]*explore.Uint64{new(explore.Uint64), new(explore.Uint64)}
						for i := range begun {
							credits[i].Store(uint64(begun[i]))
						}
						return &twoViews{torn{credits, lists[0]}, torn{credits, lists[1]}}
					}),
				},
			})
		})
	}
}

// retried is smooth weighted round robin whose retries have credits that are read and
// written apart.
type retried struct {
	turns   chooser
	credits [2]*explore.Uint64 // of the two that are left
	weights shares
}

func (c retried) choose() int { return c.turns.choose() }

func (c retried) without(int) int { return 1 + torn{c.credits, c.weights}.choose() }

// sharing has one account of credits for turns and retries.
type sharing struct {
	credits [3]int64
	gate    explore.Uint64
	weights [3]uint32
}

func (c *sharing) choose() int { return c.without(0) }

func (c *sharing) without(tried int) int {
	c.gate.Add(1)
	at, sum := -1, int64(0)
	for i, weight := range c.weights {
		if tried>>i&1 != 0 {
			continue
		}
		sum += int64(weight)
		if c.credits[i] += int64(weight); at < 0 || c.credits[i] > c.credits[at] {
			at = i
		}
	}
	c.credits[at] -= sum
	return at
}

// Picks that pass over somebody have credits of their own, and take their turns by
// them, beside picks that do not.
func TestSmoothWeightedRoundRobin_RetriesTakeTurnsOfTheirOwn(t *testing.T) {
	weights := [3]uint32{3, 2, 1}
	const tried = 0b001
	three := func() *poise.View {
		var candidates []poise.Candidate
		for i, w := range weights {
			weight, err := poise.NewWeight(w)
			if err != nil {
				panic(err)
			}
			candidates = append(candidates, candidate{ID: fmt.Sprint(i), Weight: weight})
		}
		v, err := poise.NewView(candidates)
		if err != nil {
			panic(err)
		}
		return v
	}
	fresh := func() realChooser { return prepared(three(), new(policy.SmoothWeightedRoundRobin)) }
	explore.Check(t, explore.Model[passer]{
		Name:     "smooth weighted round robin: a caller of a pick and a retry, and one of two retries",
		NotShown: "Retries on two lists.",
		New:      func() passer { return fresh() },
		Tasks: numbered(2, "caller", func(n int, s passer, h *explore.T) {
			if n == 0 {
				h.Call("Pick", 0, func() any { return s.choose() })
			} else {
				h.Call("Pick", 4*tried, func() any { return s.without(tried) })
			}
			h.Call("Pick", 4*tried, func() any { return s.without(tried) })
		}),
		Outcome: results[passer],
		Spec:    seq.SmoothTurns(weights),
		Bugs: []explore.Bug[passer]{
			bug("credits of retries that are read and written apart", "history", func() passer {
				return retried{fresh(), [2]*explore.Uint64{new(explore.Uint64), new(explore.Uint64)}, shares{2, 1}}
			}),
			bug("one account for turns and retries", "history", func() passer { return &sharing{weights: weights} }),
		},
	})
}
