// Explorable.

package discovery

import (
	"cmp"
	"math"
	"reflect"
	"slices"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// batch is a change that is not committed yet: entries as they will be, beside those of the
// directory. Nothing of it is seen until it is committed.
type batch[V any] struct {
	d            *Directory[V]
	by           *source[V] // nil: the directory itself
	touched      map[string]*entry[V]
	incarnations uint64
	claims       int // by how many the source's claims change
	effective    bool

	session *Session[V] // takes dated on commit
	dated   *uint64
}

// change runs f on a batch and publishes the result. It returns the revision
// afterwards. On an error of f nothing has changed.
func (d *Directory[V]) change(by *Session[V], f func(*batch[V]) error) (revision uint64, err error) {
	past, revision, err := d.apply(by, f)
	if past != nil {
		past.superseded.Fire()
	}
	return revision, err
}

// apply is change without telling who waits on what it supersedes.
func (d *Directory[V]) apply(by *Session[V], f func(*batch[V]) error) (past *published[V], revision uint64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.current.Load()
	b := batch[V]{d: d, incarnations: d.incarnations}
	switch {
	case p.closed:
		return nil, 0, ErrClosed
	case by == nil:
	case by.of.session != by:
		return nil, 0, &SessionError{Source: by.of.name, Replaced: !by.closed}
	default:
		b.by = by.of
	}
	if err := f(&b); err != nil {
		return nil, 0, err
	}
	if before, after := len(d.entries), b.members(); after > before && after > d.cfg.MaxMembers {
		return nil, 0, &LimitError{Found: int64(after), Limit: int64(d.cfg.MaxMembers), Err: ErrTooManyMembers}
	}
	if b.effective && p.snapshot.revision == math.MaxUint64 {
		return nil, 0, ErrExhausted
	}
	if !b.effective {
		b.commit()
		return nil, p.snapshot.revision, nil
	}
	next := &published[V]{snapshot: b.snapshot(p.snapshot)}
	b.commit()
	d.current.Store(next)
	return p, next.snapshot.revision, nil
}

// look returns the entry of the identity, for reading; nil if there is none.
func (b *batch[V]) look(id string) *entry[V] {
	if e, ok := b.touched[id]; ok {
		if e.member == nil {
			return nil
		}
		return e
	}
	return b.d.entries[id]
}

// edit returns the batch's own entry of the identity, for writing.
func (b *batch[V]) edit(id string) *entry[V] {
	if e, ok := b.touched[id]; ok {
		return e
	}
	e := new(entry[V])
	if old := b.d.entries[id]; old != nil {
		*e = *old
		e.claims = slices.Clone(old.claims)
	}
	if b.touched == nil {
		b.touched = make(map[string]*entry[V])
	}
	b.touched[id] = e
	return e
}

// note takes account of an effect.
func (b *batch[V]) note(e Effect) Effect {
	b.effective = b.effective || e.Changed()
	return e
}

// check refuses what cannot be a member.
func (b *batch[V]) check(id string, value *V) error {
	if id == "" {
		return refuse("ID", id, poise.ErrEmptyIdentity)
	}
	if b.d.rules.nilled {
		if v := reflect.ValueOf(value).Elem(); v.IsNil() || v.Kind() == reflect.Interface && nilInside(v.Elem()) {
			return refuse("Value", id, ErrNilValue)
		}
	}
	return nil
}

func nilInside(v reflect.Value) bool { return v.Kind() == reflect.Pointer && v.IsNil() }

// upsert gives the identity a value by the batch's source.
func (b *batch[V]) upsert(id string, value V) Effect {
	e := b.look(id)
	switch {
	case e == nil:
		return b.join(id, value)
	case e.member.Draining:
		e = b.edit(id)
		e.claims = b.claim(nil, value)
		e.set(value, false)
		return b.note(Revived)
	}
	switch at := e.claimOf(b.by); {
	case at < 0:
		e = b.edit(id)
		e.claims = b.claim(e.claims, value)
		return Claimed
	case at > 0:
		b.edit(id).claims[at].value = value // shown when it is the oldest
		return Unchanged
	case b.d.rules.equal(e.member.Value, value):
		return Unchanged
	default:
		e = b.edit(id)
		e.claims[0].value = value
		e.set(value, false)
		return b.note(Updated)
	}
}

// join makes a new incarnation of an identity that is absent.
func (b *batch[V]) join(id string, value V) Effect {
	e := b.edit(id)
	*e = entry[V]{claims: b.claim(nil, value)}
	b.incarnate(e, id, value)
	return b.note(Inserted)
}

// replace makes a new incarnation of an identity, present or not. The source's
// claim becomes the oldest, for the source knows the new one.
func (b *batch[V]) replace(id string, value V) Effect {
	if b.look(id) == nil {
		return b.join(id, value)
	}
	e := b.edit(id)
	if at := e.claimOf(b.by); at >= 0 {
		e.claims = slices.Delete(e.claims, at, at+1)
		b.claims--
	}
	e.claims = append(b.claim(nil, value), e.claims...)
	b.incarnate(e, id, value)
	return b.note(Replaced)
}

func (b *batch[V]) incarnate(e *entry[V], id string, value V) {
	b.incarnations++
	e.seen = false
	e.member = &Member[V]{ID: id, Incarnation: b.incarnations, Value: value}
}

// claim appends a claim of the batch's source.
func (b *batch[V]) claim(to []claim[V], value V) []claim[V] {
	b.claims++
	return append(to, claim[V]{b.by, value})
}

// remove ends the claim of the batch's source to a member that is present.
func (b *batch[V]) remove(id string) Effect {
	e := b.look(id)
	if e.member.Draining {
		return AlreadyDraining
	}
	at := e.claimOf(b.by)
	if at < 0 {
		return Kept
	}
	e = b.edit(id)
	e.claims = slices.Delete(e.claims, at, at+1)
	b.claims--
	switch {
	case len(e.claims) == 0 && b.d.cfg.RemoveImmediately:
		e.member = nil
		return b.note(Removed)
	case len(e.claims) == 0:
		e.set(e.member.Value, true)
		return b.note(DrainStarted)
	case at == 0 && !b.d.rules.equal(e.member.Value, e.claims[0].value):
		e.set(e.claims[0].value, false)
		return b.note(Updated)
	default:
		return Kept
	}
}

// set makes another record of the same incarnation.
func (e *entry[V]) set(value V, draining bool) {
	e.seen = false
	e.member = &Member[V]{ID: e.member.ID, Incarnation: e.member.Incarnation, Value: value, Draining: draining}
}

// claimOf returns the place of the source's claim, or -1.
func (e *entry[V]) claimOf(by *source[V]) int {
	for i := range e.claims {
		if e.claims[i].by == by {
			return i
		}
	}
	return -1
}

// members returns how many members there will be.
func (b *batch[V]) members() int {
	n := len(b.d.entries)
	for id, e := range b.touched {
		_, before := b.d.entries[id]
		switch after := e.member != nil; {
		case after && !before:
			n++
		case before && !after:
			n--
		}
	}
	return n
}

// commit writes the batch into the directory.
func (b *batch[V]) commit() {
	d := b.d
	d.incarnations = b.incarnations
	if b.dated != nil {
		b.session.dated, b.session.last = true, *b.dated
	}
	if b.by != nil {
		b.by.claims += b.claims
	}
	for id, e := range b.touched {
		if e.member == nil {
			delete(d.entries, id)
		} else {
			d.entries[id] = e
		}
	}
}

// snapshot returns what follows the old snapshot. Requires that the batch is not
// committed yet.
func (b *batch[V]) snapshot(old *Snapshot[V]) *Snapshot[V] {
	var changed, left, joined []*Member[V]
	for id, e := range b.touched {
		var was *Member[V]
		if before := b.d.entries[id]; before != nil {
			was = before.member
		}
		switch is := e.member; {
		case was == is:
		case was != nil && is != nil && was.Incarnation == is.Incarnation:
			changed = append(changed, is)
		default:
			if was != nil {
				left = append(left, was)
			}
			if is != nil {
				joined = append(joined, is)
			}
		}
	}
	slices.SortFunc(joined, func(a, b *Member[V]) int { return cmp.Compare(a.Incarnation, b.Incarnation) })
	next := &Snapshot[V]{
		rules: old.rules, revision: old.revision + 1, index: old.index,
		members: old.members.edited(changed, left, joined),
	}
	if len(left)+len(joined) > 0 {
		next.index = new(index)
	}
	return next
}
