package dispatch

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
	"github.com/copyleftdev/poise-go/pkg/observe"
)

// core is what the calls of a loop share with its changes.
type core struct {
	passive  *health.PassiveHealth // nil: off
	retry    RetryConfig
	budget   *RetryBudget
	observer observe.Observer // nil: nobody
	wake     func()           // never nil

	// unseen: since the last look somebody was ejected or came back.
	unseen syncx.Bool
	// waiting is how many calls wait, and admit gives them what room there is.
	waiting syncx.Int32
	admit   func(now time.Time)

	releases syncx.Mutex
	released []any // guarded by releases
}

// changed notes that somebody was ejected or came back.
func (c *core) changed() {
	if !c.unseen.Swap(true) {
		c.wake()
	}
}

// release hands out the value of a member whose last call has ended.
func (c *core) release(m *member) {
	c.releases.Lock()
	c.released = append(c.released, *m.value.Load())
	c.releases.Unlock()
	c.wake()
}

// member is one incarnation of one member.
type member struct {
	core        *core
	id          string
	incarnation uint64
	slots       *Slots
	tracker     poise.LoadTracker
	calls       CallTracker             // the tracker, if it is told of calls
	passive     *health.PassiveEndpoint // nil: off
	window      *health.OutcomeWindow   // nil: off
	value       syncx.Pointer[any]
	retired     syncx.Bool

	// What follows belongs to the changes of the loop.

	spec      Spec
	said      poise.Status // by SetStatus; Ready is no word
	offline   bool         // SetConnected
	unhealthy poise.Reason // Report; NotExcluded if it is well
	ejected   bool         // as published
	scale     float64      // of the weight, by the window; 1 where it is not lowered
	index     int
	dirty     bool
}

// status returns the stricter of what the list and SetStatus say.
func (m *member) status() poise.Status {
	switch {
	case m.spec.Status == poise.Draining || m.said == poise.Draining:
		return poise.Draining
	case m.spec.Status == poise.Unavailable || m.said == poise.Unavailable:
		return poise.Unavailable
	}
	return poise.Ready
}

// sample returns the member as transforms and policies see it; Spec has the order in
// which its parts count.
func (m *member) sample() poise.Sample {
	s := m.spec.Sample
	s.Status = m.status()
	s.Load = m.tracker
	switch {
	case s.Excluded != poise.NotExcluded:
	case m.offline:
		s.Excluded = poise.ExcludedNotReady
	case m.unhealthy != poise.NotExcluded:
		s.Excluded = m.unhealthy
	case m.ejected:
		s.Excluded = poise.ExcludedEjected
	}
	return s
}

// out reports whether the member is ejected at this moment.
func (m *member) out() bool { return m.passive != nil && m.passive.Ejected() }

// refused accounts for a slot that may have been held for a moment: whoever put a
// draining member into the list may wait for its last call.
func (m *member) refused() {
	if m.slots.draining() && m.slots.inFlight.Current() == 0 {
		m.core.wake()
	}
}

// giveBack gives back a slot that no call came of. It runs where those who wait are
// being served, so it leaves the rest of them to the next Advance.
func (m *member) giveBack() {
	m.slots.give()
	m.core.wake()
}

// ended accounts for the end of a call: it gives the slot back and lets go on who
// waits for it.
func (m *member) ended(now time.Time) {
	m.slots.give()
	if m.core.waiting.Load() > 0 {
		m.core.admit(now)
	}
	m.refused()
}
