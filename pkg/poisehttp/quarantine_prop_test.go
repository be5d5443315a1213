package poisehttp_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// Claim: The configured number of failures in a row sets the endpoint aside; a success in between starts the count again.
//
// Claim: Return brings the endpoint back once its time aside is over, and not before.
//
// Claim: A clock that steps back costs at most one more time aside.
//
// Cases: B22.
func TestQuarantine_LawAgreesWithItsSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		backoff := time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "backoff"))
		cfg := poisehttp.QuarantineConfig{
			Failures:   rapid.IntRange(1, 4).Draw(t, "failures"),
			Backoff:    backoff,
			MaxBackoff: backoff * time.Duration(rapid.Int64Range(1, 20).Draw(t, "longest")),
		}
		script := rapid.SliceOf(rapid.Uint16()).Draw(t, "script")
		requireQuarantine(t, cfg, rapid.Uint64().Draw(t, "seed"), script)
	})
}
