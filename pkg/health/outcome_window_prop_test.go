package health_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/copyleftdev/poise-go/pkg/health"
)

// Claim: The window holds the last Capacity observations, whatever their order in time.
//
// Claim: The weight of a failure is halved by each HalfLife that passes after it.
//
// Claim: An instant before that of the last observation counts as that one.
//
// Cases: B22, B25.
func TestOutcomeWindow_LawAgreesWithItsSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := health.OutcomeWindowConfig{
			Capacity:       rapid.IntRange(1, 9).Draw(t, "capacity"),
			FailureWeight:  rapid.Uint32Min(1).Draw(t, "failure weight"),
			OverloadWeight: rapid.Uint32Min(1).Draw(t, "overload weight"),
			HalfLife:       time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "half-life")),
			FailureCost:    time.Duration(rapid.Int64Min(1).Draw(t, "failure cost")),
		}
		cfg.MinimumSamples = rapid.IntRange(1, cfg.Capacity).Draw(t, "minimum")
		script := rapid.SliceOf(rapid.Custom(func(t *rapid.T) windowStep {
			return windowStep{rapid.Uint8().Draw(t, "outcome"), rapid.Int16Range(-200, 200).Draw(t, "forward")}
		})).Draw(t, "script")
		requireWindow(t, cfg, script)
	})
}
