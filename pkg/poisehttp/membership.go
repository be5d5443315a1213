package poisehttp

import (
	"fmt"
	"reflect"
	"slices"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// member is one endpoint as one publication has it. It is immutable: a change of
// weight makes another member of the same life.
type member struct {
	Member
	*life
	drains bool // the directory says so, and nobody's word is above that
}

// life is what one incarnation of an endpoint keeps as long as it lasts.
type life struct {
	id          string
	endpoint    Endpoint
	incarnation uint64
	slots       *Slots
	quarantine  *Quarantine
	closed      syncx.Bool // the endpoint was closed
	signals     *signals   // nil: Config.Health is off

	// said is the operator's word by SetStatus; Ready if there is none. Guarded by
	// Balancer.mu.
	said poise.Status
}

// status returns the operator's word, or what the list says where there is none.
// Requires Balancer.mu.
func (m *member) status() poise.Status {
	switch {
	case m.drains:
		return poise.Draining
	case m.said != poise.Ready:
		return m.said
	default:
		return m.Status
	}
}

// listed is a member as the list and the operator have it.
type listed struct{ *member }

// Sample returns the member without its health. Requires Balancer.mu.
func (m listed) Sample() poise.Sample {
	return poise.Sample{
		ID: m.ID, Incarnation: m.incarnation, Weight: m.Weight, Status: m.status(),
		Priority: m.Priority, Locality: m.Locality, LocalityWeight: m.LocalityWeight,
		Load: m.slots.InFlight(),
	}
}

// Sample returns the member as policies see it. Requires Balancer.mu.
func (m *member) Sample() (s poise.Sample) {
	if m.signals == nil {
		s = listed{m}.Sample()
	} else {
		s = m.signals.sample(listed{m})
	}
	if s.Excluded == poise.NotExcluded && m.quarantine.Aside() {
		s.Excluded = poise.ExcludedEjected
	}
	return s
}

// Update makes the endpoints equal to the list. Endpoints that are not in it get
// no new calls and are closed when their last call has ended; until then their
// Endpoint values are refused in a list. On an error nothing has changed, and the
// endpoints of the list stay the caller's.
func (b *Balancer) Update(list []Member) error {
	ended, err := b.update(list)
	remove(ended)
	b.tell(false)
	return err
}

// update publishes the list and returns the lives that are no longer in it. Probes
// are asked for under no lock, and so again if the members change meanwhile.
func (b *Balancer) update(list []Member) (ended []*life, err error) {
	for {
		probes, err := b.newProbes(list)
		if err != nil {
			return nil, err
		}
		if ended, err = b.replace(list, probes); err != errChanged {
			return ended, err
		}
	}
}

// replace makes the members those of the list, or fails with errChanged if one is new
// whose probe was not asked for.
func (b *Balancer) replace(list []Member, probes []newProbe) (ended []*life, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.load().closed:
		return nil, ErrClosed
	case b.cfg.Membership != nil:
		return nil, ErrFollowing
	}
	numbers, last, err := b.number(list)
	if err != nil {
		return nil, err
	}
	ended, err = b.lives.Reconcile(numbers, func(i int) (*life, error) {
		if !probes[i].asked {
			return nil, errChanged
		}
		return b.begin(list[i], numbers[i], probes[i].of), nil
	}, func(lives []*life) error {
		members := make([]*member, len(list))
		for i, l := range lives {
			members[i] = &member{Member: list[i], life: l}
		}
		return b.install(members)
	})
	if err != nil {
		return nil, err // who was begun has no calls, and the endpoint is the caller's
	}
	b.incarnations = last
	b.retire(ended)
	return ended, nil
}

// number returns the incarnation of each entry of the list, and the last number
// that it took: an entry of the same identity and endpoint as before is the same
// incarnation. Requires mu.
func (b *Balancer) number(list []Member) (numbers []uint64, last uint64, err error) {
	known := make(map[string]*member, len(b.members))
	for _, m := range b.members {
		known[m.ID] = m
	}
	owners := b.owners()
	named := make(map[string]bool, len(list))
	numbers, last = make([]uint64, len(list)), b.incarnations
	for i, spec := range list {
		if err := checkEndpoint(spec, owners); err != nil {
			return nil, 0, within(i, err)
		}
		owners[spec.Endpoint] = owner{id: spec.ID}
		was := known[spec.ID]
		switch {
		case named[spec.ID] && spec.ID != "":
			return nil, 0, within(i, &poise.FieldError{Field: "ID", Value: spec.ID, Err: poise.ErrDuplicateIdentity})
		case was == nil || was.Endpoint != spec.Endpoint:
			last++
			numbers[i] = last
		case was.Limit != spec.Limit:
			return nil, 0, within(i, &poise.FieldError{Field: "Limit", Value: spec.Limit, Err: ErrFixedLimit})
		default:
			numbers[i] = was.incarnation
		}
		named[spec.ID] = true
	}
	return numbers, last, nil
}

