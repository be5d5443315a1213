package dispatch

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/observe"
)

// Loop picks a member, admits the call, and lets what became of it change the next
// pick. It knows no protocol, and keeps no clock, goroutine, timer or connection:
// instants come with each call, and whoever owns the Loop calls Advance.
//
// A Loop is made by NewLoop. The zero value is not usable.
//
// # Contract
//
//   - A call is refused only while no eligible member that it may go to has room.
//   - A member that drains or was removed admits no call that began after the change returned.
//   - An ejected member gets trials, and calls for which nobody else is left, and no others.
//   - Each value of a member that was removed is released once, when its last call has ended.
//   - A member that stays in the list keeps its calls, its load and its health.
//   - The first change of health is published at once, and the next ones at most once in PublishEvery.
//   - A publication that fails leaves the last good picker serving, and is tried again.
//   - The Observer is told under no lock, and of publications in their order.
//   - Every refusal leaves no slot held.
//   - A change waits for one other change at most.
//
// # Cost
//
// Acquire and End take no lock of the Loop, and allocate nothing for a call of one
// attempt.
//
// # Concurrency
//
// A Loop is safe for concurrent use. Changes take turns, and whoever comes while a
// picker is built has it built once more for all who wait. Each is published by one
// atomic swap.
type Loop struct {
	core        core
	publication publication[published]
	admission   admission
	queue       queue
	membership  *membership
}

// NewLoop returns a Loop without members, or a [poise.FieldError].
func NewLoop(cfg LoopConfig) (*Loop, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	l := new(Loop)
	l.core.retry, l.core.observer, l.core.wake = cfg.Retry, cfg.Observer, cfg.Wake
	if isNil(cfg.Observer) {
		l.core.observer = nil
	}
	if l.core.budget, err = NewRetryBudget(cfg.Retry.Budget); err != nil {
		return nil, inField("Retry.Budget", err)
	}
	if !cfg.Passive.Off {
		if cfg.Passive.Seed == 0 {
			cfg.Passive.Seed = cfg.Seed
		}
		// Only where calls are tied to members a suspect can do without the next ones.
		l.core.keyed = keyed(cfg.Policy)
		cfg.Passive.Divert = cfg.Passive.Divert || l.core.keyed
		if l.core.passive, err = health.NewPassiveHealth(cfg.Passive); err != nil {
			return nil, inField("Passive", err)
		}
	}
	l.admission = admission{core: &l.core, publication: &l.publication, picks: cfg.Picks}
	if cfg.Seed != 0 {
		l.admission.chance = poise.NewGenerator(cfg.Seed)
	}
	l.queue.admission = &l.admission
	l.core.admit = l.queue.admit
	if l.membership, err = newMembership(&l.core, cfg, &l.publication); err != nil {
		return nil, err
	}
	if _, err := l.membership.update(nil, false, time.Time{}); err != nil {
		return nil, err
	}
	return l, nil
}

// keyed reports whether the policy ties calls to members by a key.
func keyed(policy poise.Policy) bool {
	view, err := poise.NewView(nil)
	if err != nil {
		return false
	}
	defer func() { _ = recover() }() // the first Update says more
	picker, err := compile(policy, view)
	if err != nil {
		return false
	}
	_, ties := picker.(poise.Preferrer)
	return ties
}

// Update makes the members those of the list. A member of the same identity and
// incarnation stays; others are new.
// Members that are not in the list get no new calls. On an error, a
// [poise.FieldError] where a field is to blame, nothing has changed, but that a
// transform with a memory has seen the list: to it, who was missing there is new.
//
// # Contract
//
//   - After an error of Update the members and the picker are as before.
func (l *Loop) Update(specs []Spec, now time.Time) error {
	defer l.after(now)
	_, err := l.membership.update(specs, false, now)
	return err
}

// Follow is Update for lists that nobody is there to correct, as a directory has
// them: a member that no View can hold, or that the policy refuses, is left out, and
// the others are served. It returns who is left out and why.
//
// # Contract
//
//   - A member that no View can hold, or that the policy refuses, is left out, and the others are served.
func (l *Loop) Follow(specs []Spec, now time.Time) (left []*MemberError, err error) {
	defer l.after(now)
	return l.membership.update(specs, true, now)
}

// after does what a change leaves to be done under no lock.
func (l *Loop) after(now time.Time) {
	l.membership.tell()
	if l.core.waiting.Load() > 0 {
		l.queue.admit(now)
	}
}

