package health_test

import (
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"github.com/copyleftdev/poise-go/pkg/health"
)

// Claim: Only the outstanding reservation has effect: one that was completed, cancelled, voided or lost before is reported as such and changes nothing.
//
// Claim: At most one reservation is outstanding at any instant.
func TestActiveHealth_LawsByGopter(t *testing.T) {
	laws := gopter.NewProperties(gopterParameters(t))
	laws.Property("an ActiveHealth decides as its slow twin", prop.ForAll(
		func(intervals []uint32, hold uint32, jitter, thresholds uint8, seed uint64, script []uint16) string {
			cfg := health.ActiveHealthConfig{
				Interval:          time.Duration(intervals[0]) + 1,
				UnhealthyInterval: time.Duration(intervals[1]) + 1,
				UnknownInterval:   time.Duration(intervals[2]) + 1,
				Hold:              time.Duration(hold) + 1,
				Jitter:            int(jitter % 100),
				HealthyThreshold:  int(thresholds%3) + 1, UnhealthyThreshold: int(thresholds/3%3) + 1,
				Unknown: health.UnknownPolicy(thresholds / 128),
			}
			return faultOf(func(t failer) { requireActive(t, cfg, seed, script) })
		}, gen.SliceOfN(3, gen.UInt32()), gen.UInt32(), gen.UInt8(), gen.UInt8(), gen.UInt64(), gen.SliceOf(gen.UInt16())))
	laws.TestingRun(t)
}
