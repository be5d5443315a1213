package policy

import (
	"errors"
	"math/bits"
	"slices"

	poise "github.com/copyleftdev/poise-go/pkg"
)

type topologyPicker struct {
	topology   *topology
	view       *poise.View
	priorities wheel[*wheel[*scope]]
	scopes     []*scope // all that have anybody, by priority and locality
}

// scope is one place that can be chosen.
type scope struct {
	choice   poise.ScopeChoice
	picker   poise.Picker
	rejected bool // a panic that fails closed
}

// Pick draws a scope and asks its endpoint policy.
func (p *topologyPicker) Pick(q poise.Query) (poise.Selection, error) {
	if p.priorities.total == 0 {
		return nothing(p.view, &q, p.topology.name)
	}
	s := p.priorities.draw(p.topology.chance).draw(p.topology.chance)
	if s.rejected {
		return failed(p.view, &q, p.topology.name, poise.ErrPanicRejected)
	}
	selection, err := s.picker.Pick(q)
	if err != nil && q.Tried != nil && errors.Is(err, poise.ErrAllTried) {
		s, selection, err = p.elsewhere(&q)
	}
	if q.Why != nil && s != nil {
		q.Why.Scope = s.choice
	}
	return selection, err
}

// elsewhere asks the scopes in order for somebody untried.
func (p *topologyPicker) elsewhere(q *poise.Query) (*scope, poise.Selection, error) {
	for _, s := range p.scopes {
		selection, err := s.picker.Pick(*q)
		if !errors.Is(err, poise.ErrAllTried) {
			return s, selection, err
		}
	}
	selection, err := failed(p.view, q, p.topology.name, poise.ErrAllTried)
	return nil, selection, err
}

// wheel is a list of things with weights, from which a ticket chooses.
type wheel[T any] struct {
	upTo   []uint64 // ascending: the first ticket that is no more this thing's
	things []T
	total  uint64
}

// add appends a thing. Its weight is above 0.
func (w *wheel[T]) add(weight uint64, thing T) error {
	total, carry := bits.Add64(w.total, weight, 0)
	if carry != 0 {
		return &poise.FieldError{Field: "LocalityWeight", Value: weight, Err: poise.ErrWeightOverflow}
	}
	w.total = total
	w.upTo = append(w.upTo, total)
	w.things = append(w.things, thing)
	return nil
}

// at returns the thing of a ticket below total.
func (w *wheel[T]) at(ticket uint64) T {
	i, exact := slices.BinarySearch(w.upTo, ticket)
	if exact {
		i++ // upTo is exclusive
	}
	return w.things[i]
}

// draw returns a thing with a chance in proportion to its weight. With only one
// thing there is nothing to draw.
func (w *wheel[T]) draw(chance *poise.Generator) T {
	if len(w.things) == 1 {
		return w.things[0]
	}
	return w.at(chance.Below(w.total))
}
