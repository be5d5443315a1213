package poise_test

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Cases: O1, O2.
func TestOutcome_CountsAgainstTheCandidateOnlyWhatItDid(t *testing.T) {
	for _, row := range []struct {
		outcome              poise.Outcome
		failure, observation bool
	}{
		{poise.Success, false, true},
		{poise.Failure, true, true},
		{poise.Overloaded, true, true},
		{poise.Cancelled, false, false},
		{poise.Unreachable, true, true},
		{poise.Silent, true, true},
		{poise.Invalid, false, false},
	} {
		if row.outcome.IsFailure() != row.failure || row.outcome.IsObservation() != row.observation {
			t.Errorf("%v: failure %t, observation %t", row.outcome, row.outcome.IsFailure(), row.outcome.IsObservation())
		}
	}
}
