// Explorable.

package policy

import (
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// RoundRobinConfig are the settings of a RoundRobin.
type RoundRobinConfig struct {
	_ struct{}
	// Seed spreads the members of a fleet: each starts at the candidate that its
	// seed names. 0 starts at the first candidate.
	Seed uint64
}

// RoundRobin picks the eligible candidates in turn, in the order of the View. It
// ignores weights.
//
// The zero value starts at the first candidate.
//
// # Contract
//
//   - A pick starts at the cursor modulo the number of candidates and takes the first eligible one, going round.
//   - A successful pick leaves the cursor one past the candidate it took; a failed one leaves it.
//   - The cursor outlives the View.
//   - Parallel picks on one View take exactly the turns that as many picks in sequence would.
//
// # Cost
//
// A pick is O(1), and O(tried) with Tried. Prepare is O(1). The state is one number.
//
// # Concurrency
//
// Each pick is one atomic step on the cursor, which all Pickers of the policy
// share.
type RoundRobin struct {
	cursor syncx.Uint64
}

var _ poise.Policy = (*RoundRobin)(nil)

// NewRoundRobin returns a RoundRobin.
func NewRoundRobin(cfg RoundRobinConfig) *RoundRobin {
	p := new(RoundRobin)
	p.cursor.Store(poise.Mix64(cfg.Seed)) // Mix64(0) is 0
	return p
}

// Prepare returns a Picker for the View.
func (p *RoundRobin) Prepare(v *poise.View) (poise.Picker, error) {
	if v == nil {
		return nil, errNilView
	}
	return &roundRobinPicker{policy: p, view: v, n: uint64(v.Len()), all: v.EligibleLen() == v.Len()}, nil
}

type roundRobinPicker struct {
	policy *RoundRobin
	view   *poise.View
	n      uint64 // candidates, eligible or not
	all    bool   // every one is eligible
}

// Pick takes the next candidate in turn.
func (p *roundRobinPicker) Pick(q poise.Query) (poise.Selection, error) {
	if !plain(&q) || p.view.EligibleLen() == 0 {
		return p.pickSlow(&q)
	}
	// The cursor is a place among all candidates rather than a count of turns: so
	// it means the same after a candidate has come or gone.
	for {
		cursor := p.policy.cursor.Load()
		chosen := p.place(cursor)
		if !p.all {
			chosen = p.view.Eligible(p.view.NextEligible(chosen))
		}
		if p.policy.cursor.CompareAndSwap(cursor, uint64(chosen)+1) {
			return p.view.Select(chosen)
		}
	}
}

// place returns where a cursor stands among the candidates of the View, of which
// there are some.
func (p *roundRobinPicker) place(cursor uint64) int {
	if cursor >= p.n {
		cursor %= p.n
	}
	return int(cursor)
}

// pickSlow passes over the tried and explains.
func (p *roundRobinPicker) pickSlow(q *poise.Query) (poise.Selection, error) {
	rest := p.view.Untried(q.Tried)
	if rest.Len() == 0 {
		return nothing(p.view, q, "RoundRobin")
	}
	for {
		cursor := p.policy.cursor.Load()
		chosen := rest.At(rest.Next(p.place(cursor)))
		if p.policy.cursor.CompareAndSwap(cursor, uint64(chosen)+1) {
			explain(p.view, q, "RoundRobin", RuleTurn, chosen, rest.Len(), 1)
			return p.view.Select(chosen)
		}
	}
}
