package dispatch

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/internal/printable"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
	"github.com/copyleftdev/poise-go/pkg/observe"
	"github.com/copyleftdev/poise-go/pkg/transform"
)

const (
	// publishAgain is how long after a failed publication the next one is tried.
	publishAgain = time.Second
	// weighEvery is how often the outcome windows are asked about the weights, and
	// weightSteps how many different answers there are.
	weighEvery  = time.Second
	weightSteps = 20
	// weightFactor is what all weights are multiplied by, so that they can be lowered.
	weightFactor = 100
	// mostLeftOut bounds how many members one publication leaves out.
	mostLeftOut = 64
)

// membership holds the members and makes what is published of them.
//
// A change is told under mu, which is held for a moment only. Then somebody builds:
// makes a View and a picker of everything that was told until then, under no lock,
// and publishes them. Whoever comes meanwhile waits for the end of that building at
// most and builds for all who wait, so nobody waits for more than one building that
// is not about his own change.
type membership struct {
	*core
	cfg         LoopConfig
	publication *publication[published]

	mu    syncx.Mutex
	ended *syncx.Cond // on mu: a building has ended
	// Guarded by mu.
	building bool
	closed   bool
	version  uint64 // of what was told
	visible  uint64 // the version that is published
	touched  []*member
	byID     map[string]*member
	byNumber map[uint64]*member // incarnation
	ejected  int
	last     time.Time // publication
	again    time.Time // that a transform wants
	retry    time.Time // of a publication that failed; the zero time if it did not
	weighed  time.Time // when the windows were asked
	err      error     // of the last publication
	spoiled  bool      // somebody may be left out although nobody wanted that
	judged   time.Time // when passive health was let do what is due
	due      time.Time // when it wants to be next; the zero time for at once
	untold   []observe.Published
	telling  bool
	news     bool // something was published since the last tell

	// Changed under mu by who builds.
	members []*member
	factor  uint32 // of all weights

	// Belong to who builds.
	chain *transform.Chain
	view  *poise.View // nil: the chain has other members than it
}

func newMembership(c *core, cfg LoopConfig, p *publication[published]) (*membership, error) {
	chain, err := transform.NewChain(cfg.Transforms...)
	if err != nil {
		return nil, err
	}
	ms := &membership{core: c, cfg: cfg, publication: p, chain: chain, factor: 1}
	ms.ended = syncx.NewCond(&ms.mu)
	return ms, nil
}

// enter waits until nobody builds, and begins to. It returns ErrClosed after Close.
// Requires mu, and gives it up while it waits.
func (ms *membership) enter() error {
	for ms.building && !ms.closed {
		ms.ended.Wait()
	}
	if ms.closed {
		return ErrClosed
	}
	ms.building = true
	return nil
}

// leave ends the building. Requires mu.
func (ms *membership) leave() {
	ms.building = false
	ms.ended.Broadcast()
}

// touch notes that the sample of the member has changed. Requires mu.
func (ms *membership) touch(m *member) {
	ms.version++
	if !m.touched {
		m.touched = true
		ms.touched = append(ms.touched, m)
	}
}

// begin makes a member that is new.
func (ms *membership) begin(spec *Spec, now time.Time) (*member, error) {
	m := &member{
		core: ms.core, id: spec.ID, incarnation: spec.Incarnation, spec: *spec, weight: 1,
		offline: spec.Offline, unhealthy: spec.Unhealthy,
	}
	value := spec.Value
	m.value.Store(&value)
	m.slots = NewSlots(spec.Limit, func() { m.core.release(m) })
	m.tracker = m.slots.InFlight()
	if ms.cfg.Load != nil {
		tracker, err := ms.load(m)
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

// load makes the tracker of a member.
func (ms *membership) load(m *member) (tracker poise.LoadTracker, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %s", ErrMemberPanic, printable.Text(fmt.Sprint(v)))
		}
	}()
	return ms.cfg.Load(m.slots.InFlight())
}

