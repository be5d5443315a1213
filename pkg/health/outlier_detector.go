// Explorable.

package health

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// OutlierConfig are the settings of an OutlierDetector. The zero value of each
// field is its default.
type OutlierConfig struct {
	_ struct{}
	// Off are the causes that name nobody, joined by |; default none.
	Off OutlierCause
	// FailuresInRow, GatewayFailuresInRow and LocalFailuresInRow are how many make
	// an outlier; 1 to 2^20-1, default 5. A result of another kind begins the run of
	// a kind anew, so that the latter two are of use below the first, or without it.
	FailuresInRow, GatewayFailuresInRow, LocalFailuresInRow int
	// MinimumSamples is how many calls a member must have had for its rate to
	// count; 1 or more, default 50.
	MinimumSamples int
	// FailurePercent is the share of failures from which on a member is an outlier;
	// 1 to 100, default 85.
	FailurePercent int
	// MinimumMembers is how many members must have enough samples for their success
	// rates to be compared; 1 or more, default 5.
	MinimumMembers int
	// Factor is how many standard deviations below the mean a success rate must lie.
	// Positive, and less than the root of MinimumMembers less one unless SuccessRate
	// is off: of so many members none lies farther away. Default 1.9; as small as one
	// likes, it makes the mean the bar.
	Factor float64
	// SuccessFloor is the success rate from which on no rate makes an outlier,
	// however good the others are. Above 0 and up to 1, which is no floor; default
	// 0.95.
	SuccessFloor float64
	// MaxEjectedPercent is how many members may be ejected at once, in percent of
	// all and rounded down, but one in any case; 1 to 100, default 50.
	MaxEjectedPercent int
	// MinimumHealthy is how many members ejection leaves that can serve; 1 or more,
	// default 1.
	MinimumHealthy int
}

// longestRun is how far runs are counted.
const longestRun = 1<<20 - 1

// withDefaults returns the config with its defaults filled in, or the field that
// is out of range.
func (c OutlierConfig) withDefaults() (OutlierConfig, error) {
	c.Factor = cmp.Or(c.Factor, 1.9)
	c.SuccessFloor = cmp.Or(c.SuccessFloor, 0.95)
	for _, f := range []struct {
		name               string
		value              *int
		otherwise, maximum int
	}{
		{"FailuresInRow", &c.FailuresInRow, 5, longestRun},
		{"GatewayFailuresInRow", &c.GatewayFailuresInRow, 5, longestRun},
		{"LocalFailuresInRow", &c.LocalFailuresInRow, 5, longestRun},
		{"MinimumSamples", &c.MinimumSamples, 50, math.MaxInt},
		{"FailurePercent", &c.FailurePercent, 85, 100},
		{"MinimumMembers", &c.MinimumMembers, 5, math.MaxInt},
		{"MaxEjectedPercent", &c.MaxEjectedPercent, 50, 100},
		{"MinimumHealthy", &c.MinimumHealthy, 1, math.MaxInt},
	} {
		*f.value = cmp.Or(*f.value, f.otherwise)
		if *f.value < 1 || *f.value > f.maximum {
			return c, outOfRange(f.name, *f.value)
		}
	}
	switch {
	case c.Off&^allCauses != 0:
		return c, outOfRange("Off", uint8(c.Off))
	case !(c.Factor > 0) || math.IsInf(c.Factor, 1):
		return c, outOfRange("Factor", c.Factor)
	case c.Off&SuccessRate == 0 && c.Factor >= math.Sqrt(float64(c.MinimumMembers-1)):
		return c, outOfRange("Factor", c.Factor) // it could never eject
	case !(c.SuccessFloor > 0 && c.SuccessFloor <= 1):
		return c, outOfRange("SuccessFloor", c.SuccessFloor)
	}
	return c, nil
}

