package dispatch

import (
	poise "github.com/copyleftdev/poise-go/pkg"
)

// published is what calls read: a picker, and the members its View was made of. It
// never changes.
type published struct {
	number  uint64
	view    *poise.View
	picker  poise.Picker
	members []*member
	ejected int // how many the View leaves out as ejected
	closed  bool
}

// reason returns why the member is not eligible; out of scope if it is not there.
func (p *published) reason(m *member) poise.Reason {
	i, found := p.view.Lookup(m.id)
	if !found || p.members[i] != m {
		return poise.ExcludedOutOfScope
	}
	return p.view.Reason(i)
}

// priority returns the priority of the member at the index.
func (p *published) priority(i int) uint32 {
	s, _ := p.view.Sample(i)
	return s.Priority
}

// index returns the index of the member, or -1.
func (p *published) index(m *member) int {
	i, found := p.view.Lookup(m.id)
	if !found || p.members[i] != m {
		return -1
	}
	return i
}
