package policy

import poise "github.com/copyleftdev/poise-go/pkg"

// RandomConfig are the settings of a Random.
type RandomConfig struct {
	_ struct{}
	// Seed makes the picks replay. 0 is no seed: the Go runtime's generator
	// draws, and nothing replays.
	Seed uint64
}

// Random picks each eligible candidate with equal probability. It ignores
// weights.
//
// The zero value is unseeded.
//
// # Contract
//
//   - Random picks every eligible candidate equally often.
//   - Random takes one bounded draw a pick.
//
// # Cost
//
// A pick is O(1), and O(tried) with Tried. Prepare is O(1). The state is the
// generator's.
//
// # Concurrency
//
// Parallel picks take the draws of the generator in turn, each draw once.
type Random struct {
	chance *poise.Generator
}

var _ poise.Policy = (*Random)(nil)

// NewRandom returns a Random.
func NewRandom(cfg RandomConfig) *Random {
	return &Random{chance: seeded(cfg.Seed)}
}

// seeded returns the generator of a config's Seed field; nil draws from the
// runtime.
func seeded(seed uint64) *poise.Generator {
	if seed == 0 {
		return nil
	}
	return poise.NewGenerator(seed)
}

// Prepare returns a Picker for the View.
func (p *Random) Prepare(v *poise.View) (poise.Picker, error) {
	if v == nil {
		return nil, errNilView
	}
	return &randomPicker{chance: p.chance, view: v}, nil
}

type randomPicker struct {
	chance *poise.Generator
	view   *poise.View
}

// Pick draws one candidate.
func (p *randomPicker) Pick(q poise.Query) (poise.Selection, error) {
	n := p.view.EligibleLen()
	if !plain(&q) || n == 0 {
		return p.pickSlow(&q)
	}
	return p.view.Select(p.view.Eligible(int(p.chance.Below(uint64(n)))))
}

// pickSlow passes over the tried and explains.
func (p *randomPicker) pickSlow(q *poise.Query) (poise.Selection, error) {
	rest := p.view.Untried(q.Tried)
	n := rest.Len()
	if n == 0 {
		return nothing(p.view, q, "Random")
	}
	chosen := rest.At(int(p.chance.Below(uint64(n))))
	explain(p.view, q, "Random", RuleDraw, chosen, n, n)
	return p.view.Select(chosen)
}
