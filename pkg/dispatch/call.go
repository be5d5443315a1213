package dispatch

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
	"github.com/copyleftdev/poise-go/pkg/observe"
)

// Call is one attempt at one member, from its admission by Acquire to its end. It is
// filled in place and must not be copied after use; it may be used again when the
// attempt has ended and nobody else can end it.
//
// The zero value holds nothing.
//
// # Contract
//
//   - The first End of an attempt ends it and returns true; every later one returns false and changes nothing.
//   - Answered judges the attempt and keeps its slot; End then tells what came later.
//   - Answered after Answered or after End returns false and changes nothing.
//   - End of the zero Call returns false.
//   - An End with the zero instant leaves those who wait to the next Advance.
//   - What became of a call counts for nothing at a member that was removed meanwhile.
//
// # Cost
//
// Answered and End are O(1) and allocate nothing.
//
// # Concurrency
//
// Several goroutines may call Answered and End; exactly one End gets true.
type Call struct {
	mu syncx.Mutex
	// phase is guarded by mu; the rest is written by Acquire, and by the one who
	// moves the phase on.
	phase phase

	choice   observe.Choice
	answered bool
	number   int32
	place    int32
	member   *member
	suspect  *member // whom the policy picked; nil unless Diverted
	value    *any
	attempts *Attempts
	passive  health.PassiveCall
	began    time.Time
	took     time.Duration // from the admission to the answer, once there was one
	result   poise.Result  // as judged, once it is
}

// phase is where a Call stands.
type phase uint8

const (
	idle phase = iota
	held
	answered
	ended
	completed // answered and ended at once: for finish only
)

// Value returns the value of the member; nil before Acquire.
func (c *Call) Value() any {
	if c.value == nil {
		return nil
	}
	return *c.value
}

// ID returns the identity of the member; empty before Acquire.
func (c *Call) ID() string {
	if c.member == nil {
		return ""
	}
	return c.member.id
}

// Incarnation returns the incarnation of the member; 0 before Acquire.
func (c *Call) Incarnation() uint64 {
	if c.member == nil {
		return 0
	}
	return c.member.incarnation
}

// Choice returns how the attempt came to the member.
func (c *Call) Choice() observe.Choice { return c.choice }

// Trial reports whether the attempt finds out whether an ejected member still has
// to be.
func (c *Call) Trial() bool { return c.choice == observe.Trial }

// Began returns the instant of the admission.
func (c *Call) Began() time.Time { return c.began }

// Timed reports whether somebody wants to know when the attempt ends: an Observer, a
// CallTracker, or a call that waits for its slot.
func (c *Call) Timed() bool {
	m := c.member
	return m != nil && (m.calls != nil || m.core.observer != nil || m.core.waiting.Load() > 0)
}

// Attempt returns the number of the attempt in its logical call, from 1.
func (c *Call) Attempt() int { return int(c.number) }

// set begins an attempt. Requires mu.
func (c *Call) set(m *member, choice observe.Choice, place, number int, q *Query) {
	if c.answered {
		c.answered, c.result = false, poise.Result{}
	}
	c.phase, c.suspect = held, nil
	c.choice, c.number, c.place = choice, int32(number), int32(place)
	c.member, c.value, c.attempts, c.began = m, m.value.Load(), q.Attempts, q.Now
	if m.core.keyed && !q.Key.IsZero() {
		c.passive.SetKey(uint64(poise.FNVBasis.Key(q.Key)))
	}
}

// Answered tells that the answer has begun, and how it is judged. It reports whether
// this call did so.
func (c *Call) Answered(r poise.Result, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != held {
		return false
	}
	c.phase = answered
	c.answered, c.took, c.result = true, now.Sub(c.began), r
	m := c.member
	if m.calls != nil {
		m.calls.Answered(r, c.began, now)
	}
	if m.passive != nil && m.passive.Answered(&c.passive, r, now) {
		c.changed()
	}
	c.judge(r, now)
	if c.attempts != nil {
		c.attempts.note(int(c.place), r, true)
	}
	return true
}

// changed notes that the member was ejected or came back by this call, or the suspect
// in whose place it was.
func (c *Call) changed() {
	c.member.core.changed(c.member)
	if c.suspect != nil {
		c.member.core.changed(c.suspect)
	}
}

// judge counts the result where it is counted once.
func (c *Call) judge(r poise.Result, now time.Time) {
	m := c.member
	if m.window != nil {
		m.window.Record(r.Outcome, now)
	}
	if r.Outcome == poise.Success {
		m.core.budget.Earn()
	}
}

// Complete tells of an answer that has begun and ended at once: Answered and End in
// one step. It reports whether this call ended the attempt; if its answer had begun
// before, it does what End of a success does.
func (c *Call) Complete(r poise.Result, now time.Time) bool {
	c.mu.Lock()
	switch c.phase {
	case held:
	case answered:
		c.mu.Unlock()
		return c.End(poise.Result{}, now)
	default:
		c.mu.Unlock()
		return false
	}
	c.phase, c.answered, c.took = ended, true, now.Sub(c.began)
	c.mu.Unlock()
	m := c.member
	defer c.finish(completed, r, now)
	if m.calls != nil {
		m.calls.Answered(r, c.began, now)
		m.calls.Ended(poise.Result{}, true, c.began, now)
	}
	return true
}

// End ends the attempt and gives its slot back. If the answer never began, the
// result is how the attempt is judged; else it is what became of the answer. It
// reports whether this call did so.
//
// The zero instant will do for an answer that has come to its end well, unless the
// attempt is Timed: a look at the clock is a tenth of what a call costs.
func (c *Call) End(r poise.Result, now time.Time) bool {
	c.mu.Lock()
	was := c.phase
	if was != held && was != answered {
		c.mu.Unlock()
		return false
	}
	c.phase = ended
	c.mu.Unlock()
	m := c.member
	defer c.finish(was, r, now)
	if m.calls != nil {
		m.calls.Ended(r, was == answered, c.began, now)
	}
	return true
}

// finish does what a tracker that panics must not keep from being done.
func (c *Call) finish(was phase, r poise.Result, now time.Time) {
	m := c.member
	if m.passive != nil && m.passive.End(&c.passive, r, now) {
		c.changed()
	}
	judged := r
	if was == answered {
		judged = c.result
	} else {
		c.judge(r, now)
	}
	if c.attempts != nil && was != answered {
		c.attempts.note(int(c.place), judged, was == completed)
	}
	observer := m.core.observer
	if observer == nil {
		m.ended(now)
		return
	}
	e := observe.Ended{
		ID: m.id, Incarnation: m.incarnation, Attempt: int(c.number), Choice: c.choice,
		Result: judged, Began: c.began, At: now,
	}
	if c.answered {
		e.Answered = c.began.Add(c.took)
	}
	if was == answered {
		e.Late = r
	}
	m.ended(now) // from here on the Call may be somebody else's
	quietly(func() { observer.Ended(e) })
}
