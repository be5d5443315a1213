package dispatch

import (
	"errors"
	"fmt"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/printable"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// Waiter is a call that waits for room, or for somebody eligible. It must not be
// copied after Join.
//
// The zero value waits for nothing.
//
// # Contract
//
//   - Room is given to those who wait in the order in which they joined.
//   - Ready runs once for each Waiter that joined and was not abandoned, under no lock.
//   - A Waiter that was abandoned holds nothing.
//   - A panic of the policy or of a tracker, while a call waits, is the error of that call and of nobody else.
//
// # Cost
//
// Join is O(1), Abandon O(waiting). While calls wait, each end of a call tries the
// first of them.
//
// # Concurrency
//
// Err is to be read after Ready has run.
type Waiter struct {
	// Call is filled when somebody is found. Required.
	Call *Call
	// Ready runs when the wait is over. It must not block. Required.
	Ready func()

	query  Query
	until  time.Time
	joined bool // guarded by the queue
	err    error
	next   *Waiter
}

// Err returns why nobody was found; nil if the Call holds an attempt.
func (w *Waiter) Err() error { return w.err }

// queue holds the calls that wait, first come first served.
type queue struct {
	admission *admission

	mu syncx.Mutex
	// Guarded by mu.
	head, tail *Waiter
	closed     bool
	refusal    error // of the head, the last time
}

// join appends the waiter, and gives it what room there is in its turn.
func (q *queue) join(w *Waiter, query Query, until time.Time) error {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return ErrClosed
	}
	w.query, w.until, w.joined, w.err, w.next = query, until, true, nil, nil
	if q.tail == nil {
		q.head = w
	} else {
		q.tail.next = w
	}
	q.tail = w
	q.admission.waiting.Add(1)
	// Whoever ends a call from here on sees that somebody waits; who ended one before
	// has left room that is found now.
	done := q.give(query.Now)
	q.mu.Unlock()
	ready(done)
	return nil
}

// admit gives what room there is to those who wait.
func (q *queue) admit(now time.Time) {
	q.mu.Lock()
	done := q.give(now)
	q.mu.Unlock()
	ready(done)
}

// give fills the first waiters as long as somebody is found for them, and returns
// them. Requires mu.
func (q *queue) give(now time.Time) (done *Waiter) {
	last := &done
	for w := q.head; w != nil; w = q.head {
		w.query.Now = now
		err := q.try(w)
		if waits(err) {
			q.refusal = err
			break
		}
		w.err = err
		q.pop(w, nil)
		*last, last = w, &w.next
	}
	return done
}

// try looks for somebody for the waiter. A panic of the policy or of a tracker is the
// waiter's error: it happens on somebody else's goroutine. Requires mu.
func (q *queue) try(w *Waiter) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %s", ErrPolicyPanic, printable.Text(fmt.Sprint(v)))
		}
	}()
	return q.admission.acquire(w.Call, &w.query)
}

// pop takes the waiter, which stands behind another, out. Requires mu.
func (q *queue) pop(w, behind *Waiter) {
	if behind == nil {
		q.head = w.next
	} else {
		behind.next = w.next
	}
	if q.tail == w {
		q.tail = behind
	}
	w.joined, w.next = false, nil
	q.admission.waiting.Add(-1)
}

// waits reports whether waiting can help against the error.
func waits(err error) bool {
	return errors.Is(err, poise.ErrAtCapacity) || errors.Is(err, poise.ErrNoEligible) ||
		errors.Is(err, poise.ErrEmpty) || errors.Is(err, poise.ErrAllTried)
}

// abandon takes a waiter out, and reports whether it waited.
func (q *queue) abandon(w *Waiter) bool {
	q.mu.Lock()
	if !w.joined {
		q.mu.Unlock()
		return false
	}
	var behind *Waiter
	for at := q.head; at != w; at = at.next {
		behind = at
	}
	q.pop(w, behind)
	q.mu.Unlock()
	return true
}

// expire ends the waits that are over, and returns when the next one is.
func (q *queue) expire(now time.Time) (next time.Time) {
	q.mu.Lock()
	done := q.give(now)
	last := &done
	for *last != nil {
		last = &(*last).next
	}
	var behind *Waiter
	for w := q.head; w != nil; {
		following := w.next
		switch {
		case w.until.IsZero():
			behind = w
		case !now.Before(w.until):
			w.err = fmt.Errorf("%w: %w", ErrWaited, q.refusal)
			q.pop(w, behind)
			*last, last = w, &w.next
		default:
			next = sooner(next, w.until)
			behind = w
		}
		w = following
	}
	q.mu.Unlock()
	ready(done)
	return next
}

// close ends all waits.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	done := q.head
	for w := done; w != nil; w = w.next {
		w.err, w.joined = ErrClosed, false
		q.admission.waiting.Add(-1)
	}
	q.head, q.tail = nil, nil
	q.mu.Unlock()
	ready(done)
}

// barred reports whether others wait that come first, after giving them what there
// is.
func (q *queue) barred(now time.Time) error {
	q.mu.Lock()
	done := q.give(now)
	refusal := error(nil)
	if q.head != nil {
		refusal = q.refusal
	}
	q.mu.Unlock()
	ready(done)
	return refusal
}

// ready tells the waiters of a list that their wait is over. Each may be another
// one's again as soon as it is told.
func ready(done *Waiter) {
	for w := done; w != nil; {
		next := w.next
		w.next = nil
		w.Ready()
		w = next
	}
}

// sooner returns the earlier of two instants, of which the zero time is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
