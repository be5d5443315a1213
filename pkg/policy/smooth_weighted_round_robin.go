// Explorable.

package policy

import (
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// SmoothWeightedRoundRobinConfig are the settings of a SmoothWeightedRoundRobin.
type SmoothWeightedRoundRobinConfig struct {
	_ struct{}
	// Seed spreads the members of a fleet: each starts at the turn of the cycle
	// that its seed names, so that the first picks of a fleet follow the weights.
	// The turn is one of the first 2^26/n of n candidates. 0 starts at the first.
	Seed uint64
}

// SmoothWeightedRoundRobin picks each eligible candidate as often as its weight
// says, evenly spread: the schedule that nginx made known in 2012.
//
// The zero value starts at the first turn.
//
// # Contract
//
//   - A pick gives each eligible candidate its weight as credit, takes the one with the most credit, of equal ones the earlier, and charges it the sum of the weights.
//   - From the first pick on, each run of as many picks as the eligible weights sum to takes each candidate exactly as often as its weight says, while the list stays as it is.
//   - Credit belongs to an incarnation and follows it through new Views, reorders and changes of weight.
//   - An incarnation that is not eligible when something is picked loses its credit.
//   - Where members or weights are others than at the last pick, inherited credit is cut to 5/8 of the new sum of the weights either way.
//   - After a change, each run of as many picks as the eligible weights sum to takes a candidate at most once more or less often than its weight says, while the list stays.
//   - A pick that leaves out a tried candidate decides among the others by credits of their own, kept by the same rule, and takes nobody's turn.
//   - Picks in parallel take exactly the turns that as many picks in sequence would.
//   - SmoothWeightedRoundRobin refuses to prepare a View whose eligible weights, summed and multiplied by their number, exceed 2^60.
//
// # Cost
//
// A period is the sum of the weights over their greatest common divisor. A pick
// is O(1) once the turns of a period are known and the credits have come round.
// A policy that never picked makes them in Prepare, if the period times n is at
// most 2^26. After a change of the list, picks are O(n) under a lock for as many
// periods as it takes the credits to come round, usually one; the first of them
// is O(n + period). Where a period is longer than 2^18 every pick is O(n). A pick
// that leaves out tried candidates is O(n · tried) under the lock. Prepare is
// O(n) time, and O(n + period) memory.
//
// # Concurrency
//
// Each pick is one atomic step. Pickers of one policy share its credits, so two
// that are in use at once cost a change of the list at each turn from one to the
// other.
type SmoothWeightedRoundRobin struct {
	seed uint64

	mu syncx.Mutex
	// Guarded by mu.

	// turns is the list whose credits decided the last turn, and retries the one
	// whose credits decided the last pick that left somebody out; nil before.
	turns, retries *creditList
	// latest is the list prepared last.
	latest *creditList
}

var _ poise.Policy = (*SmoothWeightedRoundRobin)(nil)

// NewSmoothWeightedRoundRobin returns a SmoothWeightedRoundRobin.
func NewSmoothWeightedRoundRobin(cfg SmoothWeightedRoundRobinConfig) *SmoothWeightedRoundRobin {
	return &SmoothWeightedRoundRobin{seed: cfg.Seed}
}

// Prepare returns a Picker for the View, or a [poise.FieldError] of
// poise.ErrWeightOverflow.
func (p *SmoothWeightedRoundRobin) Prepare(v *poise.View) (poise.Picker, error) {
	if v == nil {
		return nil, errNilView
	}
	picker := &smoothWeightedRoundRobinPicker{policy: p, view: v}
	if v.Check() != nil {
		return picker, nil
	}
	r, err := newCreditList(v)
	if err != nil {
		return nil, err
	}
	picker.creditList = p.admit(r)
	return picker, nil
}

// admit returns the creditList to pick from: one that is in use and lists the same, or
// the new one.
func (p *SmoothWeightedRoundRobin) admit(r *creditList) *creditList {
	p.mu.Lock()
	turns, latest := p.turns, p.latest
	p.mu.Unlock()
	for _, known := range [...]*creditList{turns, latest} {
		if known != nil && known.lists(r) {
			return known
		}
	}
	if turns == nil {
		r.start(poise.Mix64(p.seed)) // Mix64(0) is 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest = r
	return r
}

// turn takes the next turn on the list.
func (p *SmoothWeightedRoundRobin) turn(r *creditList) (position int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := p.turns; last != r {
		if last != nil {
			last.settle()
			r.inherit(r.credits, last, last.credits)
		}
		p.turns = r
		r.resume()
	}
	if position, open := r.cycle.next(); open {
		return position
	}
	return r.step()
}

// retry picks among those of the list that are left, and returns the index.
func (p *SmoothWeightedRoundRobin) retry(r *creditList, v *poise.View, left *poise.Untried) (richest int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := p.retries; last != nil && last != r {
		r.inherit(r.retries, last, last.retries)
	}
	p.retries = r
	richest = left.At(0)
	most, total := int64(-1<<63), int64(0)
	for place := range left.Len() {
		index := left.At(place)
		position := v.NextEligible(index)
		r.retries[position] += r.weights[position]
		total += r.weights[position]
		if credit := r.retries[position]; credit > most {
			richest, most = index, credit
		}
	}
	r.retries[v.NextEligible(richest)] -= total
	return richest
}

type smoothWeightedRoundRobinPicker struct {
	policy     *SmoothWeightedRoundRobin
	view       *poise.View
	creditList *creditList // nil: nobody is eligible
}

// Pick takes the candidate whose turn it is.
func (p *smoothWeightedRoundRobinPicker) Pick(q poise.Query) (poise.Selection, error) {
	if !plain(&q) || p.creditList == nil {
		return p.pickSlow(&q)
	}
	position, open := p.creditList.cycle.next()
	if !open {
		position = p.policy.turn(p.creditList)
	}
	return p.view.Select(p.view.Eligible(position))
}

// pickSlow passes over the tried and explains.
func (p *smoothWeightedRoundRobinPicker) pickSlow(q *poise.Query) (poise.Selection, error) {
	left := p.view.Untried(q.Tried)
	n := left.Len()
	var chosen int
	switch n {
	case 0:
		return nothing(p.view, q, "SmoothWeightedRoundRobin")
	case p.view.EligibleLen():
		position, open := p.creditList.cycle.next()
		if !open {
			position = p.policy.turn(p.creditList)
		}
		chosen = p.view.Eligible(position)
	default:
		chosen = p.policy.retry(p.creditList, p.view, &left)
	}
	explain(p.view, q, "SmoothWeightedRoundRobin", RuleTurn, chosen, n, n)
	return p.view.Select(chosen)
}
