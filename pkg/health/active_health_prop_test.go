package health_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/copyleftdev/poise-go/pkg/health"
)

// Claim: Reserve succeeds exactly when no reservation is outstanding and Due answers 0.
//
// Claim: The condition becomes Healthy or Unhealthy exactly when that many probes in a row as its threshold says have agreed, and otherwise stays.
//
// Claim: A reservation that is not ended within Hold is lost, and counts as cancelled at the instant its Hold ended.
//
// Claim: A clock that steps back costs at most one more interval, or one more Hold, from the next Reserve.
//
// Cases: B22, B26, B27, B31, G19.
func TestActiveHealth_LawAgreesWithItsSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		duration := func(name string) time.Duration {
			return time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, name))
		}
		cfg := health.ActiveHealthConfig{
			Interval: duration("interval"), UnhealthyInterval: duration("unhealthy interval"),
			UnknownInterval: duration("unknown interval"), Hold: duration("hold"),
			Jitter:             rapid.IntRange(1, 99).Draw(t, "jitter"),
			HealthyThreshold:   rapid.IntRange(1, 3).Draw(t, "healthy threshold"),
			UnhealthyThreshold: rapid.IntRange(1, 3).Draw(t, "unhealthy threshold"),
			Unknown:            health.UnknownPolicy(rapid.IntRange(0, 1).Draw(t, "unknown")),
		}
		if rapid.Bool().Draw(t, "without jitter") {
			cfg.Jitter = 0
		}
		requireActive(t, cfg, rapid.Uint64().Draw(t, "seed"), rapid.SliceOfN(rapid.Uint16(), 0, 150).Draw(t, "script"))
	})
}
