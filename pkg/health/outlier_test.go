package health_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/health"
)

func newDetector(t testing.TB, cfg health.OutlierConfig) *health.OutlierDetector {
	t.Helper()
	d, err := health.NewOutlierDetector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// did returns the observation of a member with so many successes and failures.
func did(successes, failures uint64) health.OutlierObservation {
	return health.OutlierObservation{Successes: successes, Failures: failures}
}

// rated returns members that had 100 calls each, at these success rates in percent.
func rated(percents ...uint64) (members []health.OutlierObservation) {
	for _, p := range percents {
		members = append(members, did(p, 100-p))
	}
	return members
}

// indices returns whom a report names, in its order.
func indices(r health.OutlierReport) (found []int) {
	for _, o := range r.Outliers {
		found = append(found, o.Index)
	}
	return found
}

// compareOnly leaves the comparison alone, without a floor, so that the published
// figures apply.
func compareOnly(cfg health.OutlierConfig) health.OutlierConfig {
	cfg.SuccessFloor = 1
	cfg.Off = health.FailureShare | health.FailuresInRow | health.GatewayFailuresInRow | health.LocalFailuresInRow
	return cfg
}

// mere stands for a factor of 0, which is the default: every rate below the mean
// is then below the bar.
const mere = math.SmallestNonzeroFloat64

// Claim: Outliers are listed by success rate and then by index, and cut at the limits.
//
// Cases: OD1, OD2, OD3, OD4 and the vectors of the sibling.
func TestOutlierDetector_AgreesWithPublishedFigures(t *testing.T) {
	four := []health.OutlierObservation{did(10, 0), did(10, 0), did(10, 0), did(10, 0), did(0, 10)}
	for _, row := range []struct {
		name                 string
		cfg                  health.OutlierConfig
		members              []health.OutlierObservation
		mean, deviation, bar float64
		outliers             []int
	}{
		{"one dead of five, factor 1", health.OutlierConfig{MinimumSamples: 10, Factor: 1, MaxEjectedPercent: 100},
			four, 0.8, 0.4, 0.4, []int{4}},
		{"factor 1.9", health.OutlierConfig{MinimumSamples: 10},
			four, 0.8, 0.4, 0.040000000000000036, []int{4}},
		{"a limit that rounds down to none lets one go", health.OutlierConfig{MinimumSamples: 10, MaxEjectedPercent: 10},
			four, 0.8, 0.4, 0.040000000000000036, []int{4}},
		{"cut at 40 percent", health.OutlierConfig{Factor: mere, MaxEjectedPercent: 40},
			rated(100, 90, 80, 70, 60), 0.8, 0.14142135623730953, 0.8, []int{4, 3}},
		{"cut at four healthy", health.OutlierConfig{Factor: mere, MaxEjectedPercent: 100, MinimumHealthy: 4},
			rated(100, 90, 80, 70, 60), 0.8, 0.14142135623730953, 0.8, []int{4}},
		{"equal rates in order", health.OutlierConfig{Factor: mere, MaxEjectedPercent: 40},
			rated(100, 100, 50, 50, 50), 0.7, 0.2449489742783178, 0.7, []int{2, 3}},
		{"uniform", health.OutlierConfig{Factor: mere, MaxEjectedPercent: 100},
			rated(100, 100, 100, 100, 100), 1, 0, 1, nil},
		{"Envoy: 200 of 200 four times, 200 of 400 once", health.OutlierConfig{MinimumSamples: 100},
			[]health.OutlierObservation{did(200, 0), did(200, 0), did(200, 0), did(200, 0), did(200, 200)}, 0.9, 0.2, 0.52, []int{4}},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newDetector(t, compareOnly(row.cfg)).Detect(row.members, health.OutlierReport{})
			if !r.Compared || r.Considered != 5 {
				t.Fatalf("compared is %t over %d members", r.Compared, r.Considered)
			}
			if got := indices(r); !slices.Equal(got, row.outliers) {
				t.Errorf("outliers are %v, want %v", got, row.outliers)
			}
			for what, pair := range map[string][2]float64{
				"mean": {r.Mean, row.mean}, "deviation": {r.Deviation, row.deviation}, "bar": {r.Bar, row.bar},
			} {
				if math.Abs(pair[0]-pair[1]) > 1e-15 {
					t.Errorf("the %s is %v, want %v", what, pair[0], pair[1])
				}
			}
			for i := range row.members {
				if r.IsOutlier(i) != slices.Contains(row.outliers, i) {
					t.Errorf("IsOutlier(%d) is %t", i, r.IsOutlier(i))
				}
			}
		})
	}
}

