package health_test

import (
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// newScripts returns the chance that scripts are drawn from.
func newScripts(seed uint64) *poise.Generator { return poise.NewGenerator(seed) }

// Claim: The penalty is the weight of the failures held divided by the number of observations held.
//
// Claim: The weight of a failure is halved by each HalfLife that passes after it.
func TestOutcomeWindow_LawsByGopter(t *testing.T) {
	laws := gopter.NewProperties(gopterParameters(t))
	laws.Property("a window holds what its slow twin holds", prop.ForAll(
		func(capacity, minimum, failure, overload uint8, halfLife uint32, outcomes []uint8, forward []int16) string {
			cfg := health.OutcomeWindowConfig{
				Capacity: int(capacity%9) + 1, FailureWeight: uint32(failure) + 1, OverloadWeight: uint32(overload) + 1,
				HalfLife: time.Duration(halfLife / 2), FailureCost: 1000,
			}
			cfg.MinimumSamples = int(minimum)%cfg.Capacity + 1
			var script []windowStep
			for i, outcome := range outcomes {
				step := windowStep{Outcome: outcome}
				if i < len(forward) {
					step.Forward = forward[i] % 200
				}
				script = append(script, step)
			}
			return faultOf(func(t failer) { requireWindow(t, cfg, script) })
		}, gen.UInt8(), gen.UInt8(), gen.UInt8(), gen.UInt8(), gen.UInt32(), gen.SliceOf(gen.UInt8()), gen.SliceOf(gen.Int16())))
	laws.TestingRun(t)
}

// Claim: Outliers are listed by success rate and then by index, and cut at the limits.
func TestOutlierDetector_LawsByGopter(t *testing.T) {
	laws := gopter.NewProperties(gopterParameters(t))
	laws.Property("a detector finds whom its slow twin finds", prop.ForAll(
		func(seed uint64, counts []uint8) string {
			cfg := gopterConfig(seed)
			d, err := health.NewOutlierDetector(cfg)
			if err != nil {
				return err.Error()
			}
			var members []health.OutlierObservation
			for i := 2; i < len(counts); i += 3 {
				m := did(uint64(counts[i-2])/4, uint64(counts[i-1])/8)
				m.Runs = health.OutlierCause(counts[i] % 16 / 2)
				m.Ejected, m.Unavailable = counts[i]/16%4 == 0, counts[i]/64 == 0
				members = append(members, m)
			}
			return faultOf(func(t failer) { requireReport(t, d, cfg, members, health.OutlierReport{}) })
		}, gen.UInt64(), gen.SliceOf(gen.UInt8())))
	laws.TestingRun(t)
}

// gopterConfig draws settings of which none is zero.
func gopterConfig(seed uint64) health.OutlierConfig {
	chance := newScripts(seed)
	upTo := func(n uint64) int { return int(chance.Below(n)) + 1 }
	return couldEject(health.OutlierConfig{
		FailuresInRow: upTo(6), GatewayFailuresInRow: upTo(4), LocalFailuresInRow: upTo(4), MinimumSamples: upTo(20),
		FailurePercent: upTo(100), MinimumMembers: upTo(6), Factor: float64(upTo(30)) / 10, SuccessFloor: float64(upTo(100)) / 100,
		MaxEjectedPercent: upTo(100), MinimumHealthy: upTo(4),
	})
}

// Claim: No Sweep leaves more of its members ejected than MaxEjectedPercent of them, rounded down, or one.
//
// Claim: The first Sweep after the time of an ejection readmits, and no Sweep before, but to keep the limits.
func TestOutlierController_LawsByGopter(t *testing.T) {
	laws := gopter.NewProperties(gopterParameters(t))
	laws.Property("a controller decides as its slow twin", prop.ForAll(
		func(seed uint64, members uint8, interval, base uint32, longest uint8, script []uint16) string {
			cfg := health.OutlierControllerConfig{
				Detector: gopterConfig(seed), Interval: time.Duration(interval) + 1, BaseTime: time.Duration(base) + 1, Jitter: 7,
			}
			cfg.MaxTime = cfg.BaseTime * (time.Duration(longest%5) + 1)
			return faultOf(func(t failer) { newControllerRun(t, cfg, int(members%8), seed).play(script) })
		}, gen.UInt64(), gen.UInt8(), gen.UInt32(), gen.UInt32(), gen.UInt8(), gen.SliceOf(gen.UInt16())))
	laws.TestingRun(t)
}
