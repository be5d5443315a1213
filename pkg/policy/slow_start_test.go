package policy_test

import (
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"pgregory.net/rapid"
)

func newSlowStart(t reporter, cfg policy.SlowStartConfig) *policy.SlowStart {
	t.Helper()
	s, err := policy.NewSlowStart(cfg)
	if err != nil {
		t.Fatalf("NewSlowStart: %v", err)
	}
	return s
}

// seconds is an instant so many seconds after an arbitrary one.
func seconds(s float64) time.Time {
	return time.Unix(1_000_000, 0).Add(time.Duration(s * float64(time.Second)))
}

// candidatesOf are the samples as candidates.
func candidatesOf(samples []poise.Sample) []poise.Candidate {
	candidates := make([]poise.Candidate, len(samples))
	for i := range samples {
		candidates[i] = samples[i]
	}
	return candidates
}

// applied returns the weights after Apply.
func applied(s *policy.SlowStart, samples []poise.Sample, now time.Time) []uint32 {
	weights := make([]uint32, 0, len(samples))
	for _, c := range s.Apply(candidatesOf(samples), now) {
		weights = append(weights, c.Sample().Weight.Value())
	}
	return weights
}

// Claim: A candidate that becomes eligible has the given fraction of its weight, rounded down to a thousandth, until its window is over.
func TestSlowStart_GivesTheFractionOfTheWindow(t *testing.T) {
	for _, row := range []struct {
		name string
		cfg  policy.SlowStartConfig
		at   map[float64]uint32 // the weight of 3 at the second
	}{
		{"a straight line, at least a tenth", policy.SlowStartConfig{Window: 10 * time.Second},
			map[float64]uint32{0: 300, 0.5: 300, 1: 300, 1.5: 450, 3: 900, 3.3333: 999, 5: 1500, 9.9999: 2997, 10: 3000, 11: 3000}},
		{"at least a hundredth", policy.SlowStartConfig{Window: 10 * time.Second, MinPercent: 1},
			map[float64]uint32{0: 30, 0.05: 30, 0.2: 60, 10: 3000}},
		{"nothing to rise", policy.SlowStartConfig{Window: 10 * time.Second, MinPercent: 100},
			map[float64]uint32{0: 3000, 5: 3000, 10: 3000}},
		{"square root", policy.SlowStartConfig{Window: 100 * time.Second, Aggression: 2},
			map[float64]uint32{0: 300, 1: 300, 4: 600, 25: 1500, 36: 1800, 50: 2121, 81: 2700, 99: 2982}},
		{"square", policy.SlowStartConfig{Window: 10 * time.Second, Aggression: 0.5, MinPercent: 1},
			map[float64]uint32{1: 30, 5: 750, 9: 2430}},
		{"an hour", policy.SlowStartConfig{Window: time.Hour, MinPercent: 1},
			map[float64]uint32{36: 30, 72: 60, 1800: 1500, 3599.9: 2997}},
		{"a jump at once", policy.SlowStartConfig{Window: 10 * time.Second, Aggression: 1e6},
			map[float64]uint32{0: 300, 0.001: 2997}},
		{"a jump at the end", policy.SlowStartConfig{Window: 10 * time.Second, Aggression: 1e-6},
			map[float64]uint32{0: 300, 9.9: 300, 10: 3000}},
	} {
		for at, want := range row.at {
			s := newSlowStart(t, row.cfg)
			samples := weighing(t, 5, 3)
			applied(s, samples[:1], seconds(-5))
			applied(s, samples, seconds(0))
			if got := applied(s, samples, seconds(at)); !slices.Equal(got, []uint32{5000, want}) {
				t.Errorf("%s, second %v: weights %v, want 5000 and %d", row.name, at, got, want)
			}
		}
	}
}