// most returns how many of n members may be ejected at once by their number alone:
// MaxEjectedPercent of n, rounded down, without overflow, and at least one.
func (c *OutlierConfig) most(n int) int {
	return max(1, n/100*c.MaxEjectedPercent+n%100*c.MaxEjectedPercent/100)
}

// OutlierObservation is what is known of one member when outliers are looked for.
type OutlierObservation struct {
	_ struct{}
	// Successes and Failures count its calls since the last look.
	Successes, Failures uint64
	// Runs are the runs of failures that have reached their number.
	Runs OutlierCause
	// Ejected: it is ejected already.
	Ejected bool
	// Unavailable: it cannot serve for another reason, ejected or not.
	Unavailable bool
}

// serves reports whether the member can be chosen.
func (o *OutlierObservation) serves() bool { return !o.Ejected && !o.Unavailable }

// rate returns the success rate and whether there are enough samples for it.
func (o *OutlierObservation) rate(minimum int) (rate float64, enough bool) {
	samples, carry := bits.Add64(o.Successes, o.Failures, 0)
	if carry != 0 {
		samples = math.MaxUint64
	}
	if samples == 0 {
		return 0, false
	}
	// The sum of two numbers under 2^53 is exact; that of any two does not overflow.
	return float64(o.Successes) / (float64(o.Successes) + float64(o.Failures)), samples >= uint64(minimum)
}

// Outlier is one member that a detector names.
type Outlier struct {
	_ struct{}
	// Index is its place in the list.
	Index int
	// Cause is the first that applies, in the order in which they are declared.
	Cause OutlierCause
	// Rate is its success rate, 0 if it has no samples.
	Rate float64
}

// OutlierReport is what an OutlierDetector found.
type OutlierReport struct {
	_ struct{}
	// Considered is how many members had enough samples and served.
	Considered int
	// Compared says that these were enough for Mean, Deviation and Bar: the mean of
	// their success rates, the standard deviation, and the rate below which a member
	// is an outlier.
	Compared             bool
	Mean, Deviation, Bar float64
	// Outliers are whom to eject, the lowest success rate first and then in the
	// order of the list.
	Outliers []Outlier
	// Spared is how many more are outliers that the limits do not let go.
	Spared int
}

// IsOutlier reports whether the member of that index is to be ejected.
func (r OutlierReport) IsOutlier(index int) bool {
	return slices.ContainsFunc(r.Outliers, func(o Outlier) bool { return o.Index == index })
}

// OutlierDetector finds the members of a group that do much worse than they
// should: by runs of failures, by the share of failures, and by comparison with
// the others. It remembers nothing.
//
// The comparison is Envoy's. The mean m of the success rates and their standard
// deviation s, which is that of a whole population, give the bar
//
//	max(m - Factor·s, 0)
//
// and a rate strictly below it is an outlier's. The rates are summed in the order
// of the list. Two dead members of five move the bar to 0 and hide each other; the
// share of failures needs no comparison and finds them. So it does in groups of
// fewer than MinimumMembers.
//
// An OutlierDetector is made by NewOutlierDetector.
//
// # Contract
//
//   - A rate counts only with MinimumSamples samples or more, and only of a member that serves.
//   - Rates are compared only if MinimumMembers of them count.
//   - A member whose success rate is SuccessFloor or more is no outlier by its rate.
//   - A share of failures of FailurePercent or more makes an outlier, however small the group.
//   - Outliers are listed by success rate and then by index, and cut at the limits.
//   - After each ejection at most MaxEjectedPercent of all members, rounded down, or one, are ejected, those ejected before included.
//   - After each ejection MinimumHealthy members or more serve, who were unavailable before not among them.
//   - A member that does not serve is never named.
//   - A cause that is off names nobody.
//
// # Cost
//
// Detect is O(n), and O(k log k) in the number of outliers. It allocates nothing
// once the report that it is given has held as many outliers.
//
// # Concurrency
//
// An OutlierDetector never changes and is safe for concurrent use.
type OutlierDetector struct{ cfg OutlierConfig }

