package health_test

import (
	"testing"
	"time"
	"unsafe"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// wallSet returns the instant as it would read had somebody set the wall clock by so
// many seconds. The monotonic reading, which comparisons go by, stays. Package time
// has no way to say so; the first word of a Time holds the flag that there is a
// monotonic reading, the seconds since 1885 in 33 bits, and the nanoseconds in 30.
func wallSet(t testing.TB, now time.Time, seconds int64) time.Time {
	t.Helper()
	set := now
	*(*uint64)(unsafe.Pointer(&set)) += uint64(seconds) << 30
	if set.Sub(now) != 0 || set.Round(0).Sub(now.Round(0)) != time.Duration(seconds)*time.Second {
		t.Fatal("package time keeps its instants in another way")
	}
	return set
}

// Cases: B22, B108.
func TestWallClock_SettingItChangesNothing(t *testing.T) {
	for _, seconds := range []int64{-7200, -1, 3600, 1 << 28} {
		began := time.Now()
		at := func(d time.Duration) time.Time { return wallSet(t, began.Add(d), seconds) }

		c, err := health.NewCircuit(health.CircuitConfig{Failures: 1, OpenFor: time.Minute, MaxHold: time.Minute, Chance: poise.NewGenerator(1)})
		if err != nil {
			t.Fatal(err)
		}
		c.ForceOpen(began)
		whole, _ := c.NextChange(began)
		if left, _ := c.NextChange(at(time.Second)); left != whole-time.Second {
			t.Errorf("wall clock set by %d s: a circuit stays open for %v of %v", seconds, left, whole)
		}
		if _, err := c.Acquire(at(time.Second)); err == nil {
			t.Errorf("wall clock set by %d s: an open circuit gives a permit", seconds)
		}
		if _, err := c.Acquire(at(whole)); err != nil {
			t.Errorf("wall clock set by %d s: %v when the time open is over", seconds, err)
		}
		if left, taken := c.NextChange(wallSet(t, at(whole+time.Second), -seconds)); !taken || left != 59*time.Second {
			t.Errorf("wall clock set by %d s: a trial may be held for %v", seconds, left)
		}

		h := newActive(t, health.ActiveHealthConfig{Interval: time.Minute, Hold: time.Minute})
		r := reserve(t, h, began)
		if due := h.Due(at(time.Second)); due != 119*time.Second {
			t.Errorf("wall clock set by %d s: a probe that runs is due again in %v", seconds, due)
		}
		if _, counts := h.Complete(r, true, at(2*time.Second)); !counts {
			t.Errorf("wall clock set by %d s: the result is lost", seconds)
		}
		if due := h.Due(began.Add(3 * time.Second)); due != 59*time.Second {
			t.Errorf("wall clock set by %d s: the next probe is due in %v", seconds, due)
		}

		s := newSchedule(t, health.ProbeScheduleConfig{Health: health.ActiveHealthConfig{UnknownInterval: time.Minute}})
		if err := s.Add(1, began); err != nil {
			t.Fatal(err)
		}
		probe, _, _ := s.Next(at(time.Second))
		s.End(probe, health.ProbePassed, false, began.Add(2*time.Second))
		if _, wait, ok := s.Next(at(3 * time.Second)); ok || wait != 59*time.Second {
			t.Errorf("wall clock set by %d s: the schedule waits for %v", seconds, wait)
		}

		f := newFleet(t, 2, health.OutlierControllerConfig{Jitter: noJitter})
		f.now = began
		f.sweep(0)
		f.calls(0, 0, 5, 0)
		f.sweep(0)
		f.now = at(29 * time.Second)
		f.sweep(0)
		f.requireOut(0)
		f.now = at(30*time.Second + 1)
		f.sweep(0)
		f.requireOut()

		w, err := health.NewOutcomeWindow(health.OutcomeWindowConfig{HalfLife: time.Minute}, began)
		if err != nil {
			t.Fatal(err)
		}
		w.Record(poise.Failure, at(0))
		if got := w.Penalty(began.Add(time.Minute)); got != 0.5 {
			t.Errorf("wall clock set by %d s: after a half-life the penalty is %v", seconds, got)
		}
	}
}