// update makes the members those of the list. Where lenient, those who cannot be
// served are left out, and it returns why.
func (ms *membership) update(specs []Spec, lenient bool, now time.Time) (left []*MemberError, err error) {
	if err := check(specs); err != nil {
		return nil, err
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if err := ms.enter(); err != nil {
		return nil, err
	}
	defer ms.leave()
	next, err := ms.match(specs, now)
	if err != nil {
		return nil, err
	}
	// What was told until now is part of what is built.
	version, touched := ms.version, ms.touched
	ms.touched = nil
	was, factor := make([]error, len(next)), ms.factorOf(specs)
	samples := make([]poise.Sample, len(next))
	for i, m := range next {
		was[i], m.bad = m.bad, nil
		samples[i] = m.sample(&specs[i], factor)
	}
	for _, m := range touched {
		m.touched = false
	}
	base := ms.base()
	ms.mu.Unlock()
	p, again, err := ms.rebuild(next, samples, lenient, now)
	ms.mu.Lock()
	if err == nil && ms.closed {
		err = ErrClosed
	}
	if err != nil {
		ms.reset(base)
		for i, m := range next {
			m.bad = was[i]
		}
		for _, m := range touched {
			ms.touch(m)
		}
		return nil, err
	}
	ms.factor, ms.again = factor, again
	left = ms.install(p, next, specs, version, now)
	ms.wake() // passive health and transforms may want to be asked
	return left, nil
}

// factorOf returns the factor of all weights of a list.
func (ms *membership) factorOf(specs []Spec) uint32 {
	if ms.cfg.Window == nil {
		return 1
	}
	heaviest := uint32(1)
	for i := range specs {
		heaviest = max(heaviest, specs[i].Weight.Value())
	}
	return max(min(weightFactor, math.MaxUint32/heaviest), 1)
}

// match returns the member of each entry of the list, new ones included. Requires mu.
func (ms *membership) match(specs []Spec, now time.Time) (next []*member, err error) {
	next = make([]*member, len(specs))
	for i := range specs {
		spec := &specs[i]
		field := func(name string, value any, err error) error {
			return refuse(fmt.Sprintf("members[%d].%s", i, name), value, err)
		}
		switch m := ms.byNumber[spec.Incarnation]; {
		case m != nil && m.id == spec.ID:
			next[i] = m
		case m != nil || ms.isLeaving(spec.Incarnation):
			return nil, field("Incarnation", spec.Incarnation, ErrOldIncarnation)
		default:
			if next[i], err = ms.begin(spec, now); err != nil {
				return nil, field("Load", nil, err)
			}
		}
	}
	return next, nil
}

// rebuild makes a picker of other members. It belongs to who builds.
func (ms *membership) rebuild(next []*member, samples []poise.Sample, lenient bool, now time.Time) (p *published, again time.Time, err error) {
	ms.view = nil
	if err := ms.chain.Reset(samples); err != nil {
		return nil, time.Time{}, err
	}
	return ms.build(next, lenient, now)
}

// base returns the samples that the chain was given. It belongs to who builds.
func (ms *membership) base() []poise.Sample {
	base := make([]poise.Sample, ms.chain.Len())
	for i := range base {
		base[i] = ms.chain.Base(i)
	}
	return base
}

// reset gives the chain the samples of members that it has had, and has the
// transforms look at everybody. It belongs to who builds.
func (ms *membership) reset(base []poise.Sample) {
	ms.view = nil
	_ = ms.chain.Reset(base) // it has taken them before
}

// build makes a picker of the members, of whom the chain has the samples. Where
// lenient, it leaves out who is to blame for an error. It belongs to who builds.
func (ms *membership) build(members []*member, lenient bool, now time.Time) (p *published, again time.Time, err error) {
	for out := 0; ; out++ {
		p, again, err = ms.try(members, now)
		if err == nil {
			return p, again, nil
		}
		i := ms.culprit(err)
		if !lenient || i < 0 || out >= mostLeftOut || members[i].bad != nil {
			return nil, time.Time{}, asMembers(err)
		}
		m := members[i]
		ms.mu.Lock()
		m.bad, ms.spoiled = &MemberError{ID: m.id, Incarnation: m.incarnation, Err: asMembers(err)}, true
		ms.mu.Unlock()
		if err := ms.chain.Change(i, m.sample(&m.spec, 1)); err != nil {
			return nil, time.Time{}, err
		}
	}
}

// try runs the transforms and the policy once. It belongs to who builds.
func (ms *membership) try(members []*member, now time.Time) (p *published, again time.Time, err error) {
	defer func() {
		if v := recover(); v != nil {
			p, err = nil, fmt.Errorf("%w: %s", ErrPolicyPanic, printable.Text(fmt.Sprint(v)))
			ms.reset(ms.base())
		}
	}()
	if again, err = ms.chain.Run(now); err != nil {
		return nil, time.Time{}, err
	}
	view, err := ms.see()
	if err != nil {
		return nil, time.Time{}, err
	}
	ms.view = view
	picker, err := compile(ms.cfg.Policy, view)
	if err != nil {
		return nil, time.Time{}, err
	}
	return &published{view: view, picker: picker, members: members}, again, nil
}

// see returns the View of the samples of the chain: made of the last one and what has
// changed, where that had the same members. It belongs to who builds.
func (ms *membership) see() (*poise.View, error) {
	samples := ms.chain.Samples()
	if ms.view == nil {
		candidates := make([]poise.Candidate, len(samples))
		for i := range samples {
			candidates[i] = samples[i]
		}
		return poise.NewView(candidates)
	}
	changed := ms.chain.Changed()
	different := make([]poise.Sample, len(changed))
	for k, i := range changed {
		different[k] = samples[i]
	}
	view, err := ms.view.With(different...)
	if err != nil {
		ms.view = nil // the next one is made of all, and names who is to blame
		return ms.see()
	}
	return view, nil
}

// culprit returns the index of the member that is to blame for an error of a View or
// of a policy: the one that it names, and else the heaviest, of equal ones the last;
// -1 if nobody is. It belongs to who builds.
func (ms *membership) culprit(err error) int {
	refused, ok := errors.AsType[*poise.FieldError](err)
	if !ok {
		return -1
	}
	samples := ms.chain.Samples()
	i := -1
	if _, err := fmt.Sscanf(refused.Field, "candidates[%d]", &i); err == nil && i < len(samples) {
		return i
	}
	heaviest := -1
	for i := range samples {
		s := &samples[i]
		if s.Status == poise.Ready && s.Excluded == poise.NotExcluded &&
			(heaviest < 0 || s.Weight.Value() >= samples[heaviest].Weight.Value()) {
			heaviest = i
		}
	}
	return heaviest
}

// compile has the policy prepare the view.
func compile(policy poise.Policy, view *poise.View) (poise.Picker, error) {
	picker, err := policy.Prepare(view)
	if err == nil && picker == nil {
		err = ErrNoPicker
	}
	return picker, err
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

// install publishes what was built of the next members. Requires mu.
func (ms *membership) install(p *published, next []*member, specs []Spec, version uint64, now time.Time) (left []*MemberError) {
	var open, shut, gone []*Slots
	byID := make(map[string]*member, len(next))
	byNumber := make(map[uint64]*member, len(next))
	for i, m := range next {
		byNumber[m.incarnation], byID[m.id], m.index = m, m, i
		if m.passive == nil && ms.passive != nil {
			m.passive = ms.passive.Add(m, now)
			ms.due = time.Time{}
		}
		m.spec = specs[i]
		value := m.spec.Value
		m.value.Store(&value)
		m.slots.SetLimit(m.spec.Limit)
		if m.status() == poise.Draining {
			shut = append(shut, m.slots)
		} else {
			open = append(open, m.slots)
		}
		if err, is := m.bad.(*MemberError); is {
			left = append(left, err)
		}
	}
	for _, m := range ms.members {
		if byNumber[m.incarnation] == m {
			continue
		}
		m.retired.Store(true)
		ms.core.leave(m)
		if m.passive != nil {
			ms.passive.Remove(m.passive, now)
		}
		if m.ejected {
			ms.ejected--
		}
		gone = append(gone, m.slots)
	}
	ms.members, ms.byID, ms.byNumber = next, byID, byNumber
	ms.publish(p, open, shut, gone, nil, version, now)
	return left
}

// publish makes calls see what was built. Changed are the indices of the members
// that may have another reason; nil is all. Requires mu.
func (ms *membership) publish(p *published, open, shut, gone []*Slots, changed []int, version uint64, now time.Time) {
	was := ms.publication.load()
	p.number = 1
	if was != nil {
		p.number = was.number + 1
	}
	p.ejected = ms.ejected
	ms.publication.change(p, open, shut, gone)
	ms.news = true
	ms.last, ms.visible, ms.retry, ms.err = now, version, time.Time{}, nil
	if p.closed {
		return
	}
	for k := 0; ms.spoiled && k < len(p.members); k++ {
		if bad := p.members[k].bad; bad != nil {
			ms.err = errors.Join(ms.err, bad)
		}
	}
	if ms.observer != nil {
		ms.untold = append(ms.untold, announce(p, was, changed, now))
	}
}

// announce returns what the observer is told of a publication.
func announce(p, was *published, changed []int, now time.Time) observe.Published {
	e := observe.Published{Number: p.number, At: now, Members: p.view.Len(), Eligible: p.view.EligibleLen()}
	look := func(i int) {
		m, before := p.members[i], poise.NotExcluded
		if was != nil {
			if at := was.index(m); at >= 0 {
				before = was.view.Reason(at)
			}
		}
		if is := p.view.Reason(i); is != before {
			e.Changed = append(e.Changed, observe.ReasonChange{ID: m.id, Incarnation: m.incarnation, Was: before, Is: is})
		}
	}
	if changed == nil {
		for i := range p.members {
			look(i)
		}
	}
	for _, i := range changed {
		look(i)
	}
	return e
}

// republish builds and publishes what was told. Requires mu and that nobody builds,
// and gives mu up while it builds.
func (ms *membership) republish(now time.Time) error {
	ms.building = true
	defer ms.leave()
	version, touched, members := ms.version, ms.touched, ms.members
	ms.touched = nil
	var open, shut []*Slots
	for _, m := range touched {
		m.touched = false
		if m.retired.Load() {
			continue
		}
		_ = ms.chain.Change(m.index, m.sample(&m.spec, ms.factor)) // the chain has the members
		switch drains, admission := m.status() == poise.Draining, m.slots.Admission(); {
		case drains && admission == Open:
			shut = append(shut, m.slots)
		case !drains && admission == Closed:
			open = append(open, m.slots)
		}
	}
	ms.mu.Unlock()
	p, again, err := ms.build(members, true, now)
	ms.mu.Lock()
	if ms.closed {
		return ErrClosed
	}
	if err != nil {
		for _, m := range touched {
			ms.touch(m)
		}
		ms.err, ms.retry = err, now.Add(publishAgain)
		ms.wake()
		return err
	}
	if ms.again = again; !again.IsZero() {
		ms.wake()
	}
	changed := ms.chain.Changed()
	if changed == nil {
		changed = []int{}
	}
	ms.publish(p, open, shut, nil, changed, version, now)
	return nil
}

// setStatus is the word of SetStatus.
func (ms *membership) setStatus(id string, status poise.Status, now time.Time) error {
	if status > poise.Unavailable {
		return refuse("status", status, poise.ErrInvalidStatus)
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.byID[id]
	switch {
	case ms.closed:
		return ErrClosed
	case m == nil:
		return refuse("id", id, ErrUnknownMember)
	}
	before := m.operator
	m.operator = status
	ms.touch(m)
	version := ms.version
	for ms.building && ms.visible < version && !ms.closed {
		ms.ended.Wait()
	}
	switch {
	case ms.visible >= version:
		return nil // somebody has published it
	case ms.closed:
		return ErrClosed
	}
	err := ms.republish(now)
	if err != nil && m.operator == status {
		m.operator = before
		ms.touch(m)
	}
	return err
}

// edit changes what is known of a member's health.
func (ms *membership) edit(incarnation uint64, now time.Time, change func(*member) bool) error {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.closed {
		return ErrClosed
	}
	m := ms.byNumber[incarnation]
	if m == nil {
		return refuse("incarnation", incarnation, ErrUnknownMember)
	}
	if !change(m) {
		return nil
	}
	ms.touch(m)
	if ms.building || !ms.publishDue(now).IsZero() {
		ms.wake()
	}
	return nil
}

// publishDue publishes what waits to be published if it is time and nobody builds.
// It returns when it will be; the zero time if nothing waits. Requires mu.
func (ms *membership) publishDue(now time.Time) (next time.Time) {
	if ms.closed {
		return time.Time{}
	}
	if len(ms.touched) == 0 {
		if ms.again.IsZero() || now.Before(ms.again) {
			return ms.again
		}
	}
	at := ms.last.Add(ms.cfg.PublishEvery)
	if !ms.retry.IsZero() {
		at = ms.retry
	}
	// An instant before the last one is a clock that was set back: it waits for nobody.
	if now.Before(at) && !now.Before(ms.last) {
		return at
	}
	if err := ms.republish(now); err != nil {
		return ms.retry
	}
	return ms.again
}

// look takes over who is ejected: of those who were noted, or of all. Requires mu.
func (ms *membership) look(all bool, now time.Time) {
	flipped := ms.seen()
	if all {
		flipped = ms.members
	}
	for _, m := range flipped {
		if ms.flip(m, now) {
			ms.touch(m)
		}
	}
}

// flip takes over whether the member is ejected, and reports whether that is new.
// Requires mu.
func (ms *membership) flip(m *member, now time.Time) bool {
	out := m.out()
	if out == m.ejected || m.retired.Load() {
		return false
	}
	if m.ejected = out; out {
		m.unreachable.Store(m.passive.Inspect(now).Cause == health.EjectedUnreachable)
		ms.ejected++
	} else {
		ms.ejected--
	}
	return true
}

// weigh asks the outcome windows about the weights, at a fixed rate. It returns when
// it will do so next. Requires mu.
func (ms *membership) weigh(now time.Time) (next time.Time) {
	if ms.cfg.Window == nil || len(ms.members) == 0 {
		return time.Time{}
	}
	if next = ms.weighed.Add(weighEvery); now.Before(next) && !now.Before(ms.weighed) {
		return next
	}
	ms.weighed = now
	for _, m := range ms.members {
		stays := math.Round((1-m.window.Penalty(now))*weightSteps) / weightSteps
		if stays != m.weight {
			m.weight = stays
			ms.touch(m)
		}
	}
	return now.Add(weighEvery)
}

// judge lets passive health do what is due, and reports whether it did. Requires mu.
func (ms *membership) judge(now time.Time) bool {
	// An instant before the last one is a clock that was set back.
	if ms.passive == nil || !ms.due.IsZero() && now.Before(ms.due) && !now.Before(ms.judged) {
		return false
	}
	late := time.Duration(0)
	if !ms.due.IsZero() && now.After(ms.due) {
		late = now.Sub(ms.due)
	}
	ms.judged = now
	ms.due, _ = ms.passive.Advance(now, late)
	return true
}

// advance does what is due at the instant, and returns when to come again.
func (ms *membership) advance(now time.Time) (next time.Time, err error) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.enter() != nil {
		return time.Time{}, nil
	}
	ms.leave() // nobody builds, and mu is held
	looked := ms.judge(now)
	ms.look(looked, now)
	next = sooner(ms.due, ms.weigh(now))
	next = sooner(next, ms.publishDue(now))
	return next, ms.err
}

// tell tells the observer of publications, in their order and under no lock.
func (ms *membership) tell() {
	if ms.observer == nil && ms.cfg.Published == nil {
		return
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.news && ms.cfg.Published != nil {
		ms.news = false
		ms.mu.Unlock()
		quietly(ms.cfg.Published)
		ms.mu.Lock()
	}
	for !ms.telling && len(ms.untold) > 0 {
		e := ms.untold[0]
		ms.untold = slices.Delete(ms.untold, 0, 1)
		ms.telling = true
		ms.mu.Unlock()
		quietly(func() { ms.observer.Published(e) })
		ms.mu.Lock()
		ms.telling = false
	}
}

// close ends everything but the calls that were admitted.
func (ms *membership) close(now time.Time) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.enter() != nil {
		return
	}
	defer ms.leave()
	ms.closed = true
	var gone []*Slots
	for _, m := range ms.members {
		m.retired.Store(true)
		ms.core.leave(m)
		if m.passive != nil {
			ms.passive.Remove(m.passive, now)
		}
		gone = append(gone, m.slots)
	}
	ms.members, ms.byID, ms.byNumber = nil, nil, nil
	ms.publish(&published{closed: true}, nil, nil, gone, nil, ms.version, now)
}
