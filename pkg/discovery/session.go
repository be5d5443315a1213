// Explorable.

package discovery

import (
	"fmt"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Session is how a source changes a Directory, from the source's start to its end.
// What a session does concerns the claims of its source alone.
//
// A Session is made by Directory.Open.
//
// # Contract
//
//   - A batch is applied in the given order, as one change or not at all.
//   - An Upsert of an equal value changes nothing.
//   - Remove of a member that drains already, or that only other sources claim, changes nothing.
//   - Reconcile makes the members that the source claims those of the list, by identity and value.
//   - Reconcile leaves a member that is in the list with an equal value untouched.
//   - A list that names an identity twice is refused with an error that names it.
//   - A session that was closed or replaced can change nothing.
//   - A source that opens a new session keeps its claims, and its revisions start anew.
//   - ReconcileAt refuses a revision that is not newer than the session's last one.
//   - After an error of any method nothing has changed.
//
// # Cost
//
// As Directory says. A batch of k changes costs as much as one and k lookups. A
// Reconcile costs one lookup per entry of the list, and a walk over the members if
// any is missing from it.
//
// # Concurrency
//
// Every method may be called at any time, and is one critical section of the
// Directory.
type Session[V any] struct {
	d  *Directory[V]
	of *source[V]

	// Guarded by d.mu.
	closed bool
	dated  bool // a list came with a revision, which is last
	last   uint64
}

// Source returns the name of the source.
func (s *Session[V]) Source() string { return s.of.name }

// Claims returns the number of members that the source claims.
func (s *Session[V]) Claims() int {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	return s.of.claims
}

// Upsert claims the identity with the value.
func (s *Session[V]) Upsert(id string, value V) (ChangeResult, error) {
	return s.one(Change[V]{Upsert, id, value})
}

// Replace claims the identity with the value, as a new incarnation.
func (s *Session[V]) Replace(id string, value V) (ChangeResult, error) {
	return s.one(Change[V]{Replace, id, value})
}

// Remove drops the source's claim. If no other source claims the member, it
// begins to drain, or leaves at once where Config says so.
func (s *Session[V]) Remove(id string) (ChangeResult, error) {
	return s.one(Change[V]{Op: Remove, ID: id})
}

func (s *Session[V]) one(c Change[V]) (a ChangeResult, err error) {
	a.Revision, err = s.d.change(s, func(b *batch[V]) error {
		a.Effect, err = b.apply(&c)
		return err
	})
	if err != nil {
		return ChangeResult{}, err
	}
	return a, nil
}

// Apply makes the changes in their order, all of them in one revision. It returns
// what became of each.
func (s *Session[V]) Apply(changes ...Change[V]) ([]ChangeResult, error) {
	applied := make([]ChangeResult, len(changes))
	revision, err := s.d.change(s, func(b *batch[V]) (err error) {
		for i := range changes {
			if applied[i].Effect, err = b.apply(&changes[i]); err != nil {
				return within("changes", i, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range applied {
		applied[i].Revision = revision
	}
	return applied, nil
}

// apply makes one change on the batch, or refuses it.
func (b *batch[V]) apply(c *Change[V]) (Effect, error) {
	if c.Op >= ops {
		return Unchanged, refuse("Op", uint8(c.Op), ErrOutOfRange)
	}
	e := b.look(c.ID)
	if c.Op == Remove {
		if e == nil {
			return Unchanged, refuse("ID", c.ID, ErrUnknown)
		}
		return b.remove(c.ID), nil
	}
	if err := b.check(c.ID, &c.Value); err != nil {
		return Unchanged, err
	}
	switch {
	case c.Op == Replace:
		return b.replace(c.ID, c.Value), nil
	case c.Op == Add && e != nil && e.claimOf(b.by) >= 0:
		return Unchanged, refuse("ID", c.ID, ErrDuplicate)
	}
	return b.upsert(c.ID, c.Value), nil
}

func refuse(field string, value any, err error) error {
	return &poise.FieldError{Field: field, Value: value, Err: err}
}

// within says in which element of a list the field is.
func within(list string, i int, err error) error {
	if field, ok := err.(*poise.FieldError); ok {
		field.Field = fmt.Sprintf("%s[%d].%s", list, i, field.Field)
	}
	return err
}

// Reconcile makes what the source claims equal to the list. Members that are new
// join in the order of the list; the others keep their places. The source drops
// its claim to members that are not in the list.
func (s *Session[V]) Reconcile(list []Entry[V]) (ListResult, error) {
	return s.reconcile(list, nil)
}

// ReconcileAt is Reconcile for a source that numbers its lists, for those that
// arrive late or twice. A refused revision is a [StaleError].
func (s *Session[V]) ReconcileAt(revision uint64, list []Entry[V]) (ListResult, error) {
	return s.reconcile(list, &revision)
}

func (s *Session[V]) reconcile(list []Entry[V], dated *uint64) (t ListResult, err error) {
	t.Revision, err = s.d.change(s, func(b *batch[V]) error {
		if dated != nil && s.dated && *dated <= s.last {
			return &StaleError{Source: s.of.name, Current: s.last, Attempted: *dated}
		}
		b.session, b.dated = s, dated
		return b.reconcile(list, &t)
	})
	if err != nil {
		return ListResult{}, err
	}
	return t, nil
}

// reconcile puts the list into the batch. The marks that it leaves on entries mean nothing to
// any other list.
func (b *batch[V]) reconcile(list []Entry[V], t *ListResult) error {
	d := b.d
	if len(list) > d.cfg.MaxMembers {
		return &LimitError{Found: int64(len(list)), Limit: int64(d.cfg.MaxMembers), Err: ErrTooManyMembers}
	}
	d.rounds++
	named := 0 // of the members that the source claims
	for i := range list {
		item := &list[i]
		if err := b.check(item.ID, &item.Value); err != nil {
			return within("list", i, err)
		}
		e := d.entries[item.ID]
		twice := e != nil && e.round == d.rounds
		if e == nil {
			_, twice = b.touched[item.ID]
		}
		if twice {
			return within("list", i, refuse("ID", item.ID, ErrDuplicate))
		}
		if e != nil {
			e.round = d.rounds
			if e.claimOf(b.by) >= 0 {
				named++
			}
		}
		t.counts[b.upsert(item.ID, item.Value)]++
	}
	if named == b.by.claims {
		return nil
	}
	for _, m := range d.Load().members.all {
		if e := d.entries[m.ID]; e.round != d.rounds && e.claimOf(b.by) >= 0 {
			t.counts[b.remove(m.ID)]++
		}
	}
	return nil
}

// Close ends the session. The source's claims stay: that a source stops does not
// mean that its members do. To take them along, Reconcile with an empty list
// first. Closing again changes nothing.
func (s *Session[V]) Close() {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if s.of.session != s {
		return
	}
	s.closed, s.of.session = true, nil
	if s.of.claims == 0 {
		delete(s.d.sources, s.of.name)
	}
}
