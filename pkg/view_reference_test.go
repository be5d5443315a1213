package poise_test

import (
	poise "github.com/copyleftdev/poise-go/pkg"
)

// slowView is the obvious twin of a View: it keeps the samples and looks through
// them at every question.
type slowView struct {
	samples []poise.Sample
	members map[int]bool // of a scope; nil: not a scope
}

func (v slowView) reason(i int) poise.Reason {
	s := v.samples[i]
	switch {
	case v.members != nil && v.members[i]:
		return poise.NotExcluded
	case s.Status == poise.Draining, s.Excluded == poise.ExcludedDraining:
		return poise.ExcludedDraining
	case s.Status == poise.Unavailable:
		return poise.ExcludedUnavailable
	case s.Excluded != poise.NotExcluded:
		return s.Excluded
	case v.members != nil:
		return poise.ExcludedOutOfScope
	}
	return poise.NotExcluded
}

func (v slowView) eligible() []int {
	list := []int{}
	for i := range v.samples {
		if v.reason(i) == poise.NotExcluded {
			list = append(list, i)
		}
	}
	return list
}

// mayJoin reports whether a scope may have candidate i as a member.
func (v slowView) mayJoin(i int) bool {
	s := v.samples[i]
	if s.Status == poise.Draining || s.Excluded == poise.ExcludedDraining {
		return false
	}
	healthy := s.Status == poise.Ready && s.Excluded == poise.NotExcluded
	return healthy || !s.PanicOptOut
}

func (v slowView) scope(members []int) slowView {
	set := map[int]bool{}
	for _, i := range members {
		set[i] = true
	}
	return slowView{samples: v.samples, members: set}
}

// untried lists the eligible candidates whose incarnation is not among those tried.
func (v slowView) untried(tried []life) []int {
	list := []int{}
next:
	for _, i := range v.eligible() {
		for _, l := range tried {
			if l.id == v.samples[i].ID && l.number == v.samples[i].Incarnation {
				continue next
			}
		}
		list = append(list, i)
	}
	return list
}

// life is one incarnation, as given to Tried.Add.
type life struct {
	id     string
	number uint64
}

// nextIn returns the position in an ascending list of the first index at or after
// the given one, going round; -1 where there is none.
func nextIn(list []int, index, n int) int {
	if index < 0 || index >= n {
		return -1
	}
	for step := range n {
		for position, i := range list {
			if i == (index+step)%n {
				return position
			}
		}
	}
	return -1
}
