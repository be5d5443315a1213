package dispatch

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
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
	lives  map[string]life[E]
	owners map[E]string // of every Endpoint that was not closed
	last   uint64       // incarnation
	probes map[E]*probing

	state      syncx.Mutex
	publishErr error // guarded by state

	kick syncx.Pointer[syncx.Event] // fired by wake; each one wakes the goroutine once
	open context.Context            // ended by Close
	stop context.CancelFunc
	done chan struct{} // closed when the goroutine has ended
}

// life is the incarnation that an identity has.
type life[E comparable] struct {
	endpoint    E
	incarnation uint64
}

// probing is the probes of one incarnation.
type probing struct {
	stop  context.CancelFunc
	ended chan struct{}
}

// New returns a Balancer over cfg.Members, or a [poise.FieldError].
func New[E comparable](cfg Config[E]) (*Balancer[E], error) {
	switch {
	case cfg.MaxWait < 0:
		return nil, outOfRange("MaxWait", cfg.MaxWait)
	case cfg.AttemptTimeout < 0:
		return nil, outOfRange("AttemptTimeout", cfg.AttemptTimeout)
	case cfg.Loop.Wake != nil:
		return nil, refuse("Loop.Wake", nil, ErrOutOfRange)
	}
	if cfg.Classify == nil {
		cfg.Classify = classify
	}
	b := &Balancer[E]{
		cfg: cfg, lives: map[string]life[E]{}, owners: map[E]string{}, probes: map[E]*probing{},
		done: make(chan struct{}),
	}
	b.kick.Store(new(syncx.Event))
	cfg.Loop.Wake = b.wake
	var err error
	if b.loop, err = NewLoop(cfg.Loop); err != nil {
		return nil, inField("Loop", err)
	}
	b.open, b.stop = context.WithCancel(context.Background())
	if err := b.Update(cfg.Members); err != nil {
		b.stop()
		return nil, err
	}
	syncx.Go(b.run)
	return b, nil
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
func (b *Balancer[E]) wake() { b.kick.Load().Fire() }

// run advances the loop when it asks to be, until Close.
func (b *Balancer[E]) run() {
	defer close(b.done)
	var timeout context.CancelFunc
	for {
		kick := new(syncx.Event)
		b.kick.Store(kick) // before the look: what changes after it wakes again
		now := time.Now()
		next, err := b.loop.Advance(now)
		b.state.Lock()
		b.publishErr = err
		b.state.Unlock()
		b.release()
		wait := b.open
		timeout = func() {}
		if !next.IsZero() {
			wait, timeout = context.WithTimeout(b.open, max(next.Sub(now), 0))
		}
		_ = kick.Wait(wait)
		timeout()
		if b.open.Err() != nil {
			return
		}
	}
}

// release closes the endpoints whose last call has ended.
func (b *Balancer[E]) release() {
	for _, value := range b.loop.Released() {
		endpoint := value.(E)
		b.mu.Lock()
		p := b.probes[endpoint]
		delete(b.probes, endpoint)
		b.mu.Unlock()
		syncx.Go(func() {
			if p != nil {
				p.stop()
				<-p.ended
			}
			b.end(endpoint)
		})
	}
}

// end closes an endpoint, and lets it be used anew.
func (b *Balancer[E]) end(endpoint E) {
	defer func() {
		_ = recover() // the endpoint's, and nobody is there to be told
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.owners, endpoint)
	}()
	if b.cfg.Close != nil {
		_ = b.cfg.Close(endpoint)
	}
}

// Update makes the members those of the list. On an error nothing has changed, and
// the endpoints of the list stay the caller's.
func (b *Balancer[E]) Update(list []Member[E]) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	specs, last := make([]Spec, len(list)), b.last
	for i := range list {
		m := &list[i]
		field := fmt.Sprintf("members[%d].Endpoint", i)
		if !reflect.ValueOf(&m.Endpoint).Elem().Comparable() {
			return refuse(field, fmt.Sprintf("%T", m.Endpoint), ErrNotComparable)
		}
		is, known := b.lives[m.ID]
		owner, used := b.owners[m.Endpoint]
		switch {
		case known && is.endpoint == m.Endpoint:
			specs[i] = m.spec(is.incarnation)
		case used:
			return refuse(field, owner, ErrSharedEndpoint)
		default:
			last++
			specs[i] = m.spec(last)
		}
	}
	if err := b.loop.Update(specs, time.Now()); err != nil {
		return err
	}
	b.last = last
	lives := make(map[string]life[E], len(list))
	for i := range list {
		m := &list[i]
		lives[m.ID] = life[E]{m.Endpoint, specs[i].Incarnation}
		b.owners[m.Endpoint] = m.ID
	}
	b.lives = lives
	return nil
}

// SetStatus is the operator's word on one member, as of Loop.SetStatus.
func (b *Balancer[E]) SetStatus(id string, status poise.Status) error {
	return b.loop.SetStatus(id, status, time.Now())
}

// Acquire fills the call with an attempt. It waits up to MaxWait for room or for
// somebody eligible, if nobody was tried yet. The instant of the query is set.
func (b *Balancer[E]) Acquire(ctx context.Context, q Query, c *Call) error {
	q.Now = time.Now()
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

// PublishError returns why the last publication failed, or nil. The last good picker
// serves meanwhile, and publication is tried again.
func (b *Balancer[E]) PublishError() error {
	b.state.Lock()
	defer b.state.Unlock()
	return b.publishErr
}

// EndpointState is one member as it stands.
type EndpointState[E comparable] struct {
	MemberInspection
	// Endpoint is its endpoint.
	Endpoint E
	// Probe is what probes have found, if it is probed.
	Probe health.ActiveState
}

// Endpoints returns the state of every member, in the order of the list.
func (b *Balancer[E]) Endpoints() []EndpointState[E] {
	in := b.loop.Inspect(time.Now())
	states := make([]EndpointState[E], len(in.Members))
	for i, m := range in.Members {
		states[i] = EndpointState[E]{MemberInspection: m, Endpoint: m.Value.(E)}
	}
	return states
}

// Close refuses new calls, lets those in flight go on, and closes each endpoint when
// its last call has ended. It waits for the Balancer's goroutine to end. A second
// Close does nothing more.
func (b *Balancer[E]) Close() error {
	b.stop()
	b.loop.Close(time.Now())
	<-b.done
	b.release()
	return nil
}
