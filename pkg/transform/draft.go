package transform

import (
	"fmt"
	"slices"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Draft is the samples of a View to be, as one Transform finds and edits them. A
// Chain makes it. It is valid during the Edit that it was given to.
//
// # Contract
//
//   - Sample returns the sample as this Edit has left it so far, and Before as the Edit found it.
//   - Changed lists, in ascending order, the members whose sample differs from what the last Edit of the transform found, those that joined included.
//   - Was returns the sample that the last Edit found, and nothing for a member that joined since.
//   - Left lists the members that the last Edit found and that are gone; another incarnation is another member.
//   - Moved is true if an index may stand for another member than in the last Edit.
//   - Set out of range, or with another identity or incarnation, fails the Run with a FieldError.
//   - A member that is left out gets no call, also not in a panic, and its priority and locality do not count it.
//
// # Cost
//
// Each method is O(1), but that Was is O(log changed). Lists grow by append.
//
// # Concurrency
//
// A Draft belongs to the goroutine that runs the Edit.
type Draft struct {
	seen   []poise.Sample // what this Edit finds; a zero Sample was never found
	edited []poise.Sample // what it makes of it

	changed []int          // ascending
	was     []poise.Sample // what the last Edit found, for each of changed
	left    []poise.Sample
	moved   bool

	// touched are the indices that this run has set.
	touched []int
	// saved holds what edited was before this run, for each index that the run has
	// reset or set.
	saved []saved
	// marks[i] is 2*run where i is in saved, 2*run+1 where it is in touched too.
	marks []uint64
	run   uint64
	err   error // of the first Set that was refused
}

// saved is an edited sample of the run before.
type saved struct {
	index  int
	sample poise.Sample
}

// Len returns how many members there are.
func (d *Draft) Len() int { return len(d.edited) }

// Sample returns the sample at the index as edited so far; the zero Sample where
// the index is out of range.
func (d *Draft) Sample(i int) poise.Sample { return at(d.edited, i) }

// Before returns the sample at the index as this Edit found it; the zero Sample
// where the index is out of range.
func (d *Draft) Before(i int) poise.Sample { return at(d.seen, i) }

// Changed returns the indices of the members that differ from what the last Edit
// of this transform found. The slice is valid during the Edit.
func (d *Draft) Changed() []int { return d.changed }

// Was returns what the last Edit of this transform found at the member that is now
// at the index, and whether it found the member at all.
func (d *Draft) Was(i int) (s poise.Sample, found bool) {
	if k, changed := slices.BinarySearch(d.changed, i); changed {
		return d.was[k], d.was[k].ID != ""
	}
	s = at(d.seen, i)
	return s, s.ID != ""
}

// Left returns the members that are gone, as the last Edit of this transform found
// them. The slice is valid during the Edit.
func (d *Draft) Left() []poise.Sample { return d.left }

// Moved reports whether the members have other indices than in the last Edit of
// this transform.
func (d *Draft) Moved() bool { return d.moved }

// Set replaces the sample at the index. The identity and the incarnation stay.
func (d *Draft) Set(i int, s poise.Sample) {
	switch {
	case uint(i) >= uint(len(d.edited)):
		d.refuse(&poise.FieldError{Field: "index", Value: i, Err: poise.ErrOutOfRange})
	case s.ID != d.seen[i].ID:
		d.refuse(&poise.FieldError{Field: fmt.Sprintf("samples[%d].ID", i), Value: s.ID, Err: ErrOtherMember})
	case s.Incarnation != d.seen[i].Incarnation:
		d.refuse(&poise.FieldError{Field: fmt.Sprintf("samples[%d].Incarnation", i), Value: s.Incarnation, Err: ErrOtherMember})
	default:
		d.save(i)
		if d.marks[i] == 2*d.run {
			d.marks[i]++
			d.touched = append(d.touched, i)
		}
		d.edited[i] = s
	}
}

// SetWeight replaces the weight of the member at the index.
func (d *Draft) SetWeight(i int, w poise.Weight) {
	s := d.Sample(i)
	s.Weight = w
	d.Set(i, s)
}

// Exclude makes the member at the index not eligible, for the reason. It stays a
// member: its priority has less capacity, and a panic may bring it back.
func (d *Draft) Exclude(i int, why poise.Reason) {
	s := d.Sample(i)
	s.Excluded = why
	d.Set(i, s)
}

// LeaveOut leaves the member at the index out as if it did not exist. The sample
// says so with ExcludedOutOfScope and PanicOptOut.
func (d *Draft) LeaveOut(i int) {
	s := d.Sample(i)
	s.Excluded, s.PanicOptOut = poise.ExcludedOutOfScope, true
	d.Set(i, s)
}

func (d *Draft) refuse(err error) {
	if d.err == nil {
		d.err = err
	}
}

// save keeps the edited sample of the run before, once.
func (d *Draft) save(i int) {
	if d.marks[i] < 2*d.run {
		d.marks[i] = 2 * d.run
		d.saved = append(d.saved, saved{i, d.edited[i]})
	}
}

// open begins a run on the samples as the transform before left them. The
// candidates are the indices that may differ from the last run; where all is true
// they are not used and every index may.
func (d *Draft) open(input []poise.Sample, candidates []int, all bool) {
	d.run++
	d.err = nil
	d.changed, d.was, d.saved = d.changed[:0], d.was[:0], d.saved[:0]
	for _, i := range d.touched { // undone, unless this Edit does the same again
		d.save(i)
		d.edited[i] = d.seen[i]
	}
	d.touched = d.touched[:0]
	if all {
		for i := range input {
			d.find(i, &input[i])
		}
	} else {
		for _, i := range candidates {
			d.find(i, &input[i])
		}
	}
}

// find takes in what the Edit finds at the index.
func (d *Draft) find(i int, s *poise.Sample) {
	if same(&d.seen[i], s) {
		return
	}
	d.save(i)
	d.changed, d.was = append(d.changed, i), append(d.was, d.seen[i])
	d.seen[i], d.edited[i] = *s, *s
}

// close ends a run. It appends to the list the indices where edited is not what it
// was before the run, in ascending order.
func (d *Draft) close(differ []int) []int {
	d.left, d.moved = d.left[:0], false
	for k := range d.saved {
		if i := d.saved[k].index; !same(&d.saved[k].sample, &d.edited[i]) {
			differ = append(differ, i)
		}
	}
	sort(differ)
	return differ
}

// move gives the members other indices: from[i] is the former index of the member
// that is now at i, -1 for one that joined. Gone are the former indices of those
// that left.
func (d *Draft) move(from, gone []int) {
	for _, i := range gone {
		if d.seen[i].ID != "" {
			d.left = append(d.left, d.seen[i])
		}
	}
	d.moved = true
	d.seen, d.edited = moved(d.seen, from), moved(d.edited, from)
	wasTouched := d.marks
	touchedIn := 2*d.run + 1
	d.touched, d.marks = d.touched[:0], make([]uint64, len(from))
	for i, old := range from {
		if old >= 0 && wasTouched[old] == touchedIn {
			d.touched = append(d.touched, i)
			d.marks[i] = touchedIn
		}
	}
}

// moved returns the samples at their new indices.
func moved(samples []poise.Sample, from []int) []poise.Sample {
	result := make([]poise.Sample, len(from))
	for i, old := range from {
		if old >= 0 {
			result[i] = samples[old]
		}
	}
	return result
}

func at(samples []poise.Sample, i int) poise.Sample {
	if uint(i) >= uint(len(samples)) {
		return poise.Sample{}
	}
	return samples[i]
}

// sort sorts a list that is mostly in order already.
func sort(list []int) {
	if !slices.IsSorted(list) {
		slices.Sort(list)
	}
}
