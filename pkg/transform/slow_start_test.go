package transform_test

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/pkg/transform"
	"pgregory.net/rapid"
)

// ramp is a SlowStart and the Chain that it belongs to.
type ramp struct {
	*transform.SlowStart
	chain *transform.Chain
	again time.Time // what the last run returned
}

// newRamp returns a ramp. It refreshes at every instant where the config does not
// say otherwise.
func newRamp(t reporter, cfg transform.SlowStartConfig) *ramp {
	t.Helper()
	if cfg.Refresh == 0 {
		cfg.Refresh = 1
	}
	s, err := transform.NewSlowStart(cfg)
	if err != nil {
		t.Fatalf("NewSlowStart: %v", err)
	}
	return &ramp{SlowStart: s, chain: newChain(t, s)}
}

// apply returns the weights after a run, multiplied as they are while somebody
// warms up.
func (r *ramp) apply(t reporter, samples []poise.Sample, now time.Time) []uint32 {
	t.Helper()
	r.again = run(t, r.chain, samples, now)
	weights := make([]uint32, len(samples))
	for i, s := range r.chain.Samples() {
		weights[i] = s.Weight.Value()
	}
	return weights
}

// thousandths is apply where no weight is above 1000000, and always multiplied by
// 1000.
func (r *ramp) thousandths(t reporter, samples []poise.Sample, now time.Time) []uint32 {
	t.Helper()
	weights := r.apply(t, samples, now)
	if r.Warming() == 0 {
		for i := range weights {
			weights[i] *= 1000
		}
	}
	return weights
}

// Claim: A member that becomes eligible has the given fraction of its weight, rounded down to a step, until its window is over.
func TestSlowStart_GivesTheFractionOfTheWindow(t *testing.T) {
	for _, row := range []struct {
		name string
		cfg  transform.SlowStartConfig
		at   map[float64]uint32 // the weight of 3 at the second
	}{
		{"a straight line, at least a tenth", transform.SlowStartConfig{Window: 10 * time.Second},
			map[float64]uint32{0: 300, 0.5: 300, 1: 300, 1.5: 450, 3: 900, 3.3333: 999, 5: 1500, 9.9999: 2997, 10: 3000, 11: 3000}},
		{"at least a hundredth", transform.SlowStartConfig{Window: 10 * time.Second, MinPercent: 1},
			map[float64]uint32{0: 30, 0.05: 30, 0.2: 60, 10: 3000}},
		{"nothing to rise", transform.SlowStartConfig{Window: 10 * time.Second, MinPercent: 100},
			map[float64]uint32{0: 3000, 5: 3000, 10: 3000}},
		{"square root", transform.SlowStartConfig{Window: 100 * time.Second, Aggression: 2},
			map[float64]uint32{0: 300, 1: 300, 4: 600, 25: 1500, 36: 1800, 50: 2121, 81: 2700, 99: 2982}},
		{"square", transform.SlowStartConfig{Window: 10 * time.Second, Aggression: 0.5, MinPercent: 1},
			map[float64]uint32{1: 30, 5: 750, 9: 2430}},
		{"an hour", transform.SlowStartConfig{Window: time.Hour, MinPercent: 1},
			map[float64]uint32{36: 30, 72: 60, 1800: 1500, 3599.9: 2997}},
		{"a jump at once", transform.SlowStartConfig{Window: 10 * time.Second, Aggression: 1e6},
			map[float64]uint32{0: 300, 0.001: 2997}},
		{"a jump at the end", transform.SlowStartConfig{Window: 10 * time.Second, Aggression: 1e-6},
			map[float64]uint32{0: 300, 9.9: 300, 10: 3000}},
	} {
		for at, want := range row.at {
			s := newRamp(t, row.cfg)
			samples := weighing(t, 5, 3)
			s.thousandths(t, samples[:1], seconds(-5))
			s.thousandths(t, samples, seconds(0))
			if got := s.thousandths(t, samples, seconds(at)); !slices.Equal(got, []uint32{5000, want}) {
				t.Errorf("%s, second %v: weights %v, want 5000 and %d", row.name, at, got, want)
			}
		}
	}
}

