package dispatch

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/internal/printable"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// pauseGrace is how long after a deadline the end of an attempt may be seen: later
// than that this process was paused, and nobody is to blame.
const pauseGrace = 100 * time.Millisecond

// Balancer drives a Loop: it has the clock, one goroutine and the timer that the
// Loop lacks, and numbers the members of a list.
//
// A Balancer is made by New, and is to be closed. The zero value is not usable.
//
// # Contract
//
//   - Do runs the function once for each attempt, with an endpoint that admitted it.
//   - A member that stays in the list with the same Endpoint keeps its incarnation, and another Endpoint begins a new one.
//   - Each Endpoint that was removed is closed once, when its last call and its probes have ended.
//   - An attempt that a deadline ended is held against the endpoint, one that its caller left is not.
//   - A pause of this process is held against nobody.
//   - A call that waits is given room in its turn, or fails when MaxWait is over.
//   - Close ends the Balancer's goroutine and its probes; calls in flight go on.
//
// # Cost
//
// Do allocates once for a call of one attempt, and reads the clock twice.
//
// # Concurrency
//
// A Balancer is safe for concurrent use.
type Balancer[E comparable] struct {
	cfg  Config[E]
	loop *Loop

	mu syncx.Mutex // serialises lists
	// Guarded by mu.
	current map[string]*incarnation[E]
	numbers map[uint64]*incarnation[E] // the same, by incarnation
	owners  map[E]*incarnation[E]      // of every Endpoint that was not closed
	last    uint64                     // incarnation

	taking // of the Source

	state syncx.Mutex
	// Guarded by state.
	publishErr, takeErr error

	prober *health.Prober // nil: nobody is probed
	first  poise.Reason   // of a member that was not probed yet

	kick   syncx.Pointer[syncx.Event] // fired by wake; each one wakes the goroutine once
	news   syncx.Pointer[syncx.Event] // fired by a publication
	open   context.Context            // ended by Close
	stop   context.CancelFunc
	done   syncx.Event // the goroutine has ended
	after  syncx.Bool  // it has, and who releases an endpoint has it closed
	ending syncx.WaitGroup
}

// incarnation is what an identity stands for while its Endpoint is the same.
type incarnation[E comparable] struct {
	id       string
	endpoint E
	number   uint64
	probed   *probed // nil: it is not probed
}

// taking is how far a Balancer has come with its Source. It belongs to its
// goroutine, and before that to New.
type taking struct {
	taken  bool
	number uint64 // the revision that was taken
	left   bool   // somebody was left out of it
	at     time.Time
	drains bool // somebody drains in it
}

// New returns a Balancer over cfg.Members, or a [poise.FieldError]. Over a cfg.Source
// it waits for nobody to join: see WaitReady.
func New[E comparable](cfg Config[E]) (*Balancer[E], error) {
	switch {
	case cfg.MaxWait < 0:
		return nil, outOfRange("MaxWait", cfg.MaxWait)
	case cfg.AttemptTimeout < 0:
		return nil, outOfRange("AttemptTimeout", cfg.AttemptTimeout)
	case cfg.Loop.Wake != nil:
		return nil, refuse("Loop.Wake", "a function", ErrOutOfRange)
	case cfg.Source != nil && cfg.Members != nil:
		return nil, refuse("Members", len(cfg.Members), ErrHasSource)
	}
	if cfg.Classify == nil {
		cfg.Classify = classify
	}
	b := &Balancer[E]{cfg: cfg, current: map[string]*incarnation[E]{}, owners: map[E]*incarnation[E]{}}
	if err := b.prepareProbes(); err != nil {
		return nil, inField("Probes", err)
	}
	b.kick.Store(new(syncx.Event))
	b.news.Store(new(syncx.Event))
	cfg.Loop.Wake = b.wake
	published := cfg.Loop.Published
	cfg.Loop.Published = func() {
		b.news.Swap(new(syncx.Event)).Fire()
		if published != nil {
			published()
		}
	}
	var err error
	if b.loop, err = NewLoop(cfg.Loop); err != nil {
		return nil, inField("Loop", err)
	}
	b.open, b.stop = context.WithCancel(context.Background())
	if cfg.Source != nil {
		b.take(time.Now())
	} else if err := b.update(cfg.Members); err != nil {
		b.stop()
		return nil, err
	}
	syncx.Go(b.run)
	return b, nil
}

