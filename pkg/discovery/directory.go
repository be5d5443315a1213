// Explorable.

package discovery

import (
	"cmp"
	"context"
	"reflect"
	"time"

	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// Config are the settings of a Directory.
type Config[V any] struct {
	_ struct{}
	// Equal reports whether two values say the same of a member. Required. It is
	// called while the directory is locked against other changes, and must be a
	// function of its arguments alone. After a panic of it nothing has changed.
	Equal func(a, b V) bool
	// RemoveImmediately lets a member leave as soon as nobody claims it. The default is that
	// it drains, and leaves by FinishDrain or FinishDrains.
	RemoveImmediately bool
	// DrainFor is how long a drain may last before FinishDrains ends it in spite
	// of work; 0 is no limit.
	DrainFor time.Duration
	// MaxMembers is the most members that there may be, with those that drain; 1 or
	// more, default 1,000,000. It is the last line: a Poller bounds each list of its
	// source, and a source of any other kind only this.
	MaxMembers int
	// Revision is the number of the first snapshot, which is empty; for a directory
	// whose readers have seen an earlier one.
	Revision uint64
}

// Directory is the list of who exists. Sources change it through sessions, and
// anybody reads its newest snapshot.
//
// A Directory is made by New.
//
// # Contract
//
//   - Every change, batch or list that changes anything raises the revision by exactly one; all others leave it.
//   - Load returns the newest snapshot, and every call after a change has returned sees that change.
//   - A member keeps its incarnation and its place until it leaves; an identity that comes back is a new incarnation at the end.
//   - A member leaves or begins to drain only when no source claims it any more.
//   - The value of a member is that of the source whose claim is the oldest.
//   - Close keeps the last snapshot, wakes everybody who waits, and refuses every later change.
//   - Closed reports at any time whether the Directory was closed.
//   - A change that would leave more than MaxMembers members is refused with a LimitError and changes nothing, unless it leaves no more than there were.
//   - A change that needs a revision when none is left is refused, and changes nothing.
//
// # Cost
//
// Load is two loads and allocates nothing. A change is one lookup, and copies one
// page of at most 128 members and the list of pages. Nobody who reads delays a
// change.
//
// # Concurrency
//
// Every method may be called at any time. Changes of all sources are serialised by
// one mutex, each being one critical section, and take effect in the order in
// which they get it. Readers never take it. Who waits is woken after the mutex was
// given back.
type Directory[V any] struct {
	rules   *rules[V]
	cfg     Config[V]
	current syncx.Pointer[published[V]]

	mu syncx.Mutex
	// Guarded by mu.
	entries      map[string]*entry[V]
	sources      map[string]*source[V]
	incarnations uint64
	rounds       uint64 // lists taken so far
}

// published is a snapshot and what readers need to follow it.
type published[V any] struct {
	snapshot *Snapshot[V]
	closed   bool // it is the last one
	// superseded happens after the next published is stored.
	superseded syncx.Event
}

// entry is what the directory knows of one member. Once it is in the map, only
// its round and its drain change.
type entry[V any] struct {
	member *Member[V] // nil in a batch: the identity is absent
	claims []claim[V] // oldest first; none exactly while it drains
	round  uint64     // the last list that named it

	seen  bool // FinishDrains has met this drain, at since
	since time.Time
}

// claim is a source's word that a member exists, and what it is.
type claim[V any] struct {
	by    *source[V]
	value V
}

// source is who makes changes, over all of its sessions.
type source[V any] struct {
	name    string
	session *Session[V] // nil: none is open
	claims  int
}

// New returns an empty Directory, or a [poise.FieldError].
func New[V any](cfg Config[V]) (*Directory[V], error) {
	cfg.MaxMembers = cmp.Or(cfg.MaxMembers, 1_000_000)
	switch {
	case cfg.Equal == nil:
		return nil, refuse("Equal", nil, ErrMissing)
	case cfg.DrainFor < 0:
		return nil, refuse("DrainFor", cfg.DrainFor, ErrOutOfRange)
	case cfg.MaxMembers < 1:
		return nil, refuse("MaxMembers", cfg.MaxMembers, ErrOutOfRange)
	}
	kind := reflect.TypeFor[V]().Kind()
	d := &Directory[V]{
		rules: &rules[V]{
			equal:  cfg.Equal,
			nilled: kind == reflect.Pointer || kind == reflect.Interface || kind == reflect.Func,
		},
		cfg:     cfg,
		entries: make(map[string]*entry[V]),
		sources: make(map[string]*source[V]),
	}
	d.current.Store(&published[V]{snapshot: &Snapshot[V]{rules: d.rules, revision: cfg.Revision, index: new(index)}})
	return d, nil
}

// Load returns the newest snapshot. It stays valid for ever.
func (d *Directory[V]) Load() *Snapshot[V] { return d.current.Load().snapshot }

// Closed reports whether the Directory was closed.
func (d *Directory[V]) Closed() bool { return d.current.Load().closed }

// Close ends the Directory. Closing again changes nothing.
func (d *Directory[V]) Close() {
	if last := d.end(); last != nil {
		last.superseded.Fire()
	}
}

// end publishes the last snapshot as such, and returns what it supersedes.
func (d *Directory[V]) end() *published[V] {
	d.mu.Lock()
	defer d.mu.Unlock()
	last := d.current.Load()
	if last.closed {
		return nil
	}
	d.current.Store(&published[V]{snapshot: last.snapshot, closed: true})
	return last
}

// WaitFor returns the newest snapshot once its revision is at least the given one.
// It returns ErrClosed if that will not happen, or ctx's error once ctx has ended.
//
// # Contract
//
//   - WaitFor returns once the revision is reached, however the wait and the publication race.
func (d *Directory[V]) WaitFor(ctx context.Context, revision uint64) (*Snapshot[V], error) {
	for {
		p := d.current.Load()
		switch {
		case p.snapshot.revision >= revision:
			return p.snapshot, nil
		case p.closed:
			return nil, ErrClosed
		}
		if err := p.superseded.Wait(ctx); err != nil {
			return nil, err
		}
	}
}

// Open opens a session for the source of that name. If the source has one open,
// that one ends. What the source claims stays, so that a source which starts again
// does not make its members leave and come back.
func (d *Directory[V]) Open(name string) (*Session[V], error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current.Load().closed {
		return nil, ErrClosed
	}
	of := d.sources[name]
	if of == nil {
		of = &source[V]{name: name}
		d.sources[name] = of
	}
	of.session = &Session[V]{d: d, of: of}
	return of.session, nil
}

// FinishDrain removes a draining member that has no work outstanding. The caller
// counts the work, at an admission that refuses the draining: there a count of
// none is final. An identity that is not there is refused with a
// [poise.FieldError].
//
// # Contract
//
//   - FinishDrain refuses while work is outstanding, and for members that do not drain.
func (d *Directory[V]) FinishDrain(id string, outstanding uint64) (ChangeResult, error) {
	var effect Effect
	revision, err := d.change(nil, func(b *batch[V]) error {
		e := b.look(id)
		switch {
		case e == nil:
			return refuse("ID", id, ErrUnknown)
		case !e.member.Draining:
			effect = NotDraining
		case outstanding > 0:
			effect = StillBusy
		default:
			b.edit(id).member = nil
			effect = DrainFinished
		}
		b.note(effect)
		return nil
	})
	if err != nil {
		return ChangeResult{}, err
	}
	return ChangeResult{effect, revision}, nil
}

// FinishDrains removes the draining members that have no work outstanding, and
// those that have drained for DrainFor at the instant now. A drain is timed from
// the first FinishDrains that finds it, so this is to be called once in a while.
// A clock that steps back begins the time of a drain anew. All that leave do so in
// one revision.
//
// The function counts the work of a member; nil counts none. It runs under no
// lock. A member that was revived while it ran stays.
//
// # Contract
//
//   - FinishDrains ends the drains that have no work left or have reached DrainFor, and no others.
func (d *Directory[V]) FinishDrains(now time.Time, outstanding func(Member[V]) uint64) (DrainResult[V], error) {
	type drain struct {
		member *Member[V]
		work   uint64
	}
	var found []drain
	for _, m := range d.Load().members.all {
		if !m.Draining {
			continue
		}
		work := uint64(0)
		if outstanding != nil {
			work = outstanding(*m)
		}
		found = append(found, drain{m, work})
	}
	var out DrainResult[V]
	revision, err := d.change(nil, func(b *batch[V]) error {
		for _, f := range found {
			e := d.entries[f.member.ID]
			if e == nil || e.member != f.member {
				continue
			}
			if left := e.left(now, d.cfg.DrainFor); f.work > 0 && left != 0 {
				out.Left++
				if left > 0 && (out.Wait == 0 || left < out.Wait) {
					out.Wait = left
				}
				continue
			}
			b.edit(f.member.ID).member = nil
			b.note(DrainFinished)
			out.Ended = append(out.Ended, DrainedMember[V]{*f.member, f.work})
		}
		return nil
	})
	if err != nil {
		return DrainResult[V]{}, err
	}
	out.Revision = revision
	return out, nil
}

// left returns how long the drain may still last, 0 if its time is over and
// less if it has no limit. Requires Directory.mu.
func (e *entry[V]) left(now time.Time, limit time.Duration) time.Duration {
	if limit == 0 {
		return -1
	}
	if !e.seen || now.Before(e.since) {
		e.seen, e.since = true, now
	}
	return max(limit-now.Sub(e.since), 0)
}