// Claim: A member that becomes eligible again starts anew, and so does another incarnation.
//
// Cases: Q14.
func TestSlowStart_StartsAnewAtEachRecovery(t *testing.T) {
	s := newRamp(t, transform.SlowStartConfig{Window: 10 * time.Second})
	samples := weighing(t, 1, 1)
	check := func(at float64, what string, want uint32) {
		t.Helper()
		if got := s.thousandths(t, samples, seconds(at)); got[1] != want {
			t.Errorf("second %v, %s: weight %d, want %d", at, what, got[1], want)
		}
	}
	check(0, "everyone is new", 1000)
	samples[1].Excluded = poise.ExcludedUnhealthy
	check(20, "unhealthy", 1000)
	samples[1].Excluded = poise.NotExcluded
	check(30, "recovered", 100)
	check(35, "half the window", 500)
	samples[1].Status = poise.Draining
	check(36, "draining", 1000)
	samples[1].Status = poise.Ready
	check(37, "back", 100)
	check(50, "long after", 1000)
	samples[1].Incarnation++
	check(60, "another life", 100)
	check(70, "long after", 1000)
	gone := s.thousandths(t, samples[:1], seconds(80))
	if !slices.Equal(gone, []uint32{1000}) {
		t.Errorf("alone: %v", gone)
	}
	check(81, "back after an absence", 100)
	if s.Warming() != 1 {
		t.Errorf("%d are warming, want 1", s.Warming())
	}
	check(91, "long after", 1000)
	if s.Warming() != 0 {
		t.Errorf("%d are warming, want 0", s.Warming())
	}
}

// Claim: Members that become eligible when nobody who was eligible before still is have their full weight at once.
//
// Cases: Q14.
func TestSlowStart_SlowsNobodyWhenEveryoneIsNew(t *testing.T) {
	s := newRamp(t, transform.SlowStartConfig{Window: 10 * time.Second})
	samples := weighing(t, 1, 2)
	if got := s.thousandths(t, samples, seconds(0)); !slices.Equal(got, []uint32{1000, 2000}) || s.Warming() != 0 {
		t.Errorf("at the start: %v", got)
	}
	// A joins B, who has been there: also when B has not been there for long.
	more := append(weighing(t, 1, 2), poise.Sample{ID: "c"})
	if got := s.thousandths(t, more, seconds(1)); !slices.Equal(got, []uint32{1000, 2000, 100}) {
		t.Errorf("the third: %v", got)
	}
	for i := range more {
		more[i].Excluded = poise.ExcludedUnhealthy
	}
	s.thousandths(t, more, seconds(2))
	more[1].Excluded, more[2].Excluded = poise.NotExcluded, poise.NotExcluded
	if got := s.thousandths(t, more, seconds(3)); !slices.Equal(got, []uint32{1000, 2000, 1000}) {
		t.Errorf("after an outage of all: %v", got)
	}
	more[0].Excluded = poise.NotExcluded
	if got := s.thousandths(t, more, seconds(4)); !slices.Equal(got, []uint32{100, 2000, 1000}) {
		t.Errorf("the last to recover: %v", got)
	}
	// The one who was there is gone in the very step in which another comes.
	next := []poise.Sample{{ID: "d"}}
	if got := s.thousandths(t, next, seconds(5)); !slices.Equal(got, []uint32{1000}) {
		t.Errorf("all replaced: %v", got)
	}
	next[0].Excluded = poise.ExcludedUnhealthy
	next = append(next, poise.Sample{ID: "e"})
	if got := s.thousandths(t, next, seconds(6)); !slices.Equal(got, []uint32{1000, 1000}) {
		t.Errorf("one falls ill as another comes: %v", got)
	}
}

