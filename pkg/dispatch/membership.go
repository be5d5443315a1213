package dispatch

import (
	"fmt"
	"reflect"
	"slices"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// member is one endpoint as one publication has it. It is immutable: a change of
// weight or status makes another member of the same life.
type member struct {
	Member
	*life
	// said is the operator's word by SetStatus; Ready if there is none.
	said poise.Status
}

// life is what one incarnation of an endpoint keeps as long as it lasts.
type life struct {
	incarnation uint64
	slots       *Slots
	quarantine  *Quarantine
	closed      syncx.Bool // the endpoint was closed
}

// status returns the operator's word, or what the list says where there is none.
func (m *member) status() poise.Status {
	if m.said != poise.Ready {
		return m.said
	}
	return m.Status
}

// Sample returns the member as policies see it.
func (m *member) Sample() poise.Sample {
	s := poise.Sample{
		ID: m.ID, Incarnation: m.incarnation, Weight: m.Weight, Status: m.status(),
		Priority: m.Priority, Locality: m.Locality, LocalityWeight: m.LocalityWeight,
		Load: m.slots.InFlight(),
	}
	if m.quarantine.Aside() {
		s.Excluded = poise.ExcludedSetAside
	}
	return s
}

// Update makes the endpoints equal to the list. Endpoints that are not in it get
// no new calls and are closed when their last call has ended; until then their
// Endpoint values are refused in a list. On an error nothing has changed, and the
// endpoints of the list stay the caller's.
func (b *Balancer) Update(list []Member) error {
	removed, err := b.update(list)
	// Removing may call Endpoint.Close, which is not ours: under no lock.
	for _, m := range removed {
		m.slots.Remove()
	}
	b.tell(false)
	return err
}

// update publishes the list and returns the members that are no longer in it.
func (b *Balancer) update(list []Member) (removed []*member, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.load().closed {
		return nil, ErrClosed
	}
	known := make(map[string]*member, len(b.members))
	owners := make(map[Endpoint]owner, len(b.members))
	for _, m := range b.members {
		known[m.ID], owners[m.Endpoint] = m, owner{id: m.ID}
	}
	b.leaving = slices.DeleteFunc(b.leaving, func(m *member) bool { return m.closed.Load() })
	for _, m := range b.leaving {
		owners[m.Endpoint] = owner{m.ID, true}
	}
	incarnations := b.incarnations
	members := make([]*member, len(list))
	for i, spec := range list {
		if err := checkEndpoint(i, spec, owners); err != nil {
			return nil, err
		}
		owners[spec.Endpoint] = owner{id: spec.ID}
		if members[i], err = b.incarnate(i, spec, known[spec.ID], &incarnations); err != nil {
			return nil, err
		}
	}
	next, err := b.prepare(members)
	if err != nil {
		return nil, err
	}
	kept := make(map[*life]bool, len(members))
	for _, m := range members {
		kept[m.life] = true
		setDrain(m)
	}
	for _, m := range b.members {
		if !kept[m.life] {
			removed = append(removed, m)
			m.quarantine.Retire()
		}
	}
	b.leaving = append(b.leaving, removed...)
	b.ward.Resize(uint32(len(members)))
	if b.ward.overfull() {
		b.poke()
	}
	b.incarnations, b.members = incarnations, members
	b.publish(next)
	return removed, nil
}

// owner is the identity that an Endpoint value belongs to.
type owner struct {
	id      string
	leaving bool // it was removed, and its life has not ended
}

// checkEndpoint refuses an endpoint that is missing, that cannot be told from
// others, or that another identity or another life has.
func checkEndpoint(i int, spec Member, owners map[Endpoint]owner) error {
	refuse := func(value any, err error) error {
		return &poise.FieldError{Field: fmt.Sprintf("members[%d].Endpoint", i), Value: value, Err: err}
	}
	switch {
	case isNil(spec.Endpoint):
		return refuse(nil, ErrMissing)
	case !reflect.ValueOf(spec.Endpoint).Comparable():
		return refuse(fmt.Sprintf("%T", spec.Endpoint), ErrNotComparable)
	}
	if of, used := owners[spec.Endpoint]; used && (of.leaving || of.id != spec.ID) {
		return refuse(of.id, ErrSharedEndpoint)
	}
	return nil
}

// incarnate returns the member of entry i of a list: the same incarnation if the
// known member of that identity has the same endpoint, else a new one.
func (b *Balancer) incarnate(i int, spec Member, known *member, incarnations *uint64) (*member, error) {
	if known != nil && known.Endpoint == spec.Endpoint {
		if known.Limit != spec.Limit {
			return nil, &poise.FieldError{Field: fmt.Sprintf("members[%d].Limit", i), Value: spec.Limit, Err: ErrFixedLimit}
		}
		return &member{spec, known.life, known.said}, nil
	}
	*incarnations++
	endpoint := spec.Endpoint
	l := &life{incarnation: *incarnations, quarantine: b.ward.Quarantine()}
	l.slots = NewSlots(spec.Limit, func() {
		defer l.closed.Store(true)
		closeQuietly(endpoint)
	})
	return &member{spec, l, poise.Ready}, nil
}

func setDrain(m *member) {
	if m.status() == poise.Draining {
		m.slots.Drain()
	} else {
		m.slots.Resume()
	}
}

// SetStatus is the operator's word on one endpoint. Draining lets its calls end
// and admits no new ones; Unavailable admits none either. Both hold for this
// incarnation of the endpoint, whatever Update says of its status, until Ready
// takes the word back: then the status of the list applies, at once. On an error
// nothing has changed.
func (b *Balancer) SetStatus(id string, status poise.Status) error {
	defer b.tell(false) // after the lock
	if status > poise.Unavailable {
		return &poise.FieldError{Field: "status", Value: status, Err: poise.ErrInvalidStatus}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.load().closed {
		return ErrClosed
	}
	members := make([]*member, len(b.members))
	found := -1
	for i, m := range b.members {
		members[i] = m
		if m.ID == id {
			changed := *m
			changed.said = status
			members[i], found = &changed, i
		}
	}
	if found < 0 {
		return &poise.FieldError{Field: "id", Value: id, Err: ErrUnknownEndpoint}
	}
	next, err := b.prepare(members)
	if err != nil {
		return err
	}
	setDrain(members[found])
	b.members = members
	b.publish(next)
	return nil
}
