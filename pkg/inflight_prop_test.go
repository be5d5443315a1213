package poise_test

import (
	"testing"

	"pgregory.net/rapid"
)

// Claim: Leases held at once never exceed the limit.
//
// Cases: B15, IF2.
func TestInFlight_LawHeldNeverExceedsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Uint64Range(0, 5).Draw(t, "limit")
		script := rapid.SliceOf(rapid.Uint8Range(0, 12)).Draw(t, "script")
		for i, op := range script {
			if op > 8 { // more acquires than releases, so that limits are met
				script[i] = 0
			}
		}
		requireInFlight(t, limit, script)
	})
}