// Claim: While somebody warms up, all weights are multiplied by one factor, so that a fraction of a small weight is not lost: by Steps, or where the largest weight would not fit by a tenth of it or less, but at least by 1.
// Claim: A weight that SlowStart sets is never 0.
//
// Cases: E17.
func TestSlowStart_MultipliesAllWeightsByOneFactor(t *testing.T) {
	for _, row := range []struct {
		steps, heaviest, scaled, one, newcomer uint32
	}{
		{0, 4_294_967, 4_294_967_000, 1000, 100},
		{0, 4_294_968, 429_496_800, 100, 10},
		{0, 42_949_672, 4_294_967_200, 100, 10},
		{0, 42_949_673, 429_496_730, 10, 1},
		{0, 429_496_729, 4_294_967_290, 10, 1},
		{0, 429_496_730, 429_496_730, 1, 1},
		{0, math.MaxUint32, math.MaxUint32, 1, 1},
		{20, 7, 140, 20, 2},
		{5, 7, 35, 5, 1},
		{5, 858_993_459, math.MaxUint32, 5, 1},
		{5, 858_993_460, 858_993_460, 1, 1},
		{2, 1 << 31, 1 << 31, 1, 1},
		{250, 171_798_691, 4_294_967_275, 25, 2},
		{250, 171_798_692, 343_597_384, 2, 1},
		{250, math.MaxUint32, math.MaxUint32, 1, 1},
	} {
		s := newRamp(t, transform.SlowStartConfig{Window: 10 * time.Second, Steps: row.steps})
		samples := weighing(t, row.heaviest, 1, 1)
		s.apply(t, samples[:2], seconds(0))
		want := []uint32{row.scaled, row.one, row.newcomer}
		if got := s.apply(t, samples, seconds(0.5)); !slices.Equal(got, want) {
			t.Errorf("%+v: %v", row, got)
		}
		// A heavy one counts for the factor also while it is not eligible, so that its
		// recovery multiplies nobody anew.
		samples[0].Status = poise.Unavailable
		if got := s.apply(t, samples, seconds(0.6)); got[1] != row.one {
			t.Errorf("%+v, unavailable: %v", row, got)
		}
	}
}

// Claim: The common factor stays until nobody warms up, but that it falls where a larger weight would not fit.
//
// Cases: B97.
func TestSlowStart_KeepsTheFactorWhileSomebodyWarmsUp(t *testing.T) {
	s := newRamp(t, transform.SlowStartConfig{Window: 10 * time.Second})
	samples := weighing(t, 4_294_968, 1, 1)
	check := func(at float64, what string, elder, newcomer uint32) {
		t.Helper()
		if got := s.apply(t, samples, seconds(at)); got[1] != elder || got[2] != newcomer {
			t.Errorf("second %v, %s: %v, want %d and %d", at, what, got, elder, newcomer)
		}
	}
	samples[2].Status = poise.Unavailable
	check(0, "nobody warms up", 1, 1)
	samples[2].Status = poise.Ready
	check(1, "one by 1000 would not fit", 100, 10)
	samples[0].Weight = poise.Weight{}
	check(2, "a smaller one would fit more", 100, 10)
	samples[0].Weight = weightOf(t, 42_949_673)
	check(3, "a larger one would not fit", 10, 2)
	samples[0].Weight = poise.Weight{}
	check(6, "nor grows it again", 10, 5)
	check(11, "nobody warms up", 1, 1)
	samples[2].Incarnation++
	check(12, "the next one", 1000, 100)
}

