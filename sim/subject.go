package sim

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Subject balances the calls of one client: the shipped loop, a baseline, or a
// program's own.
//
// A run calls it from one goroutine and tells it the instants. Of one Call the
// methods are called in the order Begin, then Acquire, Answered if the answer was
// sound, End and Next for each attempt.
type Subject interface {
	// Update makes the members those of the list.
	Update(members []Member, now time.Time) error
	// Begin says that a new call takes the slot of an earlier one.
	Begin(c *Call)
	// Acquire chooses the server of the next attempt of the call, or says why there
	// is none; then the call has failed.
	Acquire(c *Call, now time.Time) (server int, err error)
	// Answered says that a sound answer began. Its slot is kept until End.
	Answered(c *Call, r poise.Result, now time.Time)
	// End ends the attempt.
	End(c *Call, r poise.Result, now time.Time)
	// Next says what to do after an attempt that was no success. repeatable says
	// whether the request may be sent again although it was sent.
	Next(c *Call, r poise.Result, repeatable bool, now time.Time) Step
	// Advance does what is due and returns when to call it again; the zero time is
	// never.
	Advance(now time.Time) (next time.Time, err error)
	// Awake reports whether Advance wants to be called now.
	Awake() bool
	// Changed reports whether Ejected may have changed since it was last asked.
	Changed() bool
	// Ejected reports whether the server is left out because of how calls ended.
	Ejected(server int) bool
}

// Member is one server as discovery lists it.
type Member struct {
	Server      int
	ID          string
	Incarnation uint64
	Weight      uint32
	Priority    uint32
	Limit       uint64
	Draining    bool
}

// Call is one call as a Subject sees it.
type Call struct {
	// Slot is a small number that no other call of the run has until this one ends.
	Slot int
	// Key is what keyed policies hash.
	Key uint64
	// Repeatable says that the request may be sent more than once.
	Repeatable bool
}

// Step is what to do after an attempt that was no success.
type Step struct {
	// Repeat asks for another attempt, after Wait.
	Repeat bool
	Wait   time.Duration
}

// Facts is what only the world knows. The oracle reads it.
type Facts interface {
	// Well reports whether a call that is sent now would be served.
	Well(server int) bool
	// Load is how many requests the server holds.
	Load(server int) int
}

// Setup is what a Subject is made with.
type Setup struct {
	Scenario *Scenario
	Policy   string
	Seed     uint64
	Facts    Facts
}

// NewSubject makes the Subject of one client of one run.
type NewSubject func(Setup) (Subject, error)
