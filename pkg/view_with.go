package poise

import (
	"math"
	"slices"
)

// With returns the View in which the given samples stand for those of the same
// identities; a sample of an identity that the View does not have joins at its end.
// Everything else is as in v, which does not change. Of a scope it gives what the
// View of the scope would give.
//
// It refuses what NewView refuses, and an identity given twice, with a [FieldError]
// that names the sample, such as "samples[2].Weight"; then there is no View. Without
// samples it returns v itself, unless v is a scope.
//
// A candidate that has left needs a NewView, since the others move up.
func (v *View) With(samples ...Sample) (*View, error) {
	if v == nil {
		return nil, &FieldError{Field: "view", Err: ErrNilView}
	}
	if len(samples) == 0 && !v.scope {
		return v, nil
	}
	e := viewEdit{old: v, next: *v, samples: samples}
	if err := e.resolve(); err != nil {
		return nil, err
	}
	if err := e.checkLocalities(); err != nil {
		return nil, err
	}
	if err := e.checkLoads(); err != nil {
		return nil, err
	}
	e.setSamples()
	e.setEligible()
	e.next.scope = false
	e.next.number = views.Add(1)
	if e.next.lineage == 0 {
		e.next.lineage = e.next.number
	}
	return &e.next, nil
}

// viewEdit makes one View of another.
type viewEdit struct {
	old     *View
	next    View
	samples []Sample
	indices []int // of the samples, in next
}

// resolve checks each sample by itself and finds its place.
func (e *viewEdit) resolve() error {
	n := e.old.Len()
	if uint64(n)+uint64(len(e.samples)) > math.MaxUint32 {
		return &FieldError{Field: "samples", Value: len(e.samples), Err: ErrTooMany}
	}
	e.indices = make([]int, len(e.samples))
	given := make([]uint64, (n+63)/64)
	for k := range e.samples {
		s := &e.samples[k]
		if err := s.check(); err != nil {
			return within("samples", k, err)
		}
		i, found := e.next.ids.find(s.ID)
		switch {
		case !found:
			if e.next.ids == e.old.ids {
				e.next.ids = e.old.ids.joining()
			}
			i = e.next.ids.len()
			e.next.ids.join(s.ID, i)
		case i >= n, given[i/64]>>(i%64)&1 != 0:
			return within("samples", k, &FieldError{Field: "ID", Value: s.ID, Err: ErrDuplicateIdentity})
		default:
			given[i/64] |= 1 << (i % 64)
		}
		e.indices[k] = i
	}
	e.next.n = e.next.ids.len()
	return nil
}

// before returns the sample that sample k replaces, or nil.
func (e *viewEdit) before(k int) *Sample {
	if i := e.indices[k]; i < e.old.Len() {
		return e.old.samples.at(i)
	}
	return nil
}

// checkLocalities counts the localities anew where one has changed.
func (e *viewEdit) checkLocalities() error {
	var moved []int
	for k := range e.samples {
		s, was := &e.samples[k], e.before(k)
		if was == nil || was.Priority != s.Priority || was.Locality != s.Locality || was.LocalityWeight != s.LocalityWeight {
			moved = append(moved, k)
		}
	}
	if moved == nil {
		return nil
	}
	e.next.localities = e.old.localities.clone()
	for _, k := range moved {
		if was := e.before(k); was != nil {
			e.next.localities.remove(was)
		}
	}
	for _, k := range moved {
		if s := &e.samples[k]; !e.next.localities.add(s) {
			return within("samples", k, inconsistent(s))
		}
	}
	return nil
}

// checkLoads counts the trackers anew. None is compared, which could panic.
func (e *viewEdit) checkLoads() error {
	for k := range e.samples {
		if was := e.before(k); was != nil {
			e.next.loads.remove(was.Load)
		}
	}
	for k := range e.samples {
		if err := e.next.loads.add(e.samples[k].Load); err != nil {
			return within("samples", k, err)
		}
	}
	return nil
}

// setSamples fills the columns. It copies what the samples change.
func (e *viewEdit) setSamples() {
	edit := samplesEdit{from: e.old.samples}
	inFlight, copied := e.old.inFlight, false
	for k, i := range e.indices {
		edit.set(i, &e.samples[k])
		tracker, _ := e.samples[k].Load.(*InFlight)
		if i < len(inFlight) && inFlight[i] == tracker {
			continue
		}
		if !copied {
			inFlight, copied = slices.Concat(inFlight, make([]*InFlight, e.next.n-len(inFlight))), true
		}
		inFlight[i] = tracker
	}
	e.next.samples, e.next.inFlight = edit.done(), inFlight
}

// setEligible finds who has become eligible or is no longer.
func (e *viewEdit) setEligible() {
	n := e.next.n
	if e.old.scope {
		e.next.eligible = newEligibleSet(n, e.next.ready())
		return
	}
	var flips []uint32
	for k, i := range e.indices {
		if (e.samples[k].reason() == NotExcluded) != e.old.eligible.has(i) {
			flips = append(flips, uint32(i))
		}
	}
	if flips == nil && (n+63)/64 == len(e.old.eligible.blocks) {
		return
	}
	slices.Sort(flips)
	e.next.eligible = e.old.eligible.toggled(n, flips)
}

// ChangedSince lists the candidates, ascending, that are not the same in v as in
// another View: eligible in one alone, joined since, or with another sample. It may
// list a candidate whose load tracker alone was given again.
//
// It answers false where it cannot tell, so that everybody must be looked at: if not
// both Views came from one View by With or Scope, or the other has candidates that v
// does not have.
//
// It is O(n/64), and O(64) for each change.
func (v *View) ChangedSince(other *View) (indices []int, known bool) {
	if v == nil || other == nil || v.lineage != other.lineage || v.Len() < other.Len() {
		return nil, false
	}
	for p, page := range v.samples {
		var was []Sample
		if p < len(other.samples) {
			was = other.samples[p]
		}
		flips := v.eligible.blocks[p].bits
		if p < len(other.eligible.blocks) {
			flips ^= other.eligible.blocks[p].bits
		}
		same := len(page) == len(was) && &page[0] == &was[0]
		if same && flips == 0 {
			continue
		}
		for i := range page {
			if flips>>i&1 != 0 || !same && (i >= len(was) || !page[i].same(&was[i])) {
				indices = append(indices, p*pageLen+i)
			}
		}
	}
	return indices, true
}
