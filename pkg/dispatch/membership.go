package dispatch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
	"github.com/copyleftdev/poise-go/pkg/observe"
)

// publishAgain is how long after a failed publication the next one is tried.
const publishAgain = time.Second

// membership holds the members and makes what is published of them.
type membership struct {
	*core
	cfg         LoopConfig
	publication *publication[published]

	mu syncx.Mutex // serialises changes
	// Guarded by mu.
	members []*member
	byID    map[string]*member
	highest uint64 // incarnation so far
	closed  bool
	dirty   bool      // a change waits to be published
	last    time.Time // publication
	retry   time.Time // of a publication that failed; the zero time if it did not
	err     error     // of the last publication
	due     time.Time // what advance has returned
	untold  []observe.Published
	telling bool
}

// find returns the member of an incarnation. Requires mu.
func (ms *membership) find(incarnation uint64) (*member, error) {
	for _, m := range ms.members {
		if m.incarnation == incarnation {
			return m, nil
		}
	}
	return nil, refuse("incarnation", incarnation, ErrUnknownMember)
}

// begin makes a member that is new.
func (ms *membership) begin(spec Spec, now time.Time) (*member, error) {
	m := &member{core: ms.core, id: spec.ID, incarnation: spec.Incarnation, spec: spec, scale: 1, offline: spec.Offline, unhealthy: spec.Unhealthy}
	m.value.Store(&spec.Value)
	m.slots = NewSlots(spec.Limit, func() { m.core.release(m) })
	m.tracker = m.slots.InFlight()
	if ms.cfg.Load != nil {
		tracker, err := ms.cfg.Load(m.slots.InFlight())
		if err != nil {
			return nil, err
		}
		if isNil(tracker) {
			return nil, poise.ErrNilTracker
		}
		m.tracker = tracker
		m.calls, _ = tracker.(CallTracker)
	}
	if ms.cfg.Window != nil {
		m.window, _ = health.NewOutcomeWindow(*ms.cfg.Window, now) // NewLoop has checked it
	}
	return m, nil
}

// update makes the members those of the list.
func (ms *membership) update(specs []Spec, now time.Time) error {
	if err := check(specs); err != nil {
		return err
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.closed {
		return ErrClosed
	}
	next, highest, err := ms.match(specs, now)
	if err != nil {
		return err
	}
	before := make([]Spec, len(next))
	for i, m := range next {
		before[i], m.spec = m.spec, specs[i]
	}
	p, err := ms.prepare(next)
	if err != nil {
		for i, m := range next {
			m.spec = before[i]
		}
		return err
	}
	ms.highest = highest
	ms.install(p, next, now)
	return nil
}

// match returns the member of each entry of the list, new ones included, and the
// highest incarnation so far. Requires mu.
func (ms *membership) match(specs []Spec, now time.Time) (next []*member, highest uint64, err error) {
	known := make(map[uint64]*member, len(ms.members))
	for _, m := range ms.members {
		known[m.incarnation] = m
	}
	next, highest = make([]*member, len(specs)), ms.highest
	for i, spec := range specs {
		field := func(name string, value any, err error) error {
			return refuse(fmt.Sprintf("members[%d].%s", i, name), value, err)
		}
		switch m := known[spec.Incarnation]; {
		case m != nil && m.id == spec.ID:
			next[i] = m
		case m != nil || spec.Incarnation <= ms.highest:
			return nil, 0, field("Incarnation", spec.Incarnation, ErrOldIncarnation)
		default:
			if next[i], err = ms.begin(spec, now); err != nil {
				return nil, 0, field("Load", nil, err)
			}
			highest = max(highest, spec.Incarnation)
		}
	}
	return next, highest, nil
}

// install publishes what was prepared of the next members. Requires mu.
func (ms *membership) install(p *published, next []*member, now time.Time) {
	var open, shut, gone []*Slots
	stay := make(map[*member]bool, len(next))
	byID := make(map[string]*member, len(next))
	for i, m := range next {
		stay[m] = true
		byID[m.id] = m
		m.index = i
		if m.passive == nil && ms.passive != nil {
			m.passive = ms.passive.Add(m, now)
		}
		value := m.spec.Value
		m.value.Store(&value)
		m.slots.SetLimit(m.spec.Limit)
		if m.status() == poise.Draining {
			shut = append(shut, m.slots)
		} else {
			open = append(open, m.slots)
		}
	}
	for _, m := range ms.members {
		if stay[m] {
			continue
		}
		m.retired.Store(true)
		if m.passive != nil {
			ms.passive.Remove(m.passive, now)
		}
		gone = append(gone, m.slots)
	}
	ms.members, ms.byID = next, byID
	ms.publish(p, open, shut, gone, now)
}

// publish makes calls see it. Requires mu.
func (ms *membership) publish(p *published, open, shut, gone []*Slots, now time.Time) {
	p.number = 1
	was := ms.publication.load()
	if was != nil {
		p.number = was.number + 1
	}
	ms.publication.change(p, open, shut, gone)
	ms.last, ms.dirty, ms.retry, ms.err = now, false, time.Time{}, nil
	if ms.observer == nil || p.closed {
		return
	}
	e := observe.Published{Number: p.number, At: now, Members: p.view.Len(), Eligible: p.view.EligibleLen()}
	for i, m := range p.members {
		before := poise.NotExcluded
		if was != nil && was.view != nil {
			if at := was.index(m); at >= 0 {
				before = was.view.Reason(at)
			}
		}
		if is := p.view.Reason(i); is != before {
			e.Changed = append(e.Changed, observe.ReasonChange{ID: m.id, Incarnation: m.incarnation, Was: before, Is: is})
		}
	}
	ms.untold = append(ms.untold, e)
}

// prepare makes a View and a picker of the members. Requires mu.
func (ms *membership) prepare(members []*member) (*published, error) {
	p := &published{members: members}
	candidates := make([]poise.Candidate, len(members))
	for i, m := range members {
		candidates[i] = m.sample()
		if m.ejected {
			p.ejected++
		}
	}
	var err error
	if p.view, err = poise.NewView(candidates); err != nil {
		return nil, asMembers(err)
	}
	if p.picker, err = compile(ms.cfg.Policy, p.view); err != nil {
		return nil, asMembers(err)
	}
	return p, nil
}

// asMembers returns the error of a View in the words of the list it was made of.
func asMembers(err error) error {
	refused, ok := errors.AsType[*poise.FieldError](err)
	if !ok {
		return err
	}
	field, is := strings.CutPrefix(refused.Field, "candidates")
	if !is {
		return err
	}
	return refuse("members"+field, refused.Value, refused.Err)
}

// compile has the policy prepare the view. A panic becomes an error: it may be the
// view's fault, and must end neither the process nor the following of changes.
func compile(policy poise.Policy, view *poise.View) (picker poise.Picker, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", ErrPolicyPanic, v)
		}
	}()
	picker, err = policy.Prepare(view)
	if err == nil && picker == nil {
		err = ErrNoPicker
	}
	return picker, err
}

