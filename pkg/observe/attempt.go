package observe

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// Attempted is one attempt that has ended, for those who dispatch by themselves. A loop
// tells more, as Ended.
type Attempted struct {
	_ struct{}
	// Kind is how it ended.
	Kind AttemptKind
	// Took is the time from its beginning to its end.
	Took time.Duration
}

// AttemptObserver is told of attempts.
//
// # Contract
//
//   - An AttemptObserver is told once of each Attempt, when it ends.
//
// # Cost
//
// Attempted runs inside End: it should take nanoseconds.
//
// # Concurrency
//
// Attempted is called by many goroutines at once, on those that ended attempts.
type AttemptObserver interface {
	// Attempted is told of one attempt that has ended.
	Attempted(Attempted)
}

// Attempt measures one attempt and tells of it once.
//
// An Attempt is made by Begin. The zero value tells nobody.
//
// # Contract
//
//   - An Attempt tells of its first End, and of no other.
//   - An instant before the beginning counts as the beginning.
//
// # Cost
//
// End is O(1) and allocates nothing.
//
// # Concurrency
//
// Several goroutines may call End; exactly one tells.
type Attempt struct {
	observer AttemptObserver
	began    time.Time
	over     syncx.Bool
}

// Begin begins an attempt that tells the observer. A caller who may leave without a
// result defers an End with poise.Cancelled.
func Begin(o AttemptObserver, now time.Time) *Attempt {
	return &Attempt{observer: o, began: now}
}

// End ends the attempt. It reports whether this call did so.
func (a *Attempt) End(outcome poise.Outcome, now time.Time) bool {
	if !a.over.CompareAndSwap(false, true) {
		return false
	}
	if a.observer != nil {
		a.observer.Attempted(Attempted{Kind: AttemptKindOf(outcome), Took: max(now.Sub(a.began), 0)})
	}
	return true
}
