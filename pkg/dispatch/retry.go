package dispatch

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// RetryConfig are the rules of repeating. The zero value of each field is its
// default.
type RetryConfig struct {
	_ struct{}
	// Off never repeats anything, not even what was never sent.
	Off bool
	// Attempts is how often one call may be sent; 1 or more, default 3. Attempts of
	// which nothing could be sent and trials do not count.
	Attempts int
	// EjectedAttempts is how many ejected members a call of which nothing could be
	// sent is tried at when no other is left; 0 is the default, 2. Negative is none.
	EjectedAttempts int
	// OverloadedPercent is how many of a hundred calls of the fleet may end "too busy"
	// or in silence for a call that ended so to be repeated: repeating more of them
	// would add to the overload. 1 to 100, default 25.
	OverloadedPercent int
	// Pause is how long a repetition of what was sent waits; 0 or more, default 0.
	// The wait is drawn between half of it and the whole.
	Pause time.Duration
	// Budget bounds the repetitions of what was sent.
	Budget RetryBudgetConfig
}

// withDefaults returns the config with its defaults filled in, or the field that is
// out of range.
func (c RetryConfig) withDefaults() (RetryConfig, error) {
	c.Attempts = defaultTo(c.Attempts, 3)
	c.EjectedAttempts = max(defaultTo(c.EjectedAttempts, 2), 0)
	c.OverloadedPercent = defaultTo(c.OverloadedPercent, 25)
	switch {
	case c.Attempts < 1:
		return c, outOfRange("Attempts", c.Attempts)
	case c.OverloadedPercent < 1 || c.OverloadedPercent > 100:
		return c, outOfRange("OverloadedPercent", c.OverloadedPercent)
	case c.Pause < 0:
		return c, outOfRange("Pause", c.Pause)
	}
	return c, nil
}

// RetryState is what a call has done so far, and who is left, as Next needs it.
type RetryState struct {
	_ struct{}
	// Sent is how many of its attempts were sent, trials aside.
	Sent int
	// Trial says that the last attempt was a trial.
	Trial bool
	// Ejected is how many of its attempts went to ejected members, trials aside.
	Ejected int
	// Untried says that an eligible member is left which was not tried.
	Untried bool
	// UntriedEjected says that an ejected member is left which was not tried.
	UntriedEjected bool
	// Again says that a member that was tried may be tried again: it neither
	// answered nor refused, and it could be reached.
	Again bool
	// OverloadedShare is the part of recent calls of the fleet that ended "too busy" or
	// in silence.
	OverloadedShare float64
}

// Action is what is to be done after an attempt.
type Action uint8

const (
	// Stop: what came of the attempt is what came of the call.
	Stop Action = iota
	// Repeat: make another attempt.
	Repeat
)

var actionNames = [...]string{"stop", "repeat"}

// String returns the action in lower case.
func (a Action) String() string { return nameOf(actionNames[:], int(a)) }

// StepReason is why a Step is as it is. It is a fixed enumeration, so it can label a
// metric.
//
// The zero value is Served.
type StepReason uint8

const (
	// Served: the attempt succeeded.
	Served StepReason = iota
	// CallersOwn: the caller left, or the call was its mistake.
	CallersOwn
	// RetriesOff: the settings repeat nothing.
	RetriesOff
	// NotRepeatable: the call may have been received, and must not be sent twice.
	NotRepeatable
	// EnoughAttempts: the call was sent as often as it may be.
	EnoughAttempts
	// FleetOverloaded: too much of the fleet says that it is too busy.
	FleetOverloaded
	// NobodyLeft: there is no member to send it to.
	NobodyLeft
	// BudgetSpent: no retry was saved.
	BudgetSpent
	// NothingSent: nothing was sent, and it costs nobody anything to go on.
	NothingSent
	// TrialFailed: a trial failed, which is not the call's doing.
	TrialFailed
	// Paid: the retry was taken from the budget.
	Paid
)

var stepReasonNames = [...]string{
	"served", "the caller's own", "retries are off", "not repeatable", "enough attempts",
	"the fleet is overloaded", "nobody left", "budget spent", "nothing sent", "a trial failed", "paid",
}

// String returns the reason in lower case.
func (r StepReason) String() string { return nameOf(stepReasonNames[:], int(r)) }

// MarshalText returns String.
func (r StepReason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "unknown"
}

// Step is what is to be done after an attempt.
//
// The zero value stops a call that was served.
type Step struct {
	// Action is what to do, after Wait.
	Action Action
	Wait   time.Duration
	// Reason is why.
	Reason StepReason
}

// Next returns what is to be done after an attempt that came to the result.
// Repeatable says that the call may be sent although it may have been received
// before. It is a function of its arguments alone; a Step of the reason Paid is to
// be taken from a budget.
//
// # Contract
//
//   - A call that was served, that its caller left, or that was its caller's mistake is not repeated.
//   - A call of which nothing was sent goes on to every member that is left and not ejected, and then to at most EjectedAttempts that are.
//   - A call that may have been received is repeated only if it is repeatable.
//   - A call is sent at most Attempts times, trials aside.
//   - After "too busy" or silence a call is repeated only while at most OverloadedPercent of the calls end so.
//   - A failed trial costs no retry.
func (c RetryConfig) Next(s RetryState, r poise.Result, repeatable bool) Step {
	stop := func(reason StepReason) Step { return Step{Reason: reason} }
	switch {
	case r.Outcome == poise.Success:
		return stop(Served)
	case !r.Outcome.IsObservation():
		return stop(CallersOwn)
	case c.Off:
		return stop(RetriesOff)
	case r.Outcome == poise.Unreachable:
		if s.Untried || s.UntriedEjected && s.Ejected < c.EjectedAttempts {
			return Step{Action: Repeat, Reason: NothingSent}
		}
	case !repeatable:
		return stop(NotRepeatable)
	}
	switch {
	case !s.Untried && !s.UntriedEjected && !s.Again:
		return stop(NobodyLeft)
	case r.Outcome == poise.Unreachable && !s.Again:
		return stop(NobodyLeft)
	case (r.Outcome == poise.Overloaded || r.Outcome == poise.Silent) && s.OverloadedShare*100 > float64(c.OverloadedPercent):
		return stop(FleetOverloaded)
	case s.Trial:
		return Step{Action: Repeat, Reason: TrialFailed}
	case s.Sent >= c.Attempts:
		return stop(EnoughAttempts)
	}
	return Step{Action: Repeat, Wait: c.Pause, Reason: Paid}
}
