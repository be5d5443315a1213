//go:build interleave

package models

import (
	"fmt"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/models/explore"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// budget is a RetryBudget, or a twin of it with a planted bug.
type budget interface {
	Earn()
	Spend() bool
}

// timeless is a RetryBudget to which time earns nothing.
type timeless struct{ *dispatch.RetryBudget }

func (b timeless) Spend() bool { return b.RetryBudget.Spend(time.Unix(1, 0)) }

func realBudget() budget {
	b, err := dispatch.NewRetryBudget(dispatch.RetryBudgetConfig{Percent: 60, NoFloor: true, Burst: 1})
	if err != nil {
		panic(err)
	}
	return timeless{b}
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

// Claim: The retries that were granted never exceed Burst plus Percent of a hundredth of the successes plus PerSecond for each second that has passed.
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

// paying is a RetryBudget that is empty, one second before it is paid for it.
type paying struct {
	*dispatch.RetryBudget
	twice   bool // planted: each spender is paid for the second
	granted explore.Int64
}

func newPaying(twice bool) func() *paying {
	return func() *paying {
		b, err := dispatch.NewRetryBudget(dispatch.RetryBudgetConfig{Percent: 1, PerSecond: 1, Burst: 2})
		if err != nil {
			panic(err)
		}
		for range 2 {
			b.Spend(time.Unix(1, 0))
		}
		return &paying{RetryBudget: b, twice: twice}
	}
}

func (p *paying) spend() bool {
	if p.twice {
		p.Refund()
	}
	granted := p.Spend(time.Unix(2, 0))
	if granted {
		p.granted.Add(1)
	}
	return granted
}

// Claim: A second earns PerSecond retries, whatever traffic there is.
func TestRetryBudget_ASecondIsPaidOnce(t *testing.T) {
	explore.Check(t, explore.Model[*paying]{
		Name:     "retry budget: two spenders when a second has passed",
		NotShown: "Clocks that differ between spenders.",
		New:      newPaying(false),
		Tasks: []explore.Task[*paying]{
			{Name: "spender 0", Body: func(p *paying, h *explore.T) { h.Call("Spend", nil, func() any { return p.spend() }) }},
			{Name: "spender 1", Body: func(p *paying, h *explore.T) { h.Call("Spend", nil, func() any { return p.spend() }) }},
		},
		Sometimes: []explore.Pred[*paying]{{Name: "Granted", Holds: func(p *paying) bool { return p.granted.Load() == 1 }}},
		Final: func(p *paying, _ *explore.Run) error {
			if n := p.granted.Load(); n > 1 {
				return fmt.Errorf("one second has paid for %d retries", n)
			}
			return nil
		},
		Outcome: results[*paying],
		Bugs:    []explore.Bug[*paying]{bug("each spender is paid for the second", "final", newPaying(true))},
	})
}
