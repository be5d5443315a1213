package dispatch_test

import (
	"testing"

	"pgregory.net/rapid"
)

// Claim: A call is refused only while no eligible member that it may go to has room.
// Code: admission.acquire
//
// Claim: A member that drains or was removed admits no call that began after the change returned.
// Code: admission.acquire
//
// Claim: Each value of a member that was removed is released once, when its last call has ended.
// Code: Loop.Released, Slots.retire
//
// Claim: A member that stays in the list keeps its calls, its load and its health.
// Code: membership.update
//
// Claim: A member that answered, that refused, or that could not be reached is not tried again.
// Code: Attempts.note
//
// Claim: Every refusal leaves no slot held.
// Code: admission.acquire
//
// Cases: B84, B96, B100.
func TestLoop_LawAgreesWithItsSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		playLoop(t, rapid.SliceOfN(rapid.Byte(), 60, 400).Draw(t, "script"))
	})
}
