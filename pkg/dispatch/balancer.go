package dispatch

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// Balancer is an http.RoundTripper over several endpoints.
//
// A Balancer is made by New, and is to be closed.
//
// # Contract
//
//   - Every call returns a response or a CallError.
//   - A call holds its slot until the end or close of the response body, an error, a panic, or the caller's cancellation.
//   - An upgraded connection holds its slot until it is closed.
//   - A request that is not idempotent is sent again only if nothing of it was sent.
//   - A request is sent again only with a body that can be replayed.
//   - A retry goes to an endpoint that was not tried while an eligible one is left.
//   - A draining or removed endpoint gets no call that began after SetStatus or Update returned.
//   - An endpoint that is set aside gets no new call until its backoff is over, and then comes back by itself.
//   - No more than Quarantine.MaxAside percent of the endpoints are set aside at once; after Update, those beyond it come back before their time.
//   - RoundTrip does not change the caller's request, and closes its body.
//   - A caller's cancellation and a request body that fails say nothing about the endpoint.
//   - Update is all or nothing: after an error the endpoints and the picker are as before.
//   - An endpoint that stays in the list keeps its load, its quarantine and its incarnation.
//   - A health change that cannot be published leaves the last good picker serving, and is tried again.
//   - A request that net/http would refuse to send, and one that was cancelled before, is sent nowhere.
//   - A panic of a callback or a policy during a call leaves no slot held.
//   - Close ends the Balancer's goroutine; calls in flight go on.
//
// # Cost
//
// A call without a body, a timeout or a cancellable context allocates once beside
// what the endpoint does. Update is one NewView and one Prepare.
//
// # Concurrency
//
// A Balancer is safe for concurrent use. RoundTrip takes no lock but the
// endpoint's quarantine, for a moment. Changes are serialised; each is published
// by one atomic swap.
type Balancer struct {
	cfg     Config
	budget  *RetryBudget
	ward    *Ward
	chance  *poise.Generator // jitter; nil draws from the runtime
	current syncx.Pointer[published]

	mu syncx.Mutex // serialises changes
	// Guarded by mu.
	members      []*member
	incarnations uint64
	publishErr   error

	kick chan struct{} // a quarantine has changed
	stop chan struct{} // closed by Close
	done chan struct{} // closed when the goroutine has ended
}

// published is what calls read: a picker and the members its View was made of.
type published struct {
	view    *poise.View
	picker  poise.Picker
	members []*member
	closed  bool
}

// member is one incarnation of an endpoint. It is immutable but for what it
// points to; a change of weight or status makes another member with the same
// slots and quarantine.
type member struct {
	Member
	incarnation uint64
	slots       *Slots
	quarantine  *Quarantine
}

// Sample returns the member as policies see it.
func (m *member) Sample() poise.Sample {
	s := poise.Sample{
		ID: m.ID, Incarnation: m.incarnation, Weight: m.Weight, Status: m.Status,
		Priority: m.Priority, Locality: m.Locality, LocalityWeight: m.LocalityWeight,
		Load: m.slots.InFlight(),
	}
	if m.quarantine.Aside() {
		s.Excluded = poise.ExcludedSetAside
	}
	return s
}

// publishAgain is how long after a failed publication the next one is tried.
const publishAgain = time.Second

// New returns a Balancer over cfg.Members, or a [poise.FieldError].
func New(cfg Config) (*Balancer, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	ward, err := NewWard(cfg.Quarantine)
	if err != nil {
		return nil, err
	}
	budget, err := NewRetryBudget(cfg.RetryBudget)
	if err != nil {
		return nil, err
	}
	b := &Balancer{
		cfg:    cfg,
		budget: budget,
		ward:   ward,
		kick:   make(chan struct{}, 1),
		stop:   make(chan struct{}),
		done:   make(chan struct{}),
	}
	if cfg.Seed != 0 {
		b.chance = poise.NewGenerator(cfg.Seed)
	}
	b.current.Store(&published{})
	if err := b.Update(cfg.Members); err != nil {
		return nil, err
	}
	go b.control()
	return b, nil
}