// prepareProbes makes what sends the probes, if there are any.
func (b *Balancer[E]) prepareProbes() (err error) {
	if b.cfg.Probes == nil {
		return nil
	}
	b.cfg.Probes = new(*b.cfg.Probes)
	if b.cfg.Probes.Probe == nil {
		return refuse("Probe", nil, ErrMissing)
	}
	unknown, err := health.NewActiveHealth(b.cfg.Probes.Active)
	if err != nil {
		return inField("Active", err)
	}
	b.first = unknown.Excluded()
	b.prober, err = health.NewProber(b.cfg.Probes.prober(b.cfg.Loop.Seed, b.report))
	return err
}

// report tells the loop what a probe has found. Of a member that was removed nobody
// wants to know.
func (b *Balancer[E]) report(r health.ProbeReport) {
	now := time.Now()
	b.mu.Lock()
	l := b.numbers[r.Member]
	b.mu.Unlock()
	if l == nil {
		return
	}
	l.probed.err.Store(&r.Err)
	_ = b.loop.Report(r.Member, r.State.Excluded, now)
	if r.Result == health.ProbePassed {
		_ = b.loop.Passed(r.Member, now)
	}
}

func classify(err error) poise.Result {
	if err == nil {
		return poise.Result{}
	}
	return poise.Result{Outcome: poise.Failure, Err: err}
}

// Loop returns the loop that the Balancer drives, for faces that need its steps. Its
// Update, Advance, Released and Close are the Balancer's to call.
func (b *Balancer[E]) Loop() *Loop { return b.loop }

// wake has the goroutine look. It never waits.
func (b *Balancer[E]) wake() {
	if b.after.Load() {
		syncx.Go(b.release)
		return
	}
	b.kick.Load().Fire()
}

// run advances the loop when it asks to be, until Close.
func (b *Balancer[E]) run() {
	defer b.done.Fire()
	if b.cfg.Source != nil {
		defer alongside(func() { b.cfg.Source.Watch(b.open, b.wake) })()
	}
	if b.prober != nil {
		defer alongside(func() { _ = b.prober.Run(b.open) })()
	}
	for b.open.Err() == nil {
		kick := new(syncx.Event)
		b.kick.Store(kick) // before the look: what changes after it wakes again
		wait, cancel := b.open, context.CancelFunc(func() {})
		if next := b.look(); !next.IsZero() {
			wait, cancel = context.WithDeadline(b.open, next)
		}
		_ = kick.Wait(wait)
		cancel()
	}
}

// alongside runs the function in a goroutine, and returns a function that waits for
// its end.
func alongside(f func()) (wait func()) {
	ended := new(syncx.Event)
	syncx.Go(func() {
		defer ended.Fire()
		f()
	})
	return func() { _ = ended.Wait(context.Background()) }
}

// look does what is due, and returns when something is due next.
func (b *Balancer[E]) look() (next time.Time) {
	now := time.Now()
	if b.cfg.Source != nil {
		next = sooner(b.take(now), b.finishDrains(now))
		now = time.Now() // connecting may have taken its time
	}
	again, err := b.loop.Advance(now)
	b.state.Lock()
	b.publishErr = err
	b.state.Unlock()
	b.release()
	return sooner(next, again)
}

// release has the endpoints closed whose last call has ended.
func (b *Balancer[E]) release() {
	for _, value := range b.loop.Released() {
		b.mu.Lock()
		l := b.owners[value.(E)]
		b.mu.Unlock()
		if b.after.Load() {
			b.end(l)
			continue
		}
		b.ending.Add(1)
		syncx.Go(func() {
			defer b.ending.Done()
			b.end(l)
		})
	}
}

// end closes an endpoint, and lets it be used anew.
func (b *Balancer[E]) end(l *incarnation[E]) {
	if l.probed != nil {
		l.probed.end()
	}
	b.close(l.endpoint)
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.owners, l.endpoint)
}

// close closes an endpoint. Its error and its panic are its own, and nobody is there
// to be told.
func (b *Balancer[E]) close(endpoint E) {
	defer func() { _ = recover() }()
	if b.cfg.Close != nil {
		_ = b.cfg.Close(endpoint)
	}
}

// Update makes the members those of the list. On an error nothing has changed, and
// the endpoints of the list stay the caller's.
func (b *Balancer[E]) Update(list []Member[E]) error {
	if b.cfg.Source != nil {
		return ErrHasSource
	}
	return b.update(list)
}

