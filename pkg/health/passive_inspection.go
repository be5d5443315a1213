package health

import "time"

// PassiveInspection is one endpoint of a [PassiveHealth] as it stands, for people
// and for evidence.
type PassiveInspection struct {
	// State is where it stands, and Cause why it was ejected, if it is.
	State PassiveState
	Cause EjectionCause
	// Share is what [PassiveEndpoint.Share] returns.
	Share float64
	// Since is when the state began, and Until when the next trial is due, if it is
	// ejected and none is running.
	Since, Until time.Time
	// Run is how many calls have failed since the last success.
	Run int
	// Successes is how many calls have succeeded since it began to return.
	Successes int
	// Backoff is the time out of the last ejection or failed trial, before jitter.
	Backoff time.Duration
	// Ejections counts all of them.
	Ejections uint64
	// TrialRunning: a trial was claimed and has not ended.
	TrialRunning bool
	// Accused: other endpoints are asked what is meant for it.
	Accused bool
	// LastError is that of the last failure, nil if there was none or it had none.
	LastError error
}
