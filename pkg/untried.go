package poise

import "slices"

// Untried is the eligible list of a View without what a call has tried. Positions
// run from 0 to Len()-1, in the order of the candidates. [View.Untried] makes one.
//
// The zero value is empty.
//
// # Contract
//
//   - Untried holds the eligible candidates that were not tried, in the order of the View.
//   - Next finds the first untried candidate at or after an index, going round.
//   - Skipped lists the tried ones, by their positions in the eligible list of the View, ascending.
//
// # Cost
//
// Len is O(1); At and Next are O(tried). Nothing allocates.
//
// # Concurrency
//
// An Untried does not change once it is made.
type Untried struct {
	view *View
	// The positions in the eligible list that were tried, ascending: the first
	// few inline, so that a pick allocates nothing; all of them in more once they
	// are too many for that.
	inline [8]uint32
	count  int
	more   []uint32
}

// Untried returns the eligible candidates that t does not name. It allocates only
// for a call that tried more than eight of them.
func (v *View) Untried(t *Tried) Untried {
	u := Untried{view: v}
	for k := range t.Len() {
		entry := t.at(k)
		i, found := v.Lookup(entry.id)
		if found && v.eligible.has(i) && v.samples.at(i).Incarnation == entry.number {
			u.skip(uint32(v.eligible.before(i)))
		}
	}
	slices.Sort(u.skipped())
	return u
}

func (u *Untried) skip(position uint32) {
	switch {
	case u.more != nil:
		u.more = append(u.more, position)
	case u.count < len(u.inline):
		u.inline[u.count] = position
		u.count++
	default:
		u.more = append(slices.Clone(u.inline[:]), position)
	}
}

func (u *Untried) skipped() []uint32 {
	if u.more != nil {
		return u.more
	}
	return u.inline[:u.count]
}

// Check returns why nothing can be picked: ErrEmpty, ErrNoEligible, ErrAllTried,
// or nil.
func (u *Untried) Check() error {
	if u.Len() > 0 {
		return nil
	}
	if u.view == nil {
		return ErrEmpty
	}
	if err := u.view.Check(); err != nil {
		return err
	}
	return ErrAllTried
}

// Len returns how many eligible candidates are untried.
func (u *Untried) Len() int {
	if u.view == nil {
		return 0
	}
	return len(u.view.eligible.list) - len(u.skipped())
}

// At returns the index of the untried eligible candidate at the position; -1
// where there is none.
func (u *Untried) At(position int) int {
	if uint(position) >= uint(u.Len()) {
		return -1
	}
	for _, skipped := range u.skipped() {
		if int(skipped) <= position {
			position++
		}
	}
	return int(u.view.eligible.list[position])
}

// Skipped returns the k-th position in the eligible list of the View, from 0 and
// ascending, whose candidate was tried; -1 where there are no more.
func (u *Untried) Skipped(k int) int {
	skipped := u.skipped()
	if uint(k) >= uint(len(skipped)) {
		return -1
	}
	return int(skipped[k])
}

// Next returns the position of the first untried eligible candidate at or after
// the index, going round; -1 where there is none or the index is out of range.
func (u *Untried) Next(index int) int {
	if u.Len() == 0 {
		return -1
	}
	eligible := u.view.NextEligible(index)
	if eligible < 0 {
		return -1
	}
	before := 0
	for _, skipped := range u.skipped() {
		if int(skipped) < eligible {
			before++
		}
	}
	return (eligible - before) % u.Len()
}
