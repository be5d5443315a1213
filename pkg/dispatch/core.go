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
	keyed    bool                  // the policy ties calls to members
	retry    RetryConfig
	budget   *RetryBudget
	observer observe.Observer // nil: nobody
	wake     func()           // never nil

	flips syncx.Mutex
	// flipped are those who were ejected or came back since the last look; guarded by
	// flips.
	flipped []*member

	// waiting is how many calls wait, and admit gives them what room there is.
	waiting syncx.Int32
	admit   func(now time.Time)

	releases syncx.Mutex
	// Guarded by releases.
	released []any
	leaving  map[uint64]*member // removed, and holding calls; by incarnation
}

// changed notes that the member was ejected or came back.
func (c *core) changed(m *member) {
	c.flips.Lock()
	c.flipped = append(c.flipped, m)
	first := len(c.flipped) == 1
	c.flips.Unlock()
	if first {
		c.wake()
	}
}

// seen returns those who were ejected or came back since the last look.
func (c *core) seen() []*member {
	c.flips.Lock()
	defer c.flips.Unlock()
	flipped := c.flipped
	c.flipped = nil
	return flipped
}

// release hands out the value of a member whose last call has ended.
func (c *core) release(m *member) {
	c.releases.Lock()
	c.released = append(c.released, *m.value.Load())
	delete(c.leaving, m.incarnation)
	c.releases.Unlock()
	c.wake()
}

// leave notes a member that is about to be removed.
func (c *core) leave(m *member) {
	c.releases.Lock()
	defer c.releases.Unlock()
	if c.leaving == nil {
		c.leaving = make(map[uint64]*member)
	}
	c.leaving[m.incarnation] = m
}

// isLeaving reports whether a member of that incarnation was removed and holds calls.
func (c *core) isLeaving(incarnation uint64) bool {
	c.releases.Lock()
	defer c.releases.Unlock()
	return c.leaving[incarnation] != nil
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
	unreachable syncx.Bool // it is ejected because nothing could be sent to it, as published

	// What follows belongs to the changes of the loop.

	spec      Spec
	operator  poise.Status // by SetStatus; Ready says nothing
	offline   bool         // SetConnected
	unhealthy poise.Reason // Report; NotExcluded if it is well
	ejected   bool         // as of the last look
	weight    float64      // the part of its weight that its outcomes leave it
	bad       error        // why it is left out although nobody wanted that
	index     int          // in the list
	touched   bool         // its sample is to be taken anew
}

// status returns the stricter of what the list and SetStatus say.
func (m *member) status() poise.Status { return m.statusIn(&m.spec) }

// statusIn is status with another Spec.
func (m *member) statusIn(spec *Spec) poise.Status {
	switch {
	case spec.Status == poise.Draining || m.operator == poise.Draining:
		return poise.Draining
	case spec.Status == poise.Unavailable || m.operator == poise.Unavailable:
		return poise.Unavailable
	}
	return spec.Status
}

// leftOut is the locality of members that are left out, so that theirs need not fit
// the others'.
const leftOut = "\x00left out"

// sample returns the member as transforms are shown it, with a Spec and a factor of
// all weights; Spec has the order in which its parts count.
func (m *member) sample(spec *Spec, factor uint32) poise.Sample {
	if m.bad != nil {
		return poise.Sample{
			ID: m.id, Incarnation: m.incarnation, Load: m.tracker,
			Locality: leftOut, Excluded: poise.ExcludedOutOfScope, PanicOptOut: true,
		}
	}
	s := spec.Sample
	s.Status = m.statusIn(spec)
	s.Load = m.tracker
	if factor > 1 {
		weight := float64(s.Weight.Value()) * float64(factor) * m.weight
		s.Weight, _ = poise.NewWeight(uint32(max(weight, 1))) // never 0
	}
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

// accused reports whether the member is a suspect whose calls may be at fault.
func (m *member) accused() bool { return m.passive != nil && m.passive.Accused() }

// serves reports whether the member has served its last call and is no suspect.
func (m *member) serves() bool { return m.passive != nil && m.passive.Serves() }

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
	switch {
	case m.core.waiting.Load() == 0:
	case now.IsZero():
		m.core.wake() // to wait began while the call ended
	default:
		m.core.admit(now)
	}
	m.refused()
}

// quietly runs a function that is told of something. Its panic is dropped: it is not
// the fault of whoever did what it is told of.
func quietly(tell func()) {
	defer func() { _ = recover() }()
	tell()
}
