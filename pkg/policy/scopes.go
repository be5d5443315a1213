package policy

import (
	"errors"
	"math/bits"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// topologyPicker is the scopes of a View with their shares of the traffic.
type topologyPicker struct {
	topology *topology
	view     *poise.View
	levels   weightedList[*level]
	// spare are the priorities that have eligible members and no traffic, in order.
	// A retry goes there when everybody else was tried.
	spare []*level
}

// level is one priority.
type level struct {
	choice  poise.ScopeChoice
	scopes  weightedList[*scope]
	rejects bool
}

// scope is one place that can be chosen.
type scope struct {
	choice poise.ScopeChoice
	view   *poise.View
	picker poise.Picker
}

// Pick draws a scope and asks its endpoint policy.
func (p *topologyPicker) Pick(q poise.Query) (poise.Selection, error) {
	if p.levels.total == 0 {
		return nothing(p.view, &q, p.topology.name)
	}
	if q.Tried != nil {
		return p.pickUntried(&q)
	}
	if p.topology.needsKey && q.Key.IsZero() {
		return p.refuseNoKey(&q)
	}
	draws := p.topology.draws(&q)
	l := p.levels.draw(&draws)
	if l.rejects {
		return p.reject(&q, l)
	}
	return l.scopes.draw(&draws).pick(&q)
}

// pickUntried draws among the scopes that have anybody untried. It draws nothing
// where there is none, so that a failed pick leaves no trace.
func (p *topologyPicker) pickUntried(q *poise.Query) (poise.Selection, error) {
	draws := p.topology.draws(q)
	open := func(s *scope) bool { return s.isOpen(q.Tried) }
	levelOpen := func(l *level) bool { return l.isOpen(q.Tried) }
	if p.topology.needsKey && q.Key.IsZero() && (p.levels.some(levelOpen) || p.spareOpen(q.Tried) != nil) {
		return p.refuseNoKey(q)
	}
	l, found := p.levels.drawIf(&draws, levelOpen)
	if !found {
		if l = p.spareOpen(q.Tried); l == nil {
			return failed(p.view, q, p.topology.name, 0, poise.ErrAllTried)
		}
	}
	if l.rejects {
		return p.reject(q, l)
	}
	s, _ := l.scopes.drawIf(&draws, open) // an open level has an open scope
	return s.pick(q)
}

// spareOpen returns the first priority without traffic that has anybody untried,
// or nil.
func (p *topologyPicker) spareOpen(tried *poise.Tried) *level {
	for _, l := range p.spare {
		if l.isOpen(tried) {
			return l
		}
	}
	return nil
}

// reject ends a pick in a panic that fails closed.
func (p *topologyPicker) reject(q *poise.Query, l *level) (poise.Selection, error) {
	return p.refuse(q, l.choice, poise.ErrPanicRejected)
}

func (p *topologyPicker) refuseNoKey(q *poise.Query) (poise.Selection, error) {
	return p.refuse(q, poise.ScopeChoice{}, poise.ErrNoKey)
}

func (p *topologyPicker) refuse(q *poise.Query, choice poise.ScopeChoice, err error) (poise.Selection, error) {
	if q.Why == nil {
		return poise.Selection{}, err
	}
	rest := p.view.Untried(q.Tried)
	selection, err := failed(p.view, q, p.topology.name, rest.Len(), err)
	q.Why.Scope = choice
	return selection, err
}

// pick asks the endpoint policy.
func (s *scope) pick(q *poise.Query) (poise.Selection, error) {
	selection, err := s.picker.Pick(*q)
	if q.Why != nil {
		q.Why.Scope = s.choice
	}
	return selection, err
}

// isOpen reports whether anybody in the scope is untried.
func (s *scope) isOpen(tried *poise.Tried) bool {
	rest := s.view.Untried(tried)
	return rest.Len() > 0
}

// isOpen reports whether the level has anything to answer but that all were tried.
// One that rejects and has nobody eligible always rejects.
func (l *level) isOpen(tried *poise.Tried) bool {
	if l.rejects && l.scopes.total == 0 {
		return true
	}
	return l.scopes.some(func(s *scope) bool { return s.isOpen(tried) })
}

// isNoKey reports whether the error is the refusal of a query without a key.
func isNoKey(err error) bool { return errors.Is(err, poise.ErrNoKey) }

// draws are the draws of one pick: by chance, or from its key.
type draws struct {
	chance *poise.Generator
	state  uint64 // of the stream that the key begins
	byKey  bool
}

// scopeKey is the domain byte that keeps the choice of a scope apart from what
// else a key is hashed for.
const scopeKey = 's'

func (t *topology) draws(q *poise.Query) draws {
	if !t.cfg.ByKey || q.Key.IsZero() {
		return draws{chance: t.chance}
	}
	return draws{byKey: true, state: poise.Mix64(uint64(poise.FNVBasis.Byte(scopeKey).Key(q.Key)))}
}

// below returns the next number under n. From a key the numbers are equally likely
// to within n/2^64.
func (d *draws) below(n uint64) uint64 {
	if !d.byKey {
		return d.chance.Below(n)
	}
	high, _ := bits.Mul64(d.state, n)
	d.state = poise.Mix64(d.state)
	return high
}
