package health_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/copyleftdev/poise-go/pkg/health"
)

// outlierConfig draws settings of which none is zero.
func outlierConfig(t *rapid.T) health.OutlierConfig {
	small := func(name string, most int) int { return rapid.IntRange(1, most).Draw(t, name) }
	return couldEject(health.OutlierConfig{
		Off:                  health.OutlierCause(rapid.SampledFrom([]int{0, 0, 0, 7, 8, 16, 1, 4, 31}).Draw(t, "off")),
		FailuresInRow:        small("failures in a row", 6),
		GatewayFailuresInRow: small("gateway failures in a row", 4),
		LocalFailuresInRow:   small("local failures in a row", 4),
		MinimumSamples:       small("samples", 20),
		FailurePercent:       small("failure percent", 100),
		MinimumMembers:       small("members", 6),
		Factor:               rapid.SampledFrom([]float64{mere, 0.5, 1, 1.9, 3}).Draw(t, "factor"),
		SuccessFloor:         rapid.SampledFrom([]float64{0.3, 0.8, 0.95, 1}).Draw(t, "floor"),
		MaxEjectedPercent:    small("ejected percent", 100),
		MinimumHealthy:       small("healthy", 4),
	})
}

// couldEject has as many members compared as the factor needs.
func couldEject(cfg health.OutlierConfig) health.OutlierConfig {
	cfg.MinimumMembers = max(cfg.MinimumMembers, int(cfg.Factor*cfg.Factor)+2)
	return cfg
}

// Claim: After each ejection at most MaxEjectedPercent of all members, rounded down, or one, are ejected, those ejected before included.
//
// Claim: After each ejection MinimumHealthy members or more serve, who were unavailable before not among them.
//
// Cases: OD1, OD2, OD3, OD4, OD5, B32, B33, B34, E10, E11.
func TestOutlierDetector_LawAgreesWithItsSlowTwin(t *testing.T) {
	observation := rapid.Custom(func(t *rapid.T) health.OutlierObservation {
		count := rapid.OneOf(rapid.Uint64Range(0, 30), rapid.Just(uint64(0)), rapid.Uint64Range(0, 1<<52))
		o := did(count.Draw(t, "successes"), count.Draw(t, "failures"))
		o.Runs = health.OutlierCause(rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2, 4, 7, 255}).Draw(t, "runs"))
		o.Ejected = rapid.IntRange(0, 4).Draw(t, "ejected") == 0
		o.Unavailable = rapid.IntRange(0, 4).Draw(t, "unavailable") == 0
		return o
	})
	rapid.Check(t, func(t *rapid.T) {
		cfg := outlierConfig(t)
		d, err := health.NewOutlierDetector(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var report health.OutlierReport
		for range 3 { // in the memory of one report
			report = requireReport(t, d, cfg, rapid.SliceOfN(observation, 0, 14).Draw(t, "members"), report)
		}
	})
}

// Claim: No Sweep leaves more of its members ejected than MaxEjectedPercent of them, rounded down, or one.
//
// Claim: No Sweep leaves a member ejected who could serve otherwise while fewer than MinimumHealthy members serve.
//
// Claim: A clock that steps back costs at most one more ejection time and one more Interval.
//
// Cases: B20, B22, B32, B33, B47, E10.
func TestOutlierController_LawAgreesWithItsSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := health.OutlierControllerConfig{
			Detector: outlierConfig(t),
			Interval: time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "interval")),
			BaseTime: time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "base")),
			Jitter:   time.Duration(rapid.Int64Range(1, int64(time.Second)).Draw(t, "jitter")),
		}
		cfg.MaxTime = cfg.BaseTime * time.Duration(rapid.Int64Range(1, 5).Draw(t, "longest"))
		run := newControllerRun(t, cfg, rapid.IntRange(0, 8).Draw(t, "members"), rapid.Uint64().Draw(t, "seed"))
		run.play(rapid.SliceOf(rapid.Uint16()).Draw(t, "script"))
	})
}

// Scripts that eject nobody, or never too many, would show nothing.
func TestOutlierController_ScriptsReachWhatTheyShould(t *testing.T) {
	chance := newScripts(7)
	var ejections, early, late int
	for range 200 {
		cfg := health.OutlierControllerConfig{
			Detector: health.OutlierConfig{
				FailuresInRow: 3, GatewayFailuresInRow: 2, LocalFailuresInRow: 2, MinimumSamples: 3, FailurePercent: 60,
				MinimumMembers: 3, Factor: 1, SuccessFloor: 0.95, MaxEjectedPercent: 60, MinimumHealthy: 2,
			},
			Interval: 10 * time.Second, BaseTime: 20 * time.Second, MaxTime: 50 * time.Second, Jitter: time.Second,
		}
		run := newControllerRun(t, cfg, 6, chance.Uint64())
		script := make([]uint16, 300)
		for i := range script {
			script[i] = uint16(chance.Below(math.MaxUint16 + 1))
		}
		run.play(script)
		ejections, early, late = ejections+run.ejections, early+run.early, late+run.late
	}
	if ejections < 1000 || early < 100 || late < 100 {
		t.Errorf("%d ejections, %d early readmissions and %d late results in 200 scripts", ejections, early, late)
	}
}