// Claim: The fractions are those of one instant, which moves on when Refresh has passed and Edit is called; Edit asks to be called then.
// Claim: At the end of its window a member has its full weight, and Edit asks to be called then.
//
// Cases: B97.
func TestSlowStart_RefreshesAtTheStatedRateAndEndsOnTime(t *testing.T) {
	s := newRamp(t, transform.SlowStartConfig{Window: 10 * time.Second, Refresh: 4 * time.Second})
	samples := weighing(t, 1, 1, 1)
	check := func(at float64, what string, want []uint32, again float64) {
		t.Helper()
		got := s.thousandths(t, samples, seconds(at))
		if !slices.Equal(got, want) {
			t.Errorf("second %v, %s: %v, want %v", at, what, got, want)
		}
		if asked := s.again; again == 0 && !asked.IsZero() || again > 0 && !asked.Equal(seconds(again)) {
			t.Errorf("second %v, %s: asks for %v, want second %v", at, what, asked, again)
		}
	}
	samples[1].Status, samples[2].Status = poise.Unavailable, poise.Unavailable
	check(0, "everyone is new", []uint32{1000, 1000, 1000}, 0)
	samples[1].Status = poise.Ready
	check(1, "the second begins", []uint32{1000, 100, 1000}, 5)
	samples[0].Weight = weightOf(t, 2)
	check(4, "another change, too soon", []uint32{2000, 100, 1000}, 5)
	samples[2].Status = poise.Ready
	check(4.5, "the third begins, too soon", []uint32{2000, 100, 100}, 5)
	check(5, "on time", []uint32{2000, 400, 100}, 9)
	check(8.999, "too soon", []uint32{2000, 400, 100}, 9)
	check(9, "on time", []uint32{2000, 800, 450}, 11)
	check(11, "the window of the second", []uint32{2000, 1000, 450}, 13)
	check(14, "late", []uint32{2000, 1000, 950}, 14.5)
	check(14.5, "the window of the third", []uint32{2000, 1000, 1000}, 0)
	if s, err := transform.NewSlowStart(transform.SlowStartConfig{Window: 10 * time.Second}); err != nil {
		t.Fatal(err)
	} else { // the default is a twentieth
		c := newChain(t, s)
		run(t, c, samples[:1], seconds(0))
		if again := run(t, c, samples, seconds(1)); !again.Equal(seconds(1.5)) {
			t.Errorf("asks for %v", again)
		}
	}
}

// A newcomer comes to its full weight although nobody else ever changes: whoever
// runs the Chain when it asks to be run needs no other event.
//
// Cases: B97.
// With many that warm up, whose order nothing fixes, taking another end than the
// earliest is noticed at once.
func TestSlowStart_AsksForTheEarliestEnd(t *testing.T) {
	s := newRamp(t, transform.SlowStartConfig{Window: 10 * time.Second, Refresh: 4 * time.Second})
	samples := weighing(t, slices.Repeat([]uint32{1}, 41)...)
	for i := 1; i < len(samples); i++ {
		samples[i].Status = poise.Unavailable
	}
	s.thousandths(t, samples, seconds(0))
	for i := 1; i < len(samples); i++ {
		samples[i].Status = poise.Ready
		s.thousandths(t, samples, seconds(1+0.04*float64(i)))
	}
	s.thousandths(t, samples, seconds(5.1))
	for i := range 10 {
		s.thousandths(t, samples, seconds(9.2+0.001*float64(i)))
		if want := seconds(11.04); !s.again.Equal(want) {
			t.Fatalf("it asks for %v, want the first end, %v", s.again, want)
		}
	}
}

func TestSlowStart_NeedsNoOtherEvent_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "window"))
		refresh := max(1, window/time.Duration(rapid.Int64Range(1, 40).Draw(t, "refreshes")))
		s := newRamp(t, transform.SlowStartConfig{Window: window, Refresh: refresh})
		samples := weighing(t, 3, 3)
		run(t, s.chain, samples[:1], seconds(0))
		again, runs := run(t, s.chain, samples, seconds(0)), 0
		for !again.IsZero() {
			if runs++; runs > int(window/refresh)+1 {
				t.Fatalf("run %d times", runs)
			}
			if again.After(seconds(0).Add(window)) {
				t.Fatalf("asks for %v, after the window", again)
			}
			var err error
			if again, err = s.chain.Run(again); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.chain.Sample(1).Weight.Value(); got != 3 || s.Warming() != 0 {
			t.Fatalf("weight %d, %d are warming", got, s.Warming())
		}
	})
}