// NewOutlierDetector returns an OutlierDetector, or a [poise.FieldError] of
// ErrOutOfRange.
func NewOutlierDetector(cfg OutlierConfig) (*OutlierDetector, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &OutlierDetector{cfg}, nil
}

// Detect returns the outliers among the members, in the memory of an earlier
// report that is not needed any more; the zero report will do.
func (d *OutlierDetector) Detect(members []OutlierObservation, into OutlierReport) OutlierReport {
	report := OutlierReport{Outliers: into.Outliers[:0]}
	d.compare(members, &report)
	ejected, serving := 0, 0
	for i := range members {
		m := &members[i]
		if m.Ejected {
			ejected++
		}
		if !m.serves() {
			continue
		}
		serving++
		if cause, rate := d.judge(m, &report); cause != NoOutlier {
			report.Outliers = append(report.Outliers, Outlier{Index: i, Cause: cause, Rate: rate})
		}
	}
	slices.SortFunc(report.Outliers, worse)
	found := len(report.Outliers)
	room := max(min(found, d.cfg.most(len(members))-ejected, serving-d.cfg.MinimumHealthy), 0)
	report.Outliers, report.Spared = report.Outliers[:room], found-room
	return report
}

// worse orders outliers by rate and then by index. No rate is NaN.
func worse(a, b Outlier) int {
	switch {
	case a.Rate < b.Rate:
		return -1
	case a.Rate > b.Rate:
		return 1
	}
	return a.Index - b.Index
}

// compare fills in the mean, the deviation and the bar.
func (d *OutlierDetector) compare(members []OutlierObservation, report *OutlierReport) {
	sum := 0.0
	for i := range members {
		if rate, counts := d.counts(&members[i]); counts {
			report.Considered++
			sum += rate
		}
	}
	if report.Considered < d.cfg.MinimumMembers {
		return
	}
	n := float64(report.Considered)
	mean, squares := sum/n, 0.0
	for i := range members {
		if rate, counts := d.counts(&members[i]); counts {
			distance := rate - mean
			squares += float64(distance * distance) // not fused, on any platform
		}
	}
	report.Compared, report.Mean = true, mean
	report.Deviation = math.Sqrt(squares / n)
	report.Bar = max(mean-float64(d.cfg.Factor*report.Deviation), 0)
}

// counts returns the member's rate and whether it counts.
func (d *OutlierDetector) counts(m *OutlierObservation) (rate float64, counts bool) {
	rate, enough := m.rate(d.cfg.MinimumSamples)
	return rate, enough && m.serves()
}

// judge returns by which cause a member that serves is an outlier.
func (d *OutlierDetector) judge(m *OutlierObservation, report *OutlierReport) (cause OutlierCause, rate float64) {
	rate, enough := m.rate(d.cfg.MinimumSamples)
	if runs := m.Runs & anyRun &^ d.cfg.Off; runs != 0 {
		return runs & -runs, rate
	}
	switch {
	case !enough || rate >= d.cfg.SuccessFloor:
	case d.cfg.Off&FailureShare == 0 && d.failsOften(m):
		return FailureShare, rate
	case d.cfg.Off&SuccessRate == 0 && report.Compared && rate < report.Bar:
		return SuccessRate, rate
	}
	return NoOutlier, rate
}

// failsOften reports whether the share of failures is FailurePercent or more. The
// products are taken whole, since a rounded share could fall on the other side.
func (d *OutlierDetector) failsOften(m *OutlierObservation) bool {
	percent := uint64(d.cfg.FailurePercent)
	failedHigh, failedLow := bits.Mul64(m.Failures, 100-percent)
	sharedHigh, sharedLow := bits.Mul64(m.Successes, percent)
	return failedHigh > sharedHigh || failedHigh == sharedHigh && failedLow >= sharedLow
}