// setStatus is the word of SetStatus.
func (ms *membership) setStatus(id string, status poise.Status, now time.Time) error {
	if status > poise.Unavailable {
		return refuse("status", status, poise.ErrInvalidStatus)
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.closed {
		return ErrClosed
	}
	m := ms.byID[id]
	if m == nil {
		return refuse("id", id, ErrUnknownMember)
	}
	before := m.said
	m.said = status
	p, err := ms.prepare(ms.members)
	if err != nil {
		m.said = before
		return err
	}
	var open, shut []*Slots
	if m.status() == poise.Draining {
		shut = []*Slots{m.slots}
	} else {
		open = []*Slots{m.slots}
	}
	ms.publish(p, open, shut, nil, now)
	return nil
}

// edit changes what is known of a member's health.
func (ms *membership) edit(incarnation uint64, now time.Time, change func(*member) bool) error {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.closed {
		return ErrClosed
	}
	m, err := ms.find(incarnation)
	if err != nil {
		return err
	}
	if change(m) {
		ms.dirty = true
		ms.publishDue(now)
		if ms.dirty {
			ms.wake()
		}
	}
	return nil
}

// publishDue publishes what waits to be published if it is time. It returns when it
// will be; the zero time if nothing waits. Requires mu.
func (ms *membership) publishDue(now time.Time) (next time.Time) {
	if !ms.dirty || ms.closed {
		return time.Time{}
	}
	at := ms.last.Add(ms.cfg.PublishEvery)
	if !ms.retry.IsZero() {
		at = ms.retry
	}
	// An instant before the last one is a clock that was set back: it waits for nobody.
	if now.Before(at) && !now.Before(ms.last) {
		return at
	}
	p, err := ms.prepare(ms.members)
	if err != nil {
		ms.err, ms.retry = err, now.Add(publishAgain)
		return ms.retry
	}
	ms.publish(p, nil, nil, nil, now)
	return time.Time{}
}

// look takes over who is ejected. Requires mu.
func (ms *membership) look() {
	if !ms.unseen.Swap(false) {
		return
	}
	for _, m := range ms.members {
		if out := m.out(); out != m.ejected {
			m.ejected, ms.dirty = out, true
		}
	}
}

// advance does what is due at the instant, and returns when to come again.
func (ms *membership) advance(now time.Time) (next time.Time, err error) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.closed {
		return time.Time{}, nil
	}
	late := time.Duration(0)
	if !ms.due.IsZero() && now.After(ms.due) {
		late = now.Sub(ms.due)
	}
	if ms.passive != nil {
		var changed bool
		if next, changed = ms.passive.Advance(now, late); changed {
			ms.unseen.Store(true)
		}
	}
	ms.look()
	next = sooner(next, ms.publishDue(now))
	ms.due = next
	return next, ms.err
}

// tell tells the observer of publications, in their order and under no lock.
func (ms *membership) tell() {
	if ms.observer == nil {
		return
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for !ms.telling && len(ms.untold) > 0 {
		e := ms.untold[0]
		ms.untold = slices.Delete(ms.untold, 0, 1)
		ms.telling = true
		ms.mu.Unlock()
		ms.tellOne(e)
		ms.mu.Lock()
		ms.telling = false
	}
}

// tellOne tells of one publication. A panic of the observer is dropped: it is not
// the fault of whoever changed something.
func (ms *membership) tellOne(e observe.Published) {
	defer func() { _ = recover() }()
	ms.observer.Published(e)
}

// close ends everything but the calls that were admitted.
func (ms *membership) close(now time.Time) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.closed {
		return
	}
	ms.closed = true
	var gone []*Slots
	for _, m := range ms.members {
		m.retired.Store(true)
		if m.passive != nil {
			ms.passive.Remove(m.passive, now)
		}
		gone = append(gone, m.slots)
	}
	ms.members, ms.byID = nil, nil
	ms.publish(&published{closed: true}, nil, nil, gone, now)
}
