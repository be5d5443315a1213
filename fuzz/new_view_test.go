package fuzz

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// counted is a candidate that counts how often it is sampled and can only be
// sampled once: later samples are worse.
type counted struct {
	sample poise.Sample
	reads  int
}

func (c *counted) Sample() poise.Sample {
	c.reads++
	if c.reads > 1 {
		return poise.Sample{}
	}
	return c.sample
}

// costTracker measures another unit than InFlight does.
type costTracker struct{}

func (costTracker) Load(time.Time) (uint64, error) { return 1, nil }
func (costTracker) Unit() poise.LoadUnit           { return poise.CostNanoseconds }

// candidatesFrom reads three bytes per candidate: what it is called and what is
// wrong with it, its state, its place.
func candidatesFrom(data []byte) (candidates []poise.Candidate, all []*counted, loads []*poise.InFlight) {
	heavy, err := poise.NewWeight(2)
	if err != nil {
		panic(err)
	}
	for i := 0; i+2 < len(data) && len(all) < 64; i += 3 {
		name, state, place := data[i], data[i+1], data[i+2]
		c := &counted{sample: poise.Sample{
			ID:          fmt.Sprintf("c%d", i),
			Incarnation: uint64(name),
			Status:      poise.Status(state & 3), // 3 is unknown
			Excluded:    poise.Reason(state >> 2 & 15),
			PanicOptOut: state>>6&1 != 0,
			Priority:    uint32(place & 1),
			Locality:    fmt.Sprintf("z%d", place>>1&15),
		}}
		if state>>7 == 0 { // half of them are plain
			c.sample.Status, c.sample.Excluded = poise.Ready, poise.NotExcluded
		}
		if place>>5 == 7 {
			c.sample.LocalityWeight = heavy
		}
		all = append(all, c)
		candidates = append(candidates, c)
		switch name {
		case 0:
			c.sample.ID = ""
		case 1:
			c.sample.ID = all[0].sample.ID
		case 2:
			candidates[len(candidates)-1] = nil
		case 3:
			c.sample.Load = costTracker{}
		case 4:
			c.sample.Load = (*poise.InFlight)(nil)
		default:
			if name&1 != 0 {
				load := poise.NewInFlight(uint64(name))
				loads = append(loads, load)
				c.sample.Load = load
			}
		}
	}
	return candidates, all, loads
}

// verdict is what NewView should say of the candidates, found by looking at each
// in the order of the promises.
func verdict(candidates []poise.Candidate) error {
	seen := map[string]bool{}
	for _, candidate := range candidates {
		if candidate == nil {
			return poise.ErrNilCandidate
		}
		s := candidate.(*counted).sample
		switch {
		case s.ID == "":
			return poise.ErrEmptyIdentity
		case s.Status > poise.Unavailable:
			return poise.ErrInvalidStatus
		case s.Excluded > poise.ExcludedOutOfScope:
			return poise.ErrInvalidReason
		case seen[s.ID]:
			return poise.ErrDuplicateIdentity
		}
		seen[s.ID] = true
	}
	for i, a := range candidates {
		for _, b := range candidates[:i] {
			s, other := a.(*counted).sample, b.(*counted).sample
			if s.Priority == other.Priority && s.Locality == other.Locality && s.LocalityWeight != other.LocalityWeight {
				return poise.ErrInconsistentTopology
			}
		}
	}
	var first poise.LoadTracker
	for _, candidate := range candidates {
		load := candidate.(*counted).sample.Load
		switch {
		case load == nil:
		case load == poise.LoadTracker((*poise.InFlight)(nil)):
			return poise.ErrNilTracker
		case first == nil:
			first = load
		case first.Unit() != load.Unit():
			return poise.ErrMixedLoad
		}
	}
	return nil
}

