package discovery

import (
	"context"
	"errors"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// Poller keeps what a source claims equal to its answers. It has no clock: a
// [PollerRunner], or the caller, calls Poll.
//
// A Poller is made by NewPoller.
//
// # Contract
//
//   - A failure leaves the members of the last good list in place, and is returned and counted.
//   - A list without members is a failure unless AllowEmpty is set, and so is an error that matches ErrNotFound.
//   - A list that the Session refuses, or that exceeds MaxMembers, is a failure as a whole.
//   - A list that leaves fewer members than MaxShrinkPercent permits is a failure, until the source has repeated it for ShrinkHold.
//   - A member that answers leave out stays until Hold after the first answer without it, and an answer with it in between ends that time.
//   - A Poll whose own context was cancelled says nothing about the source: it is not counted, and the next one is due.
//   - A Poll before its time asks nobody, and returns the time that is left.
//   - The next Poll is due after at least Floor, and after at most nine eighths of Interval.
//   - Failures in a row double the time to the next poll, up to Interval; a good list forgets them.
//   - A clock that steps back makes the next Poll due at once.
//
// # Cost
//
// A Poll that is due costs what Fetch and Reconcile cost, and with Hold one map of
// the list.
//
// # Concurrency
//
// Poll belongs to one goroutine at a time. Status may be called at any time.
type Poller[V any] struct {
	cfg    PollerConfig[V]
	chance *poise.Generator
	asked  time.Time
	wait   time.Duration // from asked; 0: due
	// last is the last good list with the members that were held then; nil without
	// Hold.
	last []listed[V]
	// shrunk is the instant of the first of the lists in a row that were refused as
	// shrunk; zero if there is none.
	shrunk time.Time

	mu syncx.Mutex
	// Guarded by mu.
	status PollerStatus
}

// listed is a member of the last good list, or one that is held.
type listed[V any] struct {
	entry Entry[V]
	held  bool
	since time.Time // of the first answer without it, if held
}

// NewPoller returns a Poller that is due, or a [poise.FieldError].
func NewPoller[V any](cfg PollerConfig[V]) (*Poller[V], error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Poller[V]{cfg: cfg}
	if cfg.Seed != 0 {
		p.chance = poise.NewGenerator(cfg.Seed)
	}
	return p, nil
}

// Poll asks the source if that is due at the instant now, and gives its answer to
// the Session. It returns how long to wait until the next Poll, and a [PollError]
// if the source or the Session failed. After an error that matches ErrClosed or
// ErrSessionEnded there is no use in another Poll. If ctx was cancelled it returns
// the error of ctx.
func (p *Poller[V]) Poll(ctx context.Context, now time.Time) (wait time.Duration, err error) {
	if elapsed := now.Sub(p.asked); p.wait > 0 && elapsed >= 0 && elapsed < p.wait {
		return p.wait - elapsed, nil
	}
	listing, err := p.cfg.Fetch(ctx)
	switch {
	case err == nil:
	case ctx.Err() == context.Canceled:
		p.wait = 0
		return 0, ctx.Err()
	case p.cfg.AllowEmpty && errors.Is(err, ErrNotFound):
		listing, err = Listing[V]{}, nil
	}
	if err == nil {
		err = p.take(listing.Entries, now)
	}
	failures := p.count(now, err)
	p.asked = now
	if err != nil {
		p.wait = p.jittered(p.backoff(failures))
		return p.wait, &PollError{Source: p.cfg.Session.Source(), ConsecutiveFailures: failures, Err: err}
	}
	due := p.cfg.Interval
	if listing.ValidFor > 0 {
		due = min(due, listing.ValidFor)
	}
	p.wait = p.jittered(due)
	return p.wait, nil
}

// take gives an answer to the Session, unless it is refused.
func (p *Poller[V]) take(answer []Entry[V], now time.Time) error {
	switch {
	case len(answer) == 0 && !p.cfg.AllowEmpty:
		return ErrEmptyList
	case len(answer) > p.cfg.MaxMembers:
		return &LimitError{Found: int64(len(answer)), Limit: int64(p.cfg.MaxMembers), Err: ErrTooManyMembers}
	}
	entries, last := answer, []listed[V](nil)
	if p.cfg.Hold > 0 {
		last = p.held(answer, now)
		entries = make([]Entry[V], len(last))
		for i := range last {
			entries[i] = last[i].entry
		}
	}
	if err := p.shrinks(len(entries), now); err != nil {
		return err
	}
	if _, err := p.cfg.Session.Reconcile(entries); err != nil {
		return err
	}
	p.last, p.shrunk = last, time.Time{}
	return nil
}

// held returns the answer and after it the members of the last list that it leaves
// out and whose Hold is not over, as many as MaxMembers has room for.
func (p *Poller[V]) held(answer []Entry[V], now time.Time) []listed[V] {
	named := make(map[string]struct{}, len(answer))
	next := make([]listed[V], len(answer), max(len(answer), len(p.last)))
	for i := range answer {
		named[answer[i].ID] = struct{}{}
		next[i].entry = answer[i]
	}
	for _, m := range p.last {
		if _, there := named[m.entry.ID]; there || len(next) >= p.cfg.MaxMembers {
			continue
		}
		if !m.held || now.Before(m.since) {
			m.held, m.since = true, now
		}
		if now.Sub(m.since) < p.cfg.Hold {
			next = append(next, m)
		}
	}
	return next
}

// shrinks refuses a list of n members that is too small beside what the source
// claims, until it has been repeated for ShrinkHold.
func (p *Poller[V]) shrinks(n int, now time.Time) error {
	before := p.cfg.Session.Claims()
	lost := int64(before - n)
	if lost*100 <= int64(before)*int64(p.cfg.MaxShrinkPercent) {
		return nil
	}
	if p.shrunk.IsZero() || now.Before(p.shrunk) {
		p.shrunk = now
	}
	if now.Sub(p.shrunk) >= p.cfg.ShrinkHold {
		return nil
	}
	least := before - int(int64(before)*int64(p.cfg.MaxShrinkPercent)/100)
	return &LimitError{Found: int64(n), Limit: int64(least), Err: ErrShrunk}
}

// count takes account of one poll and returns the failures in a row.
func (p *Poller[V]) count(now time.Time, err error) uint64 {
	held := 0
	for i := range p.last {
		if p.last[i].held {
			held++
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.status
	s.Polls++
	s.Err, s.Held = err, held
	if err != nil {
		s.Failures++
		s.ConsecutiveFailures++
	} else {
		s.ConsecutiveFailures, s.LastGood = 0, now
	}
	return s.ConsecutiveFailures
}

// backoff returns the time after so many failures in a row, before jitter.
func (p *Poller[V]) backoff(failures uint64) time.Duration {
	d := p.cfg.Backoff
	for ; failures > 1 && d < p.cfg.Interval; failures-- {
		d = min(2*d, p.cfg.Interval)
	}
	return d
}

// jittered returns at least the duration and at most an eighth more, so that many
// who began together do not stay together.
func (p *Poller[V]) jittered(d time.Duration) time.Duration {
	d = max(d, p.cfg.Floor)
	return d + time.Duration(p.chance.Below(uint64(d/8)+1))
}

// Status returns what the Poller has met so far.
func (p *Poller[V]) Status() PollerStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}
