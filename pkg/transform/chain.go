package transform

import (
	"fmt"
	"reflect"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Chain keeps the samples of the members of a balancer and runs transforms over
// them, in the order in which they were given. Each finds what the one before left.
//
// The zero value has no transforms and no members.
//
// # Contract
//
//   - After a Run, Sample returns what the last transform left.
//   - Changed lists, in ascending order, the members whose sample differs from the Run before that succeeded, those that joined included.
//   - After a Run that failed, Samples are those of the Run before, and what was to change counts as changed in the next one that succeeds.
//   - Run returns the earliest instant at which a transform wants to run again.
//   - Reset refuses an empty and a duplicate identity, Change another identity or incarnation and an index out of range, each with a FieldError; nothing has changed.
//   - Any sequence of Reset, Change and Run leaves the samples that a Reset to the same samples and one Run would leave, where the transforms have no state.
//
// # Cost
//
// Run is O(changed) and what the transforms do; O(members) after a Reset that gave
// somebody another index, and after a Run that failed. Change is O(1), Reset
// O(members). A Chain holds each sample twice, and twice more for each transform.
//
// # Concurrency
//
// A Chain belongs to one goroutine at a time.
type Chain struct {
	transforms []Transform
	drafts     []Draft
	base       []poise.Sample
	dirty      []int // indices of base that changed since the last Run
	all        bool  // every index counts as dirty
	// published are the samples after the last Run that succeeded; a zero Sample
	// where it did not know the member.
	published []poise.Sample
	changed   []int
	lists     [2][]int // that Run uses in turn
}

// NewChain returns a Chain, or a [poise.FieldError] of ErrNilTransform.
func NewChain(transforms ...Transform) (*Chain, error) {
	for k, t := range transforms {
		if t == nil {
			return nil, &poise.FieldError{Field: fmt.Sprintf("transforms[%d]", k), Err: ErrNilTransform}
		}
	}
	return &Chain{transforms: append([]Transform(nil), transforms...), drafts: make([]Draft, len(transforms))}, nil
}

// Reset makes the members those of the list, which is copied. A member that was
// there before, of the same identity and incarnation, is the same member.
func (c *Chain) Reset(samples []poise.Sample) error {
	index := make(map[string]int, len(samples))
	for i := range samples {
		field := fmt.Sprintf("samples[%d].ID", i)
		if samples[i].ID == "" {
			return &poise.FieldError{Field: field, Value: "", Err: poise.ErrEmptyIdentity}
		}
		if _, twice := index[samples[i].ID]; twice {
			return &poise.FieldError{Field: field, Value: samples[i].ID, Err: poise.ErrDuplicateIdentity}
		}
		index[samples[i].ID] = i
	}
	from := make([]int, len(samples))
	for i := range from {
		from[i] = -1
	}
	var gone []int
	stay := len(samples) == len(c.base)
	for old := range c.base {
		i, found := index[c.base[old].ID]
		if !found || samples[i].Incarnation != c.base[old].Incarnation {
			gone = append(gone, old)
			continue
		}
		from[i] = old
		stay = stay && i == old
	}
	c.base = append(c.base[:0:0], samples...)
	c.all = true
	if stay && len(gone) == 0 {
		return nil
	}
	for k := range c.drafts {
		c.drafts[k].move(from, gone)
	}
	c.published = moved(c.published, from)
	return nil
}

// Change replaces the sample of one member.
func (c *Chain) Change(i int, s poise.Sample) error {
	switch {
	case uint(i) >= uint(len(c.base)):
		return &poise.FieldError{Field: "index", Value: i, Err: poise.ErrOutOfRange}
	case s.ID != c.base[i].ID:
		return &poise.FieldError{Field: "sample.ID", Value: s.ID, Err: ErrOtherMember}
	case s.Incarnation != c.base[i].Incarnation:
		return &poise.FieldError{Field: "sample.Incarnation", Value: s.Incarnation, Err: ErrOtherMember}
	}
	c.base[i] = s
	if !c.all {
		c.dirty = append(c.dirty, i)
	}
	return nil
}

// Run runs the transforms as of the instant. It returns when to run again although
// no member has changed; the zero time is never.
func (c *Chain) Run(now time.Time) (again time.Time, err error) {
	sort(c.dirty)
	input, candidates := c.base, c.dirty
	for k, t := range c.transforms {
		d := &c.drafts[k]
		d.open(input, candidates, c.all)
		next, err := t.Edit(d, now)
		c.lists[k%2] = d.close(c.lists[k%2][:0])
		if err == nil {
			err = d.err
		}
		if err != nil {
			c.all = true // for those that this Run did not reach
			return time.Time{}, err
		}
		if !next.IsZero() && (again.IsZero() || next.Before(again)) {
			again = next
		}
		input, candidates = d.edited, c.lists[k%2]
	}
	c.publish(input, candidates)
	return again, nil
}

// publish takes over what the last transform left.
func (c *Chain) publish(input []poise.Sample, candidates []int) {
	c.changed = c.changed[:0]
	take := func(i int) {
		if !same(&c.published[i], &input[i]) {
			c.published[i] = input[i]
			c.changed = append(c.changed, i)
		}
	}
	if c.all {
		for i := range input {
			take(i)
		}
	} else {
		for _, i := range candidates {
			take(i)
		}
	}
	c.dirty, c.all = c.dirty[:0], false
}

// Len returns how many members there are.
func (c *Chain) Len() int { return len(c.base) }

// Base returns the sample at the index as Reset or Change gave it; the zero Sample
// where the index is out of range.
func (c *Chain) Base(i int) poise.Sample { return at(c.base, i) }

// Sample returns the sample at the index as the last Run left it; the zero Sample
// where the index is out of range, or the member joined since.
func (c *Chain) Sample(i int) poise.Sample { return at(c.published, i) }

// Samples returns the samples as the last Run left them. The slice belongs to the
// Chain, and is valid until the next call of Reset or Run.
func (c *Chain) Samples() []poise.Sample { return c.published }

// Changed returns the indices of the samples that the last Run changed. The slice
// is valid until the next Run.
func (c *Chain) Changed() []int { return c.changed }

// same reports whether two samples are equal. Load trackers that cannot be compared
// are never equal.
func same(a, b *poise.Sample) bool {
	return a.ID == b.ID && a.Incarnation == b.Incarnation && a.Weight == b.Weight &&
		a.Status == b.Status && a.Excluded == b.Excluded && a.Priority == b.Priority &&
		a.Locality == b.Locality && a.LocalityWeight == b.LocalityWeight &&
		a.PanicOptOut == b.PanicOptOut && sameTracker(a.Load, b.Load)
}

func sameTracker(a, b poise.LoadTracker) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case *poise.InFlight:
		other, is := b.(*poise.InFlight)
		return is && a == other
	case *poise.PeakEWMA:
		other, is := b.(*poise.PeakEWMA)
		return is && a == other
	}
	return reflect.ValueOf(a).Comparable() && a == b
}