// Update makes the endpoints equal to the list. Endpoints that are not in it get
// no new calls and are closed when their last call has ended. On an error nothing
// has changed, and the endpoints of the list stay the caller's.
func (b *Balancer) Update(list []Member) error {
	removed, err := b.update(list)
	// Removing may call Endpoint.Close, which is not ours: under no lock.
	for _, m := range removed {
		m.slots.Remove()
	}
	return err
}

// update publishes the list and returns the members that are no longer in it.
func (b *Balancer) update(list []Member) (removed []*member, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.current.Load().closed {
		return nil, ErrClosed
	}
	known := make(map[string]*member, len(b.members))
	owners := make(map[Endpoint]string, len(b.members))
	for _, m := range b.members {
		known[m.ID], owners[m.Endpoint] = m, m.ID
	}
	incarnations := b.incarnations
	members := make([]*member, len(list))
	for i, spec := range list {
		if err := checkEndpoint(i, spec, owners); err != nil {
			return nil, err
		}
		owners[spec.Endpoint] = spec.ID
		members[i] = b.incarnate(spec, known[spec.ID], &incarnations)
	}
	next, err := b.prepare(members)
	if err != nil {
		return nil, err
	}
	kept := make(map[*Slots]bool, len(members))
	for _, m := range members {
		kept[m.slots] = true
		setDrain(m)
	}
	for _, m := range b.members {
		if !kept[m.slots] {
			removed = append(removed, m)
			m.quarantine.Retire()
		}
	}
	b.ward.Resize(uint32(len(members)))
	if b.ward.overfull() {
		b.poke()
	}
	b.incarnations, b.members = incarnations, members
	b.publish(next)
	return removed, nil
}

// checkEndpoint refuses an endpoint that is missing, that cannot be told from
// others, or that another identity has.
func checkEndpoint(i int, spec Member, owners map[Endpoint]string) error {
	refuse := func(value any, err error) error {
		return &poise.FieldError{Field: fmt.Sprintf("members[%d].Endpoint", i), Value: value, Err: err}
	}
	value := reflect.ValueOf(spec.Endpoint)
	switch {
	case spec.Endpoint == nil, value.Kind() == reflect.Pointer && value.IsNil():
		return refuse(nil, ErrMissing)
	case !value.Comparable():
		return refuse(value.Type().String(), ErrOutOfRange)
	}
	if owner, used := owners[spec.Endpoint]; used && owner != spec.ID {
		return refuse(owner, ErrSharedEndpoint)
	}
	return nil
}

// incarnate returns the member of a list entry: the same incarnation if the
// known member of that identity has the same endpoint, else a new one.
func (b *Balancer) incarnate(spec Member, known *member, incarnations *uint64) *member {
	if known != nil && known.Endpoint == spec.Endpoint {
		return &member{spec, known.incarnation, known.slots, known.quarantine}
	}
	*incarnations++
	endpoint := spec.Endpoint
	slots := NewSlots(spec.Limit, func() { closeQuietly(endpoint) })
	return &member{spec, *incarnations, slots, b.ward.Quarantine()}
}

func setDrain(m *member) {
	if m.Status == poise.Draining {
		m.slots.Drain()
	} else {
		m.slots.Resume()
	}
}

// prepare makes a View and a Picker of the members.
func (b *Balancer) prepare(members []*member) (*published, error) {
	candidates := make([]poise.Candidate, len(members))
	for i, m := range members {
		candidates[i] = m
	}
	view, err := poise.NewView(candidates)
	if err != nil {
		return nil, err
	}
	picker, err := compile(b.cfg.Policy, view)
	if err != nil {
		return nil, err
	}
	return &published{view: view, picker: picker, members: members}, nil
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
		err = errNoPicker
	}
	return picker, err
}