// Claim: While nobody warms up, no sample is edited.
// Claim: SlowStart changes nothing but weights.
func TestSlowStart_ChangesNothingButWeights(t *testing.T) {
	s := newRamp(t, transform.SlowStartConfig{Window: 10 * time.Second})
	full := poise.Sample{
		ID: "a", Incarnation: 3, Weight: weightOf(t, 2), Status: poise.Ready, Priority: 7, Locality: "east",
		LocalityWeight: weightOf(t, 5), PanicOptOut: true, Load: fixed(3), Excluded: poise.ExcludedCircuitOpen,
	}
	samples := []poise.Sample{full, {ID: "b"}, {ID: "c", Status: poise.Unavailable}}
	run(t, s.chain, samples, seconds(0))
	if got := s.chain.Samples(); !slices.Equal(got, samples) {
		t.Errorf("nobody warms up, and there is %+v", got)
	}
	samples[2].Status = poise.Ready
	run(t, s.chain, samples, seconds(1))
	want := slices.Clone(samples)
	want[0].Weight, want[1].Weight, want[2].Weight = weightOf(t, 2000), weightOf(t, 1000), weightOf(t, 100)
	if got := s.chain.Samples(); !slices.Equal(got, want) {
		t.Errorf("with a newcomer: %+v", got)
	}
	// Only the newcomer's sample changes from now on.
	run(t, s.chain, samples, seconds(4))
	if got := s.chain.Changed(); !slices.Equal(got, []int{2}) {
		t.Errorf("%v changed, want the newcomer alone", got)
	}
}

// Claim: The same calls give the same weights on every platform.
func TestSlowStart_BendsAsTheExactPower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// (age/window)^(1/aggression) >= k/1000 exactly if age/window >= (k/1000)^aggression,
		// which for whole aggressions is arithmetic of whole numbers.
		aggression := rapid.IntRange(1, 4).Draw(t, "aggression")
		window := rapid.Int64Range(1, int64(time.Hour)).Draw(t, "window")
		age := rapid.Int64Range(0, window-1).Draw(t, "age")
		s := newRamp(t, transform.SlowStartConfig{Window: time.Duration(window), Aggression: float64(aggression), MinPercent: 1})
		elder, young := poise.Sample{ID: "elder"}, poise.Sample{ID: "young"}
		s.thousandths(t, []poise.Sample{elder}, seconds(0))
		s.thousandths(t, []poise.Sample{elder, young}, seconds(0))
		got := s.thousandths(t, []poise.Sample{elder, young}, seconds(0).Add(time.Duration(age)))[1]
		reaches := func(k uint32) bool {
			left := new(big.Int).Exp(big.NewInt(1000), big.NewInt(int64(aggression)), nil)
			right := new(big.Int).Exp(big.NewInt(int64(k)), big.NewInt(int64(aggression)), nil)
			return left.Mul(left, big.NewInt(age)).Cmp(right.Mul(right, big.NewInt(window))) >= 0
		}
		want := uint32(10)
		for k := uint32(11); k < 1000 && reaches(k); k++ {
			want = k
		}
		if got != want {
			t.Fatalf("%d of %d, aggression %d: %d thousandths, want %d", age, window, aggression, got, want)
		}
	})
}