// Claim: A rate counts only with MinimumSamples samples or more, and only of a member that serves.
//
// Claim: Rates are compared only if MinimumMembers of them count.
//
// Cases: OD1.
func TestOutlierDetector_ComparesOnlyWithEnough(t *testing.T) {
	d := newDetector(t, compareOnly(health.OutlierConfig{MinimumSamples: 100, MinimumMembers: 5}))
	members := rated(100, 100, 100, 100, 0)
	if got := indices(d.Detect(members, health.OutlierReport{})); !slices.Equal(got, []int{4}) {
		t.Fatalf("with enough of everything the outliers are %v", got)
	}
	for _, row := range []struct {
		name   string
		change func(m *health.OutlierObservation)
	}{
		{"one sample too few", func(m *health.OutlierObservation) { m.Successes-- }},
		{"one member is ejected", func(m *health.OutlierObservation) { m.Ejected = true }},
		{"one member is unavailable", func(m *health.OutlierObservation) { m.Unavailable = true }},
		{"one member has no samples", func(m *health.OutlierObservation) { *m = health.OutlierObservation{} }},
	} {
		few := slices.Clone(members)
		row.change(&few[0])
		if r := d.Detect(few, health.OutlierReport{}); r.Considered != 4 || r.Compared || r.Mean != 0 || r.Bar != 0 || len(r.Outliers) != 0 {
			t.Errorf("%s: %+v", row.name, r)
		}
	}
	if r := d.Detect(nil, health.OutlierReport{}); r.Considered != 0 || len(r.Outliers) != 0 || r.Spared != 0 {
		t.Errorf("of nobody: %+v", r)
	}
}

// An idle member has no rate, and so it moves neither the mean nor the spread.
//
// Cases: B34, E11, Q21.
func TestOutlierDetector_IdleMembersDistortNothing(t *testing.T) {
	idle := slices.Repeat([]health.OutlierObservation{did(5, 0)}, 10)
	busy := []health.OutlierObservation{did(970, 30), did(960, 40), did(950, 50), did(940, 60), did(930, 70), did(910, 90)}
	cfg := compareOnly(health.OutlierConfig{MinimumSamples: 100})
	r := newDetector(t, cfg).Detect(slices.Concat(busy, idle), health.OutlierReport{})
	if math.Abs(r.Bar-0.906) > 0.001 || r.Considered != 6 || len(r.Outliers) != 0 {
		t.Errorf("%+v", r)
	}
	// Without the gate the idle ones raise the bar and a sound member goes.
	cfg.MinimumSamples = 1
	r = newDetector(t, cfg).Detect(slices.Concat(busy, idle), health.OutlierReport{})
	if math.Abs(r.Bar-0.922) > 0.001 || !slices.Equal(indices(r), []int{5}) {
		t.Errorf("without a gate the case is to go wrong: %+v", r)
	}
	// Nor is one failure among few calls a rate, whatever the rule.
	for _, off := range []health.OutlierCause{0, health.FailureShare, health.SuccessRate} {
		d := newDetector(t, health.OutlierConfig{Off: off})
		members := slices.Concat(rated(100, 100, 100, 100, 100), []health.OutlierObservation{did(0, 1)})
		if r := d.Detect(members, health.OutlierReport{}); len(r.Outliers) != 0 {
			t.Errorf("one failure of a member with one call makes outliers of %v", indices(r))
		}
	}
}