func (b *Balancer[E]) update(list []Member[E]) error {
	now := time.Now()
	defer b.loop.after(now) // once mu is free: observers may call back
	b.mu.Lock()
	defer b.mu.Unlock()
	specs, incarnations, last := make([]Spec, len(list)), make([]*incarnation[E], len(list)), b.last
	taken := make(map[E]string, len(list))
	for i := range list {
		m := &list[i]
		field := func(name string, value any, err error) error {
			return refuse(fmt.Sprintf("members[%d].%s", i, name), value, err)
		}
		if isNil(m.Endpoint) {
			return field("Endpoint", nil, ErrMissing)
		}
		if !isComparable(m.Endpoint) {
			return field("Endpoint", fmt.Sprintf("%T", m.Endpoint), ErrNotComparable)
		}
		if of, twice := taken[m.Endpoint]; twice {
			return field("Endpoint", of, ErrSharedEndpoint)
		}
		taken[m.Endpoint] = m.ID
		if l := b.current[m.ID]; l != nil && l.endpoint == m.Endpoint {
			incarnations[i] = l
		} else if of := b.owners[m.Endpoint]; of != nil {
			return field("Endpoint", of.id, ErrSharedEndpoint)
		} else {
			last++
			var err error
			if incarnations[i], err = b.begin(m, last); err != nil {
				return field("Endpoint", m.ID, err)
			}
		}
		specs[i] = b.spec(m, incarnations[i])
	}
	if _, err := b.loop.membership.update(specs, false, now); err != nil {
		return err
	}
	b.last = last
	b.accept(incarnations)
	return nil
}

// isComparable reports whether an endpoint can be told from others.
func isComparable[E comparable](endpoint E) bool {
	again := endpoint
	return reflect.ValueOf(&endpoint).Elem().Comparable() && endpoint == again
}

// begin makes the incarnation of a member that is new.
func (b *Balancer[E]) begin(m *Member[E], number uint64) (*incarnation[E], error) {
	l := &incarnation[E]{id: m.ID, endpoint: m.Endpoint, number: number}
	var err error
	l.probed, err = newProbed(b.cfg.Probes, *m)
	return l, err
}

// spec returns a member as the loop has it.
func (b *Balancer[E]) spec(m *Member[E], l *incarnation[E]) Spec {
	s := m.spec(l.number)
	if l.probed != nil {
		s.Unhealthy = b.first
	}
	return s
}

// accept makes the incarnations those that the loop has taken. Requires mu.
func (b *Balancer[E]) accept(incarnations []*incarnation[E]) {
	before := b.numbers
	b.current, b.numbers = make(map[string]*incarnation[E], len(incarnations)), make(map[uint64]*incarnation[E], len(incarnations))
	for _, l := range incarnations {
		b.current[l.id], b.numbers[l.number] = l, l
		if before[l.number] == l {
			continue
		}
		b.owners[l.endpoint] = l
		if l.probed != nil {
			_ = b.prober.Add(l.number, l.probed.ask) // its number is new
		}
	}
	for number, l := range before {
		if b.numbers[number] != l && l.probed != nil {
			b.prober.Remove(number)
		}
	}
}

// take takes the newest list of the Source, if it was not taken before. It returns
// when to try again; the zero time is not before the next change.
func (b *Balancer[E]) take(now time.Time) (next time.Time) {
	source := b.cfg.Source
	if b.taken && b.number == source.Revision() {
		if next = b.at.Add(publishAgain); !b.left || now.Before(next) && !now.Before(b.at) {
			if !b.left {
				next = time.Time{}
			}
			return next
		}
	}
	b.mu.Lock()
	known := b.numbers // never changed once it is there
	b.mu.Unlock()
	list := source.Take(func(number uint64) (endpoint E, has bool) {
		if l := known[number]; l != nil {
			return l.endpoint, true
		}
		return endpoint, false
	})
	left, err := b.follow(list, known)
	for _, l := range append(list.Left, left...) {
		err = errors.Join(err, l)
	}
	b.taken, b.number, b.at = true, list.Revision, now
	b.left = err != nil
	b.state.Lock()
	b.takeErr = err
	b.state.Unlock()
	if b.left {
		return now.Add(publishAgain)
	}
	return time.Time{}
}

