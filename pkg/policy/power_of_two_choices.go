package policy

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// PowerOfTwoChoicesConfig are the settings of a PowerOfTwoChoices.
type PowerOfTwoChoicesConfig struct {
	_ struct{}
	// Seed makes the picks replay. 0 is no seed: the Go runtime's generator
	// draws, and nothing replays.
	Seed uint64
}

// PowerOfTwoChoices draws two distinct eligible candidates and picks the less
// loaded (Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing",
// 2001). It ignores weights.
//
// The zero value is unseeded.
//
// # Contract
//
//   - PowerOfTwoChoices never picks the single most loaded candidate while another is eligible.
//   - The two candidates are distinct, and each pair is equally likely.
//   - Of two equally loaded candidates each is picked equally often.
//   - A single eligible candidate is picked without a draw and without reading its load.
//   - A pick that fails to read a load has used its draw.
//   - PowerOfTwoChoices refuses to prepare a View in which a candidate has no load tracker.
//
// # Cost
//
// A pick is O(1), two load reads and one draw, and O(tried) with Tried. Prepare
// is O(n) time and O(1) memory.
//
// # Concurrency
//
// The two loads are read one after the other, not at one instant; nothing is
// reserved. Admission is the caller's next step.
type PowerOfTwoChoices struct {
	chance *poise.Generator
}

var _ poise.Policy = (*PowerOfTwoChoices)(nil)

// NewPowerOfTwoChoices returns a PowerOfTwoChoices.
func NewPowerOfTwoChoices(cfg PowerOfTwoChoicesConfig) *PowerOfTwoChoices {
	return &PowerOfTwoChoices{chance: seeded(cfg.Seed)}
}

// Prepare returns a Picker for the View, or a [poise.FieldError] of
// ErrNilTracker.
func (p *PowerOfTwoChoices) Prepare(v *poise.View) (poise.Picker, error) {
	if v == nil {
		return nil, errNilView
	}
	if err := v.CheckLoad(); err != nil {
		return nil, err
	}
	return &powerOfTwoChoicesPicker{chance: p.chance, view: v}, nil
}

type powerOfTwoChoicesPicker struct {
	chance *poise.Generator
	view   *poise.View
}

// Pick draws two candidates and takes the less loaded.
func (p *powerOfTwoChoicesPicker) Pick(q poise.Query) (poise.Selection, error) {
	n := p.view.EligibleLen()
	if !plain(&q) || n < 2 {
		return p.pickSlow(&q)
	}
	first, second := p.chance.Pair(uint64(n))
	a, b := p.view.Eligible(int(first)), p.view.Eligible(int(second))
	loadA, loadB := p.view.InFlight(a), p.view.InFlight(b)
	if loadA == nil || loadB == nil {
		less, _, err := p.compare(a, b, q.Now)
		if err != nil {
			return poise.Selection{}, err
		}
		return p.view.Select(less.Index)
	}
	if loadB.Current() < loadA.Current() {
		a = b
	}
	return p.view.Select(a)
}

// pickSlow passes over the tried, chooses where there is no choice, and explains.
func (p *powerOfTwoChoicesPicker) pickSlow(q *poise.Query) (poise.Selection, error) {
	rest := p.view.Untried(q.Tried)
	n := rest.Len()
	switch n {
	case 0:
		return nothing(p.view, q, "PowerOfTwoChoices")
	case 1:
		chosen := rest.At(0)
		explain(p.view, q, "PowerOfTwoChoices", RuleOnly, chosen, 1, 1)
		return p.view.Select(chosen)
	}
	first, second := p.chance.Pair(uint64(n))
	less, more, err := p.compare(rest.At(int(first)), rest.At(int(second)), q.Now)
	if err != nil {
		return failed(p.view, q, "PowerOfTwoChoices", n, err)
	}
	rule := RuleLessOfTwo
	if less.Figure == more.Figure {
		rule = RuleTieOfTwo
	}
	explain(p.view, q, "PowerOfTwoChoices", rule, less.Index, n, 2, less, more)
	return p.view.Select(less.Index)
}

// compare reads both loads and returns the less loaded candidate first. A pair is
// drawn in order, so the first of two equals is a fair coin.
func (p *powerOfTwoChoicesPicker) compare(first, second int, now time.Time) (less, more poise.Compared, err error) {
	less.Index, more.Index = first, second
	if less.Figure, err = p.view.Load(first, now); err != nil {
		return less, more, err
	}
	if more.Figure, err = p.view.Load(second, now); err != nil {
		return less, more, err
	}
	if more.Figure < less.Figure {
		less, more = more, less
	}
	return less, more, nil
}
