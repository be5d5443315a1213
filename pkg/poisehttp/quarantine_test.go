package poisehttp_test

import (
	"errors"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newQuarantine(t testing.TB, cfg poisehttp.QuarantineConfig) *poisehttp.Quarantine {
	t.Helper()
	q, err := poisehttp.NewQuarantine(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func admit(t testing.TB, q *poisehttp.Quarantine) poisehttp.Permit {
	t.Helper()
	p, err := q.Admit()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Claim: The configured number of failures in a row sets the endpoint aside; a success in between starts the count again.
func TestQuarantine_SetsAsideAfterFailuresInARow(t *testing.T) {
	q := newQuarantine(t, poisehttp.QuarantineConfig{})
	for i, step := range []struct {
		outcome poise.Outcome
		aside   bool
	}{
		{poise.Failure, false},
		{poise.Failure, false},
		{poise.Success, false},
		{poise.Failure, false},
		{poise.Overloaded, false},
		{poise.Cancelled, false},
		{poise.Failure, true},
	} {
		if got := q.Report(admit(t, q), step.outcome, start, nil); got != step.aside || q.Aside() != step.aside {
			t.Fatalf("step %d, %s: Report is %t, Aside %t", i, step.outcome, got, q.Aside())
		}
	}
}

// Claim: Admit refuses exactly while the endpoint is aside.
func TestQuarantine_RefusesExactlyWhileAside(t *testing.T) {
	q := newQuarantine(t, poisehttp.QuarantineConfig{Failures: 1})
	p := admit(t, q)
	admit(t, q)
	q.Report(p, poise.Failure, start, nil)
	for range 2 {
		if _, err := q.Admit(); !errors.Is(err, poisehttp.ErrSetAside) || !q.Aside() {
			t.Errorf("Admit while aside answers %v", err)
		}
	}
	q.Return(start.Add(time.Second))
	admit(t, q)
}

// Claim: Return brings the endpoint back once its time aside is over, and not before.
func TestQuarantine_ReturnsOnTime(t *testing.T) {
	q := newQuarantine(t, poisehttp.QuarantineConfig{Failures: 1})
	if left := q.Return(start); left != 0 {
		t.Errorf("%v are left although it is not aside", left)
	}
	q.Report(admit(t, q), poise.Failure, start, nil)
	wait := q.Return(start)
	if early := q.Return(start.Add(wait - 1)); early != 1 || !q.Aside() {
		t.Errorf("just before its time %v are left", early)
	}
	if left := q.Return(start.Add(wait)); left != 0 || q.Aside() {
		t.Errorf("at its time %v are left", left)
	}
}

// Claim: After a return the first failure sets the endpoint aside again, for twice the time up to the longest; the first success forgets that.
//
// Claim: Each time aside is between half of the backoff and the whole of it.
//
// Cases: B31.
func TestQuarantine_DoublesUpToTheLongestAndForgets(t *testing.T) {
	for seed := range uint64(50) {
		chance := poise.NewGenerator(seed)
		q := newQuarantine(t, poisehttp.QuarantineConfig{Failures: 2, Backoff: 100 * time.Millisecond, MaxBackoff: 900 * time.Millisecond})
		now := start
		fail := func() bool { return q.Report(admit(t, q), poise.Failure, now, chance) }
		require := func(backoff time.Duration) {
			t.Helper()
			wait := q.Return(now)
			if wait < backoff/2 || wait > backoff {
				t.Fatalf("seed %d: aside for %v at a backoff of %v", seed, wait, backoff)
			}
			now = now.Add(wait)
			q.Return(now)
		}
		if fail() || !fail() {
			t.Fatal("two failures are to set it aside")
		}
		require(100 * time.Millisecond)
		for _, backoff := range []time.Duration{200, 400, 800, 900, 900} {
			if !fail() {
				t.Fatal("after a return the first failure is to set it aside")
			}
			require(backoff * time.Millisecond)
		}
		q.Report(admit(t, q), poise.Success, now, chance)
		if fail() || !fail() {
			t.Fatal("after a success it is to take two failures again")
		}
		require(100 * time.Millisecond)
	}
}

// Claim: Each time aside is between half of the backoff and the whole of it.
func TestQuarantine_JitterReachesBothEnds(t *testing.T) {
	chance := poise.NewGenerator(1)
	seen := map[time.Duration]bool{}
	for range 200 {
		q := newQuarantine(t, poisehttp.QuarantineConfig{Failures: 1, Backoff: 4})
		q.Report(admit(t, q), poise.Failure, start, chance)
		seen[q.Return(start)] = true
	}
	if len(seen) != 3 || !seen[2] || !seen[3] || !seen[4] {
		t.Errorf("a backoff of 4 ns gave waits of %v", seen)
	}
}

// Cases: B31.
func TestQuarantine_NeverWaitsZero(t *testing.T) {
	for backoff := range time.Duration(4) {
		q := newQuarantine(t, poisehttp.QuarantineConfig{Failures: 1, Backoff: backoff + 1, MaxBackoff: backoff + 1})
		for range 20 {
			q.Report(admit(t, q), poise.Failure, start, nil)
			if wait := q.Return(start); wait <= 0 || !q.Aside() {
				t.Fatalf("backoff %v: aside for %v", backoff+1, wait)
			}
			q.Return(start.Add(backoff + 1))
		}
	}
}

func TestQuarantine_DoublesWithoutOverflow(t *testing.T) {
	const longest = time.Duration(1<<63 - 1)
	q := newQuarantine(t, poisehttp.QuarantineConfig{Failures: 1, Backoff: longest/2 + 1, MaxBackoff: longest})
	for range 70 {
		q.Report(admit(t, q), poise.Failure, start, nil)
		if wait := q.Return(start); wait < longest/4 {
			t.Fatalf("aside for %v", wait)
		}
		q.Return(start.Add(longest))
		q.Return(start.Add(longest))
		if q.Aside() {
			t.Fatal("it did not come back")
		}
	}
}

// Claim: A result of a call that was admitted before the endpoint was last set aside changes nothing.
func TestQuarantine_IgnoresResultsOfEarlierEpochs(t *testing.T) {
	q := newQuarantine(t, poisehttp.QuarantineConfig{Failures: 1})
	old, stale := admit(t, q), admit(t, q)
	q.Report(old, poise.Failure, start, nil)
	wait := q.Return(start)
	if q.Report(stale, poise.Failure, start.Add(wait/2), nil) || q.Report(stale, poise.Success, start, nil) {
		t.Error("an old result set it aside")
	}
	if left := q.Return(start); left != wait {
		t.Errorf("an old result changed the wait from %v to %v", wait, left)
	}
	now := start.Add(wait)
	q.Return(now)
	q.Report(stale, poise.Failure, now, nil)
	q.Report(old, poise.Success, now, nil)
	if q.Aside() {
		t.Error("an old failure set it aside after its return")
	}
	q.Report(admit(t, q), poise.Failure, now, nil)
	if again := q.Return(now); again < time.Second {
		t.Errorf("an old success made it forget: aside for %v", again)
	}
}

// Claim: A cancelled call changes nothing.
//
// Cases: B21.
func TestQuarantine_IgnoresCancelledCalls(t *testing.T) {
	q := newQuarantine(t, poisehttp.QuarantineConfig{Failures: 2})
	for range 100 {
		if q.Report(admit(t, q), poise.Cancelled, start, nil) {
			t.Fatal("cancelled calls set it aside")
		}
	}
	q.Report(admit(t, q), poise.Failure, start, nil)
	q.Report(admit(t, q), poise.Cancelled, start, nil)
	if !q.Report(admit(t, q), poise.Failure, start, nil) {
		t.Error("a cancelled call in between started the count again")
	}
	q.Return(start.Add(time.Second))
	q.Report(admit(t, q), poise.Cancelled, start, nil)
	if !q.Report(admit(t, q), poise.Failure, start, nil) {
		t.Error("a cancelled call after the return counted as a success")
	}
}

// Claim: A clock that steps back costs at most one more time aside.
//
// Cases: B22.
func TestQuarantine_SurvivesClockSteps(t *testing.T) {
	for _, back := range []time.Duration{1, time.Second, time.Hour, 1000000 * time.Hour} {
		q := newQuarantine(t, poisehttp.QuarantineConfig{Failures: 1})
		q.Report(admit(t, q), poise.Failure, start, nil)
		wait := q.Return(start)
		stepped := start.Add(-back)
		if left := q.Return(stepped); left != wait {
			t.Errorf("%v back: %v are left of %v", back, left, wait)
		}
		q.Return(stepped.Add(wait))
		if q.Aside() {
			t.Errorf("%v back: still aside after one more time", back)
		}
	}
	q := newQuarantine(t, poisehttp.QuarantineConfig{Failures: 1})
	q.Report(admit(t, q), poise.Failure, start, nil)
	if q.Return(start.Add(time.Hour)); q.Aside() {
		t.Error("a step forward keeps it aside")
	}
}

func TestQuarantine_OffAdmitsAlways(t *testing.T) {
	q := newQuarantine(t, poisehttp.QuarantineConfig{Off: true, Failures: 1})
	for range 10 {
		if q.Report(admit(t, q), poise.Failure, start, nil) || q.Aside() {
			t.Fatal("it was set aside")
		}
	}
}

// Cases: B31.
func TestNewQuarantine_NamesTheFieldThatIsOutOfRange(t *testing.T) {
	for _, row := range []struct {
		field string
		cfg   poisehttp.QuarantineConfig
	}{
		{"Quarantine.Failures", poisehttp.QuarantineConfig{Failures: -1}},
		{"Quarantine.Backoff", poisehttp.QuarantineConfig{Backoff: -1}},
		{"Quarantine.MaxBackoff", poisehttp.QuarantineConfig{MaxBackoff: -1}},
		{"Quarantine.MaxBackoff", poisehttp.QuarantineConfig{Backoff: 2, MaxBackoff: 1}},
	} {
		_, err := poisehttp.NewQuarantine(row.cfg)
		requireField(t, err, row.field, poisehttp.ErrOutOfRange)
	}
	newQuarantine(t, poisehttp.QuarantineConfig{Backoff: time.Hour}) // the default longest gives way
}

// requireField requires err to be a FieldError of the sentinel that names the field.
func requireField(t testing.TB, err error, field string, sentinel error) {
	t.Helper()
	var refused *poise.FieldError
	if !errors.As(err, &refused) || refused.Field != field || !errors.Is(err, sentinel) {
		t.Errorf("want %v for %s, got %v", sentinel, field, err)
	}
}