// Nine members at 99.99 percent leave so small a deviation that 99 percent are far
// below the bar.
//
// Claim: A member whose success rate is SuccessFloor or more is no outlier by its rate.
//
// Cases: E11, Q21.
func TestOutlierDetector_TheFloorSparesWhoIsGood(t *testing.T) {
	fleet := slices.Repeat([]health.OutlierObservation{did(9999, 1)}, 9)
	for _, row := range []struct {
		floor    float64
		last     health.OutlierObservation
		outliers []int
	}{
		{1, did(9900, 100), []int{9}},
		{0, did(9900, 100), nil},
		{0, did(9500, 500), nil},
		{0, did(9499, 501), []int{9}},
		{0.99, did(9900, 100), nil},
		{0.5, did(5000, 5000), nil},
		{0.5, did(4999, 5001), []int{9}},
	} {
		d := newDetector(t, health.OutlierConfig{SuccessFloor: row.floor})
		r := d.Detect(append(slices.Clone(fleet), row.last), health.OutlierReport{})
		if got := indices(r); !slices.Equal(got, row.outliers) {
			t.Errorf("floor %v, %d of 10000: outliers are %v, want %v", row.floor, row.last.Successes, got, row.outliers)
		}
	}
	// The share of failures is a rate as well.
	d := newDetector(t, health.OutlierConfig{FailurePercent: 1})
	if r := d.Detect(rated(100, 96, 94), health.OutlierReport{}); !slices.Equal(indices(r), []int{2}) {
		t.Errorf("a share from one percent on names %v", indices(r))
	}
}

// Claim: A share of failures of FailurePercent or more makes an outlier, however small the group.
//
// At the threshold counts, as Envoy's field says and gRPC's text does not.
func TestOutlierDetector_TheShareOfFailuresNeedsNoGroup(t *testing.T) {
	for _, row := range []struct {
		percent int
		member  health.OutlierObservation
		outlier bool
	}{
		{0, did(15, 85), true},
		{0, did(16, 84), false},
		{0, did(15, 34), false}, // too few samples
		{100, did(0, 100), true},
		{100, did(1, 1<<62), false},
		{100, did(0, math.MaxUint64), true},
		{50, did(math.MaxUint64, math.MaxUint64), true},
		{50, did(math.MaxUint64, math.MaxUint64-1), false},
		{50, did(1<<63, 1<<63), true},
		{1, did(math.MaxUint64, 1<<63), true}, // of products with more than 64 bits
	} {
		d := newDetector(t, health.OutlierConfig{FailurePercent: row.percent})
		r := d.Detect([]health.OutlierObservation{row.member, did(100, 0)}, health.OutlierReport{})
		if got := r.IsOutlier(0); got != row.outlier {
			t.Errorf("from %d percent on, %d successes and %d failures: outlier is %t", row.percent, row.member.Successes, row.member.Failures, got)
		} else if got && r.Outliers[0].Cause != health.FailureShare {
			t.Errorf("the cause is %v", r.Outliers[0].Cause)
		}
	}
}

// The comparison cannot see two dead of five; the share of failures can.
//
// Cases: G19.
func TestOutlierDetector_TwoDeadOfFiveHideFromTheComparisonOnly(t *testing.T) {
	members := rated(100, 100, 100, 0, 0)
	r := newDetector(t, compareOnly(health.OutlierConfig{})).Detect(members, health.OutlierReport{})
	if !r.Compared || r.Bar != 0 || len(r.Outliers) != 0 {
		t.Errorf("they are to hide each other: %+v", r)
	}
	r = newDetector(t, health.OutlierConfig{}).Detect(members, health.OutlierReport{})
	if !slices.Equal(indices(r), []int{3, 4}) || r.Outliers[0].Cause != health.FailureShare {
		t.Errorf("outliers are %+v", r.Outliers)
	}
}

