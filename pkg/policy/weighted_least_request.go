package policy

import (
	"math/bits"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// WeightedLeastRequestConfig are the settings of a WeightedLeastRequest.
type WeightedLeastRequestConfig struct {
	_ struct{}
	// Seed makes the picks replay. 0 is no seed: the Go runtime's generator
	// draws, and nothing replays.
	Seed uint64
}

// WeightedLeastRequest draws two distinct eligible candidates by weight and picks
// the one with less load for its weight.
//
// The comparison is that of weighted least connections in LVS and nginx, load over
// weight, made by two choices (see PowerOfTwoChoices) instead of a scan. Envoy's
// rule for unequal weights differs: a schedule by weight/(load+1), which under load
// gives shares nearer to the root of the weight than to the weight. gRPC's least
// request ignores weights.
//
// The zero value is unseeded.
//
// # Contract
//
//   - The first of the two is drawn in proportion to weight, and the second in proportion to weight among all others.
//   - WeightedLeastRequest picks the one whose load divided by its weight is smaller, compared exactly, and of equal ones the first.
//   - While all loads are in the same proportion to the weights, as when nobody holds work, each candidate is picked in proportion to its weight.
//   - WeightedLeastRequest never picks the single candidate with the most load for its weight while another is eligible.
//   - A single candidate that is left is picked by WeightedLeastRequest without a draw and without reading its load.
//   - WeightedLeastRequest refuses to prepare a View in which a candidate has no load tracker.
//
// # Cost
//
// A pick is O(1), two load reads and two draws; where both draws newKeyHasher the same
// candidate, a third and O(log n). With Tried it is O(tried + log n). Prepare is
// O(n) time and memory.
//
// # Concurrency
//
// The two loads are read one after the other, not at one instant; nothing is
// reserved. Admission is the caller's next step.
type WeightedLeastRequest struct {
	chance *poise.Generator
}

var _ poise.Policy = (*WeightedLeastRequest)(nil)

// NewWeightedLeastRequest returns a WeightedLeastRequest.
func NewWeightedLeastRequest(cfg WeightedLeastRequestConfig) *WeightedLeastRequest {
	return &WeightedLeastRequest{chance: seeded(cfg.Seed)}
}

// Prepare returns a Picker for the View, or a [poise.FieldError] of
// ErrNilTracker.
func (p *WeightedLeastRequest) Prepare(v *poise.View) (poise.Picker, error) {
	if v == nil {
		return nil, errNilView
	}
	if err := v.CheckLoad(); err != nil {
		return nil, err
	}
	picker := &weightedLeastRequestPicker{chance: p.chance, view: v}
	if v.EligibleLen() < 2 {
		return picker, nil
	}
	aliasTable, err := newAliasTable(v)
	if err != nil {
		return nil, err
	}
	picker.aliasTable = aliasTable
	return picker, nil
}

type weightedLeastRequestPicker struct {
	chance     *poise.Generator
	view       *poise.View
	aliasTable *aliasTable // nil where there is nothing to draw
}

// Pick draws two candidates and takes the one with less load for its weight.
func (p *weightedLeastRequestPicker) Pick(q poise.Query) (poise.Selection, error) {
	if !plain(&q) || p.aliasTable == nil {
		return p.pickSlow(&q)
	}
	first, second := p.drawTwo()
	a, b := p.view.Eligible(first), p.view.Eligible(second)
	loadA, loadB := p.view.InFlight(a), p.view.InFlight(b)
	if loadA == nil || loadB == nil {
		return p.compare(&q, first, second, len(p.aliasTable.columns))
	}
	if p.aliasTable.less(second, loadB.Current(), first, loadA.Current()) {
		a = b
	}
	return p.view.Select(a)
}

// drawTwo returns two distinct positions.
func (p *weightedLeastRequestPicker) drawTwo() (first, second int) {
	first, second = p.aliasTable.draw(p.chance), p.aliasTable.draw(p.chance)
	if first == second {
		// Drawing until they differ would give the same chances, and no end.
		second = p.aliasTable.drawOther(p.chance, new(poise.Untried), first)
	}
	return first, second
}

// pickSlow passes over the tried, chooses where there is no choice, and explains.
func (p *weightedLeastRequestPicker) pickSlow(q *poise.Query) (poise.Selection, error) {
	left := p.view.Untried(q.Tried)
	n := left.Len()
	switch n {
	case 0:
		return nothing(p.view, q, "WeightedLeastRequest")
	case 1:
		chosen := left.At(0)
		explain(p.view, q, "WeightedLeastRequest", RuleOnly, chosen, n, 1)
		return p.view.Select(chosen)
	case p.view.EligibleLen():
		first, second := p.drawTwo()
		return p.compare(q, first, second, n)
	}
	first := p.aliasTable.drawLeft(p.chance, &left)
	return p.compare(q, first, p.aliasTable.drawOther(p.chance, &left, first), n)
}

// compare reads both loads, takes one, and explains it as chosen from so many.
func (p *weightedLeastRequestPicker) compare(q *poise.Query, first, second, left int) (poise.Selection, error) {
	chosen, other := poise.Compared{Index: p.view.Eligible(first)}, poise.Compared{Index: p.view.Eligible(second)}
	for _, c := range [...]*poise.Compared{&chosen, &other} {
		var err error
		if c.Figure, err = p.view.Load(c.Index, q.Now); err != nil {
			return failed(p.view, q, "WeightedLeastRequest", left, err)
		}
	}
	rule := RuleTieOfTwoByWeight
	if p.aliasTable.less(second, other.Figure, first, chosen.Figure) {
		chosen, other, rule = other, chosen, RuleLessOfTwoByWeight
	} else if p.aliasTable.less(first, chosen.Figure, second, other.Figure) {
		rule = RuleLessOfTwoByWeight
	}
	explain(p.view, q, "WeightedLeastRequest", rule, chosen.Index, left, 2, chosen, other)
	return p.view.Select(chosen.Index)
}

// less reports whether the load at position a, over its weight, is less than that
// at b: compared by the products with the other's weight, in 128 bits.
func (l *aliasTable) less(a int, loadA uint64, b int, loadB uint64) bool {
	highA, lowA := bits.Mul64(loadA, l.weight(b))
	highB, lowB := bits.Mul64(loadB, l.weight(a))
	return highA < highB || highA == highB && lowA < lowB
}