// Frozen weights: another platform or version must give these very numbers.
func TestSlowStart_WeightsAreFrozen(t *testing.T) {
	for _, row := range []struct {
		aggression float64
		want       []uint32 // after 1, 2, 3, 5, 7, 11 and 13 of 17 seconds, of a weight of 1
	}{
		{0.3, []uint32{10, 10, 10, 16, 51, 234, 408}},
		{0.7, []uint32{17, 47, 83, 174, 281, 536, 681}},
		{1.5, []uint32{151, 240, 314, 442, 553, 748, 836}},
		{math.Pi, []uint32{405, 506, 575, 677, 753, 870, 918}},
	} {
		s := newRamp(t, transform.SlowStartConfig{Window: 17 * time.Second, Aggression: row.aggression, MinPercent: 1})
		elder := []poise.Sample{{ID: "elder"}, {ID: "young"}}
		s.thousandths(t, elder[:1], seconds(0))
		s.thousandths(t, elder, seconds(0))
		var got []uint32
		for _, at := range []float64{1, 2, 3, 5, 7, 11, 13} {
			got = append(got, s.thousandths(t, elder, seconds(at))[1])
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("aggression %v: %v, want %v", row.aggression, got, row.want)
		}
	}
	// A logarithm that is short of the step by the slack exactly reaches it.
	s := newRamp(t, transform.SlowStartConfig{Window: 1000, Aggression: 7.9657842846606455, MinPercent: 1})
	samples := []poise.Sample{{ID: "elder"}, {ID: "young"}}
	s.thousandths(t, samples[:1], seconds(0))
	s.thousandths(t, samples, seconds(0))
	if got := s.thousandths(t, samples, seconds(0).Add(4))[1]; got != 500 {
		t.Errorf("4 of 1000 nanoseconds: %d thousandths, want 500", got)
	}
}

// A clock that steps back costs at most one window more, and one that steps
// forward ends it; a window that is over stays over.
//
// Cases: B22.
func TestSlowStart_ClockStepsFreezeNobody(t *testing.T) {
	s := newRamp(t, transform.SlowStartConfig{Window: 10 * time.Second})
	samples := weighing(t, 1, 1)
	s.thousandths(t, samples[:1], seconds(0))
	for _, row := range []struct {
		at   float64
		want uint32
	}{
		{100, 100}, {105, 500}, {-3600, 100}, {-3595, 500}, {-3590, 1000}, {-7200, 1000}, {5000, 1000},
	} {
		if got := s.thousandths(t, samples, seconds(row.at))[1]; got != row.want {
			t.Errorf("second %v: weight %d, want %d", row.at, got, row.want)
		}
	}
}

// A member that was not eligible takes nobody's place when it leaves: the next
// newcomer still finds somebody who was there.
func TestSlowStart_CountsOnlyTheEligibleWhoLeave(t *testing.T) {
	s := newRamp(t, transform.SlowStartConfig{Window: 10 * time.Second})
	samples := weighing(t, 1, 1, 1)
	samples[1].Status = poise.Unavailable
	s.thousandths(t, samples[:2], seconds(0))
	s.thousandths(t, samples[:1], seconds(1))
	if got := s.thousandths(t, []poise.Sample{samples[0], samples[2]}, seconds(2)); !slices.Equal(got, []uint32{1000, 100}) {
		t.Errorf("a newcomer after one who was never eligible left: %v", got)
	}
}

// The least windows: of a nanosecond each.
func TestSlowStart_TakesTheLeastSteps(t *testing.T) {
	s := newRamp(t, transform.SlowStartConfig{Window: 4})
	samples := weighing(t, 1, 1)
	s.thousandths(t, samples[:1], seconds(0))
	for age, want := range []uint32{100, 250, 500, 750, 1000} {
		if got := s.thousandths(t, samples, seconds(0).Add(time.Duration(age)))[1]; got != want {
			t.Errorf("%d of 4 nanoseconds: %d thousandths, want %d", age, got, want)
		}
	}
	plain, err := transform.NewSlowStart(transform.SlowStartConfig{Window: 10}) // a twentieth is none
	if err != nil {
		t.Fatal(err)
	}
	c := newChain(t, plain)
	run(t, c, samples[:1], seconds(0))
	if again := run(t, c, samples, seconds(0)); !again.Equal(seconds(0).Add(1)) {
		t.Errorf("asks for %v", again)
	}
	few := newRamp(t, transform.SlowStartConfig{Window: 10 * time.Second, Steps: 5})
	samples = weighing(t, 7, 7)
	few.apply(t, samples[:1], seconds(0))
	for _, at := range []float64{0, 1} {
		if got := few.apply(t, samples, seconds(at)); !slices.Equal(got, []uint32{35, 1}) {
			t.Errorf("second %v, before the first of five steps: %v", at, got)
		}
	}
}

