// Explorable.

package policy

import (
	"math"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// LeastLoaded reads the load of every eligible candidate and picks the smallest.
// It ignores weights.
//
// The zero value starts its rotation at the first candidate.
//
// # Contract
//
//   - LeastLoaded picks an eligible candidate with the smallest load it read.
//   - Ties rotate: a pick starts at the cursor modulo the number of candidates and takes the first minimum it meets, going round.
//   - A successful pick of LeastLoaded leaves its cursor one past the candidate it took; a failed one leaves it.
//   - LeastLoaded refuses to prepare a View in which a candidate has no load tracker.
//
// # Cost
//
// A pick is O(n), one load read per eligible candidate, times O(tried) with
// Tried. Prepare is O(n) time and O(1) memory.
//
// # Concurrency
//
// The loads are read one after the other, not at one instant, and nothing is
// reserved: picks that overlap may see the same minimum. The cursor only spreads
// ties; of two picks that overlap, the later to end sets it.
type LeastLoaded struct {
	cursor syncx.Uint64
}

var _ poise.Policy = (*LeastLoaded)(nil)

// Prepare returns a Picker for the View, or a [poise.FieldError] of
// ErrNilTracker.
func (p *LeastLoaded) Prepare(v *poise.View) (poise.Picker, error) {
	if v == nil {
		return nil, errNilView
	}
	if err := v.CheckLoad(); err != nil {
		return nil, err
	}
	return &leastLoadedPicker{policy: p, view: v, inFlight: allInFlight(v)}, nil
}

// allInFlight returns the trackers of the eligible candidates if every one is an
// InFlight, else nil.
func allInFlight(v *poise.View) []*poise.InFlight {
	trackers := make([]*poise.InFlight, v.EligibleLen())
	for position := range trackers {
		if trackers[position] = v.InFlight(v.Eligible(position)); trackers[position] == nil {
			return nil
		}
	}
	return trackers
}

type leastLoadedPicker struct {
	policy *LeastLoaded
	view   *poise.View
	// inFlight holds the trackers of the eligible candidates side by side, so that
	// a scan makes no call; nil where some are of another kind.
	inFlight []*poise.InFlight
}

// Pick takes a candidate of the smallest load.
func (p *leastLoadedPicker) Pick(q poise.Query) (poise.Selection, error) {
	if !plain(&q) || len(p.inFlight) == 0 {
		return p.pickSlow(&q)
	}
	start := p.view.NextEligible(p.place())
	position, load := least(p.inFlight[start:])
	if before, loadBefore := least(p.inFlight[:start]); loadBefore < load {
		position = before - start // before the start, hence negative
	}
	chosen := p.view.Eligible(start + position)
	p.policy.cursor.Store(uint64(chosen) + 1)
	return p.view.Select(chosen)
}

// least returns the first position of the smallest load, and that load.
func least(trackers []*poise.InFlight) (position int, load uint64) {
	load = math.MaxUint64
	for i, tracker := range trackers {
		if current := tracker.Current(); current < load {
			position, load = i, current
		}
	}
	return position, load
}

// place returns where the cursor stands among the candidates of the View.
func (p *leastLoadedPicker) place() int {
	return int(p.policy.cursor.Load() % uint64(p.view.Len()))
}

// pickSlow passes over the tried, reads trackers of every kind, and explains.
func (p *leastLoadedPicker) pickSlow(q *poise.Query) (poise.Selection, error) {
	rest := p.view.Untried(q.Tried)
	n := rest.Len()
	if n == 0 {
		return nothing(p.view, q, "LeastLoaded")
	}
	least := poise.Compared{Index: -1}
	position := rest.Next(p.place())
	for range n {
		index := rest.At(position)
		load, err := p.view.Load(index, q.Now)
		if err != nil {
			return failed(p.view, q, "LeastLoaded", n, err)
		}
		if load < least.Figure || least.Index < 0 {
			least = poise.Compared{Index: index, Figure: load}
		}
		if position++; position == n {
			position = 0
		}
	}
	p.policy.cursor.Store(uint64(least.Index) + 1)
	explain(p.view, q, "LeastLoaded", RuleLeastLoad, least.Index, n, n, least)
	return p.view.Select(least.Index)
}
