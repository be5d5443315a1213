package poisehttp

import (
	"context"
	"net/http"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// Balancer is an http.RoundTripper over several endpoints.
//
// A Balancer is made by New, and is to be closed. The zero value is closed.
//
// # Contract
//
//   - Every call returns a response or a CallError.
//   - A call holds its slot until the end or close of the response body, an error, a panic, or the caller's cancellation.
//   - An upgraded connection holds its slot until it is closed.
//   - A request that is not idempotent is sent again only if nothing of it was sent.
//   - A request is sent again only with a body that can be replayed.
//   - A retry goes to an endpoint that was not tried while an eligible one is left.
//   - A retry goes back to an endpoint that was tried only after an error, and never to one that answered.
//   - A draining or removed endpoint gets no call that began after SetStatus or Update returned.
//   - An endpoint that is set aside gets no new call until its backoff is over, and then comes back by itself.
//   - No more than Quarantine.MaxAside percent of the endpoints are set aside at once; after Update, those beyond it come back before their time.
//   - RoundTrip does not change the caller's request, and closes its body.
//   - A caller's cancellation and a request body that fails say nothing about the endpoint.
//   - Update is all or nothing: after an error the endpoints and the picker are as before.
//   - Draining and Unavailable of SetStatus hold for the incarnation until SetStatus of Ready, whatever Update says; then the list's status applies.
//   - Update refuses an Endpoint that was removed until its last call has ended.
//   - An endpoint that stays in the list keeps its load, its quarantine and its incarnation.
//   - A health change that cannot be published leaves the last good picker serving, and is tried again.
//   - A request that net/http would refuse to send, and one that was cancelled before, is sent nowhere.
//   - A panic of a callback or a policy during a call leaves no slot held.
//   - ObserveState is told of every endpoint whose Reason a publication changed, in the order of publications.
//   - ObserveState never runs beside itself, holds no lock, and may call every method of the Balancer.
//   - A Balancer that follows a Directory has the members and incarnations of its newest snapshot, and one Endpoint for each incarnation.
//   - What Describe says of a new value takes effect without another Endpoint.
//   - A member that drains in the Directory gets no new call, whatever SetStatus and Describe say of it.
//   - A draining member leaves the Directory when its last call has ended or DrainFor is over, and no call is cut short.
//   - A snapshot that cannot be taken leaves the last good picker serving, and is tried again without a newer one.
//   - What was connected for a snapshot that cannot be taken is closed.
//   - Of several snapshots that came meanwhile only the newest is taken.
//   - A Directory that is closed leaves its last snapshot serving; with FailClosed every call and change is refused.
//   - Update is refused while the Balancer follows a Directory.
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
// endpoint's quarantine, and its circuit if it has one, for a moment. Changes are
// serialised; each is published by one atomic swap. One goroutine follows health and
// a Directory; with a Directory, another one waits for its changes.
type Balancer struct {
	cfg    Config
	budget *RetryBudget
	ward   *Ward
	// outliers is told of every endpoint; nil: nobody is ejected.
	outliers *health.OutlierController
	chance   *poise.Generator // jitter; nil draws from the runtime
	current  syncx.Pointer[published]

	// lives are those of the members. Only Update changes them, under mu, or, where
	// there is a directory, only the Balancer's goroutine.
	lives discovery.Incarnations[*life]

	mu syncx.Mutex // serialises changes
	// Guarded by mu.
	members      []*member
	leaving      []*life // removed, and perhaps not closed yet
	incarnations uint64
	publishErr   error                  // of the last change of health
	followErr    error                  // of the newest snapshot of the directory
	untold       []EndpointState        // changes that ObserveState was not told of
	telling      bool                   // somebody tells it
	outside      bool                   // the Balancer's goroutine is in a function of the caller
	group        []health.OutlierMember // what the last sweep was given, for its memory

	following following // belongs to the Balancer's goroutine

	kick  syncx.Pointer[syncx.Event] // fired by poke; each one wakes the goroutine once
	timer *time.Timer                // pokes when a time aside is over
	open  context.Context            // ended by Close
	stop  context.CancelFunc
	done  chan struct{} // closed when the goroutine has ended
	// probing counts the goroutines that probe. It grows under mu, while open.
	probing syncx.WaitGroup
}

// load returns what calls read. A Balancer that New did not make is as if closed.
func (b *Balancer) load() *published {
	if current := b.current.Load(); current != nil {
		return current
	}
	return &neverOpen
}

// refuses returns why nothing may be called or changed; nil if it may.
func (b *Balancer) refuses(current *published) error {
	switch {
	case current.closed:
		return ErrClosed
	case b.cfg.Membership != nil && b.cfg.Membership.directory.failed():
		return ErrDirectoryClosed
	default:
		return nil
	}
}

// New returns a Balancer over cfg.Members, or a [poise.FieldError]. Over a
// cfg.Membership it waits for nobody to join, and a snapshot that it cannot take
// is tried again.
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
		done:   make(chan struct{}),
	}
	b.open, b.stop = context.WithCancel(context.Background())
	b.kick.Store(new(syncx.Event))
	if cfg.Seed != 0 {
		b.chance = poise.NewGenerator(cfg.Seed)
	}
	if err := b.prepareHealth(); err != nil {
		return nil, err
	}
	b.current.Store(&published{})
	if cfg.Membership != nil {
		err = b.start(time.Now())
	} else {
		err = b.Update(cfg.Members)
	}
	if err != nil {
		b.stop()
		return nil, err
	}
	b.timer = time.AfterFunc(publishAgain, b.poke)
	b.timer.Stop()
	syncx.Go(b.control)
	return b, nil
}

// PublishError returns why the newest snapshot of the directory could not be taken,
// or the last change of health not be published, or nil. The last good picker serves
// meanwhile, and publication is tried again.
func (b *Balancer) PublishError() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.followErr != nil {
		return b.followErr
	}
	return b.publishErr
}

// CloseIdleConnections closes the idle connections of every endpoint that has
// such a method.
func (b *Balancer) CloseIdleConnections() {
	for _, m := range b.load().members {
		if c, ok := m.Endpoint.(interface{ CloseIdleConnections() }); ok {
			c.CloseIdleConnections()
		}
	}
}

// Close refuses new calls, lets those in flight go on, and closes each endpoint
// when its last call has ended. It waits for the Balancer's goroutine to end, but
// for one that is in ObserveState, Connect or Describe, and for the probes, of which
// one that ignores its context takes no longer than its Timeout. A second Close does
// nothing more.
func (b *Balancer) Close() error {
	b.mu.Lock()
	closed := b.load().closed
	members := b.members
	if !closed {
		b.members = nil
		b.publish(&published{closed: true})
		b.stop()
	}
	// Such a function may call Close on the goroutine that Close would wait for.
	wait := b.done != nil && !b.outside
	b.mu.Unlock()
	if !closed {
		for _, m := range members {
			m.slots.Remove()
		}
	}
	if wait {
		<-b.done
	}
	b.probing.Wait()
	return nil
}

var _ http.RoundTripper = (*Balancer)(nil)
