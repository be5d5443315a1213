package poisehttp

import (
	"context"
	"slices"
	"time"

	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// following is how far the Balancer has come with its directory. It belongs to the
// Balancer's goroutine, and before that to New.
type following struct {
	taken roster // nil: none yet
	drain bool   // somebody drains in it
	// refused is the snapshot that could not be taken since then; nil: there is none.
	refused roster
	since   time.Time
}

// start begins a Balancer with the snapshot of the moment, or with nobody if that
// cannot be taken: then it is tried again.
func (b *Balancer) start(now time.Time) error {
	if taken, _ := b.follow(now); taken {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.install(nil)
}

// watch has the goroutine look at the directory after each change, until Close. It
// returns a function that waits for the end of this.
func (b *Balancer) watch() (wait func()) {
	if b.cfg.Membership == nil {
		return func() {}
	}
	var ended syncx.Event
	syncx.Go(func() {
		defer ended.Fire()
		b.cfg.Membership.directory.watch(b.open, b.poke)
	})
	return func() { _ = ended.Wait(context.Background()) }
}

// follow takes the newest snapshot of the directory, if it was not taken before. It
// reports whether it did, and when to try again; 0 for not before the next change.
func (b *Balancer) follow(now time.Time) (taken bool, wait time.Duration) {
	if b.cfg.Membership == nil {
		return false, 0
	}
	f := &b.following
	newest := b.cfg.Membership.directory.newest()
	if f.taken != nil && f.taken.Revision() == newest.Revision() {
		return false, 0
	}
	if f.refused != nil && f.refused.Revision() == newest.Revision() {
		if elapsed := now.Sub(f.since); elapsed >= 0 && elapsed < publishAgain {
			return false, publishAgain - elapsed
		}
	}
	err := b.take(newest)
	b.mu.Lock()
	b.followErr = err
	b.mu.Unlock()
	if err != nil {
		f.refused, f.since = newest, now
		return false, publishAgain
	}
	f.taken, f.refused = newest, nil
	return true, 0
}

// take makes the endpoints those of the roster. On an error nothing has changed, and
// what was connected is closed.
func (b *Balancer) take(r roster) error {
	b.leave(true) // Connect may call Close, which must not wait for it
	defer b.leave(false)
	incarnations := r.incarnations()
	specs, drains := make([]Member, len(incarnations)), make([]bool, len(incarnations))
	for i := range specs {
		var err error
		if specs[i], drains[i], err = r.describe(i); err != nil {
			return err
		}
	}
	b.mu.Lock()
	owners := b.owners()
	b.mu.Unlock()
	for endpoint, of := range owners { // each incarnation has one of its own
		owners[endpoint] = owner{of.id, true}
	}
	ended, err := b.lives.Reconcile(incarnations, func(i int) (*life, error) {
		return b.connect(r, i, specs[i], incarnations[i], owners)
	}, func(lives []*life) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.load().closed {
			return ErrClosed
		}
		members := make([]*member, len(lives))
		for i, l := range lives {
			specs[i].Endpoint = l.endpoint
			members[i] = &member{specs[i], l, drains[i]}
		}
		return b.install(members)
	})
	if err == nil {
		b.following.drain = slices.Contains(drains, true)
		b.mu.Lock()
		b.retire(ended)
		b.mu.Unlock()
	}
	remove(ended) // with an error, those that nobody was told of
	return err
}

// connect begins the life of member i.
func (b *Balancer) connect(r roster, i int, spec Member, incarnation uint64, owners map[Endpoint]owner) (*life, error) {
	endpoint, err := r.connect(i)
	if err != nil {
		return nil, err
	}
	spec.Endpoint = endpoint
	if refused := checkEndpoint(spec, owners); refused != nil {
		return nil, &MemberError{ID: spec.ID, Incarnation: incarnation, Err: refused}
	}
	probe, err := b.newProbe(spec)
	if err != nil {
		closeQuietly(endpoint)
		return nil, &MemberError{ID: spec.ID, Incarnation: incarnation, Err: err}
	}
	owners[endpoint] = owner{spec.ID, true}
	return b.begin(spec, incarnation, probe), nil
}

// leave notes that the goroutine goes into a function of the caller, or comes back.
func (b *Balancer) leave(gone bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.outside = gone
}

// finishDrains lets those members leave the directory whose drain is over, and
// returns when to look again; 0 for not before the next poke. It counts nothing for
// a member only where that is final: where admission is closed to it.
func (b *Balancer) finishDrains(now time.Time) time.Duration {
	if !b.following.drain {
		return 0
	}
	wait, err := b.cfg.Membership.directory.finishDrains(now, func(incarnation uint64) uint64 {
		l, known := b.lives.Lookup(incarnation)
		if !known || !l.slots.draining() {
			return 1 // the drain is not ours yet
		}
		return l.slots.InFlight().Current()
	})
	if err != nil {
		b.mu.Lock()
		b.followErr = err
		b.mu.Unlock()
		return publishAgain
	}
	return wait
}

// callEnded has the goroutine look when a draining member may have ended its last
// call: its directory waits for that.
func (b *Balancer) callEnded(m *member) {
	if b.cfg.Membership != nil && m.slots.draining() && m.slots.InFlight().Current() == 0 {
		b.poke()
	}
}