// Claim: NewView refuses an empty identity, a duplicate identity, a nil
// candidate, an unknown status or reason, mixed load units and two weights for one
// locality of one priority, each with a FieldError.
//
// Claim: NewView asks each Candidate for its Sample exactly once, or at most once
// if it refuses.
//
// Cases: B42, G1, G2, G3, G21.
func FuzzNewView(f *testing.F) {
	f.Add([]byte{}, uint64(0))
	f.Add([]byte{5, 0, 0, 6, 0, 0, 7, 0, 0}, uint64(5))
	f.Add([]byte{5, 0, 0, 1, 0, 0}, uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, mask uint64) {
		candidates, all, loads := candidatesFrom(data)
		want := verdict(candidates)
		v, err := poise.NewView(candidates)
		for i, c := range all {
			if c.reads > 1 || want == nil && c.reads != 1 {
				t.Fatalf("candidate %d was sampled %d times", i, c.reads)
			}
		}
		for _, load := range loads {
			if load.Current() != 0 {
				t.Fatal("a load has changed")
			}
		}
		if !errors.Is(err, want) {
			t.Fatalf("NewView: %v, want %v", err, want)
		}
		if want != nil {
			var fieldError *poise.FieldError
			if v != nil || !errors.As(err, &fieldError) || fieldError.Field == "" {
				t.Fatalf("NewView: %v, %v", v, err)
			}
			return
		}

		eligible, members := []int{}, []int{}
		for i, c := range all {
			s := c.sample
			ready := s.Status == poise.Ready && s.Excluded == poise.NotExcluded
			if ready {
				eligible = append(eligible, i)
			}
			drains := s.Status == poise.Draining || s.Excluded == poise.ExcludedDraining
			mayJoin := !drains && (ready || !s.PanicOptOut)
			if _, err := v.Scope([]int{i}); (err == nil) != mayJoin || !mayJoin && !errors.Is(err, poise.ErrNotEligible) {
				t.Fatalf("a scope of %d, which is %v: %v", i, v.Reason(i), err)
			}
			if mayJoin && mask>>i&1 != 0 {
				members = append(members, i)
			}
		}
		requireEligible(t, v, len(all), eligible)
		scope, err := v.Scope(members)
		if err != nil {
			t.Fatalf("Scope(%v): %v", members, err)
		}
		requireEligible(t, scope, len(all), members)
		requireEligible(t, v, len(all), eligible)
		for _, i := range members {
			selection, err := scope.Select(i)
			if err != nil {
				t.Fatal(err)
			}
			if index, err := v.Index(selection); index != i || err != nil {
				t.Fatalf("the selection of %d resolves to %d, %v", i, index, err)
			}
		}
	})
}

// requireEligible requires that the view has exactly these eligible, however it is
// asked.
func requireEligible(t *testing.T, v *poise.View, n int, want []int) {
	t.Helper()
	if v.Len() != n || v.EligibleLen() != len(want) {
		t.Fatalf("%d of %d are eligible, want %d of %d", v.EligibleLen(), v.Len(), len(want), n)
	}
	for position, index := range want {
		if got := v.Eligible(position); got != index {
			t.Fatalf("Eligible(%d) is %d, want %d", position, got, index)
		}
	}
	for i := range n {
		_, err := v.Select(i)
		if is := slices.Contains(want, i); is != (err == nil) || is != (v.Reason(i) == poise.NotExcluded) {
			t.Fatalf("of %d, Select says %v and Reason %v", i, err, v.Reason(i))
		}
		next := -1
		for step := 0; step < n && next < 0; step++ {
			next = slices.Index(want, (i+step)%n)
		}
		if got := v.NextEligible(i); got != next {
			t.Fatalf("NextEligible(%d) is %d, want %d", i, got, next)
		}
	}
	for _, i := range []int{-1, n} {
		if _, err := v.Select(i); err != poise.ErrOutOfRange || v.NextEligible(i) != -1 {
			t.Fatalf("of %d, Select says %v", i, err)
		}
	}
}
