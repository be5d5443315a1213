package policy

import (
	"iter"
	"math/bits"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// room is a candidate in a bounded-load pick, with what decides over it.
type room struct {
	contest
	load     uint64
	capacity uint64
}

// pickSlow passes over the tried, reads trackers of every kind, hashes in every
// form, and explains.
func (p *boundedLoadPicker) pickSlow(q *poise.Query) (poise.Selection, error) {
	rest := p.view.Untried(q.Tried)
	n := rest.Len()
	switch {
	case n == 0:
		return nothing(p.view, q, "BoundedLoadRendezvous")
	case q.Key.IsZero():
		return p.keyless.pick(q, n)
	}
	buffer := p.loads.take()
	loads, items, weights, err := p.readSlow(q, &rest, (*buffer)[:0])
	*buffer = loads
	if err != nil {
		p.loads.give(buffer)
		return failed(p.view, q, "BoundedLoadRendezvous", n, err)
	}
	m := meet(p.rows, p.custom, q.Key)
	owner, best := room{contest: newContest()}, room{contest: newContest()}
	for k, load := range loads {
		position := p.view.NextEligible(rest.At(k))
		hash, weight := m.hash(position), p.shares.weights[position]
		score, limit := poise.Score(hash, weight), capacity(p.percent, weight.Value(), items, weights)
		if owner.enter(position, hash, score) {
			owner.load, owner.capacity = load, limit
		}
		if load < limit && best.enter(position, hash, score) {
			best.load, best.capacity = load, limit
		}
	}
	m.part()
	p.loads.give(buffer)
	p.explain(q, n, &owner, &best)
	return p.view.Select(p.view.Eligible(best.position))
}

// readSlow appends the load of each untried candidate, and returns how many items
// there are with the one to be placed, and the sum of the weights.
func (p *boundedLoadPicker) readSlow(q *poise.Query, rest *poise.Untried, loads []uint64) (list []uint64, items, weights uint64, err error) {
	items = 1
	for k := range rest.Len() {
		index := rest.At(k)
		load, err := p.view.Load(index, q.Now)
		if err != nil {
			return loads, 0, 0, err
		}
		var carry uint64
		if items, carry = bits.Add64(items, load, 0); carry != 0 {
			return loads, 0, 0, poise.ErrLoadOverflow
		}
		loads = append(loads, load)
		weights += uint64(p.shares.weights[p.view.NextEligible(index)].Value())
	}
	return loads, items, weights, nil
}

// explain says who owns the key, who has room, and how much.
func (p *boundedLoadPicker) explain(q *poise.Query, n int, owner, best *room) {
	if q.Why == nil {
		return
	}
	chosen, ownerIndex := p.view.Eligible(best.position), p.view.Eligible(owner.position)
	compared := []poise.Compared{{Index: chosen, Figure: best.load}, {Index: ownerIndex, Figure: owner.load}}
	if chosen == ownerIndex {
		explain(p.view, q, "BoundedLoadRendezvous", RuleOwner, chosen, n, n, compared[:1]...)
	} else {
		explain(p.view, q, "BoundedLoadRendezvous", RuleSpilled, chosen, n, n, compared...)
	}
	q.Why.AddNote(poise.Note{Name: NoteCapacity, Value: best.capacity})
	if chosen != ownerIndex {
		q.Why.AddNote(poise.Note{Name: NoteOwner, Value: uint64(ownerIndex), Candidate: true})
	}
}

// Preference lists the candidates by their score, the lowest first, as picks
// without load would.
func (p *boundedLoadPicker) Preference(key poise.Key) iter.Seq[int] {
	return ranked(p.view, p.rows, p.custom, key, p.shares.compare)
}