// SetStatus is the operator's word on one member. Draining lets its calls end and
// admits no new ones; Unavailable keeps it from being picked, but by a topology
// policy in a panic. It holds for this incarnation, whatever Update says, until
// Ready takes it back. On an error nothing has changed.
func (l *Loop) SetStatus(id string, status poise.Status, now time.Time) error {
	defer l.after(now)
	return l.membership.setStatus(id, status, now)
}

// SetConnected says whether the member of that incarnation has a connection. A new
// member has one.
func (l *Loop) SetConnected(incarnation uint64, connected bool, now time.Time) error {
	defer l.after(now)
	return l.membership.edit(incarnation, now, func(m *member) bool {
		was := m.offline
		m.offline = !connected
		return m.offline != was
	})
}

// Report says what probes have found at the member of that incarnation:
// poise.NotExcluded, or the reason to leave it out.
func (l *Loop) Report(incarnation uint64, excluded poise.Reason, now time.Time) error {
	defer l.after(now)
	return l.membership.edit(incarnation, now, func(m *member) bool {
		was := m.unhealthy
		m.unhealthy = excluded
		return was != excluded
	})
}

// Passed tells that a probe of the member of that incarnation has passed, for passive
// health: it can end an ejection early.
func (l *Loop) Passed(incarnation uint64, now time.Time) error {
	defer l.after(now)
	return l.membership.edit(incarnation, now, func(m *member) bool {
		return m.passive != nil && m.passive.Probe(true, now) && l.membership.flip(m, now)
	})
}

// Acquire finds a member for an attempt, takes a slot of it and fills the Call, or
// returns why there is none:
//
//	ErrClosed             the Loop was closed
//	poise.ErrEmpty        it has no members
//	poise.ErrNoEligible   none of them is eligible
//	poise.ErrAtCapacity   those that are have no room
//	poise.ErrAllTried     they were tried, and may not be tried again
//
// and errors of the policy's own. The policy's pick is tried first, then its next
// ones, then every eligible member for room, then the least recently tried.
func (l *Loop) Acquire(c *Call, q Query) error {
	if l.core.waiting.Load() > 0 {
		if err := l.queue.barred(q.Now); err != nil {
			return l.refused(q, err)
		}
	}
	if err := l.admission.acquire(c, &q); err != nil {
		return l.refused(q, err)
	}
	return nil
}

// refused accounts for a call for which nobody was found, and tells of it.
func (l *Loop) refused(q Query, err error) error {
	if q.Attempts.refund() {
		l.core.budget.Refund()
	}
	if l.core.observer == nil {
		return err
	}
	r := observe.Refusal{At: q.Now, Attempt: q.Attempts.Len() + 1, Cause: observe.RefusalCauseOf(err), Err: err}
	if p := l.publication.load(); p.closed {
		r.Cause = observe.RefusedClosed
	} else {
		r.Members, r.Eligible = p.view.Len(), p.view.EligibleLen()
	}
	quietly(func() { l.core.observer.Refused(r) })
	return err
}

// Next returns what is to be done after an attempt of the call that came to the
// result, and takes the retry from the budget if it costs one. Repeatable says that
// the call may be sent although it may have been received before. The rules are
// those of RetryConfig.Next.
func (l *Loop) Next(a *Attempts, r poise.Result, repeatable bool, now time.Time) Step {
	if r.Outcome == poise.Success || !r.Outcome.IsObservation() {
		return l.core.retry.Next(RetryState{}, r, repeatable) // whatever was done, and whoever is left
	}
	state := a.state()
	l.left(a, &state)
	if l.core.passive != nil && (r.Outcome == poise.Overloaded || r.Outcome == poise.Silent) {
		state.OverloadedShare = l.core.passive.OverloadedShare(now)
	}
	step := l.core.retry.Next(state, r, repeatable)
	if step.Action != Repeat {
		return step
	}
	if step.Reason == Paid {
		if !l.core.budget.Spend(now) {
			return Step{Reason: BudgetSpent}
		}
		a.pay()
	}
	if half := step.Wait / 2; half > 0 {
		step.Wait -= time.Duration(l.admission.chance.Below(uint64(half)))
	}
	return step
}

