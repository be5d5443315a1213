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

// timedBudget is a RetryBudget at a clock.
type timedBudget struct {
	*dispatch.RetryBudget
	now explore.Int64 // seconds
}

func (b *timedBudget) Spend() bool { return b.RetryBudget.Spend(time.Unix(b.now.Load(), 0)) }

func newBudget(cfg dispatch.RetryBudgetConfig) *timedBudget {
	b, err := dispatch.NewRetryBudget(cfg)
	if err != nil {
		panic(err)
	}
	t := &timedBudget{RetryBudget: b}
	t.now.Store(1)
	return t
}

func realBudget() budget {
	return newBudget(dispatch.RetryBudgetConfig{Percent: 60, Burst: 1, NoFloor: true})
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

// payTwice is a budget that a second earns one retry for, whoever asks.
type payTwice struct {
	saved, paid, now explore.Int64
}

func (b *payTwice) Earn() {}

func (b *payTwice) Spend() bool {
	now := b.now.Load()
	if paid := b.paid.Load(); now > paid {
		b.paid.Store(now)
		b.saved.Add(100 * (now - paid))
	}
	for {
		saved := b.saved.Load()
		if saved < 100 {
			return false
		}
		if b.saved.CompareAndSwap(saved, saved-100) {
			return true
		}
	}
}

// Claim: A second earns PerSecond retries, whatever traffic there is.
func TestRetryBudget_PaysASecondOnce(t *testing.T) {
	spender := func(b budget, h *explore.T) { h.Call("Spend", nil, func() any { return b.Spend() }) }
	explore.Check(t, explore.Model[budget]{
		Name:     "retry budget: two spenders after a second that earns one retry",
		NotShown: "More than one second; earning by calls beside it.",
		New: func() budget {
			b := newBudget(dispatch.RetryBudgetConfig{PerSecond: 1, Burst: 3})
			for b.Spend() {
				continue
			}
			b.now.Store(2)
			return b
		},
		Tasks:   []explore.Task[budget]{{Name: "spender 0", Body: spender}, {Name: "spender 1", Body: spender}},
		Outcome: results[budget],
		Final: func(_ budget, r *explore.Run) error {
			granted := 0
			for _, op := range r.History {
				if op.Result == true {
					granted++
				}
			}
			if granted > 1 {
				return fmt.Errorf("a second earned %d retries", granted)
			}
			return nil
		},
		Bugs: []explore.Bug[budget]{bug("look first and pay second", "final", func() budget {
			b := new(payTwice)
			b.paid.Store(1)
			b.now.Store(2)
			return b
		})},
	})
}