// Claim: After each ejection at most MaxEjectedPercent of all members, rounded down, or one, are ejected, those ejected before included.
//
// Claim: After each ejection MinimumHealthy members or more serve, who were unavailable before not among them.
//
// Cases: B32, B33, E10, G19, Q20. Of the published rules neither "at least one" nor "stop when above".
func TestOutlierDetector_TheLimitsHoldAfterEachEjection(t *testing.T) {
	for _, row := range []struct {
		n, ejected, unavailable int
		percent, healthy        int
		want                    int
	}{
		{3, 0, 0, 50, 1, 1}, // B32, where the bug gives 2, 3 and 4
		{3, 0, 0, 67, 1, 2},
		{10, 0, 0, 33, 1, 3},
		{1, 0, 0, 10, 1, 0}, // B33
		{1, 0, 0, 100, 1, 0},
		{2, 0, 0, 10, 1, 1},
		{2, 0, 0, 50, 1, 1},
		{2, 0, 0, 100, 1, 1},
		{5, 0, 0, 10, 1, 1},  // as with Envoy
		{20, 0, 0, 10, 1, 2}, // gRPC lets three go
		{10, 0, 0, 100, 4, 6},
		{10, 3, 0, 50, 1, 2}, // those ejected before count
		{10, 5, 0, 50, 1, 0},
		{10, 6, 0, 50, 1, 0},
		{10, 0, 7, 50, 1, 2}, // those unavailable do not serve
		{10, 0, 9, 100, 1, 0},
		{10, 4, 5, 100, 1, 0},
		{10, 0, 5, 100, 9, 0},
		{199, 0, 0, 99, 1, 197},
	} {
		t.Run(fmt.Sprintf("%+v", row), func(t *testing.T) {
			members := slices.Repeat([]health.OutlierObservation{did(0, 100)}, row.n)
			for i := range row.ejected {
				members[i].Ejected = true
			}
			for i := range row.unavailable {
				members[row.n-1-i].Unavailable = true
			}
			d := newDetector(t, health.OutlierConfig{MaxEjectedPercent: row.percent, MinimumHealthy: row.healthy})
			r := d.Detect(members, health.OutlierReport{})
			if serving := row.n - row.ejected - row.unavailable; len(r.Outliers) != row.want || r.Spared != serving-row.want {
				t.Errorf("%d go and %d are spared, want %d and %d", len(r.Outliers), r.Spared, row.want, serving-row.want)
			}
		})
	}
}

// Claim: A member that does not serve is never named.
func TestOutlierDetector_NamesNobodyTwice(t *testing.T) {
	members := slices.Repeat([]health.OutlierObservation{did(0, 100)}, 8)
	members[0].Ejected = true
	members[1].Unavailable = true
	members[2].Ejected, members[2].Unavailable = true, true
	for i := range members {
		members[i].Runs = health.FailuresInRow
	}
	r := newDetector(t, health.OutlierConfig{MaxEjectedPercent: 100}).Detect(members, health.OutlierReport{})
	if !slices.Equal(indices(r), []int{3, 4, 5, 6}) {
		t.Errorf("outliers are %v", indices(r))
	}
}

// Claim: A cause that is off names nobody.
func TestOutlierDetector_CausesCanBeOff(t *testing.T) {
	causes := []health.OutlierCause{
		health.LocalFailuresInRow, health.GatewayFailuresInRow, health.FailuresInRow, health.FailureShare, health.SuccessRate,
	}
	all := health.LocalFailuresInRow | health.GatewayFailuresInRow | health.FailuresInRow | health.FailureShare | health.SuccessRate
	members := rated(100, 100, 100, 100, 100, 100, 100, 0)
	members[7].Runs = all // more than can be, which is no matter
	for _, on := range causes {
		d := newDetector(t, health.OutlierConfig{Off: all &^ on})
		r := d.Detect(members, health.OutlierReport{})
		if len(r.Outliers) != 1 || r.Outliers[0] != (health.Outlier{Index: 7, Cause: on}) {
			t.Errorf("%v alone names %+v", on, r.Outliers)
		}
	}
	if r := newDetector(t, health.OutlierConfig{Off: all}).Detect(members, health.OutlierReport{}); len(r.Outliers) != 0 {
		t.Errorf("with all off it names %+v", r.Outliers)
	}
	// The first that applies is given, whatever else does.
	for i, first := range causes {
		var off health.OutlierCause
		for _, before := range causes[:i] {
			off |= before
		}
		r := newDetector(t, health.OutlierConfig{Off: off}).Detect(members, health.OutlierReport{})
		if len(r.Outliers) != 1 || r.Outliers[0].Cause != first {
			t.Errorf("without %d causes it names %+v, want %v", i, r.Outliers, first)
		}
	}
}

