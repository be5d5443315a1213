package policy

import (
	"cmp"
	"fmt"
	"slices"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// ringOwners ties a ring to a View. The ring may have members that are not eligible,
// or not in the View: picks go past their points, so that a candidate can go and
// come back and no ring is made. It does not change once it is made.
type ringOwners struct {
	ring *ring
	view *poise.View
	// indices are the candidates of the View, by member of the ring; absent for one
	// that the View does not have, or has with another weight.
	indices []uint32
	// members are the members of the ring, by candidate; absent for one without.
	members []uint32

	// Of the eligible candidates:
	weights weightCounts
	without int // how many have no points on the ring
}

// on ties the ring to another View. It looks at what has changed, where the View
// knows that.
func (o *ringOwners) on(v *poise.View) *ringOwners {
	changed, known := v.ChangedSince(o.view)
	if !known {
		return o.ring.on(v)
	}
	next := *o
	next.view, next.weights = v, slices.Clone(o.weights)
	if added := v.Len() - len(o.members); added > 0 { // they joined, and the ring does not know them
		next.members = slices.Concat(o.members, slices.Repeat([]uint32{absent}, added))
	}
	detached := false
	for _, i := range changed {
		o.count(i, &next, -1)
		if member := next.members[i]; member != absent && o.ring.members[member].weight.Value() != weightAt(v, i) {
			if !detached {
				next.indices, next.members = slices.Clone(next.indices), slices.Clone(next.members)
				detached = true
			}
			next.indices[member], next.members[i] = absent, absent
		}
		next.count(i, &next, 1)
	}
	return &next
}

// count adds a candidate of o, if it is eligible, to the counts of another, or takes
// it away.
func (o *ringOwners) count(i int, in *ringOwners, by int) {
	if o.view.Reason(i) != poise.NotExcluded {
		return
	}
	in.weights = in.weights.add(weightAt(o.view, i), by)
	if o.members[i] == absent {
		in.without += by
	}
}

// weightAt returns the weight of a candidate.
func weightAt(v *poise.View, i int) uint32 {
	s, _ := v.Sample(i) // in range
	return s.Weight.Value()
}

// on ties the ring to a View by identities and weights.
func (r *ring) on(v *poise.View) *ringOwners {
	o := &ringOwners{
		ring: r, view: v,
		indices: slices.Repeat([]uint32{absent}, len(r.members)),
		members: slices.Repeat([]uint32{absent}, v.Len()),
	}
	for k := range r.members {
		i, found := v.Lookup(r.members[k].id)
		if found && weightAt(v, i) == r.members[k].weight.Value() {
			o.indices[k], o.members[i] = uint32(i), uint32(k)
		}
	}
	for i := range v.Len() {
		o.count(i, o, 1)
	}
	return o
}

// weightCounts says how many candidates have each weight, ascending.
type weightCounts []weightCount

type weightCount struct {
	weight uint32
	count  int // at least 1
}

// add adds candidates of a weight, or takes some away, and returns what it becomes.
func (c weightCounts) add(weight uint32, by int) weightCounts {
	at, found := slices.BinarySearchFunc(c, weight, func(of weightCount, w uint32) int { return cmp.Compare(of.weight, w) })
	if !found {
		return slices.Insert(c, at, weightCount{weight, by})
	}
	if c[at].count += by; c[at].count == 0 {
		return slices.Delete(c, at, at+1)
	}
	return c
}

// ringDemand is what the eligible candidates of a View ask of a ring.
type ringDemand struct {
	unit   uint64 // the greatest common divisor of their weights; 0: there are none
	points uint64
}

// demand returns what the View asks for. It fails at the first candidate with which
// the points are more than most.
func (o *ringOwners) demand(perUnit, most uint32) (d ringDemand, err error) {
	units := uint64(0) // at most 2^32 weights of 32 bits: it fits
	for _, of := range o.weights {
		units += uint64(of.weight) * uint64(of.count)
		d.unit = gcd(uint64(of.weight), d.unit)
	}
	if d.unit == 0 {
		return d, nil
	}
	if units /= d.unit; units <= uint64(most)/uint64(perUnit) {
		d.points = units * uint64(perUnit)
		return d, nil
	}
	for i := range o.view.Len() {
		if o.view.Reason(i) != poise.NotExcluded {
			continue
		}
		weight := weightAt(o.view, i)
		if d.points += uint64(weight) / d.unit * uint64(perUnit); d.points > uint64(most) {
			field := fmt.Sprintf("candidates[%d].Weight", i)
			return d, &poise.FieldError{Field: field, Value: weight, Err: ErrTooManyPoints}
		}
	}
	panic("poise: invariant: the points are more than most")
}

// fits reports whether the ring serves the View: it has the points of all eligible
// candidates, and at least half of its points are theirs.
func (o *ringOwners) fits(d ringDemand) bool {
	return d.unit == 0 || d.unit == o.ring.unit && o.without == 0 && 2*d.points >= uint64(o.ring.total)
}

// renewed returns a ring that fits. It is the old one with members more or less,
// unless the unit of weight has changed or most of it is new.
//
// Beside the eligible candidates it has others, which may be eligible soon, as far as
// they leave the eligible half of the points. In a scope it does not: they belong to
// others.
func (o *ringOwners) renewed(d ringDemand, perUnit, most uint32, custom *streamHash) *ringOwners {
	room := uint64(0)
	if !o.view.IsScope() {
		room = min(uint64(most), 2*d.points) - d.points
	}
	drop := slices.Repeat([]bool{true}, len(o.ring.members))
	var all, fresh []ringMember
	points := 0 // of fresh
	for i, s := range o.view.All() {
		m := ringMember{id: s.ID, weight: s.Weight}
		weight := uint64(s.Weight.Value())
		asked := weight / d.unit * uint64(perUnit)
		if o.view.Reason(i) != poise.NotExcluded {
			if weight%d.unit != 0 || asked > room {
				continue
			}
			room -= asked
		}
		m.points = uint32(asked)
		all = append(all, m)
		if k := o.members[i]; k != absent {
			drop[k] = false
		} else {
			fresh, points = append(fresh, m), points+int(asked)
		}
	}
	var next *ring
	if d.unit == o.ring.unit && points < o.ring.total/4 {
		next = o.ring.edited(drop, fresh, custom)
	} else {
		next = newRing(all, custom)
		next.unit = d.unit
	}
	return next.on(o.view)
}

// owner returns the candidate that a point belongs to, if it is eligible.
func (o *ringOwners) owner(spot ringSpot) (index int, ok bool) {
	i := o.indices[o.ring.point(spot).member]
	if i == absent {
		return 0, false
	}
	return int(i), o.view.Reason(int(i)) == poise.NotExcluded
}