// Claim: A candidate that becomes eligible again starts anew, and so does another incarnation.
//
// Cases: Q14.
func TestSlowStart_StartsAnewAtEachRecovery(t *testing.T) {
	s := newSlowStart(t, policy.SlowStartConfig{Window: 10 * time.Second})
	samples := weighing(t, 1, 1)
	check := func(at float64, what string, want uint32) {
		t.Helper()
		if got := applied(s, samples, seconds(at)); got[1] != want {
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
	gone := applied(s, samples[:1], seconds(80))
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

// Claim: Candidates that become eligible when no other was eligible before have their full weight at once.
//
// Cases: Q14.
func TestSlowStart_SlowsNobodyWhenEveryoneIsNew(t *testing.T) {
	s := newSlowStart(t, policy.SlowStartConfig{Window: 10 * time.Second})
	samples := weighing(t, 1, 2)
	if got := applied(s, samples, seconds(0)); !slices.Equal(got, []uint32{1000, 2000}) || s.Warming() != 0 {
		t.Errorf("at the start: %v", got)
	}
	// A joins B, who has been there: also when B has not been there for long.
	more := append(weighing(t, 1, 2), poise.Sample{ID: "c"})
	if got := applied(s, more, seconds(1)); !slices.Equal(got, []uint32{1000, 2000, 100}) {
		t.Errorf("the third: %v", got)
	}
	for i := range more {
		more[i].Excluded = poise.ExcludedUnhealthy
	}
	applied(s, more, seconds(2))
	more[1].Excluded, more[2].Excluded = poise.NotExcluded, poise.NotExcluded
	if got := applied(s, more, seconds(3)); !slices.Equal(got, []uint32{1000, 2000, 1000}) {
		t.Errorf("after an outage of all: %v", got)
	}
	more[0].Excluded = poise.NotExcluded
	if got := applied(s, more, seconds(4)); !slices.Equal(got, []uint32{100, 2000, 1000}) {
		t.Errorf("the last to recover: %v", got)
	}
	// The one who was there is gone in the very step in which another comes.
	next := []poise.Sample{{ID: "d"}}
	if got := applied(s, next, seconds(5)); !slices.Equal(got, []uint32{1000}) {
		t.Errorf("all replaced: %v", got)
	}
	next[0].Excluded = poise.ExcludedUnhealthy
	next = append(next, poise.Sample{ID: "e"})
	if got := applied(s, next, seconds(6)); !slices.Equal(got, []uint32{1000, 1000}) {
		t.Errorf("one falls ill as another comes: %v", got)
	}
}

// Claim: All weights are scaled by one factor, so that a fraction of a small weight is not lost: by 1000, or by 100, 10 or 1 where the largest weight would not fit.
// Claim: A scaled weight is never 0.
//
// Cases: E17.
func TestSlowStart_ScalesAllWeightsByOneFactor(t *testing.T) {
	for _, row := range []struct {
		heaviest, scaled, one, newcomer uint32
	}{
		{4_294_967, 4_294_967_000, 1000, 100},
		{4_294_968, 429_496_800, 100, 10},
		{42_949_672, 4_294_967_200, 100, 10},
		{42_949_673, 429_496_730, 10, 1},
		{429_496_729, 4_294_967_290, 10, 1},
		{429_496_730, 429_496_730, 1, 1},
		{math.MaxUint32, math.MaxUint32, 1, 1},
	} {
		s := newSlowStart(t, policy.SlowStartConfig{Window: 10 * time.Second})
		samples := weighing(t, row.heaviest, 1, 1)
		applied(s, samples[:2], seconds(0))
		want := []uint32{row.scaled, row.one, row.newcomer}
		if got := applied(s, samples, seconds(0.5)); !slices.Equal(got, want) {
			t.Errorf("heaviest %d: %v, want %v", row.heaviest, got, want)
		}
		// A heavy one counts for the factor also while it is not eligible, so that
		// its recovery rescales nobody.
		samples[0].Status = poise.Unavailable
		if got := applied(s, samples, seconds(0.6)); got[1] != row.one {
			t.Errorf("heaviest %d, unavailable: %v", row.heaviest, got)
		}
	}
}

// asked counts how often it is asked.
type asked struct {
	sample poise.Sample
	times  *int
}

func (a asked) Sample() poise.Sample {
	*a.times++
	return a.sample
}

// Claim: Apply changes nothing but weights and asks each Candidate for its Sample exactly once.
func TestSlowStart_ChangesNothingButWeights(t *testing.T) {
	s := newSlowStart(t, policy.SlowStartConfig{Window: 10 * time.Second})
	times := 0
	full := poise.Sample{
		ID: "a", Incarnation: 3, Weight: weightOf(t, 2), Status: poise.Ready, Priority: 7, Locality: "east",
		LocalityWeight: weightOf(t, 5), PanicOptOut: true, Load: fixed(3), Excluded: poise.ExcludedCircuitOpen,
	}
	got := s.Apply([]poise.Candidate{asked{full, &times}, nil, poise.Sample{ID: "b"}}, seconds(0))
	want := full
	want.Weight = weightOf(t, 2000)
	if len(got) != 3 || got[1] != nil || got[0].Sample() != want || got[2].Sample().ID != "b" {
		t.Errorf("applied: %+v", got)
	}
	if _, err := poise.NewView(got); err == nil {
		t.Error("a nil candidate passed")
	}
	if times != 1 {
		t.Errorf("the candidate was asked %d times", times)
	}
	if got := s.Apply(nil, seconds(1)); len(got) != 0 {
		t.Errorf("nobody became %v", got)
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
		s := newSlowStart(t, policy.SlowStartConfig{Window: time.Duration(window), Aggression: float64(aggression), MinPercent: 1})
		elder, young := poise.Sample{ID: "elder"}, poise.Sample{ID: "young"}
		applied(s, []poise.Sample{elder}, seconds(0))
		applied(s, []poise.Sample{elder, young}, seconds(0))
		got := applied(s, []poise.Sample{elder, young}, seconds(0).Add(time.Duration(age)))[1]
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
		s := newSlowStart(t, policy.SlowStartConfig{Window: 17 * time.Second, Aggression: row.aggression, MinPercent: 1})
		elder := []poise.Sample{{ID: "elder"}, {ID: "young"}}
		applied(s, elder[:1], seconds(0))
		applied(s, elder, seconds(0))
		var got []uint32
		for _, at := range []float64{1, 2, 3, 5, 7, 11, 13} {
			got = append(got, applied(s, elder, seconds(at))[1])
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("aggression %v: %v, want %v", row.aggression, got, row.want)
		}
	}
}

// A clock that steps back costs at most one window more, and one that steps
// forward ends it; a window that is over stays over.
//
// Cases: B22.
func TestSlowStart_ClockStepsFreezeNobody(t *testing.T) {
	s := newSlowStart(t, policy.SlowStartConfig{Window: 10 * time.Second})
	samples := weighing(t, 1, 1)
	applied(s, samples[:1], seconds(0))
	for _, row := range []struct {
		at   float64
		want uint32
	}{
		{100, 100}, {105, 500}, {-3600, 100}, {-3595, 500}, {-3590, 1000}, {-7200, 1000}, {5000, 1000},
	} {
		if got := applied(s, samples, seconds(row.at))[1]; got != row.want {
			t.Errorf("second %v: weight %d, want %d", row.at, got, row.want)
		}
	}
}

func TestNewSlowStart_RefusesWhatIsOutOfRange(t *testing.T) {
	for _, row := range []struct {
		field string
		cfg   policy.SlowStartConfig
		err   error
	}{
		{"Window", policy.SlowStartConfig{}, poise.ErrTooSmall},
		{"Window", policy.SlowStartConfig{Window: -1}, poise.ErrTooSmall},
		{"Aggression", policy.SlowStartConfig{Window: 1, Aggression: -1}, poise.ErrTooSmall},
		{"Aggression", policy.SlowStartConfig{Window: 1, Aggression: math.NaN()}, poise.ErrTooSmall},
		{"Aggression", policy.SlowStartConfig{Window: 1, Aggression: math.Inf(-1)}, poise.ErrTooSmall},
		{"Aggression", policy.SlowStartConfig{Window: 1, Aggression: math.Inf(1)}, poise.ErrTooLarge},
		{"MinPercent", policy.SlowStartConfig{Window: 1, MinPercent: 101}, poise.ErrTooLarge},
	} {
		s, err := policy.NewSlowStart(row.cfg)
		if s != nil {
			t.Errorf("%+v: a SlowStart came with the error", row.cfg)
		}
		checkFieldError(t, row.field, err, row.field, row.err)
	}
	if _, err := policy.NewSlowStart(policy.SlowStartConfig{Window: 1, Aggression: math.MaxFloat64, MinPercent: 100}); err != nil {
		t.Errorf("legal extremes: %v", err)
	}
}

// Cases: B51 (b).
func TestSlowStart_RampsSmoothWeightedRoundRobin(t *testing.T) {
	byHand := ramp(t, new(policy.SmoothWeightedRoundRobin), func(step int) []poise.Sample {
		return weighing(t, 10, uint32(step))
	})
	for _, third := range []bool{false, true} {
		s := newSlowStart(t, policy.SlowStartConfig{Window: 10 * time.Second})
		applied(s, weighing(t, 10), seconds(-1))
		counts := ramp(t, new(policy.SmoothWeightedRoundRobin), func(step int) []poise.Sample {
			samples := weighing(t, 10, 10, 10)
			if !third || step < 5 {
				samples = samples[:2]
			}
			if step == 1 { // the newcomer joins at second 0
				s.Apply(candidatesOf(samples), seconds(0))
			}
			var scaled []poise.Sample
			for _, c := range s.Apply(candidatesOf(samples), seconds(float64(step))) {
				scaled = append(scaled, c.Sample())
			}
			return scaled
		})
		for k := range counts {
			step := k + 1
			if !third {
				checkRamp(t, step, counts[k], 2)
				if off := counts[k][1] - byHand[k][1]; off < -3 || off > 3 {
					t.Errorf("step %d: %d picks, by hand %d", step, counts[k][1], byHand[k][1])
				}
			} else if counts[k][1] > byHand[k][1]+3 {
				t.Errorf("step %d: another newcomer raises the first's picks from %d to %d", step, byHand[k][1], counts[k][1])
			}
		}
	}
}

func TestSlowStart_Bounds_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := policy.SlowStartConfig{
			Window:     time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "window")),
			Aggression: rapid.Float64Range(0.1, 10).Draw(t, "aggression"),
			MinPercent: rapid.Uint32Range(1, 100).Draw(t, "minimum"),
		}
		s := newSlowStart(t, cfg)
		samples := []poise.Sample{{ID: "elder", Weight: weightOf(t, 7)}, {ID: "young", Weight: weightOf(t, 7)}}
		applied(s, samples[:1], seconds(0))
		last := uint32(0)
		age := time.Duration(0)
		for range 12 {
			got := applied(s, samples, seconds(0).Add(age))
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