// errNoPicker is the error of a policy that breaks the rules of poise.Policy.
var errNoPicker = errors.New("dispatch: policy returned neither picker nor error")

// publish makes calls see it. Requires mu.
func (b *Balancer) publish(next *published) {
	b.current.Store(next)
	b.publishErr = nil
}

// SetStatus changes the status of one endpoint. Draining lets its calls end and
// admits no new ones. On an error nothing has changed.
func (b *Balancer) SetStatus(id string, status poise.Status) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.current.Load().closed {
		return ErrClosed
	}
	members := make([]*member, len(b.members))
	found := -1
	for i, m := range b.members {
		members[i] = m
		if m.ID == id {
			changed := *m
			changed.Status = status
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

// EndpointState is one endpoint as it stands.
type EndpointState struct {
	_ struct{}
	// ID is the identity, and Incarnation the number of its present life.
	ID          string
	Incarnation uint64
	// Reason is why it gets no new calls; poise.NotExcluded if it does.
	Reason poise.Reason
	// InFlight is how many calls it holds, and Limit how many it may; 0 is no
	// limit.
	InFlight, Limit uint64
}

// Endpoints returns the state of every endpoint, in the order of the list.
func (b *Balancer) Endpoints() []EndpointState {
	current := b.current.Load()
	states := make([]EndpointState, len(current.members))
	for i, m := range current.members {
		states[i] = EndpointState{
			ID: m.ID, Incarnation: m.incarnation, Reason: current.view.Reason(i),
			InFlight: m.slots.InFlight().Current(), Limit: m.slots.InFlight().Limit(),
		}
	}
	return states
}

// PublishError returns why the last change of health could not be published, or
// nil. The last good picker serves meanwhile, and publication is tried again.
func (b *Balancer) PublishError() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.publishErr
}

// CloseIdleConnections closes the idle connections of every endpoint that has
// such a method.
func (b *Balancer) CloseIdleConnections() {
	for _, m := range b.current.Load().members {
		if c, ok := m.Endpoint.(interface{ CloseIdleConnections() }); ok {
			c.CloseIdleConnections()
		}
	}
}

// Close refuses new calls, lets those in flight go on, and closes each endpoint
// when its last call has ended. A second Close does nothing.
func (b *Balancer) Close() error {
	b.mu.Lock()
	closed := b.current.Load().closed
	members := b.members
	if !closed {
		b.members = nil
		b.publish(&published{closed: true})
		close(b.stop)
	}
	b.mu.Unlock()
	if !closed {
		for _, m := range members {
			m.slots.Remove()
		}
	}
	<-b.done
	return nil
}

// poke tells the goroutine that a quarantine has changed. It never waits.
func (b *Balancer) poke() {
	select {
	case b.kick <- struct{}{}:
	default: // it will look anyway
	}
}

// control keeps the published picker in step with the quarantines, off the
// request path: it publishes when an endpoint was set aside and when its time is
// over.
func (b *Balancer) control() {
	defer close(b.done)
	timer := time.NewTimer(publishAgain)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case <-b.stop:
			return
		case <-b.kick:
		case <-timer.C:
		}
		if wait := b.refresh(time.Now()); wait > 0 {
			timer.Reset(wait)
		}
	}
}

// refresh ends the quarantines that are over, publishes, and returns when to look
// again; 0 for not before the next poke.
func (b *Balancer) refresh(now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.current.Load().closed {
		return 0
	}
	for _, m := range b.members {
		if b.ward.overfull() { // Update has left too few who serve
			m.quarantine.release()
		}
		if left := m.quarantine.Return(now); left > 0 && (wait == 0 || left < wait) {
			wait = left
		}
	}
	next, err := b.prepare(b.members)
	if err != nil {
		b.publishErr = err
		if wait == 0 || wait > publishAgain {
			wait = publishAgain
		}
		return wait
	}
	b.publish(next)
	return wait
}

var _ http.RoundTripper = (*Balancer)(nil)
