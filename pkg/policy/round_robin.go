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
// A pick is O(1), and O(tried) with Tried. Prepare is O(n) time and memory. The
// state is one number.
//
// # Concurrency
//
// Each pick is one atomic step on the cursor, which all Pickers of the policy
// share.
type RoundRobin struct {
	cursor syncx.Uint64
}

var _ poise.Policy = (*RoundRobin)(nil)

// NewRoundRobin returns a RoundRobin. Every config is legal.
func NewRoundRobin(cfg RoundRobinConfig) (*RoundRobin, error) {
	p := new(RoundRobin)
	p.cursor.Store(poise.Mix64(cfg.Seed)) // Mix64(0) is 0
	return p, nil
}

// Prepare returns a Picker for the View.
func (p *RoundRobin) Prepare(v *poise.View) (poise.Picker, error) {
	if v == nil {
		return nil, errNilView
	}
	picker := &roundRobinPicker{policy: p, view: v}
	if v.Check() != nil {
		return picker, nil
	}
	picker.turns = make([]turn, v.Len())
	for place := range picker.turns {
		chosen := v.Eligible(v.NextEligible(place))
		selection, err := v.Select(chosen)
		if err != nil {
			return nil, err
		}
		picker.turns[place] = turn{selection, uint64(chosen) + 1}
	}
	return picker, nil
}

type roundRobinPicker struct {
	policy *RoundRobin
	view   *poise.View
	// turns[place] is whose turn it is when the cursor stands at the place of a
	// candidate, eligible or not; empty if none is eligible.
	turns []turn
}

// turn is a candidate and where the cursor goes after it.
type turn struct {
	selection poise.Selection
	cursor    uint64
}

// Pick takes the next candidate in turn.
func (p *roundRobinPicker) Pick(q poise.Query) (poise.Selection, error) {
	if !plain(&q) || len(p.turns) == 0 {
		return p.pickSlow(&q)
	}
	// The cursor is a place among all candidates rather than a count of turns: so
	// it means the same after a candidate has come or gone.
	for {
		cursor := p.policy.cursor.Load()
		turn := &p.turns[p.place(cursor)]
		if p.policy.cursor.CompareAndSwap(cursor, turn.cursor) {
			return turn.selection, nil
		}
	}
}

// place returns where a cursor stands among the candidates of the View.
func (p *roundRobinPicker) place(cursor uint64) uint64 {
	if n := uint64(len(p.turns)); cursor >= n {
		return cursor % n
	}
	return cursor
}

// pickSlow passes over the tried and explains.
func (p *roundRobinPicker) pickSlow(q *poise.Query) (poise.Selection, error) {
	rest := p.view.Untried(q.Tried)
	if rest.Len() == 0 {
		return nothing(p.view, q, "RoundRobin")
	}
	for {
		cursor := p.policy.cursor.Load()
		chosen := rest.At(rest.Next(int(p.place(cursor))))
		if p.policy.cursor.CompareAndSwap(cursor, uint64(chosen)+1) {
			explain(p.view, q, "RoundRobin", poise.RuleTurn, chosen, rest.Len(), 1)
			return p.view.Select(chosen)
		}
	}
}
