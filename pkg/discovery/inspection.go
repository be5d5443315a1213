// Explorable.

package discovery

import (
	"slices"
	"strings"
)

// Inspection is a Directory as it stands at one instant, for people and for evidence:
// what a Snapshot shows, and who says so.
type Inspection[V any] struct {
	_ struct{}
	// Revision is that of the newest snapshot.
	Revision uint64
	// Closed means that the Directory was closed.
	Closed bool
	// Incarnations is the number of the last one that joined.
	Incarnations uint64
	// Members are those of the newest snapshot, in its order.
	Members []MemberInspection[V]
	// Sources are those that have a session or claims, by name.
	Sources []SourceInspection
}

// MemberInspection is a member and who claims it.
type MemberInspection[V any] struct {
	_ struct{}
	Member[V]
	// Claims are the words of its sources, the oldest first; none exactly while it
	// drains.
	Claims []Claim[V]
}

// Claim is the word of a source that a member exists, and what it is.
type Claim[V any] struct {
	_      struct{}
	Source string
	Value  V
}

// SourceInspection is who makes changes, over all of its sessions.
type SourceInspection struct {
	_    struct{}
	Name string
	// Open means that it has a session.
	Open bool
	// Claims is how many members it claims.
	Claims int
}

// SessionInspection is a Session as it stands.
type SessionInspection struct {
	_ struct{}
	// Ended is why the Session can make no change any more, a SessionError; nil while
	// it can.
	Ended error
	// Dated means that it has taken a list with a revision of its own, and Date is the
	// last of these.
	Dated bool
	Date  uint64
}

// Inspect returns the Session as it stands.
func (s *Session[V]) Inspect() SessionInspection {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	i := SessionInspection{Dated: s.dated, Date: s.last}
	if s.of.session != s {
		i.Ended = &SessionError{Source: s.of.name, Replaced: !s.closed}
	}
	return i
}

// Inspect returns the Directory as it stands. It is linear in members and claims, and
// changes wait for it.
func (d *Directory[V]) Inspect() Inspection[V] {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.current.Load()
	i := Inspection[V]{Revision: p.snapshot.revision, Closed: p.closed, Incarnations: d.incarnations}
	for _, m := range p.snapshot.All() {
		member := MemberInspection[V]{Member: m}
		for _, c := range d.entries[m.ID].claims {
			member.Claims = append(member.Claims, Claim[V]{Source: c.by.name, Value: c.value})
		}
		i.Members = append(i.Members, member)
	}
	for name, s := range d.sources {
		i.Sources = append(i.Sources, SourceInspection{Name: name, Open: s.session != nil, Claims: s.claims})
	}
	slices.SortFunc(i.Sources, func(a, b SourceInspection) int { return strings.Compare(a.Name, b.Name) })
	return i
}
