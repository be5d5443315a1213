package dispatch_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
)

// state is a call that was sent once, with everybody left.
func state(edit func(*dispatch.RetryState)) (s dispatch.RetryState) {
	s.Sent, s.Untried, s.UntriedEjected, s.Again = 1, true, true, true
	if edit != nil {
		edit(&s)
	}
	return s
}

// rules are the defaults, filled in as NewLoop does.
func rules() (c dispatch.RetryConfig) {
	c.Attempts, c.EjectedAttempts, c.OverloadedPercent = 3, 2, 25
	return c
}

// Claim: A call that was served, that its caller left, or that was its caller's mistake is not repeated.
//
// Claim: A call of which nothing was sent goes on to every member that is left and not ejected, and then to at most EjectedAttempts that are.
//
// Claim: A call that may have been received is repeated only if it is repeatable.
//
// Claim: A call is sent at most Attempts times, trials aside.
//
// Claim: After "too busy" or silence a call is repeated only while at most OverloadedPercent of the calls end so.
//
// Claim: A failed trial costs no retry.
func TestRetryConfig_NextByTable(t *testing.T) {
	silent := poise.Result{Outcome: poise.Silent}
	for _, row := range []struct {
		name       string
		state      dispatch.RetryState
		result     poise.Result
		repeatable bool
		want       dispatch.StepReason
		repeat     bool
	}{
		{"served", state(nil), success, true, dispatch.Served, false},
		{"cancelled", state(nil), poise.Result{Outcome: poise.Cancelled}, true, dispatch.CallersOwn, false},
		{"invalid", state(nil), poise.Result{Outcome: poise.Invalid}, true, dispatch.CallersOwn, false},
		{"failed", state(nil), failure, true, dispatch.Paid, true},
		{"failed, not repeatable", state(nil), failure, false, dispatch.NotRepeatable, false},
		{"silent, not repeatable", state(nil), silent, false, dispatch.NotRepeatable, false},
		{"sent often enough", state(func(s *dispatch.RetryState) { s.Sent = 3 }), failure, true, dispatch.EnoughAttempts, false},
		{"nothing sent", state(func(s *dispatch.RetryState) { s.Sent = 0 }), unreachable, false, dispatch.NothingSent, true},
		{"nothing sent, after many", state(func(s *dispatch.RetryState) { s.Sent = 9 }), unreachable, false, dispatch.NothingSent, true},
		{"nothing sent, only ejected left", state(func(s *dispatch.RetryState) { s.Untried, s.Ejected = false, 1 }), unreachable, false, dispatch.NothingSent, true},
		{"nothing sent, two ejected tried", state(func(s *dispatch.RetryState) { s.Untried, s.Again, s.Ejected = false, false, 2 }), unreachable, false, dispatch.NobodyLeft, false},
		{"nothing sent, somebody tried is left", state(func(s *dispatch.RetryState) { s.Untried, s.UntriedEjected = false, false }), unreachable, true, dispatch.Paid, true},
		{"nobody left", state(func(s *dispatch.RetryState) { s.Untried, s.UntriedEjected, s.Again = false, false, false }), failure, true, dispatch.NobodyLeft, false},
		{"too busy", state(func(s *dispatch.RetryState) { s.OverloadedShare = 0.25 }), overloaded, true, dispatch.Paid, true},
		{"too busy, as many", state(func(s *dispatch.RetryState) { s.OverloadedShare = 0.26 }), overloaded, true, dispatch.FleetOverloaded, false},
		{"silent, as many", state(func(s *dispatch.RetryState) { s.OverloadedShare = 0.26 }), silent, true, dispatch.FleetOverloaded, false},
		{"failed while many are busy", state(func(s *dispatch.RetryState) { s.OverloadedShare = 0.9 }), failure, true, dispatch.Paid, true},
		{"a trial failed", state(func(s *dispatch.RetryState) { s.Sent, s.Trial = 3, true }), failure, true, dispatch.TrialFailed, true},
		{"a trial failed, not repeatable", state(func(s *dispatch.RetryState) { s.Trial = true }), failure, false, dispatch.NotRepeatable, false},
	} {
		step := rules().Next(row.state, row.result, row.repeatable)
		if step.Reason != row.want || (step.Action == dispatch.Repeat) != row.repeat {
			t.Errorf("%s: %v because %v, want %t because %v", row.name, step.Action, step.Reason, row.repeat, row.want)
		}
	}
	off := rules()
	off.Off = true
	if step := off.Next(state(nil), unreachable, true); step.Action != dispatch.Stop || step.Reason != dispatch.RetriesOff {
		t.Errorf("with retries off: %v", step)
	}
}

