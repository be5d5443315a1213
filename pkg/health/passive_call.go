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
	// instead is the suspect that the call was meant for; nil for most calls.
	instead *PassiveEndpoint
	// number is that of the trial, or of the accusation of the suspect; 0 for other calls.
	number uint64
	key    uint64 // hash of what ties the call to the endpoint, 0 if nothing does
	epoch  uint32 // of the endpoint when the call began
	others int16  // calls that waited there when it began
	phase  callPhase
	// repeatable: the trial may be sent again.
	repeatable bool
}

// SetKey says that the call goes to the endpoint because of a key of this hash: of
// several calls of one key that fail, one counts, since the others may fail for the
// same reason of their own. Calls without a key all count.
func (c *PassiveCall) SetKey(hash uint64) { c.key = max(hash, 1) }

// Trial reports whether the call is a trial of an ejected endpoint.
func (c *PassiveCall) Trial() bool { return c.number != 0 && c.instead == nil }

// callPhase is how far a PassiveCall is.
type callPhase uint8

const (
	callEnded callPhase = iota // or never begun
	callBegun
	callAnswered
)
