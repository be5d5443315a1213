package health

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// PassiveHealth judges the endpoints of one fleet by the ends of calls. (stub: the
// helper LADDER owns this file; the signatures are what dispatch is written against.)
type PassiveHealth struct{}

// PassiveHealthConfig are the settings of a PassiveHealth; the zero value is the
// defaults, found by simulation.
type PassiveHealthConfig struct {
	_ struct{}
	// Off switches ejection, trials and lowered shares off.
	Off bool
	// Seed makes jitter and trials replay. 0 is no seed.
	Seed uint64
}

// PassiveState is where an endpoint stands.
type PassiveState uint8

const (
	// Serving endpoints get their full share.
	Serving PassiveState = iota
	// Returning endpoints come back step by step.
	Returning
	// Ejected endpoints get trials only.
	Ejected
)

// EjectionCause is why an endpoint was ejected.
type EjectionCause uint8

const (
	// NotEjected: it is not ejected.
	NotEjected EjectionCause = iota
	// EjectedUnreachable: nothing could be sent to it.
	EjectedUnreachable
	// EjectedFailures: a run of failures that peers did not have.
	EjectedFailures
	// EjectedOverloaded: a run of refusals that peers did not have.
	EjectedOverloaded
	// EjectedSilent: it answered nothing while peers did.
	EjectedSilent
	// EjectedPartial: it fails more often than peers.
	EjectedPartial
)

// NewPassiveHealth returns a PassiveHealth of no endpoints, or a [poise.FieldError].
func NewPassiveHealth(cfg PassiveHealthConfig) (*PassiveHealth, error) { return &PassiveHealth{}, nil }

// PassiveEndpoint is one incarnation of one endpoint.
type PassiveEndpoint struct{}

// PassiveCall is what Begin hands to Answered and End. A value; the zero value reports nothing.
type PassiveCall struct{}

// Add brings an endpoint into the fleet. value is opaque, and comes back from Trial and
// LeastRecentlyTried.
func (p *PassiveHealth) Add(value any, now time.Time) *PassiveEndpoint { return &PassiveEndpoint{} }

// Remove takes it out; results of its calls count no more.
func (p *PassiveHealth) Remove(e *PassiveEndpoint, now time.Time) {}

// Trial claims an ejected endpoint that is due for a trial call, if the budget of trials
// has one. allow says whether this call may go to it (eligible otherwise, untried, of its
// scope). repeatable calls are preferred. The claim is ended by End of the PassiveCall.
// The common case, nobody ejected, is one atomic load.
func (p *PassiveHealth) Trial(repeatable bool, allow func(value any) bool, now time.Time) (e *PassiveEndpoint, call PassiveCall, ok bool) {
	return nil, PassiveCall{}, false
}

// LeastRecentlyTried returns the best of the ejected for a call that finds nobody else.
func (p *PassiveHealth) LeastRecentlyTried(allow func(value any) bool, now time.Time) (e *PassiveEndpoint, ok bool) {
	return nil, false
}

// Value returns what Add was given.
func (e *PassiveEndpoint) Value() any { return nil }

// Ejected reports whether calls other than trials should go elsewhere: one atomic load.
func (e *PassiveEndpoint) Ejected() bool { return false }

// Share is the part of its picks that it should take, in (0, 1]: 1 unless it returns or
// says that it is overloaded. A pick of an endpoint with share w is drawn again, up to three times, with
// probability 1 − w, then taken. One atomic load.
func (e *PassiveEndpoint) Share(now time.Time) float64 { return 1 }

// Begin notes that a call goes to the endpoint.
func (e *PassiveEndpoint) Begin(now time.Time) PassiveCall { return PassiveCall{} }

// Answered judges a call at the first byte of its answer; End of it then says nothing
// more, but for what came later in the body. It reports whether Ejected has changed of anybody.
func (e *PassiveEndpoint) Answered(c *PassiveCall, r poise.Result, now time.Time) (changed bool) {
	return false
}

// End ends a call. It reports whether Ejected has changed of anybody.
func (e *PassiveEndpoint) End(c *PassiveCall, r poise.Result, now time.Time) (changed bool) {
	return false
}

// Advance does what is due at the instant: silence, trials, shares. It returns when it
// is to be called again (zero: not before the next End), and whether Ejected has changed of anybody. late is by
// how much the caller came later than it was asked to: a pause of the process blames nobody.
func (p *PassiveHealth) Advance(now time.Time, late time.Duration) (next time.Time, changed bool) {
	return time.Time{}, false
}

// OverloadedShare is the part of recent answers of the fleet that said "too busy": retries
// after Overloaded stop while it is over a quarter.
func (p *PassiveHealth) OverloadedShare(now time.Time) float64 { return 0 }

// PassiveInspection is one endpoint as it stands, for people and for evidence.
type PassiveInspection struct {
	State     PassiveState
	Cause     EjectionCause
	Share     float64
	Since     time.Time     // of the state
	Until     time.Time     // next trial, if ejected
	Run       int           // failures in a row
	Backoff   time.Duration // of the ejection
	LastError error
}

// Inspect returns how the endpoint stands.
func (e *PassiveEndpoint) Inspect(now time.Time) PassiveInspection {
	return PassiveInspection{Share: 1}
}
