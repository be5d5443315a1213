package health

// PassiveCall is what Begin hands to Answered and End, which take the pointer and
// note in it what was done: one call has one PassiveCall, and no copies. Not for
// use by several goroutines at once.
//
// The zero value reports nothing.
type PassiveCall struct {
	began int64 // the instant
	// heard is how many answers the endpoint had given when the call began.
	heard uint64
	epoch uint64 // of the endpoint when the call began
	trial uint64 // the number of the trial, 0 for a call that is none
	// instead is the suspect that the call was meant for, in its accusation of this
	// number; nil for most calls.
	instead    *PassiveEndpoint
	accusation uint64
	phase      callPhase
}

// Trial reports whether the call is a trial of an ejected endpoint.
func (c *PassiveCall) Trial() bool { return c.trial != 0 }

// callPhase is how far a PassiveCall is.
type callPhase uint8

const (
	callEnded callPhase = iota // or never begun
	callBegun
	callAnswered
)
