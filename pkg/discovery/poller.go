package discovery

import (
	"context"
	"fmt"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// Listing is what a source found when it was asked.
type Listing[V any] struct {
	// Entries are the members.
	Entries []Entry[V]
	// ValidFor is how long the source stands by them; 0 if it does not say.
	ValidFor time.Duration
}

// PollerConfig are the settings of a Poller. The zero value of each field but
// Session and Fetch is its default.
type PollerConfig[V any] struct {
	_ struct{}
	// Session is where the lists go. Required.
	Session *Session[V]
	// Fetch asks the source. Required; Static, File and DNS make one.
	Fetch func(context.Context) (Listing[V], error)
	// Interval is the time from one good list to the next question, before jitter.
	// A list that is valid for less is asked for again sooner. Positive, up to 100
	// years, default 30 s.
	Interval time.Duration
	// Floor is the shortest time to the next question, whatever a list says. At
	// most Interval, default 1 s or Interval if that is shorter.
	Floor time.Duration
	// Backoff is the time to the next question after a failure, before jitter; it
	// doubles with each failure in a row, up to Interval. At most Interval, default
	// Floor.
	Backoff time.Duration
	// AllowEmpty takes a list without members for what it says. The default is that
	// it is a failure, for sources that have lost their own answer often send one.
	AllowEmpty bool
	// Seed seeds the jitter; 0 draws from the runtime.
	Seed uint64
}

// Poller keeps a source's claims in step with its answers. Whoever owns the clock
// calls Poll.
//
// A Poller is made by NewPoller.
//
// # Contract
//
//   - A failure to fetch leaves the members of the last good list in place, and is returned and counted.
//   - A list without members is a failure unless AllowEmpty is set.
//   - A list that the Session refuses is a failure.
//   - A Poll before its time asks nobody, and returns the time that is left.
//   - The next Poll is due after at least Floor, and after at most nine eighths of Interval.
//   - Failures in a row double the time to the next question, up to Interval; a good list forgets them.
//   - A clock that steps back makes the next Poll due at once.
//
// # Cost
//
// A Poll that is due costs what Fetch and Reconcile cost.
//
// # Concurrency
//
// Poll belongs to one goroutine at a time. Status may be called at any time.
type Poller[V any] struct {
	cfg    PollerConfig[V]
	chance *poise.Generator
	asked  time.Time
	wait   time.Duration // from asked; 0: due

	mu syncx.Mutex
	// Guarded by mu.
	status PollerStatus
}

// PollerStatus is what a Poller has met so far.
type PollerStatus struct {
	// Polls is how often the source was asked.
	Polls uint64
	// Failures is how many of these failed, and InARow how many of the last.
	Failures, InARow uint64
	// Good is the instant of the last good list; zero if there was none.
	Good time.Time
	// Err is why the last question failed; nil if it did not.
	Err error
}

// PollError is the failure of one Poll. The members of the last good list stay.
type PollError struct {
	// Source is the name of the source.
	Source string
	// InARow is the number of failures since the last good list.
	InARow uint64
	// Err is what went wrong.
	Err error
}

// Error names the source, the number of failures and the cause.
func (e *PollError) Error() string {
	return fmt.Sprintf("discovery: source %q, failure %d in a row: %v", e.Source, e.InARow, e.Err)
}

// Unwrap returns the cause.
func (e *PollError) Unwrap() error { return e.Err }

// NewPoller returns a Poller that is due, or a [poise.FieldError].
func NewPoller[V any](cfg PollerConfig[V]) (*Poller[V], error) {
	const longest = 100 * 365 * 24 * time.Hour
	or := func(d *time.Duration, otherwise time.Duration) {
		if *d == 0 {
			*d = otherwise
		}
	}
	or(&cfg.Interval, 30*time.Second)
	or(&cfg.Floor, min(time.Second, cfg.Interval))
	or(&cfg.Backoff, cfg.Floor)
	switch {
	case cfg.Session == nil:
		return nil, refuse("Session", nil, ErrMissing)
	case cfg.Fetch == nil:
		return nil, refuse("Fetch", nil, ErrMissing)
	case cfg.Interval < 0 || cfg.Interval > longest:
		return nil, refuse("Interval", cfg.Interval, ErrOutOfRange)
	case cfg.Floor < 0 || cfg.Floor > cfg.Interval:
		return nil, refuse("Floor", cfg.Floor, ErrOutOfRange)
	case cfg.Backoff < 0 || cfg.Backoff > cfg.Interval:
		return nil, refuse("Backoff", cfg.Backoff, ErrOutOfRange)
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
// ErrSessionEnded there is no use in another Poll.
func (p *Poller[V]) Poll(ctx context.Context, now time.Time) (wait time.Duration, err error) {
	if elapsed := now.Sub(p.asked); p.wait > 0 && elapsed >= 0 && elapsed < p.wait {
		return p.wait - elapsed, nil
	}
	listing, err := p.cfg.Fetch(ctx)
	if err == nil && len(listing.Entries) == 0 && !p.cfg.AllowEmpty {
		err = ErrEmptyList
	}
	if err == nil {
		_, err = p.cfg.Session.Reconcile(listing.Entries)
	}
	inARow := p.count(now, err)
	p.asked = now
	if err != nil {
		p.wait = p.jittered(p.backoff(inARow))
		return p.wait, &PollError{Source: p.cfg.Session.Source(), InARow: inARow, Err: err}
	}
	due := p.cfg.Interval
	if listing.ValidFor > 0 {
		due = min(due, listing.ValidFor)
	}
	p.wait = p.jittered(due)
	return p.wait, nil
}

// count takes account of one question and returns the failures in a row.
func (p *Poller[V]) count(now time.Time, err error) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.status
	s.Polls++
	s.Err = err
	if err != nil {
		s.Failures++
		s.InARow++
	} else {
		s.InARow, s.Good = 0, now
	}
	return s.InARow
}

// backoff returns the time after so many failures in a row, before jitter.
func (p *Poller[V]) backoff(inARow uint64) time.Duration {
	d := p.cfg.Backoff
	for ; inARow > 1 && d < p.cfg.Interval; inARow-- {
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
