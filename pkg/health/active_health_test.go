package health_test

import (
	"cmp"
	"errors"
	"math"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// dawn is when the clocks of these tests begin.
var dawn = time.Unix(1_000_000, 0)

func at(d time.Duration) time.Time { return dawn.Add(d) }

// newActive returns an ActiveHealth whose intervals are one, unless the config says
// something else.
func newActive(t testing.TB, cfg health.ActiveHealthConfig) *health.ActiveHealth {
	t.Helper()
	cfg.UnknownInterval = cmp.Or(cfg.UnknownInterval, cfg.Interval, 10*time.Second)
	return newActiveAsItIs(t, cfg)
}

func newActiveAsItIs(t testing.TB, cfg health.ActiveHealthConfig) *health.ActiveHealth {
	t.Helper()
	h, err := health.NewActiveHealth(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func reserve(t testing.TB, h *health.ActiveHealth, now time.Time) health.Reservation {
	t.Helper()
	r, wait, err := h.Reserve(now, nil)
	if err != nil || wait != 0 {
		t.Fatalf("Reserve answers %v and %v, want a reservation", wait, err)
	}
	return r
}

func requireNotReserved(t testing.TB, h *health.ActiveHealth, now time.Time, want error, wait time.Duration) {
	t.Helper()
	due := h.Due(now)
	r, got, err := h.Reserve(now, nil)
	if !errors.Is(err, want) || got != wait || due != wait || r != (health.Reservation{}) {
		t.Fatalf("Reserve answers %v and %v, Due %v, want %v and %v", got, err, due, wait, want)
	}
}

// requireState asks without the fields that tests rarely name.
func requireState(t testing.TB, h *health.ActiveHealth, now time.Time, condition health.Condition, healthy, unhealthy int) {
	t.Helper()
	s := h.State(now)
	if s.Condition != condition || s.ConsecutiveSuccesses != healthy || s.ConsecutiveFailures != unhealthy {
		t.Fatalf("it is %v after %d good and %d bad in a row, want %v after %d and %d",
			s.Condition, s.ConsecutiveSuccesses, s.ConsecutiveFailures, condition, healthy, unhealthy)
	}
}

// probes sends a probe whenever one is due, P for one that succeeds and F for one
// that fails, and returns the condition after each.
func probes(t testing.TB, h *health.ActiveHealth, results string) (conditions []health.Condition) {
	t.Helper()
	now := dawn
	for _, result := range results {
		r, wait, err := h.Reserve(now, nil)
		for ; err != nil; r, wait, err = h.Reserve(now, nil) {
			now = now.Add(wait)
		}
		s, counts := h.Complete(r, result == 'P', now)
		if !counts {
			t.Fatal("a result does not count")
		}
		conditions = append(conditions, s.Condition)
	}
	return conditions
}

// Claim: A probe is due at once if none was completed or cancelled before, and else one interval of the present condition after the last was.
// Code: ActiveHealth.due
func TestActiveHealth_EachConditionHasItsInterval(t *testing.T) {
	h := newActive(t, health.ActiveHealthConfig{
		Interval: 10 * time.Second, UnhealthyInterval: 3 * time.Second, UnknownInterval: time.Second,
		HealthyThreshold: 2, UnhealthyThreshold: 1,
	})
	if due := h.Due(dawn); due != 0 {
		t.Fatalf("the first probe is due in %v, want at once", due)
	}
	for _, step := range []struct {
		healthy bool
		now     time.Duration
		wait    time.Duration
	}{
		{true, 0, time.Second}, {true, time.Second, 10 * time.Second}, {false, 11 * time.Second, 3 * time.Second},
		{true, 14 * time.Second, 3 * time.Second}, {true, 17 * time.Second, 10 * time.Second},
	} {
		s, _ := h.Complete(reserve(t, h, at(step.now)), step.healthy, at(step.now))
		if s.Due != step.wait {
			t.Fatalf("at %v the next probe is due in %v, want %v", step.now, s.Due, step.wait)
		}
		requireNotReserved(t, h, at(step.now+1), health.ErrNotDue, step.wait-1)
	}
}

// The interval begins where the probe ends, not where it began.
func TestActiveHealth_TheIntervalBeginsAtTheEnd(t *testing.T) {
	h := newActive(t, health.ActiveHealthConfig{})
	r := reserve(t, h, dawn)
	h.Complete(r, true, at(4*time.Second))
	requireNotReserved(t, h, at(5*time.Second), health.ErrNotDue, 9*time.Second)
	reserve(t, h, at(14*time.Second))
}

// Claim: At most one reservation is outstanding at any instant.
// Code: ActiveHealth.reserve
//
// Claim: Reserve succeeds exactly when no reservation is outstanding and Due answers 0.
func TestActiveHealth_OneReservationAtATime(t *testing.T) {
	h := newActive(t, health.ActiveHealthConfig{Hold: 20 * time.Second})
	r := reserve(t, h, dawn)
	requireNotReserved(t, h, at(time.Second), health.ErrProbeRunning, 29*time.Second)
	h.Complete(r, true, at(2*time.Second))
	requireNotReserved(t, h, at(3*time.Second), health.ErrNotDue, 9*time.Second)
	reserve(t, h, at(12*time.Second))
}

// Claim: The condition becomes Healthy or Unhealthy exactly when that many probes in a row as its threshold says have agreed, and otherwise stays.
// Code: ActiveHealth.Complete
//
// Claim: A result starts the count of the opposite one again.
// Code: ActiveHealth.Complete
//
// Cases: B26.
func TestActiveHealth_OnlyARunOfResultsDecides(t *testing.T) {
	h := newActive(t, health.ActiveHealthConfig{HealthyThreshold: 2, UnhealthyThreshold: 3})
	requireState(t, h, dawn, health.Unknown, 0, 0)
	if got := probes(t, h, "PP"); got[0] != health.Unknown || got[1] != health.Healthy {
		t.Fatalf("two that succeed make it %v", got)
	}
	if err := h.Force(health.Healthy, dawn); err != nil {
		t.Fatal(err)
	}
	const results = "FPFPFFFPFPP"
	const want = "hhhhhhuuuuh"
	for i, condition := range probes(t, h, results) {
		if condition.String()[0] != want[i] {
			t.Fatalf("after %s it is %v, want %c", results[:i+1], condition, want[i])
		}
	}
}

// Cases: B29.
func TestActiveHealth_NoSingleResultGoesPastTheThreshold(t *testing.T) {
	h := newActive(t, health.ActiveHealthConfig{UnhealthyThreshold: 3})
	if err := h.Force(health.Healthy, dawn); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		for i, condition := range probes(t, h, "PPPPF") {
			if condition != health.Healthy {
				t.Fatalf("after probe %d it is %v", i, condition)
			}
		}
	}
	if got := probes(t, h, "FFF"); got[2] != health.Unhealthy {
		t.Fatal("and three in a row do not make it unhealthy")
	}
}

// Claim: Only the outstanding reservation has effect: one that was completed, cancelled, voided or lost before is reported as such and changes nothing.
// Code: ActiveHealth.end
//
// Cases: B27.
func TestActiveHealth_AnOldReservationHasNoEffect(t *testing.T) {
	for name, end := range map[string]func(h *health.ActiveHealth, r health.Reservation){
		"completed": func(h *health.ActiveHealth, r health.Reservation) { h.Complete(r, true, at(1)) },
		"cancelled": func(h *health.ActiveHealth, r health.Reservation) { h.Cancel(r, at(1)) },
		"voided":    func(h *health.ActiveHealth, _ health.Reservation) { _ = h.Force(health.Healthy, at(1)) },
		"lost":      func(*health.ActiveHealth, health.Reservation) {},
	} {
		t.Run(name, func(t *testing.T) {
			h := newActive(t, health.ActiveHealthConfig{UnhealthyThreshold: 1})
			old := reserve(t, h, dawn)
			end(h, old)
			now := at(45 * time.Second) // Hold and an interval are over
			newer := reserve(t, h, now)
			before := h.State(now)
			if s, counts := h.Complete(old, false, now); counts || s != before {
				t.Fatalf("the late result counts: %t, and leaves %+v, want %+v", counts, s, before)
			}
			if h.Cancel(old, now) {
				t.Fatal("the late cancellation counts")
			}
			if h.State(now) != before {
				t.Fatal("the late cancellation changes something")
			}
			if s, counts := h.Complete(newer, true, now); !counts || s.ConsecutiveSuccesses != before.ConsecutiveSuccesses+1 {
				t.Fatalf("the newer probe counts: %t, and leaves %+v", counts, s)
			}
		})
	}
}

func TestActiveHealth_TheZeroReservationHasNoEffect(t *testing.T) {
	h := newActive(t, health.ActiveHealthConfig{})
	if _, counts := h.Complete(health.Reservation{}, true, dawn); counts || h.Cancel(health.Reservation{}, dawn) {
		t.Fatal("it has an effect before the first probe")
	}
	reserve(t, h, dawn)
	if _, counts := h.Complete(health.Reservation{}, true, dawn); counts || h.Cancel(health.Reservation{}, dawn) {
		t.Fatal("it has an effect during a probe")
	}
}

// Claim: A cancelled probe leaves the condition and both counts alone.
// Code: ActiveHealth.Cancel
func TestActiveHealth_ACancelledProbeOnlyPutsOffTheNext(t *testing.T) {
	h := newActive(t, health.ActiveHealthConfig{})
	h.Complete(reserve(t, h, dawn), false, dawn)
	now := at(10 * time.Second)
	if !h.Cancel(reserve(t, h, now), at(12*time.Second)) {
		t.Fatal("the cancellation does not count")
	}
	requireState(t, h, at(12*time.Second), health.Unknown, 0, 1)
	requireNotReserved(t, h, at(12*time.Second), health.ErrNotDue, 10*time.Second)
}

// Claim: Force sets the condition at once, starts both counts again and voids the outstanding reservation.
func TestActiveHealth_ForceActsAtOnce(t *testing.T) {
	h := newActive(t, health.ActiveHealthConfig{UnhealthyInterval: time.Second, UnhealthyThreshold: 2})
	h.Complete(reserve(t, h, dawn), false, dawn)
	r := reserve(t, h, at(10*time.Second))
	if err := h.Force(health.Unhealthy, at(11*time.Second)); err != nil {
		t.Fatal(err)
	}
	requireState(t, h, at(11*time.Second), health.Unhealthy, 0, 0)
	if _, counts := h.Complete(r, true, at(11*time.Second)); counts {
		t.Fatal("the running probe still counts")
	}
	// It was due when it was forced, and so it still is.
	h.Complete(reserve(t, h, at(11*time.Second)), true, at(11*time.Second))
	requireState(t, h, at(11*time.Second), health.Unhealthy, 1, 0)
	// The wait is that of the forced condition, from the last end.
	if err := h.Force(health.Healthy, at(11*time.Second)); err != nil {
		t.Fatal(err)
	}
	requireNotReserved(t, h, at(12*time.Second), health.ErrNotDue, 9*time.Second)
	var field *poise.FieldError
	if err := h.Force(3, dawn); !errors.As(err, &field) || !errors.Is(err, health.ErrOutOfRange) || field.Field != "condition" {
		t.Fatalf("an unknown condition is %v", err)
	}
	requireState(t, h, dawn, health.Healthy, 0, 0)
}

// Claim: A reservation that is not ended within Hold is lost, and counts as cancelled at the instant its Hold ended.
// Code: ActiveHealth.lost, ActiveHealth.settle
//
// Cases: G19.
func TestActiveHealth_ALostReservationIsNotForEver(t *testing.T) {
	h := newActive(t, health.ActiveHealthConfig{Hold: 20 * time.Second, UnhealthyThreshold: 1})
	r := reserve(t, h, dawn)
	if !h.State(at(20*time.Second - 1)).Running {
		t.Fatal("it is lost too soon")
	}
	if s := h.State(at(20 * time.Second)); s.Running || s.Due != 10*time.Second {
		t.Fatalf("at the end of its hold it is %+v", s)
	}
	if _, counts := h.Complete(r, false, at(20*time.Second)); counts {
		t.Fatal("a result at the end of its hold counts")
	}
	requireState(t, h, at(20*time.Second), health.Unknown, 0, 0)
	// Nobody called in the meantime, so nobody noticed: it is no different.
	for _, late := range []time.Duration{20 * time.Second, 24 * time.Second, 29 * time.Second} {
		h := newActive(t, health.ActiveHealthConfig{Hold: 20 * time.Second})
		reserve(t, h, dawn)
		requireNotReserved(t, h, at(late), health.ErrNotDue, 30*time.Second-late)
		reserve(t, h, at(30*time.Second))
	}
}

func TestActiveHealth_AResultJustBeforeItsHoldEndsCounts(t *testing.T) {
	h := newActive(t, health.ActiveHealthConfig{Hold: 20 * time.Second})
	if _, counts := h.Complete(reserve(t, h, dawn), true, at(20*time.Second-1)); !counts {
		t.Fatal("it does not count")
	}
}

// Claim: Each wait is at most the interval and at least what Jitter leaves of it, which is never nothing.
// Code: ActiveHealth.wait
//
// Cases: B31, G18.
func TestActiveHealth_JitterLeavesSomethingOfEachInterval(t *testing.T) {
	for _, interval := range []time.Duration{1, 2, 99, 100, 101, 10 * time.Second, 876_000 * time.Hour} {
		for _, jitter := range []int{0, 1, 50, 99} {
			h := newActive(t, health.ActiveHealthConfig{Interval: interval, Jitter: jitter, Hold: 1 << 60})
			least := interval - time.Duration(float64(interval)/100*float64(jitter)*(1+1e-12)) - 1
			chance := poise.NewGenerator(uint64(jitter))
			now, differ := dawn, map[time.Duration]bool{}
			for range 200 {
				r, _, err := h.Reserve(now, chance)
				if err != nil {
					t.Fatal(err)
				}
				s, _ := h.Complete(r, true, now)
				if s.Due < max(1, least) || s.Due > interval {
					t.Fatalf("%v with %d percent became %v, want from %v", interval, jitter, s.Due, least)
				}
				if jitter == 0 && s.Due != interval {
					t.Fatalf("without jitter %v became %v", interval, s.Due)
				}
				differ[s.Due] = true
				now = now.Add(s.Due)
			}
			if interval >= 10*time.Second && jitter > 0 && len(differ) < 190 {
				t.Fatalf("200 waits of %v with %d percent are %d", interval, jitter, len(differ))
			}
		}
	}
}

// The ends of the range are reached, so that no part of the jitter is lost.
func TestActiveHealth_JitterReachesBothEnds(t *testing.T) {
	h := newActive(t, health.ActiveHealthConfig{Interval: 4, Jitter: 75})
	chance, now := poise.NewGenerator(1), dawn
	seen := map[time.Duration]int{}
	for range 400 {
		r, _, _ := h.Reserve(now, chance)
		s, _ := h.Complete(r, true, now)
		seen[s.Due]++
		now = now.Add(s.Due)
	}
	if len(seen) != 4 || seen[1] < 50 || seen[2] < 50 || seen[3] < 50 || seen[4] < 50 {
		t.Fatalf("the waits are %v, want each of 1 to 4 in about 100 of 400", seen)
	}
}

// Claim: A clock that steps back costs at most one more interval, or one more Hold, from the next Reserve.
// Code: ActiveHealth.settle, ActiveHealth.due
//
// Cases: B22.
func TestActiveHealth_AClockThatStepsBackFreezesNothing(t *testing.T) {
	const hour = time.Hour
	h := newActive(t, health.ActiveHealthConfig{Hold: 20 * time.Second})
	h.Complete(reserve(t, h, at(hour)), true, at(hour))
	if due := h.Due(dawn); due != 10*time.Second {
		t.Fatalf("an hour back the next probe is due in %v", due)
	}
	requireNotReserved(t, h, dawn, health.ErrNotDue, 10*time.Second)
	requireNotReserved(t, h, at(4*time.Second), health.ErrNotDue, 6*time.Second)
	r := reserve(t, h, at(10*time.Second))
	requireNotReserved(t, h, at(-hour), health.ErrProbeRunning, 30*time.Second)
	requireNotReserved(t, h, at(-hour+25*time.Second), health.ErrNotDue, 5*time.Second)
	if _, counts := h.Complete(r, true, at(-hour+25*time.Second)); counts {
		t.Fatal("the lost reservation counts")
	}
	reserve(t, h, at(-hour+30*time.Second))
}

// A probe across a step back still counts, in either direction of time.
func TestActiveHealth_AProbeAcrossAStepBackCounts(t *testing.T) {
	h := newActive(t, health.ActiveHealthConfig{HealthyThreshold: 1})
	s, counts := h.Complete(reserve(t, h, dawn), true, at(-time.Hour))
	if !counts || s.Condition != health.Healthy || s.Due != 10*time.Second {
		t.Fatalf("it counts: %t, and leaves %+v", counts, s)
	}
}

// Claim: Due, State and Excluded change nothing.
// Code: ActiveHealth.Due, ActiveHealth.State, ActiveHealth.Excluded
func TestActiveHealth_AskingChangesNothing(t *testing.T) {
	ask := func(h *health.ActiveHealth) {
		for _, now := range []time.Duration{-time.Hour, 0, time.Second, 25 * time.Second, 100 * time.Hour} {
			h.Due(at(now))
			h.State(at(now))
			h.Excluded()
		}
	}
	h := newActive(t, health.ActiveHealthConfig{Hold: 20 * time.Second})
	ask(h)
	r := reserve(t, h, dawn)
	ask(h)
	requireNotReserved(t, h, at(time.Second), health.ErrProbeRunning, 29*time.Second)
	if _, counts := h.Complete(r, true, at(2*time.Second)); !counts {
		t.Fatal("asking has lost the reservation")
	}
	ask(h)
	requireNotReserved(t, h, at(3*time.Second), health.ErrNotDue, 9*time.Second)
}

// Claim: A candidate is excluded exactly while it is Unhealthy, or Unknown under DenyUnknown.
func TestActiveHealth_ExcludesTheUnhealthyAndPerhapsTheUnknown(t *testing.T) {
	for _, row := range []struct {
		unknown   health.UnknownPolicy
		condition health.Condition
		want      poise.Reason
	}{
		{health.AllowUnknown, health.Unknown, poise.NotExcluded},
		{health.AllowUnknown, health.Healthy, poise.NotExcluded},
		{health.AllowUnknown, health.Unhealthy, poise.ExcludedUnhealthy},
		{health.DenyUnknown, health.Unknown, poise.ExcludedUnhealthy},
		{health.DenyUnknown, health.Healthy, poise.NotExcluded},
		{health.DenyUnknown, health.Unhealthy, poise.ExcludedUnhealthy},
	} {
		h := newActive(t, health.ActiveHealthConfig{Unknown: row.unknown})
		if err := h.Force(row.condition, dawn); err != nil {
			t.Fatal(err)
		}
		if got := h.Excluded(); got != row.want || h.State(dawn).Excluded != row.want {
			t.Errorf("%v under %v: %v, want %v", row.condition, row.unknown, got, row.want)
		}
	}
}

// Cases: B31.
func TestNewActiveHealth_RefusesWhatCannotWork(t *testing.T) {
	const century = 100 * 365 * 24 * time.Hour
	for _, row := range []struct {
		cfg   health.ActiveHealthConfig
		field string
		value any
	}{
		{health.ActiveHealthConfig{Interval: -time.Second}, "Interval", -time.Second},
		{health.ActiveHealthConfig{Interval: century + 1}, "Interval", century + 1},
		{health.ActiveHealthConfig{UnhealthyInterval: -1}, "UnhealthyInterval", time.Duration(-1)},
		{health.ActiveHealthConfig{UnhealthyInterval: math.MaxInt64}, "UnhealthyInterval", time.Duration(math.MaxInt64)},
		{health.ActiveHealthConfig{UnknownInterval: -1}, "UnknownInterval", time.Duration(-1)},
		{health.ActiveHealthConfig{Hold: -1}, "Hold", time.Duration(-1)},
		{health.ActiveHealthConfig{Hold: century + 1}, "Hold", century + 1},
		{health.ActiveHealthConfig{Jitter: -1}, "Jitter", -1},
		{health.ActiveHealthConfig{Interval: 1, Jitter: 100}, "Jitter", 100},
		{health.ActiveHealthConfig{Interval: 10 * time.Second, Jitter: 150}, "Jitter", 150},
		{health.ActiveHealthConfig{HealthyThreshold: -1}, "HealthyThreshold", -1},
		{health.ActiveHealthConfig{UnhealthyThreshold: -1}, "UnhealthyThreshold", -1},
		{health.ActiveHealthConfig{Unknown: 2}, "Unknown", health.UnknownPolicy(2)},
	} {
		h, err := health.NewActiveHealth(row.cfg)
		requireField(t, err, health.ErrOutOfRange, row.field, row.value)
		if h != nil {
			t.Errorf("%s: an error and an ActiveHealth", row.field)
		}
	}
	newActive(t, health.ActiveHealthConfig{Interval: century, UnhealthyInterval: 1, UnknownInterval: century, Hold: century, Jitter: 99})
}

func requireField(t testing.TB, err, want error, field string, value any) {
	t.Helper()
	var got *poise.FieldError
	if !errors.As(err, &got) || !errors.Is(err, want) || got.Field != field || got.Value != value {
		t.Errorf("the error is %v, want %v of %s with %v", err, want, field, value)
	}
}

// The longest settings do not overflow.
func TestActiveHealth_ACenturyIsNotTooLong(t *testing.T) {
	const century = 100 * 365 * 24 * time.Hour
	h := newActive(t, health.ActiveHealthConfig{Interval: century, Hold: century})
	reserve(t, h, dawn)
	requireNotReserved(t, h, dawn, health.ErrProbeRunning, 2*century)
	requireNotReserved(t, h, at(century), health.ErrNotDue, century)
	requireNotReserved(t, h, at(century).Add(century-1), health.ErrNotDue, 1)
	reserve(t, h, at(century).Add(century))
}

func TestActiveHealth_DefaultsAreThoseOfTheDocs(t *testing.T) {
	h := newActiveAsItIs(t, health.ActiveHealthConfig{})
	reserve(t, h, dawn)
	requireNotReserved(t, h, dawn, health.ErrProbeRunning, 30*time.Second+100*time.Millisecond)
	if err := h.Force(health.Healthy, dawn); err != nil {
		t.Fatal(err)
	}
	reserve(t, h, dawn)
	requireNotReserved(t, h, dawn, health.ErrProbeRunning, 40*time.Second)
	if state := newActiveAsItIs(t, health.ActiveHealthConfig{Interval: time.Millisecond}).State(dawn); state.Due != 0 {
		t.Fatalf("a new one is %+v", state)
	}
	h = newActive(t, health.ActiveHealthConfig{})
	if got := probes(t, h, "PPFFF"); got[0] != health.Unknown || got[1] != health.Healthy ||
		got[3] != health.Healthy || got[4] != health.Unhealthy {
		t.Fatalf("PPFFF makes it %v", got)
	}
	if got := newActive(t, health.ActiveHealthConfig{}).Excluded(); got != poise.NotExcluded {
		t.Fatalf("the unknown is %v", got)
	}
}

func TestNames(t *testing.T) {
	for _, row := range []struct {
		value interface{ String() string }
		want  string
	}{
		{health.Unknown, "unknown"}, {health.Healthy, "healthy"}, {health.Unhealthy, "unhealthy"}, {health.Condition(3), "no condition"},
		{health.AllowUnknown, "allow unknown"}, {health.DenyUnknown, "deny unknown"}, {health.UnknownPolicy(2), "no policy"},
		{health.TimeoutUnhealthy, "timeout is unhealthy"}, {health.TimeoutCancels, "timeout cancels"}, {health.TimeoutPolicy(2), "no policy"},
		{health.ProbeCancelled, "cancelled"}, {health.ProbePassed, "passed"}, {health.ProbeFailed, "failed"},
		{health.ProbeDiscarded, "discarded"}, {health.ProbeResult(4), "no result"},
	} {
		if got := row.value.String(); got != row.want {
			t.Errorf("%T is %q, want %q", row.value, got, row.want)
		}
	}
}
