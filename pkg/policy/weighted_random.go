package policy

import poise "github.com/copyleftdev/poise-go/pkg"

// WeightedRandomConfig are the settings of a WeightedRandom.
type WeightedRandomConfig struct {
	_ struct{}
	// Seed makes the picks replay. 0 is no seed: the Go runtime's generator
	// draws, and nothing replays.
	Seed uint64
}

// WeightedRandom picks each eligible candidate with a probability in proportion
// to its weight.
//
// The zero value is unseeded.
//
// # Contract
//
//   - WeightedRandom picks every eligible candidate in proportion to its weight, exactly.
//   - A retry picks among the untried in proportion to their weights, exactly.
//   - WeightedRandom draws nothing where one candidate is left.
//
// # Cost
//
// A pick is O(1), and O(tried + log n) with Tried. It takes one draw of the
// generator, or two where the sum of the weights times n exceeds 64 bits, and
// again with a probability of that product over 2^64. Prepare is O(n) time and
// memory.
//
// # Concurrency
//
// Parallel picks take the draws of the generator in turn, each draw once.
type WeightedRandom struct {
	chance *poise.Generator
}

var _ poise.Policy = (*WeightedRandom)(nil)

// NewWeightedRandom returns a WeightedRandom.
func NewWeightedRandom(cfg WeightedRandomConfig) *WeightedRandom {
	return &WeightedRandom{chance: seeded(cfg.Seed)}
}

// Prepare returns a Picker for the View.
func (p *WeightedRandom) Prepare(v *poise.View) (poise.Picker, error) {
	if v == nil {
		return nil, errNilView
	}
	picker := &weightedRandomPicker{chance: p.chance, view: v}
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

type weightedRandomPicker struct {
	chance     *poise.Generator
	view       *poise.View
	aliasTable *aliasTable // nil where there is nothing to draw
}

// Pick draws one candidate.
func (p *weightedRandomPicker) Pick(q poise.Query) (poise.Selection, error) {
	if !plain(&q) || p.view.EligibleLen() == 0 {
		return p.pickSlow(&q)
	}
	position := 0
	if p.aliasTable != nil {
		position = p.aliasTable.draw(p.chance)
	}
	return p.view.Select(p.view.Eligible(position))
}

// pickSlow passes over the tried, chooses where there is no choice, and explains.
func (p *weightedRandomPicker) pickSlow(q *poise.Query) (poise.Selection, error) {
	left := p.view.Untried(q.Tried)
	n := left.Len()
	rule := RuleDraw
	var chosen int
	switch n {
	case 0:
		return nothing(p.view, q, "WeightedRandom")
	case 1:
		rule, chosen = RuleOnly, left.At(0)
	case p.view.EligibleLen():
		chosen = p.view.Eligible(p.aliasTable.draw(p.chance))
	default:
		chosen = p.view.Eligible(p.aliasTable.drawLeft(p.chance, &left))
	}
	explain(p.view, q, "WeightedRandom", rule, chosen, n, n)
	return p.view.Select(chosen)
}
