//go:build interleave

package models

import (
	"testing"

	"github.com/copyleftdev/poise-go/models/explore"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// budget is a RetryBudget, or a twin of it with a planted bug.
type budget interface {
	Earn()
	Spend() bool
}

func realBudget() budget {
	b, err := dispatch.NewRetryBudget(dispatch.RetryBudgetConfig{Percent: 60, Burst: 1})
	if err != nil {
		panic(err)
	}
	return b
}

// checkThenAdd looks first and takes second.
type checkThenAdd struct{ saved explore.Int64 }

func (b *checkThenAdd) Earn() {
	for {
		saved := b.saved.Load()
		if b.saved.CompareAndSwap(saved, min(saved+60, 100)) {
			return
		}
	}
}

func (b *checkThenAdd) Spend() bool {
	if b.saved.Load() < 100 {
		return false
	}
	b.saved.Add(-100)
	return true
}

// Claim: The retries that were granted never exceed Burst plus Percent of a hundredth of the calls.
// Claim: Spend with nothing saved returns false and changes nothing.
func TestRetryBudget_GrantsNoMoreThanWasEarned(t *testing.T) {
	explore.Check(t, explore.Model[budget]{
		Name:     "retry budget: two spenders and a caller that earns twice",
		NotShown: "Larger bursts.",
		New:      realBudget,
		Tasks: []explore.Task[budget]{
			{Name: "spender 0", Body: func(b budget, h *explore.T) { h.Call("Spend", nil, func() any { return b.Spend() }) }},
			{Name: "spender 1", Body: func(b budget, h *explore.T) { h.Call("Spend", nil, func() any { return b.Spend() }) }},
			{Name: "caller", Body: func(b budget, h *explore.T) {
				for range 2 {
					h.Call("Earn", nil, func() any { b.Earn(); return nil })
				}
			}},
		},
		Outcome: results[budget],
		Spec:    seq.Budget(60, 1),
		Bugs: []explore.Bug[budget]{bug("look first and take second", "history", func() budget {
			b := new(checkThenAdd)
			b.saved.Store(100)
			return b
		})},
	})
}
