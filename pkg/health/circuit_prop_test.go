package health_test

import (
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
	"pgregory.net/rapid"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// circuitStep is a step of a script, each operation as likely as any other.
var circuitStep = rapid.Custom(func(t *rapid.T) uint16 {
	operation := rapid.SampledFrom([]uint16{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}).Draw(t, "operation")
	return operation | rapid.Uint16Range(0, 4095).Draw(t, "number")<<4
})

// Claim: The configured number of failures in a row opens a closed circuit; a success in between starts the count again.
//
// Claim: A closed circuit with a window opens as soon as the window holds enough outcomes and at least the configured share of them are failures.
//
// Claim: Acquire gives a permit exactly when Available at that instant is true.
//
// Claim: NextChange tells when Available becomes true by itself, and tells nothing exactly when it is true.
//
// Claim: A half-open circuit never has more permits out than configured.
//
// Claim: Copies of a permit share one end; every later End is reported and changes nothing.
//
// Cases: B20, B21, B22, G4, G19.
func TestCircuit_LawAgreesWithItsSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := rapid.Int64Range(1, int64(time.Minute))
		first := time.Duration(span.Draw(t, "open for"))
		cfg := health.CircuitConfig{
			Failures:   rapid.IntRange(1, 4).Draw(t, "failures"),
			Window:     rapid.IntRange(0, 6).Draw(t, "window"),
			OpenFor:    first,
			MaxOpenFor: first * time.Duration(rapid.Int64Range(1, 20).Draw(t, "longest")),
			Trials:     rapid.IntRange(1, 3).Draw(t, "trials"),
			Successes:  rapid.IntRange(1, 3).Draw(t, "successes"),
			MaxHold:    time.Duration(span.Draw(t, "hold")),
			Chance:     poise.NewGenerator(rapid.Uint64().Draw(t, "seed")),
		}
		if cfg.Window > 0 {
			cfg.FailurePercent = rapid.IntRange(1, 100).Draw(t, "percent")
			cfg.MinSamples = rapid.IntRange(1, cfg.Window).Draw(t, "enough")
		}
		// Left alone rapid draws scripts of five steps.
		length := rapid.SampledFrom([]int{0, 100}).Draw(t, "least length")
		requireCircuit(t, cfg, rapid.SliceOfN(circuitStep, length, 200).Draw(t, "script"))
	})
}

// Claim: Acquire gives a permit exactly when Available at that instant is true.
//
// Claim: A permit of an earlier epoch changes nothing: neither its result nor its end counts.
//
// Claim: A trial that is held for MaxHold counts as cancelled from the next Acquire or End on; its own End is reported and changes nothing.
func TestCircuit_LawsByGopter(t *testing.T) {
	laws := gopter.NewProperties(gopterParameters(t))
	laws.Property("a Circuit decides as its slow twin", prop.ForAll(
		func(sizes, window uint16, first, hold uint32, seed uint64, script []uint16) string {
			span := time.Duration(first) + 1
			cfg := health.CircuitConfig{
				Failures: int(sizes%4) + 1, Trials: int(sizes>>2%3) + 1, Successes: int(sizes>>4%3) + 1,
				OpenFor: span, MaxOpenFor: span * (time.Duration(sizes>>6%20) + 1),
				MaxHold: time.Duration(hold) + 1, Chance: poise.NewGenerator(seed),
			}
			if cfg.Window = int(window % 7); cfg.Window > 0 {
				cfg.FailurePercent, cfg.MinSamples = int(window>>3%100)+1, int(window>>10)%cfg.Window+1
			}
			return faultOf(func(t failer) { requireCircuit(t, cfg, script) })
		}, gen.UInt16(), gen.UInt16(), gen.UInt32(), gen.UInt32(), gen.UInt64(), gen.SliceOf(gen.UInt16())))
	laws.TestingRun(t)
}

// The scripts of the laws lead everywhere: each cause, and each way to be late.
func TestCircuit_ScriptsReachEveryCause(t *testing.T) {
	chance := poise.NewGenerator(1)
	seen := map[string]int{}
	for range 200 {
		script := make([]uint16, 100)
		for i := range script {
			script[i] = uint16(chance.Uint64())
		}
		cfg := health.CircuitConfig{Failures: 3, Window: 4, Trials: 2, Successes: 2, OpenFor: time.Minute, Chance: chance}
		for what, n := range requireCircuit(t, cfg, script).counts {
			seen[what] += n
		}
	}
	wanted := []string{"refused"}
	for cause := range health.CauseTrialsSucceeded + 1 {
		wanted = append(wanted, cause.String())
	}
	for _, err := range []error{health.ErrPermitEnded, health.ErrPermitExpired, health.ErrPermitStale} {
		wanted = append(wanted, err.Error())
	}
	for _, what := range wanted {
		if seen[what] == 0 {
			t.Errorf("no script reaches %q: %v", what, seen)
		}
	}
}

// The slow twin finds a circuit that decides otherwise than it was told.
func TestCircuit_SlowTwinFindsFaults(t *testing.T) {
	script := []uint16{0, 4, 0, 4, 0, 4, 10 | 600<<4, 0, 0, 7}
	told := health.CircuitConfig{Failures: 2, OpenFor: time.Second}
	for name, other := range map[string]health.CircuitConfig{
		"one failure fewer": {Failures: 1, OpenFor: time.Second},
		"one failure more":  {Failures: 3, OpenFor: time.Second},
		"another time":      {Failures: 2, OpenFor: 3 * time.Second},
		"more trials":       {Failures: 2, OpenFor: time.Second, Trials: 2},
		"more successes":    {Failures: 2, OpenFor: time.Second, Successes: 2},
	} {
		if fault := faultOf(func(t failer) { requireCircuit(t, told, script) }); fault != "" {
			t.Fatal(fault)
		}
		fault := faultOf(func(t failer) {
			r := newCircuitRun(t, other)
			r.slow.cfg = newCircuitRun(t, told).slow.cfg
			r.play(script)
		})
		if fault == "" {
			t.Errorf("%s: not found", name)
		}
	}
}
