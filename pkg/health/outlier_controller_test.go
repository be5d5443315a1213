package health_test

import (
	"math"
	"slices"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// fleet is an OutlierController with members, of which the tests change the list.
type fleet struct {
	testing.TB
	*health.OutlierController
	members []health.OutlierMember
	now     time.Time
	chance  *poise.Generator
}

// noJitter makes ejections last exactly as long as they should; a nanosecond is
// the least.
const noJitter = time.Nanosecond

func newFleet(t testing.TB, n int, cfg health.OutlierControllerConfig) *fleet {
	t.Helper()
	c, err := health.NewOutlierController(cfg)
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{TB: t, OutlierController: c, now: dusk, chance: poise.NewGenerator(1)}
	f.grow(n)
	return f
}

func (f *fleet) grow(n int) {
	for range n {
		f.members = append(f.members, health.OutlierMember{Subject: f.Subject()})
	}
}

// calls lets member i succeed and fail so often, successes first.
func (f *fleet) calls(i, successes, failures int, kind health.FailureKind) (sweep bool) {
	for range successes {
		f.members[i].Subject.Begin().Record(poise.Success, kind)
	}
	for range failures {
		sweep = f.members[i].Subject.Begin().Record(poise.Failure, kind) || sweep
	}
	return sweep
}

// sweep sweeps after some time.
func (f *fleet) sweep(after time.Duration) health.OutlierSweep {
	f.Helper()
	f.now = f.now.Add(after)
	s, err := f.Sweep(f.now, f.members, f.chance)
	if err != nil {
		f.Fatal(err)
	}
	return s
}

// out returns who is excluded.
func (f *fleet) out() (out []int) {
	for i, m := range f.members {
		if m.Subject.Excluded() != poise.NotExcluded {
			out = append(out, i)
		}
	}
	return out
}

func (f *fleet) requireOut(want ...int) {
	f.Helper()
	if got := f.out(); !slices.Equal(got, want) {
		f.Fatalf("excluded are %v, want %v", got, want)
	}
}

// Claim: A Sweep ejects the outliers that its detector names, who then are excluded until a Sweep readmits them.
//
// Claim: The first Sweep after the time of an ejection readmits, and no Sweep before, but to keep the limits.
//
// As published by Envoy: ejected at 10 s, still at 19.999 s, back by 50.001 s.
func TestOutlierController_KeepsThePublishedTimes(t *testing.T) {
	f := newFleet(t, 5, health.OutlierControllerConfig{
		Detector: health.OutlierConfig{
			MinimumSamples: 100, Off: health.FailuresInRow | health.GatewayFailuresInRow,
		}, Jitter: noJitter,
	})
	f.sweep(0)
	for i := range 5 {
		f.calls(i, 200, 0, 0)
	}
	f.calls(4, 0, 200, health.GatewayFailure)
	if s := f.sweep(9999 * time.Millisecond); s.Judged || len(s.Changes) != 0 || s.Wait != time.Millisecond {
		t.Fatalf("before the interval is over: %+v", s)
	}
	s := f.sweep(time.Millisecond)
	f.requireOut(4)
	if !s.Judged || s.Ejected != 1 || len(s.Changes) != 1 {
		t.Fatalf("at 10 s: %+v", s)
	}
	change := s.Changes[0]
	if change.Index != 4 || !change.Ejected || change.Cause != health.SuccessRate || change.Rate != 0.5 || change.For-30*time.Second > noJitter {
		t.Errorf("%+v", change)
	}
	if got := f.members[4].Subject.Excluded(); got != poise.ExcludedOutlier {
		t.Errorf("it is excluded as %v", got)
	}
	f.sweep(9999 * time.Millisecond)
	f.requireOut(4)
	f.sweep(20 * time.Second) // 39.999 s
	f.requireOut(4)
	if s = f.sweep(2 * time.Millisecond); len(s.Changes) != 1 || s.Changes[0] != (health.OutlierChange{Index: 4, Cause: health.SuccessRate}) {
		t.Errorf("at 40.001 s: %+v", s.Changes)
	}
	f.requireOut()
}

// Claim: Runs of failures are judged at every Sweep, rates once in each Interval and over what was counted in it.
func TestOutlierController_JudgesRunsAtOnceAndRatesInTime(t *testing.T) {
	f := newFleet(t, 6, health.OutlierControllerConfig{Jitter: noJitter})
	f.sweep(0)
	if f.calls(0, 100, 4, 0) {
		t.Error("four failures in a row ask for a sweep")
	}
	f.sweep(time.Second)
	f.requireOut()
	if !f.calls(0, 0, 1, 0) {
		t.Error("the fifth failure in a row asks for no sweep")
	}
	s := f.sweep(0)
	f.requireOut(0)
	if s.Judged || s.Changes[0].Cause != health.FailuresInRow || s.Wait != 9*time.Second {
		t.Errorf("%+v", s)
	}
}

// Claim: Runs of failures are judged at every Sweep, rates once in each Interval and over what was counted in it.
func TestOutlierController_RatesBeginAnewWithEachInterval(t *testing.T) {
	f := newFleet(t, 6, health.OutlierControllerConfig{
		Detector: health.OutlierConfig{Off: health.FailuresInRow}, Jitter: noJitter,
	})
	f.sweep(0)
	f.calls(0, 0, 100, 0)
	f.calls(1, 100, 0, 0)
	f.calls(2, 0, 49, 0)
	f.sweep(9 * time.Second)
	f.requireOut()
	if s := f.sweep(time.Second); !s.Judged || s.Changes[0].Cause != health.FailureShare {
		t.Errorf("%+v", s)
	}
	f.requireOut(0)
	// Half of the calls of member 1 have failed by now, but all of this interval.
	// Member 2 has had enough calls by now, but not in one interval.
	f.calls(1, 0, 100, 0)
	f.calls(2, 0, 49, 0)
	f.sweep(10 * time.Second)
	f.requireOut(0, 1)
}

// Claim: No Sweep leaves more of its members ejected than MaxEjectedPercent of them, rounded down, or one.
//
// Claim: Where fewer may be ejected than are, those whose time is over soonest are readmitted.
//
// Cases: B32, B33, E10.
func TestOutlierController_LimitsFollowTheMembership(t *testing.T) {
	f := newFleet(t, 10, health.OutlierControllerConfig{Jitter: noJitter})
	f.sweep(0)
	for i := range 10 {
		f.calls(9-i, 0, 5, 0)
		f.sweep(100 * time.Millisecond)
	}
	f.requireOut(5, 6, 7, 8, 9) // 9 first
	s := f.sweep(0)
	if s.Ejected != 5 || s.Spared != 5 {
		t.Errorf("%+v", s)
	}
	f.members = f.members[3:] // seven are left: three may be out
	s = f.sweep(0)
	f.requireOut(2, 3, 4)
	if len(s.Changes) != 2 || !s.Changes[0].Early || s.Changes[0].Index != 6 || s.Changes[1].Index != 5 || s.Ejected != 3 {
		t.Errorf("%+v", s)
	}
	f.members = f.members[4:5] // one is left, and is out
	if s = f.sweep(0); s.Ejected != 0 || len(s.Changes) != 1 {
		t.Errorf("%+v", s)
	}
	f.requireOut()
	f.calls(0, 0, 1000, 0)
	f.sweep(time.Minute)
	f.requireOut()
	f.members = nil
	if s = f.sweep(time.Minute); s.Ejected != 0 || s.Wait <= 0 {
		t.Errorf("of nobody: %+v", s)
	}
}

// Claim: No Sweep leaves a member ejected who could serve otherwise while fewer than MinimumHealthy members serve.
//
// Cases: G19.
func TestOutlierController_WhoIsUnavailableDoesNotServe(t *testing.T) {
	f := newFleet(t, 6, health.OutlierControllerConfig{
		Detector: health.OutlierConfig{MinimumHealthy: 3}, Jitter: noJitter,
	})
	f.sweep(0)
	for i := range 3 {
		f.calls(i, 0, 5, 0)
		f.sweep(time.Second)
	}
	f.requireOut(0, 1, 2)
	f.members[0].Unavailable = true
	f.sweep(0)
	f.requireOut(0, 1, 2) // three serve
	f.members[5].Unavailable = true
	s := f.sweep(0)
	f.requireOut(0, 2) // 0 would not serve
	if len(s.Changes) != 1 || s.Changes[0].Index != 1 || !s.Changes[0].Early {
		t.Errorf("%+v", s.Changes)
	}
	f.members[4].Unavailable = true
	f.sweep(0)
	f.requireOut(0)
	f.members[3].Unavailable = true
	f.calls(1, 0, 5, 0)
	if s = f.sweep(0); s.Spared != 1 {
		t.Errorf("%+v", s)
	}
	f.requireOut(0)
}

// Claim: An ejection lasts BaseTime for each ejection not forgotten, up to MaxTime, and at most Jitter more.
//
// Claim: One ejection is forgotten for each judgement of the rates since the last of which the member was not ejected.
func TestOutlierController_TimesGrowAndAreForgotten(t *testing.T) {
	f := newFleet(t, 2, health.OutlierControllerConfig{
		Interval: 10 * time.Second, BaseTime: 20 * time.Second, MaxTime: 70 * time.Second, Jitter: time.Second,
	})
	f.sweep(0)
	eject := func(whole time.Duration) {
		t.Helper()
		f.calls(0, 0, 5, 0)
		s := f.sweep(0)
		for _, change := range s.Changes {
			if change.Ejected && (change.For < whole || change.For > whole+time.Second) {
				t.Fatalf("ejected for %v, want %v", change.For, whole)
			}
		}
		f.requireOut(0)
	}
	back := func() {
		t.Helper()
		for len(f.out()) > 0 {
			f.sweep(f.sweep(0).Wait)
		}
	}
	for _, whole := range []time.Duration{20, 40, 60, 70, 70} {
		eject(whole * time.Second)
		back()
	}
	// Five are remembered. The first judgement ends an interval in part of which it
	// was ejected; each later one forgets one.
	for range 3 {
		f.sweep(10 * time.Second)
	}
	eject(70 * time.Second) // the fourth
	back()
	for range 4 {
		f.sweep(10 * time.Second)
	}
	eject(40 * time.Second)
	back()
	for range 20 {
		f.sweep(10 * time.Second)
	}
	eject(20 * time.Second)
}

// Claim: An ejection lasts BaseTime for each ejection not forgotten, up to MaxTime, and at most Jitter more.
func TestOutlierController_TimesGrowUpToTheLongest(t *testing.T) {
	f := newFleet(t, 2, health.OutlierControllerConfig{Interval: time.Hour, BaseTime: 7, MaxTime: 100, Jitter: noJitter})
	for n := range time.Duration(20) {
		f.calls(0, 0, 5, 0)
		changes := f.sweep(0).Changes
		if want := min(7*(n+1), 100); len(changes) != 1 || changes[0].For < want || changes[0].For > want+1 {
			t.Fatalf("ejection %d: %+v, want %v", n+1, changes, want)
		}
		f.sweep(101)
		f.requireOut()
	}
}

// Claim: An ejection lasts BaseTime for each ejection not forgotten, up to MaxTime, and at most Jitter more.
func TestOutlierController_JitterReachesBothEndsAndReplays(t *testing.T) {
	seen := map[time.Duration]int{}
	var times [2][]time.Duration
	for run := range times {
		f := newFleet(t, 400, health.OutlierControllerConfig{BaseTime: 20, Jitter: 2})
		for i := range f.members {
			f.calls(i, 0, 5, 0)
		}
		for _, change := range f.sweep(0).Changes {
			seen[change.For]++
			times[run] = append(times[run], change.For)
		}
	}
	if len(seen) != 3 || seen[20] < 60 || seen[21] < 60 || seen[22] < 60 {
		t.Errorf("400 ejections last %v", seen)
	}
	if !slices.Equal(times[0], times[1]) {
		t.Error("equal seeds gave other times")
	}
}

func TestOutlierController_LongTimesDoNotOverflow(t *testing.T) {
	f := newFleet(t, 2, health.OutlierControllerConfig{
		Interval: math.MaxInt64, BaseTime: math.MaxInt64/2 - 1, MaxTime: math.MaxInt64 - 10, Jitter: 10,
	})
	for range 5 {
		f.calls(0, 0, 5, 0)
		for _, change := range f.sweep(0).Changes {
			if change.Ejected && change.For < math.MaxInt64/2-1 {
				t.Fatalf("ejected for %v", change.For)
			}
		}
		f.requireOut(0)
		f.sweep(math.MaxInt64)
		f.requireOut()
	}
}

// Claim: A Sweep leaves whoever is not among its members as they are.
func TestOutlierController_LeavesWhoIsNotListed(t *testing.T) {
	f := newFleet(t, 4, health.OutlierControllerConfig{Jitter: noJitter})
	f.calls(0, 0, 5, 0)
	f.sweep(0)
	f.calls(1, 0, 5, 0)
	all := f.members
	f.members = all[2:]
	if s := f.sweep(time.Hour); len(s.Changes) != 0 || s.Ejected != 0 {
		t.Errorf("%+v", s)
	}
	f.members = all
	f.requireOut(0)
	f.sweep(0)
	f.requireOut(1)
}

// Claim: A Sweep that is refused changes nothing.
func TestOutlierController_RefusesListsThatCannotBe(t *testing.T) {
	f := newFleet(t, 4, health.OutlierControllerConfig{Jitter: noJitter})
	other := newFleet(t, 1, health.OutlierControllerConfig{})
	f.sweep(0)
	f.calls(0, 0, 5, 0)
	for _, row := range []struct {
		member health.OutlierMember
		err    error
	}{
		{health.OutlierMember{}, health.ErrMissing},
		{health.OutlierMember{Subject: new(health.OutlierSubject)}, health.ErrForeign},
		{other.members[0], health.ErrForeign},
		{f.members[1], health.ErrDuplicate},
	} {
		s, err := f.Sweep(f.now.Add(time.Hour), append(slices.Clone(f.members), row.member), nil)
		requireRefusal(t, err, "members[4].Subject", row.err)
		if len(s.Changes) != 0 {
			t.Errorf("%v, and %+v", err, s)
		}
		f.requireOut()
	}
	if s := f.sweep(0); s.Judged || s.Wait != 10*time.Second {
		t.Errorf("a refused sweep judged: %+v", s)
	}
	f.requireOut(0)
}

// Claim: A Sweep that is refused changes nothing.
func TestOutlierController_ARefusedFirstSweepBeginsNoInterval(t *testing.T) {
	f := newFleet(t, 2, health.OutlierControllerConfig{Jitter: noJitter})
	_, err := f.Sweep(f.now, append(slices.Clone(f.members), health.OutlierMember{}), nil)
	requireRefusal(t, err, "members[2].Subject", health.ErrMissing)
	if s := f.sweep(time.Hour); s.Judged || s.Wait != 10*time.Second {
		t.Errorf("the refused sweep began an interval: %+v", s)
	}
}

// Claim: A clock that steps back costs at most one more ejection time and one more Interval.
//
// Cases: B22.
func TestOutlierController_SurvivesClockSteps(t *testing.T) {
	for _, back := range []time.Duration{1, time.Second, time.Hour, 1_000_000 * time.Hour, math.MaxInt64} {
		f := newFleet(t, 2, health.OutlierControllerConfig{Jitter: noJitter})
		f.sweep(0)
		f.calls(0, 0, 5, 0)
		whole := f.sweep(0).Changes[0].For
		s := f.sweep(-back)
		if s.Judged || s.Wait != 10*time.Second {
			t.Fatalf("%v back: %+v", back, s)
		}
		f.requireOut(0)
		if s = f.sweep(10 * time.Second); !s.Judged {
			t.Errorf("%v back: rates are not judged after one more interval", back)
		}
		f.sweep(whole - 10*time.Second - 1)
		f.requireOut(0)
		f.sweep(1)
		f.requireOut()
	}
}

// Claim: A subject is excluded exactly while it is ejected.
//
// Cases: B47.
func TestOutlierSubject_OfANewIncarnationHasNoPast(t *testing.T) {
	f := newFleet(t, 4, health.OutlierControllerConfig{Jitter: noJitter})
	for range 3 {
		f.calls(0, 0, 5, 0)
		f.sweep(0)
		f.requireOut(0)
		f.sweep(f.sweep(0).Wait)
		f.sweep(time.Hour)
		f.requireOut()
	}
	f.calls(0, 0, 4, 0)
	old := f.members[0].Subject
	f.calls(0, 0, 1, 0)
	f.sweep(0)
	f.members[0].Subject = f.Subject()
	f.requireOut()
	if old.Excluded() != poise.ExcludedOutlier {
		t.Error("the old life is not ejected")
	}
	for range 9 {
		old.Begin().Record(poise.Failure, 0)
	}
	f.sweep(0)
	f.requireOut()
	f.calls(0, 0, 5, 0)
	if got := f.sweep(0).Changes[0].For; got > 30*time.Second+noJitter {
		t.Errorf("a new life is ejected for %v at first", got)
	}
	if got := (*health.OutlierSubject)(nil).Excluded(); got != poise.NotExcluded {
		t.Errorf("no subject is excluded as %v", got)
	}
	if (*health.OutlierSubject)(nil).Begin().Record(poise.Failure, 0) {
		t.Error("no subject counts")
	}
}

// Claim: A call that began while its subject was ejected, or before the last ejection, counts nothing after.
//
// Cases: B20, G4.
func TestOutlierSubject_LateResultsCountNothing(t *testing.T) {
	f := newFleet(t, 4, health.OutlierControllerConfig{Detector: health.OutlierConfig{FailuresInRow: 2}, Jitter: noJitter})
	s := f.members[0].Subject
	var before, during []health.OutlierCall
	for range 100 {
		before = append(before, s.Begin())
	}
	f.calls(0, 0, 2, 0)
	f.sweep(0)
	f.requireOut(0)
	for range 100 {
		during = append(during, s.Begin())
	}
	for _, call := range slices.Concat(before[:50], during[:50]) {
		call.Record(poise.Failure, 0)
	}
	f.sweep(f.sweep(0).Wait)
	f.sweep(30 * time.Second)
	f.requireOut()
	for _, call := range slices.Concat(before[50:], during[50:]) {
		call.Record(poise.Failure, 0)
	}
	f.sweep(10 * time.Second)
	f.requireOut()
	f.calls(0, 0, 2, 0)
	f.sweep(0)
	f.requireOut(0)
}

// Claim: A cancelled or unknown outcome counts nothing.
//
// Cases: B21, Q23.
func TestOutlierSubject_IgnoresWhatIsNoObservation(t *testing.T) {
	f := newFleet(t, 4, health.OutlierControllerConfig{})
	call := func(outcome poise.Outcome) bool { return f.members[0].Subject.Begin().Record(outcome, 0) }
	for i := range 4 {
		call(poise.Failure)
		for range 20 * i {
			if call(poise.Cancelled) || call(poise.Outcome(99)) {
				t.Fatal("it asks for a sweep")
			}
		}
	}
	f.sweep(0)
	f.requireOut()
	if !call(poise.Overloaded) {
		t.Error("cancelled calls ended the run")
	}
	f.sweep(0)
	f.requireOut(0)
}

// Claim: A success ends every run of failures, and a failure those of the other kinds but not that of all failures.
//
// Claim: Record returns true exactly for the failure with which a run reaches its number.
//
// The families are those of Envoy.
func TestOutlierSubject_CountsEachKindOfRun(t *testing.T) {
	for _, row := range []struct {
		calls string // s success, f, g, l failures of each kind, c cancelled; upper case where Record is true
		cause health.OutlierCause
	}{
		{"ffffF", health.FailuresInRow},
		{"fffffsffff", 0},
		{"ggG", health.GatewayFailuresInRow},
		{"gcgcG", health.GatewayFailuresInRow},
		{"ggfgL", health.FailuresInRow},
		{"lL", health.LocalFailuresInRow},
		{"lglgL", health.FailuresInRow},
		{"lslsl", 0},
		{"ggsgg", 0},
		{"ggGggGs", 0}, // it has ended before the sweep
		{"flL", health.LocalFailuresInRow},
		{"ffflL", health.LocalFailuresInRow}, // two runs at once
	} {
		f := newFleet(t, 2, health.OutlierControllerConfig{
			Detector: health.OutlierConfig{FailuresInRow: 5, GatewayFailuresInRow: 3, LocalFailuresInRow: 2},
		})
		for i, letter := range row.calls {
			wants := letter < 'a'
			outcome, kind := poise.Failure, health.MemberFailure
			switch letter | 0x20 {
			case 's':
				outcome = poise.Success
			case 'c':
				outcome = poise.Cancelled
			case 'g':
				kind = health.GatewayFailure
			case 'l':
				kind = health.LocalFailure
			}
			if got := f.members[0].Subject.Begin().Record(outcome, kind); got != wants && row.calls != "fffffsffff" && row.calls != "ggGggGs" {
				t.Errorf("%s: after %d calls a sweep is asked for: %t", row.calls, i+1, got)
			}
		}
		got := health.NoOutlier
		if s := f.sweep(0); len(s.Changes) > 0 {
			got = s.Changes[0].Cause
		}
		if got != row.cause {
			t.Errorf("%s: the cause is %v, want %v", row.calls, got, row.cause)
		}
	}
}

// A run is counted as far as any number can ask, and no further.
func TestOutlierSubject_RunsDoNotOverflow(t *testing.T) {
	f := newFleet(t, 2, health.OutlierControllerConfig{
		Detector: health.OutlierConfig{FailuresInRow: 1<<20 - 1, GatewayFailuresInRow: 1<<20 - 1, LocalFailuresInRow: 1<<20 - 1},
	})
	for i := range 1<<20 + 10 {
		if got := f.members[0].Subject.Begin().Record(poise.Failure, health.LocalFailure); got != (i == 1<<20-2) {
			t.Fatalf("failure %d asks for a sweep: %t", i+1, got)
		}
	}
	if s := f.sweep(0); s.Changes[0].Cause != health.LocalFailuresInRow {
		t.Errorf("%+v", s)
	}
}

// The statuses are those of Envoy.
func TestFailureKindOf_TellsGatewaysAndTheWayThere(t *testing.T) {
	for status, want := range map[int]health.FailureKind{
		500: health.MemberFailure, 501: health.MemberFailure, 502: health.GatewayFailure,
		503: health.GatewayFailure, 504: health.GatewayFailure, 505: health.MemberFailure, 0: health.MemberFailure,
	} {
		if got := health.FailureKindOf(status, nil); got != want {
			t.Errorf("status %d is a %v", status, got)
		}
		if got := health.FailureKindOf(status, health.ErrMissing); got != health.LocalFailure {
			t.Errorf("status %d with an error is a %v", status, got)
		}
	}
	for kind, want := range []string{"member failure", "gateway failure", "local failure", "unknown failure"} {
		if got := health.FailureKind(kind).String(); got != want {
			t.Errorf("kind %d is called %q, want %q", kind, got, want)
		}
	}
}

// Cases: B31.
func TestNewOutlierController_NamesTheFieldThatIsOutOfRange(t *testing.T) {
	for _, row := range []struct {
		field string
		cfg   health.OutlierControllerConfig
	}{
		{"Interval", health.OutlierControllerConfig{Interval: -1}},
		{"BaseTime", health.OutlierControllerConfig{BaseTime: -1}},
		{"MaxTime", health.OutlierControllerConfig{BaseTime: 2, MaxTime: 1}},
		{"MaxTime", health.OutlierControllerConfig{MaxTime: -1}},
		{"Jitter", health.OutlierControllerConfig{Jitter: -1}},
		{"Jitter", health.OutlierControllerConfig{MaxTime: math.MaxInt64, Jitter: 1}},
	} {
		_, err := health.NewOutlierController(row.cfg)
		requireRefusal(t, err, row.field, health.ErrOutOfRange)
	}
	newFleet(t, 1, health.OutlierControllerConfig{BaseTime: time.Hour}) // the default longest gives way
}
