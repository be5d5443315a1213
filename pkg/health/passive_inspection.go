package health

import (
	"encoding/json"
	"time"
)

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

// MarshalJSON writes the times out and the error in words, and leaves out what is not so.
func (i PassiveInspection) MarshalJSON() ([]byte, error) {
	fields := struct {
		State        PassiveState
		Cause        EjectionCause
		Share        float64
		Since        time.Time
		Until        time.Time `json:",omitzero"`
		Run          int       `json:",omitempty"`
		Successes    int       `json:",omitempty"`
		Backoff      string    `json:",omitempty"`
		Ejections    uint64    `json:",omitempty"`
		TrialRunning bool      `json:",omitempty"`
		Accused      bool      `json:",omitempty"`
		LastError    string    `json:",omitempty"`
	}{i.State, i.Cause, i.Share, i.Since, i.Until, i.Run, i.Successes, "", i.Ejections, i.TrialRunning, i.Accused, ""}
	if i.Backoff > 0 {
		fields.Backoff = i.Backoff.String()
	}
	if i.LastError != nil {
		fields.LastError = i.LastError.Error()
	}
	return json.Marshal(fields)
}