// Claim: A call is sent at most Attempts times, trials aside.
//
// Claim: A call that may have been received is repeated only if it is repeatable.
func TestRetryConfig_LawBoundsWhatIsSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := rules()
		cfg.Attempts = rapid.IntRange(1, 5).Draw(t, "attempts")
		n := rapid.IntRange(1, 8).Draw(t, "members")
		repeatable := rapid.Bool().Draw(t, "repeatable")
		l := newLoop(t, n, func(c *dispatch.LoopConfig) { c.Retry = cfg; c.Passive.Off = true; c.Retry.Budget.Burst = 1000 })
		var a dispatch.Attempts
		var c dispatch.Call
		sent, dials := 0, 0
		now := epoch
		for {
			if err := l.Acquire(&c, dispatch.Query{Now: now, Attempts: &a}); err != nil {
				t.Fatalf("after a step that repeats there is nobody: %v", err)
			}
			r := poise.Result{Outcome: rapid.SampledFrom([]poise.Outcome{poise.Failure, poise.Overloaded, poise.Unreachable, poise.Silent}).Draw(t, "outcome")}
			if dials++; r.Outcome != poise.Unreachable {
				sent++
			}
			answered := r.Outcome == poise.Failure && rapid.Bool().Draw(t, "answered")
			if answered {
				c.Answered(r, now)
			}
			c.End(r, now)
			if l.Next(&a, r, repeatable, now).Action == dispatch.Stop {
				break
			}
			now = now.Add(time.Millisecond)
		}
		switch {
		case sent > cfg.Attempts:
			t.Fatalf("it was sent %d times of %d", sent, cfg.Attempts)
		case !repeatable && sent > 1:
			t.Fatalf("what must not be repeated was sent %d times", sent)
		case dials > n+cfg.Attempts:
			t.Fatalf("%d dials at %d members", dials, n)
		}
	})
}

// Claim: A retry for which nobody is found is given back to the budget.
// Code: Attempts.refund
func TestLoop_GivesBackARetryThatWasNotMade(t *testing.T) {
	l := newLoop(t, 1, func(c *dispatch.LoopConfig) { c.Passive.Off = true })
	saved := l.Inspect(epoch).Retries
	var a dispatch.Attempts
	var c dispatch.Call
	q := dispatch.Query{Now: epoch, Attempts: &a}
	if err := l.Acquire(&c, q); err != nil {
		t.Fatal(err)
	}
	c.End(failure, epoch)
	if step := l.Next(&a, failure, true, epoch); step.Reason != dispatch.Paid || l.Inspect(epoch).Retries != saved-100 {
		t.Fatalf("the step is %v, with %d saved", step, l.Inspect(epoch).Retries)
	}
	if err := l.SetStatus("a0", poise.Unavailable, epoch); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.Acquire(&c, q); err == nil {
			t.Fatal("somebody was found")
		}
		if got := l.Inspect(epoch).Retries; got != saved {
			t.Errorf("%d are saved, want %d", got, saved)
		}
	}
	// A retry that was made is not given back.
	if err := l.SetStatus("a0", poise.Ready, epoch); err != nil {
		t.Fatal(err)
	}
	l.Next(&a, failure, true, epoch)
	if err := l.Acquire(&c, q); err != nil {
		t.Fatal(err)
	}
	if err := l.Acquire(new(dispatch.Call), q); err == nil || l.Inspect(epoch).Retries != saved-100 {
		t.Errorf("%d are saved: %v", l.Inspect(epoch).Retries, err)
	}
}

func TestSteps_HaveTexts(t *testing.T) {
	for r := dispatch.Served; r <= dispatch.Paid; r++ {
		text, err := r.MarshalText()
		if err != nil || string(text) != r.String() || r.String() == "unknown" {
			t.Errorf("%d is %q: %v", r, text, err)
		}
	}
	if dispatch.Repeat.String() != "repeat" || dispatch.Stop.String() != "stop" || dispatch.StepReason(99).String() != "unknown" {
		t.Error("the texts are wrong")
	}
}
