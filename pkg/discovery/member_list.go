package discovery

import (
	"cmp"
	"slices"
	"sort"
)

// pageLen is the most members that a page holds: enough for few pages, few enough
// to be copied for one change.
const pageLen = 128

// memberList is a list of members by incarnation, ascending, in pages. A list that
// follows another shares the pages that are the same. No page is empty, and no two
// neighbours would fit into one.
type memberList[V any] struct {
	pages []page[V]
	len   int
}

// page is a part of a memberList; it is never changed once the list is made.
type page[V any] struct {
	start   int // the index of its first member in the list
	members []*Member[V]
}

// at returns the member of index i, which is one.
func (r *memberList[V]) at(i int) *Member[V] {
	p := &r.pages[sort.Search(len(r.pages), func(p int) bool { return r.pages[p].start > i })-1]
	return p.members[i-p.start]
}

// all yields the members in order, each with its index.
func (r *memberList[V]) all(yield func(int, *Member[V]) bool) {
	for _, p := range r.pages {
		for i, m := range p.members {
			if !yield(p.start+i, m) {
				return
			}
		}
	}
}

// edited returns the list without those who left, with the changed in the places
// of their incarnations, and with the joined, who are in order, at its end.
func (r *memberList[V]) edited(changed, left, joined []*Member[V]) memberList[V] {
	pages := slices.Clone(r.pages)
	own := make([]bool, len(pages)) // not shared with r
	find := func(m *Member[V]) (p *page[V], place int) {
		at := sort.Search(len(pages), func(p int) bool { return r.pages[p].members[0].Incarnation > m.Incarnation }) - 1
		p = &pages[at]
		if !own[at] {
			own[at], p.members = true, slices.Clone(p.members)
		}
		place, _ = slices.BinarySearchFunc(r.pages[at].members, m.Incarnation, func(m *Member[V], incarnation uint64) int {
			return cmp.Compare(m.Incarnation, incarnation)
		})
		return p, place
	}
	for _, m := range changed {
		p, place := find(m)
		p.members[place] = m
	}
	for _, m := range left {
		p, place := find(m)
		p.members[place] = nil
	}
	next := memberList[V]{pages: pages[:0]}
	for i, p := range pages {
		if own[i] && len(left) > 0 {
			p.members = slices.DeleteFunc(p.members, func(m *Member[V]) bool { return m == nil })
		}
		next.add(p.members)
	}
	for chunk := range slices.Chunk(joined, pageLen) {
		next.add(chunk)
	}
	return next
}

// add puts members at the end: into the last page if they fit, else as a page.
func (r *memberList[V]) add(members []*Member[V]) {
	if len(members) == 0 {
		return
	}
	if last := len(r.pages) - 1; last >= 0 && len(r.pages[last].members)+len(members) <= pageLen {
		r.pages[last].members = slices.Concat(r.pages[last].members, members)
	} else {
		r.pages = append(r.pages, page[V]{r.len, members})
	}
	r.len += len(members)
}

// memberReader goes through a memberList.
type memberReader[V any] struct {
	pages []page[V]
	at    int // in the first of pages
}

// now returns the member that is next, nil at the end.
func (r *memberReader[V]) now() *Member[V] {
	if len(r.pages) == 0 {
		return nil
	}
	return r.pages[0].members[r.at]
}

func (r *memberReader[V]) advance() {
	if r.at++; r.at == len(r.pages[0].members) {
		r.pages, r.at = r.pages[1:], 0
	}
}

// skipShared passes over pages that both have. A page that both have comes to be
// the first of both at the same time: nobody before it is in only the newer one.
func skipShared[V any](a, b *memberReader[V]) {
	for len(a.pages) > 0 && len(b.pages) > 0 {
		p, q := a.pages[0].members, b.pages[0].members
		if len(p) != len(q) || &p[0] != &q[0] {
			return
		}
		a.pages, b.pages = a.pages[1:], b.pages[1:]
	}
}