// follow makes the members those of a list of the Source. Those whose endpoint cannot
// be had are left out; with an error everything is as before.
func (b *Balancer[E]) follow(list SourceList[E], known map[uint64]*incarnation[E]) (left []*MemberError, err error) {
	now := time.Now()
	defer b.loop.after(now) // once mu is free: observers may call back
	b.mu.Lock()
	defer b.mu.Unlock()
	var specs []Spec
	var incarnations []*incarnation[E]
	taken := map[E]bool{}
	drains := false
	for i := range list.Members {
		m, number := &list.Members[i], list.Incarnations[i]
		l := known[number]
		var err error
		switch {
		case l != nil:
		case isNil(m.Endpoint):
			err = ErrMissing
		case !isComparable(m.Endpoint):
			err = ErrNotComparable
		case taken[m.Endpoint] || b.owners[m.Endpoint] != nil:
			err = ErrSharedEndpoint
		default:
			if l, err = b.begin(m, number); err != nil {
				b.close(m.Endpoint)
			}
		}
		if err != nil {
			left = append(left, &MemberError{ID: m.ID, Incarnation: number, Err: err})
			continue
		}
		taken[m.Endpoint] = true
		drains = drains || m.Status == poise.Draining
		specs, incarnations = append(specs, b.spec(m, l)), append(incarnations, l)
	}
	more, err := b.loop.membership.update(specs, true, now)
	if err != nil {
		for _, l := range incarnations {
			if known[l.number] == nil {
				b.close(l.endpoint)
			}
		}
		return left, err
	}
	b.drains = drains
	b.accept(incarnations)
	return append(left, more...), nil
}

// finishDrains lets those members leave the Source whose drain is over, and returns
// when to look again; the zero time for not before the next Wake.
func (b *Balancer[E]) finishDrains(now time.Time) time.Time {
	if !b.drains {
		return time.Time{}
	}
	wait, err := b.cfg.Source.FinishDrains(now, b.loop.Outstanding)
	switch {
	case err != nil:
		b.state.Lock()
		b.takeErr = errors.Join(b.takeErr, err)
		b.state.Unlock()
		return now.Add(publishAgain)
	case wait == 0:
		return time.Time{}
	}
	return now.Add(wait)
}

// SetStatus is the operator's word on one member, as of Loop.SetStatus.
func (b *Balancer[E]) SetStatus(id string, status poise.Status) error {
	return b.loop.SetStatus(id, status, time.Now())
}

// Acquire fills the call with an attempt. It waits up to MaxWait for room or for
// somebody eligible, if nobody was tried yet. The instant of the query is set.
func (b *Balancer[E]) Acquire(ctx context.Context, q Query, c *Call) error {
	q.Now = time.Now()
	if b.cfg.Source != nil && b.cfg.Source.Failed() {
		return ErrSourceClosed
	}
	err := b.loop.Acquire(c, q)
	if err == nil || b.cfg.MaxWait == 0 || !waits(err) || q.Attempts.Len() > 0 {
		return err
	}
	return b.await(ctx, q, c)
}

// await has the call wait in the queue.
func (b *Balancer[E]) await(ctx context.Context, q Query, c *Call) error {
	found := new(syncx.Event)
	w := &Waiter{Call: c, Ready: found.Fire}
	if err := b.loop.Join(w, q, q.Now.Add(b.cfg.MaxWait)); err != nil {
		return err
	}
	if err := found.Wait(ctx); err != nil {
		if b.loop.Abandon(w) {
			return context.Cause(ctx)
		}
		_ = found.Wait(context.Background()) // Ready runs
		if w.Err() == nil {
			c.End(poise.Result{Outcome: poise.Cancelled}, time.Now())
		}
		return context.Cause(ctx)
	}
	return w.Err()
}

// doing is one call of Do.
type doing struct {
	call     Call
	attempts Attempts
}

// Do runs the function with an endpoint, and again with others while the rules of
// retrying allow it. Its error is that of the last attempt, or why there was none.
// Query.Repeatable says that the function may run again although the endpoint may
// have done its work.
func (b *Balancer[E]) Do(ctx context.Context, q Query, f func(context.Context, E) error) error {
	d := new(doing)
	d.attempts.Sequential = true
	q.Attempts = &d.attempts
	var failed error
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := b.Acquire(ctx, q, &d.call); err != nil {
			if failed != nil {
				return failed // what the attempt came to says more
			}
			return err
		}
		result, err := b.attempt(ctx, &d.call, f)
		if err == nil && result.Outcome == poise.Success {
			return nil
		}
		step := b.loop.Next(&d.attempts, result, q.Repeatable, time.Now())
		if step.Action == Stop {
			return err
		}
		failed = err
		if !pause(ctx, step.Wait) {
			return failed
		}
	}
}