// What a constructor refuses names the range that it takes.
func TestConstructors_NameTheRange(t *testing.T) {
	slow := func(cfg transform.SlowStartConfig) error {
		if cfg.Window == 0 {
			cfg.Window = time.Second
		}
		_, err := transform.NewSlowStart(cfg)
		return err
	}
	_, noSubset := transform.NewSubset(transform.SubsetConfig{})
	_, noPreference := transform.NewZonePreference(transform.ZonePreferenceConfig{MinPercent: 101})
	for field, row := range map[string]struct {
		err  error
		want poise.RangeError
	}{
		"Window":             {slow(transform.SlowStartConfig{Window: -1}), poise.RangeError{Min: time.Duration(1)}},
		"Aggression":         {slow(transform.SlowStartConfig{Aggression: -1}), poise.RangeError{Min: math.SmallestNonzeroFloat64, Max: math.MaxFloat64}},
		"MinPercent":         {slow(transform.SlowStartConfig{MinPercent: 101}), poise.RangeError{Max: uint32(100)}},
		"Refresh":            {slow(transform.SlowStartConfig{Refresh: -1}), poise.RangeError{Min: time.Duration(0)}},
		"Steps":              {slow(transform.SlowStartConfig{Steps: 1001}), poise.RangeError{Max: uint32(1000)}},
		"Size":               {noSubset, poise.RangeError{Min: 1}},
		"MinPercent of zone": {noPreference, poise.RangeError{Max: uint32(100)}},
	} {
		var got *poise.RangeError
		if !errors.As(row.err, &got) || *got != row.want {
			t.Errorf("%s: %v, want %v", field, row.err, &row.want)
		}
	}
}

func TestNewSlowStart_RefusesWhatIsOutOfRange(t *testing.T) {
	for _, row := range []struct {
		field string
		cfg   transform.SlowStartConfig
		err   error
	}{
		{"Window", transform.SlowStartConfig{}, poise.ErrOutOfRange},
		{"Window", transform.SlowStartConfig{Window: -1}, poise.ErrOutOfRange},
		{"Aggression", transform.SlowStartConfig{Window: 1, Aggression: -1}, poise.ErrOutOfRange},
		{"Aggression", transform.SlowStartConfig{Window: 1, Aggression: math.NaN()}, poise.ErrOutOfRange},
		{"Aggression", transform.SlowStartConfig{Window: 1, Aggression: math.Inf(-1)}, poise.ErrOutOfRange},
		{"Aggression", transform.SlowStartConfig{Window: 1, Aggression: math.Inf(1)}, poise.ErrOutOfRange},
		{"MinPercent", transform.SlowStartConfig{Window: 1, MinPercent: 101}, poise.ErrOutOfRange},
		{"Refresh", transform.SlowStartConfig{Window: 1, Refresh: -1}, poise.ErrOutOfRange},
		{"Steps", transform.SlowStartConfig{Window: 1, Steps: 1001}, poise.ErrOutOfRange},
	} {
		s, err := transform.NewSlowStart(row.cfg)
		if s != nil {
			t.Errorf("%+v: a SlowStart came with the error", row.cfg)
		}
		checkFieldError(t, row.field, err, row.field, row.err)
	}
	if _, err := transform.NewSlowStart(transform.SlowStartConfig{Window: 1, Aggression: math.MaxFloat64, MinPercent: 100, Steps: 1}); err != nil {
		t.Errorf("legal extremes: %v", err)
	}
}