// within says in which entry of a list the field is.
func within(i int, refused *poise.FieldError) error {
	refused.Field = fmt.Sprintf("members[%d].%s", i, refused.Field)
	return refused
}

// begin makes the life of a member that is new.
func (b *Balancer) begin(spec Member, incarnation uint64, probe probe) *life {
	l := &life{id: spec.ID, endpoint: spec.Endpoint, incarnation: incarnation, quarantine: b.ward.Quarantine()}
	l.signals = b.newSignals(incarnation, probe)
	l.slots = NewSlots(spec.Limit, l.letGo)
	return l
}

// install publishes the members. On an error nothing has changed. Requires mu.
func (b *Balancer) install(members []*member) error {
	next, err := b.prepare(members)
	if err != nil {
		return err
	}
	b.ward.Resize(uint32(len(members)))
	b.members = members
	for _, m := range members {
		b.probe(m.life)
	}
	b.switchTo(next, members)
	b.regroup()
	return nil
}

// retire takes account of lives that are not among the members any more. Requires
// mu.
func (b *Balancer) retire(ended []*life) {
	for _, l := range ended {
		l.quarantine.Retire()
		l.signals.retire()
	}
	if b.ward.overfull() {
		b.poke()
	}
	b.leaving = slices.DeleteFunc(b.leaving, func(l *life) bool { return l.closed.Load() })
	b.leaving = append(b.leaving, ended...)
}

// remove ends lives: each endpoint is closed when it holds no call. That may call
// Endpoint.Close, which is not ours: under no lock.
func remove(ended []*life) {
	for _, l := range ended {
		l.slots.Remove()
	}
}

// owner is the identity that an Endpoint value belongs to.
type owner struct {
	id    string
	alone bool // no other life may have it, not even of the same identity
}

// owners returns whose the Endpoint values are. Requires mu.
func (b *Balancer) owners() map[Endpoint]owner {
	owners := make(map[Endpoint]owner, len(b.members)+len(b.leaving))
	for _, m := range b.members {
		owners[m.Endpoint] = owner{id: m.ID}
	}
	for _, l := range b.leaving {
		if !l.closed.Load() {
			owners[l.endpoint] = owner{l.id, true}
		}
	}
	return owners
}

// checkEndpoint refuses an endpoint that is missing, that cannot be told from
// others, or that another identity or another life has.
func checkEndpoint(spec Member, owners map[Endpoint]owner) *poise.FieldError {
	refuse := func(value any, err error) *poise.FieldError {
		return &poise.FieldError{Field: "Endpoint", Value: value, Err: err}
	}
	switch {
	case isNil(spec.Endpoint):
		return refuse(nil, ErrMissing)
	case !reflect.ValueOf(spec.Endpoint).Comparable():
		return refuse(fmt.Sprintf("%T", spec.Endpoint), ErrNotComparable)
	}
	if of, used := owners[spec.Endpoint]; used && (of.alone || of.id != spec.ID) {
		return refuse(of.id, ErrSharedEndpoint)
	}
	return nil
}

// switchTo publishes, and opens and closes admission as the statuses of these members
// say. It opens before and closes after: whoever the published picker has is open,
// and a call that is refused finds in it who is there instead. Requires mu.
func (b *Balancer) switchTo(next *published, members []*member) {
	for _, m := range members {
		if m.status() != poise.Draining {
			m.slots.Resume()
		}
	}
	b.publish(next)
	for _, m := range members {
		if m.status() == poise.Draining {
			m.slots.Drain()
		}
	}
}

// SetStatus is the operator's word on one endpoint. Draining lets its calls end
// and admits no new ones; Unavailable keeps it from being picked, except by a
// topology policy in a panic. Both hold for this
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
	if err := b.refuses(b.load()); err != nil {
		return err
	}
	at := slices.IndexFunc(b.members, func(m *member) bool { return m.ID == id })
	if at < 0 {
		return &poise.FieldError{Field: "id", Value: id, Err: ErrUnknownEndpoint}
	}
	m := b.members[at]
	before := m.said
	m.said = status
	next, err := b.prepare(b.members)
	if err != nil {
		m.said = before
		return err
	}
	b.switchTo(next, b.members[at:at+1])
	b.regroup()
	return nil
}
