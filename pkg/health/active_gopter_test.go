package health_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"github.com/copyleftdev/poise-go/pkg/health"
)

// activeParameters reads GOPTER_SEED and GOPTER_CHECKS.
func activeParameters(t *testing.T) *gopter.TestParameters {
	t.Helper()
	parameters := gopter.DefaultTestParameters()
	for name, set := range map[string]func(int64){
		"GOPTER_SEED":   parameters.SetSeed,
		"GOPTER_CHECKS": func(n int64) { parameters.MinSuccessfulTests = int(n) },
	} {
		if text := os.Getenv(name); text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			set(n)
		}
	}
	t.Logf("replay with GOPTER_SEED=%d", parameters.Seed())
	return parameters
}

// inText makes a law of a test answer in text: empty where it held.
type inText struct{}

func (inText) Helper() {}

func (inText) Fatalf(format string, args ...any) { panic(brokenLaw(fmt.Sprintf(format, args...))) }

type brokenLaw string

func heldActive(cfg health.ActiveHealthConfig, seed uint64, script []uint16) (fault string) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case brokenLaw:
			fault = string(v)
		default:
			panic(v)
		}
	}()
	requireActive(inText{}, cfg, seed, script)
	return ""
}

// Claim: Only the outstanding reservation has effect: one that was completed, cancelled, voided or lost before is reported as such and changes nothing.
//
// Claim: At most one reservation is outstanding at any instant.
func TestActiveHealth_LawsByGopter(t *testing.T) {
	laws := gopter.NewProperties(activeParameters(t))
	laws.Property("an ActiveHealth decides as its slow twin", prop.ForAll(
		func(intervals []uint32, hold uint32, jitter, thresholds uint8, seed uint64, script []uint16) string {
			return heldActive(health.ActiveHealthConfig{
				Interval:          time.Duration(intervals[0]) + 1,
				UnhealthyInterval: time.Duration(intervals[1]) + 1,
				UnknownInterval:   time.Duration(intervals[2]) + 1,
				Hold:              time.Duration(hold) + 1,
				Jitter:            int(jitter % 100),
				HealthyThreshold:  int(thresholds%3) + 1, UnhealthyThreshold: int(thresholds/3%3) + 1,
				Unknown: health.UnknownPolicy(thresholds / 128),
			}, seed, script)
		}, gen.SliceOfN(3, gen.UInt32()), gen.UInt32(), gen.UInt8(), gen.UInt8(), gen.UInt64(), gen.SliceOf(gen.UInt16())))
	laws.TestingRun(t)
}