// attempt runs the function once and ends the call, on a panic too.
func (b *Balancer[E]) attempt(ctx context.Context, c *Call, f func(context.Context, E) error) (result poise.Result, err error) {
	result = poise.Result{Outcome: poise.Failure} // of a panic
	within, cancel := ctx, context.CancelFunc(func() {})
	if b.cfg.AttemptTimeout > 0 {
		within, cancel = context.WithTimeout(ctx, b.cfg.AttemptTimeout)
	}
	defer func() {
		cancel()
		c.End(result, time.Now())
	}()
	err = f(within, c.Value().(E))
	result = b.judge(ctx, within, err)
	return result, err
}

// judge returns the result of an attempt that has ended with the error.
func (b *Balancer[E]) judge(ctx, within context.Context, err error) poise.Result {
	if err == nil || within.Err() == nil {
		return b.cfg.Classify(err)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return poise.Result{Outcome: poise.Cancelled, Err: err}
	}
	if deadline, ok := within.Deadline(); ok && time.Since(deadline) > pauseGrace {
		return poise.Result{Outcome: poise.Invalid, Err: err}
	}
	return poise.Result{Outcome: poise.Silent, Err: err}
}

// pause waits, and reports whether the context is still open.
func pause(ctx context.Context, wait time.Duration) bool {
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// WaitReady returns nil once a member is eligible. If that does not happen before the
// context has ended, its error says what is known.
//
// # Contract
//
//   - The error of WaitReady names what the last probe of a member failed with.
func (b *Balancer[E]) WaitReady(ctx context.Context) error {
	for {
		news := b.news.Load() // before the look: what is published after it fires this one
		err := b.loop.Ready()
		if err == nil || errors.Is(err, ErrClosed) {
			return err
		}
		if ended := news.Wait(ctx); ended != nil {
			return errors.Join(context.Cause(ctx), err, b.PublishError(), b.probeError())
		}
	}
}

// probeError returns why the last probe of a member failed, of the first one of which
// that is known.
func (b *Balancer[E]) probeError() error {
	for _, s := range b.Endpoints() {
		if s.ProbeErr != nil {
			return fmt.Errorf("dispatch: the probe of %s: %w", printable.Text(s.ID), s.ProbeErr)
		}
	}
	return nil
}

// PublishError returns why the last publication failed or left members out, or the
// newest list of the Source could not be taken, or nil. The last good picker serves
// meanwhile, and it is tried again.
func (b *Balancer[E]) PublishError() error {
	b.state.Lock()
	defer b.state.Unlock()
	if b.takeErr != nil {
		return b.takeErr
	}
	return b.publishErr
}

// ForceCondition sets what probing knows of a member, as ActiveHealth.Force does: the
// probes after it count as ever. To keep a member out use SetStatus.
func (b *Balancer[E]) ForceCondition(id string, condition health.Condition) error {
	b.mu.Lock()
	l := b.current[id]
	b.mu.Unlock()
	switch {
	case l == nil:
		return refuse("id", id, ErrUnknownMember)
	case l.probed == nil:
		return refuse("id", id, ErrNotProbed)
	}
	if err := b.prober.Force(l.number, condition); err != nil {
		return err
	}
	state, _ := b.prober.State(l.number)
	return b.loop.Report(l.number, state.Excluded, time.Now())
}

// EndpointState is one member as it stands.
type EndpointState[E comparable] struct {
	MemberInspection
	// Endpoint is its endpoint.
	Endpoint E
	// Probed says whether it is probed, Probe what probes have found, and ProbeErr why
	// the last one failed; nil if it did not.
	Probed   bool
	Probe    health.ActiveState
	ProbeErr error
}

// Endpoints returns the state of every member, in the order of the list.
func (b *Balancer[E]) Endpoints() []EndpointState[E] {
	now := time.Now()
	in := b.loop.Inspect(now)
	states := make([]EndpointState[E], len(in.Members))
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, m := range in.Members {
		states[i] = EndpointState[E]{MemberInspection: m, Endpoint: m.Value.(E)}
		l := b.current[m.ID]
		if l == nil || l.number != m.Incarnation || l.probed == nil {
			continue
		}
		states[i].Probed = true
		states[i].Probe, _ = b.prober.State(l.number)
		if err := l.probed.err.Load(); err != nil {
			states[i].ProbeErr = *err
		}
	}
	return states
}

// Close refuses new calls, lets those in flight go on, and closes each endpoint when
// its last call has ended. It waits for the Balancer's goroutine, for the probes, and
// for Config.Close of those who hold no call, which must not call it. A second Close
// does nothing more.
func (b *Balancer[E]) Close() error {
	b.stop()
	b.loop.Close(time.Now())
	_ = b.done.Wait(context.Background())
	b.after.Store(true)
	b.release()
	b.ending.Wait()
	return nil
}