// Cases: B31, B99.
func TestNewOutlierDetector_NamesTheFieldThatIsOutOfRange(t *testing.T) {
	for _, row := range []struct {
		field string
		cfg   health.OutlierConfig
	}{
		{"Off", health.OutlierConfig{Off: 1 << 5}},
		{"FailuresInRow", health.OutlierConfig{FailuresInRow: -1}},
		{"FailuresInRow", health.OutlierConfig{FailuresInRow: 1 << 20}},
		{"GatewayFailuresInRow", health.OutlierConfig{GatewayFailuresInRow: -1}},
		{"LocalFailuresInRow", health.OutlierConfig{LocalFailuresInRow: 1 << 20}},
		{"MinimumSamples", health.OutlierConfig{MinimumSamples: -1}},
		{"FailurePercent", health.OutlierConfig{FailurePercent: -1}},
		{"FailurePercent", health.OutlierConfig{FailurePercent: 101}},
		{"MinimumMembers", health.OutlierConfig{MinimumMembers: -1}},
		{"Factor", health.OutlierConfig{Factor: math.NaN()}},
		{"Factor", health.OutlierConfig{Factor: math.Inf(1)}},
		{"Factor", health.OutlierConfig{Factor: -1}},
		{"Factor", health.OutlierConfig{Factor: 2}}, // of five members none lies farther away
		{"Factor", health.OutlierConfig{MinimumMembers: 4}},
		{"Factor", health.OutlierConfig{MinimumMembers: 1, Factor: mere}},
		{"SuccessFloor", health.OutlierConfig{SuccessFloor: math.NaN()}},
		{"SuccessFloor", health.OutlierConfig{SuccessFloor: -0.1}},
		{"SuccessFloor", health.OutlierConfig{SuccessFloor: 1.1}},
		{"MaxEjectedPercent", health.OutlierConfig{MaxEjectedPercent: 101}},
		{"MaxEjectedPercent", health.OutlierConfig{MaxEjectedPercent: -1}},
		{"MinimumHealthy", health.OutlierConfig{MinimumHealthy: -1}},
	} {
		_, err := health.NewOutlierDetector(row.cfg)
		requireRefusal(t, err, row.field, health.ErrOutOfRange)
		_, err = health.NewOutlierController(health.OutlierControllerConfig{Detector: row.cfg})
		requireRefusal(t, err, "Detector."+row.field, health.ErrOutOfRange)
	}
	newDetector(t, health.OutlierConfig{
		FailuresInRow: 1<<20 - 1, MinimumSamples: math.MaxInt, Factor: 1e4, SuccessFloor: mere,
		MinimumMembers: math.MaxInt, MaxEjectedPercent: 100, FailurePercent: 100, MinimumHealthy: math.MaxInt,
	}).Detect(rated(1, 2, 3), health.OutlierReport{})
}

func TestOutlierCause_HasAName(t *testing.T) {
	for cause, want := range map[health.OutlierCause]string{
		0: "no outlier", 1: "local failures in a row", 2: "gateway failures in a row", 4: "failures in a row",
		8: "failure share", 16: "success rate", 3: "local failures in a row|gateway failures in a row", 32: "unknown causes",
	} {
		if got := cause.String(); got != want {
			t.Errorf("cause %d is called %q, want %q", uint8(cause), got, want)
		}
	}
}
