// Explorable.

package discovery

import (
	"iter"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// Snapshot is everything a Directory knew at one moment.
//
// The zero value is an empty snapshot of no directory.
//
// # Contract
//
//   - A Snapshot never changes.
//   - The members of a Snapshot stand in the order in which they joined, which is that of their incarnations.
//   - Lookup finds every member of the Snapshot by its identity, and nobody else.
//   - Delta tells exactly what has become different since the older Snapshot, whatever lies between the two.
//   - A draining member is draining in every View that is made of the Snapshot.
//
// # Cost
//
// At is O(log n). Delta is linear in what is different, and for each 64 members at
// most one step more. The first Lookup after members have joined or left is linear
// and allocates an index; all others are O(log n). None of them allocates but for
// what it returns.
//
// # Concurrency
//
// A Snapshot is safe for concurrent use.
type Snapshot[V any] struct {
	rules    *rules[V]
	revision uint64
	members  memberList[V]
	index    *index
}

// rules are what all snapshots of one directory share.
type rules[V any] struct {
	equal  func(a, b V) bool
	nilled bool // a V may be nil
}

// index finds the places of identities. Snapshots with the same members in the
// same order share one.
type index struct {
	once syncx.Once
	at   map[string]int
}

// Revision returns the number of the snapshot: higher than that of every one
// before it.
func (s *Snapshot[V]) Revision() uint64 { return s.revision }

// Len returns the number of members, draining ones included.
func (s *Snapshot[V]) Len() int { return s.members.len }

// At returns the member at index i, in order; the indices are those of a View that
// is made of the snapshot.
func (s *Snapshot[V]) At(i int) (Member[V], bool) {
	if i < 0 || i >= s.members.len {
		return Member[V]{}, false
	}
	return *s.members.at(i), true
}

// All yields the members in order, each with its index.
func (s *Snapshot[V]) All() iter.Seq2[int, Member[V]] {
	return func(yield func(int, Member[V]) bool) {
		s.members.all(func(i int, m *Member[V]) bool { return yield(i, *m) })
	}
}

// Lookup returns the member with the identity.
func (s *Snapshot[V]) Lookup(id string) (Member[V], bool) {
	if s.members.len == 0 {
		return Member[V]{}, false
	}
	s.index.once.Do(func() {
		s.index.at = make(map[string]int, s.members.len)
		for i, m := range s.members.all {
			s.index.at[m.ID] = i
		}
	})
	i, ok := s.index.at[id]
	if !ok {
		return Member[V]{}, false
	}
	return *s.members.at(i), true
}

// View makes a View of the members, in order. The function describes each of them;
// identity, incarnation and, for a draining member, the status are then set to
// those of the directory.
func (s *Snapshot[V]) View(describe func(Member[V]) poise.Sample) (*poise.View, error) {
	candidates := make([]poise.Candidate, s.members.len)
	for i, m := range s.members.all {
		sample := describe(*m)
		sample.ID, sample.Incarnation = m.ID, m.Incarnation
		if m.Draining {
			sample.Status = poise.Draining
		}
		candidates[i] = sample
	}
	return poise.NewView(candidates)
}