// left says who is left for another attempt.
func (l *Loop) left(a *Attempts, s *RetryState) {
	p := l.publication.load()
	if p.closed {
		return
	}
	tried := a.set()
	untried := p.view.Untried(tried)
	for k := range untried.Len() {
		if !p.members[untried.At(k)].out() {
			s.Untried = true
			return
		}
		s.UntriedEjected = true
	}
	if p.ejected > 0 && !s.UntriedEjected {
		for i, m := range p.members {
			if p.view.Reason(i) == poise.ExcludedEjected && !tried.Has(m.id, m.incarnation) {
				s.UntriedEjected = true
				return
			}
		}
	}
}

// Ready returns nil if a member is eligible, and else why a call would find none.
func (l *Loop) Ready() error {
	p := l.publication.load()
	if p.closed {
		return ErrClosed
	}
	return p.view.Check()
}

// Outstanding returns how many calls the member of that incarnation holds; at least
// one if it is not there or still admits calls, so that 0 is final.
func (l *Loop) Outstanding(incarnation uint64) uint64 {
	l.membership.mu.Lock()
	m := l.membership.byNumber[incarnation]
	l.membership.mu.Unlock()
	if m == nil || m.slots.Admission() == Open {
		return 1
	}
	return m.slots.inFlight.Current()
}

// Join has a call wait for its first attempt until the instant, for room or for
// somebody eligible, after those who joined before it; the zero time is without end. It is told by Ready,
// perhaps before Join returns. Advance ends the waits that are over.
func (l *Loop) Join(w *Waiter, q Query, until time.Time) error {
	if w.Call == nil {
		return refuse("Call", nil, ErrMissing)
	}
	if w.Ready == nil {
		return refuse("Ready", nil, ErrMissing)
	}
	if n := q.Attempts.Len(); n > 0 { // whoever waits could take any room, so the line moves on
		return refuse("Attempts", n, ErrOutOfRange)
	}
	if err := l.queue.join(w, q, until); err != nil {
		return err
	}
	if !until.IsZero() {
		l.core.wake()
	}
	return nil
}

// Abandon ends the wait of a call that waits no longer, and reports whether it did:
// false says that Ready has run, or is running.
func (l *Loop) Abandon(w *Waiter) bool { return l.queue.abandon(w) }

// Advance does what is due at the instant: publications, passive health, transforms
// and waits that are over. It returns when it is to run again without a Wake; the
// zero time is not before the next Wake. The error is that of the last publication,
// while the last good picker serves.
func (l *Loop) Advance(now time.Time) (next time.Time, err error) {
	next, err = l.membership.advance(now)
	l.membership.tell()
	if l.core.waiting.Load() > 0 {
		next = sooner(next, l.queue.expire(now))
	}
	return next, err
}

// Released returns the values of the members that were removed and whose last call
// has ended, each once.
func (l *Loop) Released() []any {
	l.core.releases.Lock()
	defer l.core.releases.Unlock()
	released := l.core.released
	l.core.released = nil
	return released
}

// Close refuses every call and change from now on. Calls that were admitted go on,
// and values are released as their last calls end. Closing again changes nothing.
func (l *Loop) Close(now time.Time) {
	l.membership.close(now)
	l.queue.close()
	l.membership.tell()
}

// Inspect returns the Loop as it stands.
func (l *Loop) Inspect(now time.Time) Inspection {
	ms := l.membership
	ms.mu.Lock()
	defer ms.mu.Unlock()
	p := l.publication.load()
	in := Inspection{
		Closed: p.closed, Published: p.number, Pending: len(ms.touched) > 0, Err: ms.err,
		Waiting: int(l.core.waiting.Load()), Retries: l.core.budget.Saved(),
		Members: make([]MemberInspection, len(ms.members)),
	}
	for i, m := range ms.members {
		of := MemberInspection{
			ID: m.id, Incarnation: m.incarnation, Value: *m.value.Load(),
			Sample: m.sample(&m.spec, ms.factor), Reason: p.reason(m), Status: m.operator,
			Offline: m.offline, Unhealthy: m.unhealthy,
			Admission: m.slots.Admission(), InFlight: m.slots.inFlight.Current(), Limit: m.slots.inFlight.Limit(),
		}
		if m.passive != nil {
			of.Passive = m.passive.Inspect(now)
		}
		of.LeftOut = m.bad
		if m.window != nil {
			of.Outcomes = m.window.Stats(now)
		}
		in.Members[i] = of
	}
	return in
}
