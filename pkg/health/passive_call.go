package health

// PassiveCall is what Begin hands to Answered and End, which take the pointer and
// note in it what was done: one call has one PassiveCall, and no copies. Not for
// use by several goroutines at once.
//
// The zero value reports nothing.
//
// # Contract
//
//   - The first End of a call counts, and every later one changes nothing.
//   - With Divert, failed calls of one key make a suspect, and eject nobody before other endpoints could be asked.
//
// # Cost
//
// Every method is O(1).
//
// # Concurrency
//
// A PassiveCall belongs to one goroutine at a time.
type PassiveCall struct {
	began int64 // the instant
	// heard is how many answers the endpoint had given when the call began.
	heard uint64
	epoch uint64 // of the endpoint when the call began
	trial uint64 // the number of the trial, 0 for a call that is none
	// repeatable: the trial may be sent again.
	repeatable bool
	// instead is the suspect that the call was meant for, in its accusation of this
	// number; nil for most calls.
	instead    *PassiveEndpoint
	accusation uint64
	key        uint64 // hash of what ties the call to the endpoint, 0 if nothing does
	phase      callPhase
}

// SetKey says that the call goes to the endpoint because of a key of this hash: of
// several calls of one key that fail, one counts, since the others may fail for the
// same reason of their own. Calls without a key all count.
func (c *PassiveCall) SetKey(hash uint64) { c.key = max(hash, 1) }

// Trial reports whether the call is a trial of an ejected endpoint.
func (c *PassiveCall) Trial() bool { return c.trial != 0 }

// callPhase is how far a PassiveCall is.
type callPhase uint8

const (
	callEnded callPhase = iota // or never begun
	callBegun
	callAnswered
)
