package health_test

import (
	"errors"
	"math"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

var dusk = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newWindow(t testing.TB, cfg health.OutcomeWindowConfig) *health.OutcomeWindow {
	t.Helper()
	w, err := health.NewOutcomeWindow(cfg, dusk)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// record gives a window outcomes at one instant, as letters: s, f, o, c.
func record(w *health.OutcomeWindow, now time.Time, outcomes string) {
	for _, letter := range outcomes {
		w.Record(map[rune]poise.Outcome{
			's': poise.Success, 'f': poise.Failure, 'o': poise.Overloaded, 'c': poise.Cancelled,
		}[letter], now)
	}
}

// Claim: The window holds the last Capacity observations, whatever their order in time.
//
// Claim: The penalty is the weight of the failures held divided by the number of observations held.
//
// Cases: OW1, OW2, OW3.
func TestOutcomeWindow_SlidesByOneObservation(t *testing.T) {
	w := newWindow(t, health.OutcomeWindowConfig{Capacity: 2})
	for i, step := range []struct {
		outcome string
		held    [3]int
		penalty float64
	}{
		{"f", [3]int{0, 1, 0}, 1},
		{"s", [3]int{1, 1, 0}, 0.5},
		{"s", [3]int{2, 0, 0}, 0},
		{"o", [3]int{1, 0, 1}, 1},
		{"o", [3]int{0, 0, 2}, 2},
		{"f", [3]int{0, 1, 1}, 1.5},
		{"s", [3]int{1, 1, 0}, 0.5},
	} {
		// Time runs backwards here, which without a HalfLife is of no account.
		now := dusk.Add(-time.Duration(i) * time.Hour)
		record(w, now, step.outcome)
		stats := w.Stats(now)
		if got := [3]int{stats.Successes, stats.Failures, stats.Overloaded}; got != step.held || stats.Penalty != step.penalty {
			t.Fatalf("step %d: it holds %v with a penalty of %v, want %v and %v", i, got, stats.Penalty, step.held, step.penalty)
		}
	}
}

// Cases: OW3.
func TestOutcomeStats_KnowASuccessRateOnceThereIsASample(t *testing.T) {
	w := newWindow(t, health.OutcomeWindowConfig{})
	stats := w.Stats(dusk)
	if rate, known := stats.SuccessRate(); known || rate != 0 || stats.Samples() != 0 {
		t.Errorf("an empty window has the success rate %v of %d samples", rate, stats.Samples())
	}
	record(w, dusk, "sssfo")
	stats = w.Stats(dusk)
	if rate, known := stats.SuccessRate(); !known || rate != 0.6 || stats.Samples() != 5 {
		t.Errorf("the success rate is %v of %d samples", rate, stats.Samples())
	}
}

// Claim: A cancelled or unknown outcome changes nothing.
//
// Cases: B21, OW1.
func TestOutcomeWindow_IgnoresWhatIsNoObservation(t *testing.T) {
	w := newWindow(t, health.OutcomeWindowConfig{Capacity: 2, HalfLife: time.Second})
	record(w, dusk, "sf")
	before := w.Stats(dusk.Add(time.Minute))
	for range 100 {
		w.Record(poise.Cancelled, dusk.Add(time.Hour))
		w.Record(poise.Outcome(99), dusk.Add(time.Hour))
	}
	if after := w.Stats(dusk.Add(time.Minute)); after != before {
		t.Errorf("it holds %+v, before %+v", after, before)
	}
}

// Claim: The penalty is 0 while fewer than MinimumSamples observations are held.
//
// Cases: OW2.
func TestOutcomeWindow_HasNoPenaltyWithTooFewSamples(t *testing.T) {
	w := newWindow(t, health.OutcomeWindowConfig{Capacity: 4, MinimumSamples: 3, FailureWeight: 3})
	for i, want := range []float64{0, 0, 3, 3, 3} {
		record(w, dusk, "f")
		if got := w.Penalty(dusk); got != want {
			t.Errorf("after %d failures the penalty is %v, want %v", i+1, got, want)
		}
	}
	w.Clear()
	if got := w.Penalty(dusk); got != 0 {
		t.Errorf("after Clear the penalty is %v", got)
	}
}

// Claim: The weight of a failure is halved by each HalfLife that passes after it.
//
// Cases: G19.
func TestOutcomeWindow_ForgivesWhoWaits(t *testing.T) {
	w := newWindow(t, health.OutcomeWindowConfig{Capacity: 10, HalfLife: 10 * time.Second})
	record(w, dusk, "ffffffffff")
	for lives, want := range map[int]float64{0: 1, 1: 0.5, 2: 0.25, 10: 1.0 / 1024} {
		if got := w.Penalty(dusk.Add(time.Duration(lives) * 10 * time.Second)); !near(got, want, 1) {
			t.Errorf("after %d half-lives the penalty is %v, want %v", lives, got, want)
		}
	}
	// A call after a long wait counts itself alone: the old failures stay forgiven.
	later := dusk.Add(200 * time.Second)
	record(w, later, "s")
	if got := w.Penalty(later); got > 1e-5 {
		t.Errorf("a success after a long wait gives a penalty of %v", got)
	}
	record(w, later, "f")
	if got := w.Penalty(later); math.Abs(got-0.1) > 1e-5 {
		t.Errorf("one failure among ten calls gives a penalty of %v", got)
	}
	whole := newWindow(t, health.OutcomeWindowConfig{})
	record(whole, dusk, "f")
	if got := whole.Penalty(dusk.Add(1000 * time.Hour)); got != 1 {
		t.Errorf("without a half-life the penalty has become %v", got)
	}
}

// After centuries of half-lives a failure still ages as the first one did.
//
// Cases: B22.
func TestOutcomeWindow_AgesAfterALongWait(t *testing.T) {
	w := newWindow(t, health.OutcomeWindowConfig{Capacity: 2, HalfLife: 1})
	record(w, dusk, "f")
	now := dusk.Add(math.MaxInt64 - 4) // the last instants that a duration tells apart
	record(w, now, "f")
	now = now.Add(3)
	record(w, now, "f")
	now = now.Add(1)
	record(w, now, "s") // the failure that goes out weighs a sixteenth, the other a half
	if got := w.Penalty(now); got != 0.25 {
		t.Errorf("the penalty is %v, want 0.25", got)
	}
}

// What is subtracted when a failure goes out is what is left of it, so that
// nothing stays behind and nothing goes below 0.
//
// Cases: G19.
func TestOutcomeWindow_ForgetsExactlyWhatGoesOut(t *testing.T) {
	w := newWindow(t, health.OutcomeWindowConfig{Capacity: 3, HalfLife: time.Second})
	now := dusk
	for range 100_000 {
		record(w, now, "f")
		now = now.Add(37 * time.Millisecond)
	}
	record(w, now, "fff")
	if got := w.Penalty(now); !near(got, 1, 1) {
		t.Errorf("three new failures have a penalty of %v", got)
	}
	record(w, now, "sss")
	if got := w.Penalty(now); got != 0 {
		t.Errorf("three successes have a penalty of %v", got)
	}
}

// Claim: An instant before that of the last observation counts as that one.
//
// Claim: An instant more than ten half-lives before that of the last observation says that the clock was set back, and leaves none of the weights held before.
//
// Cases: B22.
func TestOutcomeWindow_SurvivesClockSteps(t *testing.T) {
	cfg := health.OutcomeWindowConfig{Capacity: 4, HalfLife: time.Second}
	for _, step := range []struct {
		back   time.Duration
		before float64 // the penalty when the clock has stepped
		after  float64 // and with one more failure
	}{
		{time.Nanosecond, 1, 1},
		{10 * time.Second, 1, 1},
		{10*time.Second + 1, 0, 0.5},
		{1000 * time.Hour, 0, 0.5},
		{math.MaxInt64, 0, 0.5},
	} {
		w := newWindow(t, cfg)
		record(w, dusk, "f")
		now := dusk.Add(-step.back)
		if got := w.Penalty(now); got != step.before {
			t.Errorf("%v back: the penalty is %v, want %v", step.back, got, step.before)
		}
		record(w, now, "f")
		if got := w.Penalty(now); got != step.after {
			t.Errorf("%v back: with one more failure it is %v, want %v", step.back, got, step.after)
		}
		// From the new instant on time passes as ever.
		if step.before == 0 {
			if got := w.Penalty(now.Add(time.Second)); got != step.after/2 {
				t.Errorf("%v back: a half-life later it is %v", step.back, got)
			}
		}
		record(w, now, "ssss")
		if got := w.Penalty(now); got != 0 {
			t.Errorf("%v back: four successes have a penalty of %v", step.back, got)
		}
	}
	w := newWindow(t, cfg)
	record(w, dusk, "ff")
	forward := dusk.Add(math.MaxInt64)
	record(w, forward, "s")
	if got := w.Penalty(forward); got != 0 {
		t.Errorf("a step forward leaves a penalty of %v", got)
	}
}

// Claim: Load is the penalty times FailureCost, rounded down, and ErrLoadOverflow from 2^64 on.
//
// Cases: OW4.
func TestOutcomeWindow_IsALoad(t *testing.T) {
	w := newWindow(t, health.OutcomeWindowConfig{Capacity: 3, FailureCost: 1000})
	if w.Unit() != poise.CostNanoseconds {
		t.Errorf("its unit is %v", w.Unit())
	}
	record(w, dusk, "fss")
	if load, err := w.Load(dusk); err != nil || load != 333 {
		t.Errorf("the load is %d, %v", load, err)
	}
	standard := newWindow(t, health.OutcomeWindowConfig{})
	record(standard, dusk, "f")
	if load, err := standard.Load(dusk); err != nil || load != uint64(5*time.Second) {
		t.Errorf("a failed call costs %d, %v", load, err)
	}
	huge := newWindow(t, health.OutcomeWindowConfig{FailureWeight: math.MaxUint32, FailureCost: 1 << 32})
	record(huge, dusk, "f")
	if _, err := huge.Load(dusk); err != nil {
		t.Errorf("just below 2^64 it answers %v", err)
	}
	exact := newWindow(t, health.OutcomeWindowConfig{FailureWeight: 4, FailureCost: 1 << 62})
	record(exact, dusk, "f")
	if load, err := exact.Load(dusk); !errors.Is(err, poise.ErrLoadOverflow) {
		t.Errorf("at 2^64 it answers %d, %v", load, err)
	}
	over := newWindow(t, health.OutcomeWindowConfig{FailureWeight: math.MaxUint32, FailureCost: math.MaxInt64})
	record(over, dusk, "f")
	if load, err := over.Load(dusk); !errors.Is(err, poise.ErrLoadOverflow) {
		t.Errorf("beyond 2^64 it answers %d, %v", load, err)
	}
}

// Claim: Clear empties the window.
func TestOutcomeWindow_Clears(t *testing.T) {
	for _, halfLife := range []time.Duration{0, time.Second} {
		w := newWindow(t, health.OutcomeWindowConfig{Capacity: 3, HalfLife: halfLife})
		record(w, dusk, "fofo")
		w.Clear()
		if got := w.Stats(dusk); got != (health.OutcomeStats{}) {
			t.Errorf("a cleared window holds %+v", got)
		}
		record(w, dusk, "sf")
		if got := w.Stats(dusk); got.Samples() != 2 || got.Penalty != 0.5 {
			t.Errorf("two outcomes later it holds %+v", got)
		}
	}
}

// A window of calls slides by one call at a time: the two that a person would
// confuse it with, a counter that a quiet spell clears and one that is wiped at
// fixed edges, are the twins that must fail. Seconds of the report are calls here;
// a window of seconds is the business of Circuit.
//
// Cases: B25.
func TestOutcomeWindow_SlidesWhereCountersJump(t *testing.T) {
	sparse := newWindow(t, health.OutcomeWindowConfig{Capacity: 4})
	record(sparse, dusk, "fsfsf")
	if got := sparse.Stats(dusk); got.Failures != 2 {
		t.Errorf("%d failures in the last four calls", got.Failures)
	}
	busy := newWindow(t, health.OutcomeWindowConfig{Capacity: 10_000})
	wiped, worst := 0, 0.0 // a counter that starts anew after each 10,000 calls, from 9,100 on
	calls := 0
	for call := range 19_100 {
		outcome := poise.Success
		if call >= 18_200 {
			outcome = poise.Failure
		}
		busy.Record(outcome, dusk)
		if stats := busy.Stats(dusk); stats.Samples() == 10_000 {
			worst = max(worst, stats.Penalty)
		}
		if call == 18_100 {
			wiped, calls = 0, 0
		}
		calls++
		if outcome == poise.Failure {
			wiped++
		}
	}
	if worst != 0.09 {
		t.Errorf("at worst %v of the calls failed, want 0.09", worst)
	}
	if share := float64(wiped) / float64(calls); share < 0.89 {
		t.Errorf("the counter with edges sees %v: the case does not tell them apart", share)
	}
}

// Cases: B31.
func TestNewOutcomeWindow_NamesTheFieldThatIsOutOfRange(t *testing.T) {
	for _, row := range []struct {
		field string
		cfg   health.OutcomeWindowConfig
	}{
		{"Capacity", health.OutcomeWindowConfig{Capacity: -1}},
		{"Capacity", health.OutcomeWindowConfig{Capacity: 1<<20 + 1}},
		{"MinimumSamples", health.OutcomeWindowConfig{MinimumSamples: -1}},
		{"MinimumSamples", health.OutcomeWindowConfig{MinimumSamples: 101}},
		{"MinimumSamples", health.OutcomeWindowConfig{Capacity: 2, MinimumSamples: 3}},
		{"HalfLife", health.OutcomeWindowConfig{HalfLife: -1}},
		{"FailureCost", health.OutcomeWindowConfig{FailureCost: -1}},
	} {
		_, err := health.NewOutcomeWindow(row.cfg, dusk)
		requireRefusal(t, err, row.field, health.ErrOutOfRange)
	}
	newWindow(t, health.OutcomeWindowConfig{Capacity: 1 << 20, MinimumSamples: 1 << 20, HalfLife: 1})
}

// requireRefusal requires err to be a FieldError of the sentinel that names the field.
func requireRefusal(t testing.TB, err error, field string, sentinel error) {
	t.Helper()
	var refused *poise.FieldError
	if !errors.As(err, &refused) || refused.Field != field || !errors.Is(err, sentinel) {
		t.Errorf("want %v for %s, got %v", sentinel, field, err)
	}
}