// Cases: B51 (b).
func TestSlowStart_RampsSmoothWeightedRoundRobin(t *testing.T) {
	byHand := counts(t, func(step int) []poise.Sample { return weighing(t, 10, uint32(step)) })
	for _, third := range []bool{false, true} {
		s := newRamp(t, transform.SlowStartConfig{Window: 10 * time.Second})
		run(t, s.chain, weighing(t, 10), seconds(-1))
		ramped := counts(t, func(step int) []poise.Sample {
			samples := weighing(t, 10, 10, 10)
			if !third || step < 5 {
				samples = samples[:2]
			}
			if step == 1 { // the newcomer joins at second 0
				run(t, s.chain, samples, seconds(0))
			}
			run(t, s.chain, samples, seconds(float64(step)))
			return s.chain.Samples()
		})
		for k := range ramped {
			step := k + 1
			if exact := 220 * float64(step) / (10 + float64(step)); !third && math.Abs(float64(ramped[k][1])-exact) > 2 {
				t.Errorf("step %d: the newcomer got %d of 220 picks, want %.1f within 2", step, ramped[k][1], exact)
			}
			if off := ramped[k][1] - byHand[k][1]; off > 3 || !third && off < -3 {
				t.Errorf("step %d: %d picks, by hand %d", step, ramped[k][1], byHand[k][1])
			}
		}
	}
}

// counts makes 220 picks of SmoothWeightedRoundRobin at each of ten steps, and
// returns how often each member was picked.
func counts(t *testing.T, list func(step int) []poise.Sample) [][]int {
	t.Helper()
	var result [][]int
	p := new(policy.SmoothWeightedRoundRobin)
	for step := 1; step <= 10; step++ {
		var candidates []poise.Candidate
		for _, s := range list(step) {
			candidates = append(candidates, s)
		}
		v, err := poise.NewView(candidates)
		if err != nil {
			t.Fatal(err)
		}
		picker, err := p.Prepare(v)
		if err != nil {
			t.Fatal(err)
		}
		picks := make([]int, v.Len())
		for range 220 {
			selection, err := picker.Pick(poise.Query{})
			if err != nil {
				t.Fatal(err)
			}
			i, err := v.Index(selection)
			if err != nil {
				t.Fatal(err)
			}
			picks[i]++
		}
		result = append(result, picks)
	}
	return result
}

func TestSlowStart_Bounds_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := transform.SlowStartConfig{
			Window:     time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "window")),
			Aggression: rapid.Float64Range(0.1, 10).Draw(t, "aggression"),
			MinPercent: rapid.Uint32Range(1, 100).Draw(t, "minimum"),
		}
		s := newRamp(t, cfg)
		samples := []poise.Sample{{ID: "elder", Weight: weightOf(t, 7)}, {ID: "young", Weight: weightOf(t, 7)}}
		s.thousandths(t, samples[:1], seconds(0))
		last := uint32(0)
		age := time.Duration(0)
		for range 12 {
			got := s.thousandths(t, samples, seconds(0).Add(age))
			if got[0] != 7000 || got[1] < last || got[1] > 7000 || got[1] < 70*cfg.MinPercent {
				t.Fatalf("at %v: %v after %d", age, got, last)
			}
			if done := age >= cfg.Window; done != (s.Warming() == 0) || done && got[1] != 7000 {
				t.Fatalf("at %v of %v: %v, %d warming", age, cfg.Window, got, s.Warming())
			}
			last = got[1]
			age += time.Duration(rapid.Int64Range(0, int64(cfg.Window)/3+1).Draw(t, "step"))
		}
	})
}
