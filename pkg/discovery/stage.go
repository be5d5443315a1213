// Explorable.

package discovery

import (
	"cmp"
	"math"
	"reflect"
	"slices"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// stage is a change in the making: entries as they will be, beside those of the
// directory. Nothing of it is seen until it is committed.
type stage[V any] struct {
	d            *Directory[V]
	by           *source[V] // nil: the directory itself
	touched      map[string]*entry[V]
	incarnations uint64
	claims       int // by how many the source's claims change
	effective    bool

	session *Session[V] // takes dated on commit
	dated   *uint64
}

// change runs f on a stage and publishes the result. It returns the revision
// afterwards. On an error of f nothing has changed.
func (d *Directory[V]) change(by *Session[V], f func(*stage[V]) error) (revision uint64, err error) {
	past, revision, err := d.stage(by, f)
	if past != nil {
		past.superseded.Fire()
	}
	return revision, err
}

// stage is change without telling who waits on what it supersedes.
func (d *Directory[V]) stage(by *Session[V], f func(*stage[V]) error) (past *published[V], revision uint64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.current.Load()
	st := stage[V]{d: d, incarnations: d.incarnations}
	switch {
	case p.closed:
		return nil, 0, ErrClosed
	case by == nil:
	case by.of.session != by:
		return nil, 0, &SessionError{Source: by.of.name, Replaced: !by.closed}
	default:
		st.by = by.of
	}
	if err := f(&st); err != nil {
		return nil, 0, err
	}
	if st.effective && p.snapshot.revision == math.MaxUint64 {
		return nil, 0, ErrExhausted
	}
	if !st.effective {
		st.commit()
		return nil, p.snapshot.revision, nil
	}
	next := &published[V]{snapshot: st.snapshot(p.snapshot)}
	st.commit()
	d.current.Store(next)
	return p, next.snapshot.revision, nil
}

// look returns the entry of the identity, for reading; nil if there is none.
func (st *stage[V]) look(id string) *entry[V] {
	if e, ok := st.touched[id]; ok {
		if e.member == nil {
			return nil
		}
		return e
	}
	return st.d.entries[id]
}

// edit returns the stage's own entry of the identity, for writing.
func (st *stage[V]) edit(id string) *entry[V] {
	if e, ok := st.touched[id]; ok {
		return e
	}
	e := new(entry[V])
	if old := st.d.entries[id]; old != nil {
		*e = *old
		e.claims = slices.Clone(old.claims)
	}
	if st.touched == nil {
		st.touched = make(map[string]*entry[V])
	}
	st.touched[id] = e
	return e
}

// note takes account of an effect.
func (st *stage[V]) note(e Effect) Effect {
	st.effective = st.effective || e.Changed()
	return e
}

// check refuses what cannot be a member.
func (st *stage[V]) check(id string, value *V) error {
	if id == "" {
		return refuse("ID", id, poise.ErrEmptyIdentity)
	}
	if st.d.rules.nilled {
		if v := reflect.ValueOf(value).Elem(); v.IsNil() || v.Kind() == reflect.Interface && nilInside(v.Elem()) {
			return refuse("Value", id, ErrNilValue)
		}
	}
	return nil
}

func nilInside(v reflect.Value) bool { return v.Kind() == reflect.Pointer && v.IsNil() }

// upsert gives the identity a value by the stage's source.
func (st *stage[V]) upsert(id string, value V) Effect {
	e := st.look(id)
	switch {
	case e == nil:
		return st.join(id, value)
	case e.member.Draining:
		e = st.edit(id)
		e.claims = st.claim(nil, value)
		e.set(value, false)
		return st.note(Revived)
	}
	switch at := e.claimOf(st.by); {
	case at < 0:
		e = st.edit(id)
		e.claims = st.claim(e.claims, value)
		return Claimed
	case at > 0:
		st.edit(id).claims[at].value = value // shown when it is the oldest
		return Unchanged
	case st.d.rules.equal(e.member.Value, value):
		return Unchanged
	default:
		e = st.edit(id)
		e.claims[0].value = value
		e.set(value, false)
		return st.note(Updated)
	}
}

// join makes a new incarnation of an identity that is absent.
func (st *stage[V]) join(id string, value V) Effect {
	e := st.edit(id)
	*e = entry[V]{claims: st.claim(nil, value)}
	st.incarnate(e, id, value)
	return st.note(Inserted)
}

// replace makes a new incarnation of an identity, present or not. The source's
// claim becomes the oldest, for the source knows the new one.
func (st *stage[V]) replace(id string, value V) Effect {
	if st.look(id) == nil {
		return st.join(id, value)
	}
	e := st.edit(id)
	if at := e.claimOf(st.by); at >= 0 {
		e.claims = slices.Delete(e.claims, at, at+1)
		st.claims--
	}
	e.claims = append(st.claim(nil, value), e.claims...)
	st.incarnate(e, id, value)
	return st.note(Replaced)
}

func (st *stage[V]) incarnate(e *entry[V], id string, value V) {
	st.incarnations++
	e.seen = false
	e.member = &Member[V]{ID: id, Incarnation: st.incarnations, Value: value}
}

// claim appends a claim of the stage's source.
func (st *stage[V]) claim(to []claim[V], value V) []claim[V] {
	st.claims++
	return append(to, claim[V]{st.by, value})
}

// remove ends the claim of the stage's source to a member that is present.
func (st *stage[V]) remove(id string) Effect {
	e := st.look(id)
	if e.member.Draining {
		return AlreadyDraining
	}
	at := e.claimOf(st.by)
	if at < 0 {
		return Kept
	}
	e = st.edit(id)
	e.claims = slices.Delete(e.claims, at, at+1)
	st.claims--
	switch {
	case len(e.claims) == 0 && st.d.cfg.AtOnce:
		e.member = nil
		return st.note(Removed)
	case len(e.claims) == 0:
		e.set(e.member.Value, true)
		return st.note(DrainStarted)
	case at == 0 && !st.d.rules.equal(e.member.Value, e.claims[0].value):
		e.set(e.claims[0].value, false)
		return st.note(Updated)
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

// commit writes the stage into the directory.
func (st *stage[V]) commit() {
	d := st.d
	d.incarnations = st.incarnations
	if st.dated != nil {
		st.session.dated, st.session.last = true, *st.dated
	}
	if st.by != nil {
		st.by.claims += st.claims
	}
	for id, e := range st.touched {
		if e.member == nil {
			delete(d.entries, id)
		} else {
			d.entries[id] = e
		}
	}
}

// snapshot returns what follows the old snapshot. Requires that the stage is not
// committed yet.
func (st *stage[V]) snapshot(old *Snapshot[V]) *Snapshot[V] {
	var changed, left, joined []*Member[V]
	for id, e := range st.touched {
		var was *Member[V]
		if before := st.d.entries[id]; before != nil {
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
