package health_test

import (
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// noon is when the tests of circuits begin.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func newCircuit(t testing.TB, cfg health.CircuitConfig) *health.Circuit {
	t.Helper()
	c, err := health.NewCircuit(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func acquire(t testing.TB, c *health.Circuit, now time.Time) health.Permit {
	t.Helper()
	p, err := c.Acquire(now)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// end ends a permit that must be good.
func end(t testing.TB, c *health.Circuit, p health.Permit, outcome poise.Outcome, now time.Time) {
	t.Helper()
	if err := c.End(p, outcome, now); err != nil {
		t.Fatal(err)
	}
}

// call makes one whole call at an instant.
func call(t testing.TB, c *health.Circuit, outcome poise.Outcome, now time.Time) {
	t.Helper()
	end(t, c, acquire(t, c, now), outcome, now)
}

func requireMode(t testing.TB, c *health.Circuit, now time.Time, mode health.CircuitMode) {
	t.Helper()
	if state := c.State(now); state.Mode != mode {
		t.Fatalf("the circuit is %s, want %s: %+v", state.Mode, mode, state)
	}
}

func requireNoPermit(t testing.TB, c *health.Circuit, now time.Time, want error, after time.Duration) {
	t.Helper()
	_, err := c.Acquire(now)
	var refused *health.CircuitError
	if !errors.As(err, &refused) || !errors.Is(err, want) || refused.RetryAfter != after {
		t.Fatalf("Acquire answers %v, want %v and to come back after %v", err, want, after)
	}
}

// halfOpen returns a circuit that is half-open from the instant on, with one trial
// out.
func halfOpen(t testing.TB, cfg health.CircuitConfig) (*health.Circuit, health.Permit, time.Time) {
	t.Helper()
	c := newCircuit(t, cfg)
	c.ForceOpen(noon)
	now := noon.Add(c.State(noon).RetryAfter)
	return c, acquire(t, c, now), now
}

// Claim: A closed circuit gives a permit to every call.
func TestCircuit_ClosedLetsEveryCallThrough(t *testing.T) {
	c := newCircuit(t, health.CircuitConfig{})
	for range 1000 {
		acquire(t, c, noon)
	}
	requireMode(t, c, noon.Add(time.Hour), health.Closed)
}

// Claim: The configured number of failures in a row opens a closed circuit; a success in between starts the count again.
// Code: Circuit.count
func TestCircuit_OpensAfterFailuresInARow(t *testing.T) {
	c := newCircuit(t, health.CircuitConfig{Failures: 3})
	for i, step := range []struct {
		outcome  poise.Outcome
		failures int
	}{
		{poise.Failure, 1}, {poise.Overloaded, 2}, {poise.Success, 0},
		{poise.Failure, 1}, {poise.Cancelled, 1}, {poise.Failure, 2},
	} {
		call(t, c, step.outcome, noon)
		if state := c.State(noon); state.Failures != step.failures || state.Mode != health.Closed {
			t.Fatalf("step %d, %s: %+v", i, step.outcome, state)
		}
	}
	call(t, c, poise.Overloaded, noon)
	requireMode(t, c, noon, health.Open)
}

// Claim: The configured number of failures in a row opens a closed circuit; a success in between starts the count again.
func TestCircuit_DefaultIsFiveFailuresAndThirtySeconds(t *testing.T) {
	c := newCircuit(t, health.CircuitConfig{})
	for range 4 {
		call(t, c, poise.Failure, noon)
	}
	requireMode(t, c, noon, health.Closed)
	call(t, c, poise.Failure, noon)
	requireMode(t, c, noon, health.Open)
	if left := c.State(noon).RetryAfter; left < 15*time.Second || left > 30*time.Second {
		t.Errorf("open for %v", left)
	}
	cfg := c.Config()
	if cfg.MaxOpenFor != 5*time.Minute || cfg.Trials != 1 || cfg.Successes != 1 || cfg.MaxHold != time.Minute {
		t.Errorf("defaults are %+v", cfg)
	}
}

// Claim: A closed circuit with a window opens as soon as the window holds enough outcomes and at least the configured share of them are failures.
// Code: Circuit.count
func TestCircuit_OpensAtTheShareOfFailures(t *testing.T) {
	const s, f = poise.Success, poise.Failure
	for _, row := range []struct {
		name     string
		percent  int
		enough   int
		outcomes []poise.Outcome // the last opens it
	}{
		{"half of four", 50, 4, []poise.Outcome{f, s, s, f}},
		{"one more than a third", 34, 3, []poise.Outcome{f, s, s, s, f, s, f}},
		{"all of one", 100, 1, []poise.Outcome{s, s, s, s, f, f, f, f}},
		{"the success that makes them enough", 50, 3, []poise.Outcome{f, f, s}},
		{"one percent", 1, 1, []poise.Outcome{s, s, f}},
		{"overloads count, cancelled calls do not", 50, 4, []poise.Outcome{
			poise.Overloaded, poise.Cancelled, poise.Cancelled, s, s, poise.Cancelled, poise.Overloaded,
		}},
	} {
		c := newCircuit(t, health.CircuitConfig{
			Failures: math.MaxInt, Window: 4, FailurePercent: row.percent, MinSamples: row.enough,
		})
		for i, outcome := range row.outcomes {
			requireMode(t, c, noon, health.Closed)
			call(t, c, outcome, noon)
			if last := i == len(row.outcomes)-1; last != (c.State(noon).Mode == health.Open) {
				t.Fatalf("%s: after outcome %d the circuit is %+v", row.name, i, c.State(noon))
			}
		}
	}
}

// Claim: The window holds exactly the latest outcomes of its epoch, as many as configured.
// Code: Circuit.count
func TestCircuit_WindowHoldsTheLatestOutcomes(t *testing.T) {
	for _, size := range []int{1, 2, 63, 64, 65, 130} {
		c := newCircuit(t, health.CircuitConfig{Failures: math.MaxInt, Window: size, FailurePercent: 100, MinSamples: size})
		chance := poise.NewGenerator(uint64(size))
		var outcomes []bool
		for step := range 5 * size {
			failed := chance.Below(2) == 1
			outcome := poise.Success
			if failed {
				outcome = poise.Failure
			}
			call(t, c, outcome, noon)
			outcomes = append(outcomes, failed)
			latest := outcomes[max(0, len(outcomes)-size):]
			want := 0
			for _, failed := range latest {
				if failed {
					want++
				}
			}
			state := c.State(noon)
			if want == size {
				requireMode(t, c, noon, health.Open)
				c.ForceClose(noon)
				state, outcomes, latest, want = c.State(noon), nil, nil, 0
			}
			if state.Samples != len(latest) || state.Failed != want {
				t.Fatalf("size %d, step %d: %+v, want %d of %d", size, step, state, want, len(latest))
			}
		}
	}
}

// Claim: An open circuit refuses until its time is over, and says for how long.
// Claim: The first Acquire after that makes the circuit half-open and gets a permit.
// Claim: NextChange tells when Available becomes true by itself, and tells nothing exactly when it is true.
func TestCircuit_StaysOpenForItsTime(t *testing.T) {
	c := newCircuit(t, health.CircuitConfig{Failures: 1, OpenFor: 10 * time.Second})
	call(t, c, poise.Failure, noon)
	wait, closed := c.NextChange(noon)
	if !closed || wait < 5*time.Second || wait > 10*time.Second {
		t.Fatalf("NextChange answers %v, %t", wait, closed)
	}
	for _, after := range []time.Duration{0, time.Second, wait - 1} {
		requireNoPermit(t, c, noon.Add(after), health.ErrOpen, wait-after)
		if left, ok := c.NextChange(noon.Add(after)); !ok || left != wait-after || c.Available(noon.Add(after)) {
			t.Fatalf("after %v NextChange answers %v, %t", after, left, ok)
		}
	}
	over := noon.Add(wait)
	if left, ok := c.NextChange(over); ok || left != 0 || !c.Available(over) {
		t.Fatalf("once the time is over NextChange answers %v, %t", left, ok)
	}
	requireMode(t, c, over, health.Open) // nobody has asked
	acquire(t, c, over)
	requireMode(t, c, over, health.HalfOpen)
}

// Claim: A half-open circuit never has more permits out than configured.
func TestCircuit_BoundsItsTrials(t *testing.T) {
	c, first, now := halfOpen(t, health.CircuitConfig{Trials: 3, Successes: 9})
	acquire(t, c, now)
	acquire(t, c, now)
	for range 3 {
		requireNoPermit(t, c, now, health.ErrTrialsTaken, 0)
		if state := c.State(now); state.Trials != 3 || c.Available(now) {
			t.Fatalf("%+v", state)
		}
		end(t, c, first, poise.Success, now)
		first = acquire(t, c, now)
	}
}

// Claim: The configured number of successful trials closes a half-open circuit; one that fails opens it again.
// Code: Circuit.judge
func TestCircuit_TrialsDecide(t *testing.T) {
	c, trial, now := halfOpen(t, health.CircuitConfig{Successes: 3})
	end(t, c, trial, poise.Success, now)
	call(t, c, poise.Success, now)
	if state := c.State(now); state.Mode != health.HalfOpen || state.Successes != 2 || state.Trials != 0 {
		t.Fatalf("%+v", state)
	}
	call(t, c, poise.Success, now)
	requireMode(t, c, now, health.Closed)

	for _, outcome := range []poise.Outcome{poise.Failure, poise.Overloaded} {
		c, trial, now := halfOpen(t, health.CircuitConfig{Successes: 2})
		end(t, c, trial, poise.Success, now)
		call(t, c, outcome, now)
		requireMode(t, c, now, health.Open)
	}
}

// Claim: Each time open is between half of the whole and the whole of it, which doubles with each opening up to the longest; closing forgets that.
// Code: Circuit.begin, Circuit.whole
//
// Cases: B31.
func TestCircuit_DoublesUpToTheLongestAndForgets(t *testing.T) {
	for seed := range uint64(50) {
		c := newCircuit(t, health.CircuitConfig{
			Failures: 1, OpenFor: 100 * time.Millisecond, MaxOpenFor: 900 * time.Millisecond, Chance: poise.NewGenerator(seed),
		})
		now := noon
		for range 2 {
			for _, whole := range []time.Duration{100, 200, 400, 800, 900, 900} {
				whole *= time.Millisecond
				call(t, c, poise.Failure, now)
				wait, _ := c.NextChange(now)
				if wait < whole/2 || wait > whole {
					t.Fatalf("seed %d: open for %v, want %v less up to half", seed, wait, whole)
				}
				now = now.Add(wait)
			}
			call(t, c, poise.Success, now)
		}
	}
}

// Claim: Each time open is between half of the whole and the whole of it, which doubles with each opening up to the longest; closing forgets that.
//
// Cases: B31.
func TestCircuit_JitterReachesBothEndsAndNeverZero(t *testing.T) {
	chance := poise.NewGenerator(1)
	for whole, want := range map[time.Duration]int{1: 1, 2: 2, 3: 2, 4: 3} {
		c := newCircuit(t, health.CircuitConfig{OpenFor: whole, MaxOpenFor: whole, Chance: chance})
		seen := map[time.Duration]bool{}
		for range 200 {
			c.ForceOpen(noon)
			seen[c.State(noon).RetryAfter] = true
		}
		if len(seen) != want || seen[0] || !seen[whole] || !seen[whole-whole/2] {
			t.Errorf("a time of %d ns gave %v", whole, seen)
		}
	}
}

func TestCircuit_EqualSeedsGiveEqualTimes(t *testing.T) {
	waits := func() (waits []time.Duration) {
		c := newCircuit(t, health.CircuitConfig{Chance: poise.NewGenerator(7)})
		for range 20 {
			c.ForceOpen(noon)
			waits = append(waits, c.State(noon).RetryAfter)
		}
		return waits
	}
	first, second := waits(), waits()
	for i := range first {
		if first[i] != second[i] {
			t.Fatalf("time %d is %v and %v", i, first[i], second[i])
		}
	}
}

func TestCircuit_TakesTheLongestDurations(t *testing.T) {
	const longest = time.Duration(math.MaxInt64)
	c := newCircuit(t, health.CircuitConfig{OpenFor: longest/2 + 1, MaxOpenFor: longest, Failures: 1, MaxHold: longest})
	now := noon
	for range 5 {
		call(t, c, poise.Failure, now)
		wait, ok := c.NextChange(now)
		if !ok || wait < longest/4 {
			t.Fatalf("open for %v", wait)
		}
		behind, ok := c.NextChange(now.Add(-wait + 1))
		if !ok || behind < wait || c.Available(now.Add(-wait+1)) {
			t.Fatalf("behind by almost as much, %v are left of %v", behind, wait)
		}
		if want := 2*uint64(wait) - 1; uint64(behind) != min(want, uint64(longest)) {
			t.Fatalf("behind by almost as much, %v are left of %v", behind, wait)
		}
		now = now.Add(wait)
	}
	acquire(t, c, now)
	requireNoPermit(t, c, now.Add(longest-1), health.ErrTrialsTaken, 0)
}

// Claim: A permit of an earlier epoch changes nothing: neither its result nor its end counts.
//
// Cases: G4, B20.
func TestCircuit_PermitsActOnTheirEpochOnly(t *testing.T) {
	t.Run("a trial of an earlier half-open period", func(t *testing.T) {
		for _, outcome := range []poise.Outcome{poise.Success, poise.Failure, poise.Overloaded, poise.Cancelled} {
			c, failing, now := halfOpen(t, health.CircuitConfig{Trials: 2, Successes: 2})
			late := acquire(t, c, now)
			end(t, c, failing, poise.Failure, now)
			now = now.Add(c.State(now).RetryAfter)
			acquire(t, c, now)
			acquire(t, c, now)
			before := c.State(now)
			if err := c.End(late, outcome, now); !errors.Is(err, health.ErrPermitStale) {
				t.Fatalf("a late %s is answered by %v", outcome, err)
			}
			if after := c.State(now); after != before {
				t.Fatalf("a late %s changed %+v to %+v", outcome, before, after)
			}
			requireNoPermit(t, c, now, health.ErrTrialsTaken, 0)
		}
	})
	t.Run("a permit of an earlier closed period", func(t *testing.T) {
		for _, outcome := range []poise.Outcome{poise.Success, poise.Failure} {
			c := newCircuit(t, health.CircuitConfig{Failures: 2, Window: 2})
			late := acquire(t, c, noon)
			c.ForceOpen(noon)
			c.ForceClose(noon)
			call(t, c, poise.Failure, noon)
			before := c.State(noon)
			if err := c.End(late, outcome, noon); !errors.Is(err, health.ErrPermitStale) || c.State(noon) != before {
				t.Fatalf("a late %s is answered by %v and leaves %+v", outcome, err, c.State(noon))
			}
		}
	})
	t.Run("a permit of a closed period while open and half-open", func(t *testing.T) {
		c := newCircuit(t, health.CircuitConfig{})
		late, later := acquire(t, c, noon), acquire(t, c, noon)
		c.ForceOpen(noon)
		if err := c.End(late, poise.Success, noon); !errors.Is(err, health.ErrPermitStale) {
			t.Fatal(err)
		}
		now := noon.Add(c.State(noon).RetryAfter)
		acquire(t, c, now)
		if err := c.End(later, poise.Success, now); !errors.Is(err, health.ErrPermitStale) {
			t.Fatal(err)
		}
		requireMode(t, c, now, health.HalfOpen)
	})
}

// Claim: A permit of an earlier epoch changes nothing: neither its result nor its end counts.
//
// Cases: B20.
func TestCircuit_SlowCallsOfTheClosedCircuitDecideNoTrial(t *testing.T) {
	for _, row := range []struct {
		slow, trial poise.Outcome
		ends        health.CircuitMode
	}{{poise.Success, poise.Failure, health.Open}, {poise.Failure, poise.Success, health.Closed}} {
		c := newCircuit(t, health.CircuitConfig{Failures: 2, OpenFor: 5 * time.Second})
		p, q, r := acquire(t, c, noon), acquire(t, c, noon), acquire(t, c, noon)
		end(t, c, p, poise.Failure, noon.Add(time.Second))
		end(t, c, q, poise.Failure, noon.Add(time.Second))
		trial := acquire(t, c, noon.Add(6*time.Second))
		if err := c.End(r, row.slow, noon.Add(6500*time.Millisecond)); !errors.Is(err, health.ErrPermitStale) {
			t.Fatal(err)
		}
		now := noon.Add(7 * time.Second)
		end(t, c, trial, row.trial, now)
		requireMode(t, c, now, row.ends)
		if row.ends == health.Open && c.State(now).RetryAfter < 5*time.Second {
			t.Errorf("%v are left of a new time", c.State(now).RetryAfter)
		}
	}
}

// Claim: A cancelled call gives its permit back and says nothing about the candidate.
//
// Cases: B21.
func TestCircuit_IgnoresCancelledCalls(t *testing.T) {
	c := newCircuit(t, health.CircuitConfig{Window: 10, MinSamples: 10})
	for range 4 {
		call(t, c, poise.Failure, noon)
	}
	for range 50 {
		call(t, c, poise.Cancelled, noon)
	}
	if state := c.State(noon); state.Mode != health.Closed || state.Samples != 4 {
		t.Fatalf("%+v", state)
	}
	call(t, c, poise.Failure, noon)
	requireMode(t, c, noon, health.Open)
}

// Claim: A cancelled call gives its permit back and says nothing about the candidate.
//
// Cases: B19, B23. Whoever makes the call ends its permit as cancelled when its
// caller gives up, when it panics, and when the answer says nothing about the
// candidate.
func TestCircuit_CancelledTrialsGiveTheirPermitsBack(t *testing.T) {
	c, trial, now := halfOpen(t, health.CircuitConfig{})
	for range 3 {
		before := c.State(now)
		end(t, c, trial, poise.Cancelled, now)
		after := c.State(now)
		if before.Trials != 1 || after.Trials != 0 || after.Mode != health.HalfOpen || after.Successes != 0 || !c.Available(now) {
			t.Fatalf("%+v, then %+v", before, after)
		}
		trial = acquire(t, c, now)
	}
	end(t, c, trial, poise.Success, now)
	requireMode(t, c, now, health.Closed)
}

func TestCircuit_AnUnknownOutcomeCountsAsCancelled(t *testing.T) {
	c := newCircuit(t, health.CircuitConfig{})
	call(t, c, poise.Failure, noon)
	call(t, c, poise.Outcome(77), noon)
	if state := c.State(noon); state.Failures != 1 {
		t.Errorf("%+v", state)
	}
}

// Cases: B18.
func TestCircuit_LetsOneOfAHundredThrough(t *testing.T) {
	c := newCircuit(t, health.CircuitConfig{OpenFor: 10 * time.Second})
	c.ForceOpen(noon)
	ten := noon.Add(10 * time.Second)
	var mu sync.Mutex
	var group sync.WaitGroup
	admitted := 0
	barrier := make(chan struct{})
	for range 100 {
		group.Go(func() {
			<-barrier
			if _, err := c.Acquire(ten); err == nil {
				mu.Lock()
				admitted++
				mu.Unlock()
			}
		})
	}
	close(barrier)
	group.Wait()
	if admitted != 1 {
		t.Errorf("%d were admitted", admitted)
	}
	requireNoPermit(t, c, ten.Add(5*time.Second), health.ErrTrialsTaken, 0)
}

// Claim: Copies of a permit share one end; every later End is reported and changes nothing.
func TestCircuit_APermitEndsOnce(t *testing.T) {
	c := newCircuit(t, health.CircuitConfig{Failures: 2})
	p := acquire(t, c, noon)
	twin := p
	end(t, c, p, poise.Failure, noon)
	other := acquire(t, c, noon) // uses the ticket again
	for _, again := range []health.Permit{p, twin} {
		if err := c.End(again, poise.Failure, noon); !errors.Is(err, health.ErrPermitEnded) {
			t.Fatalf("the second end is answered by %v", err)
		}
	}
	if state := c.State(noon); state.Failures != 1 {
		t.Fatalf("%+v", state)
	}
	end(t, c, other, poise.Failure, noon)
	requireMode(t, c, noon, health.Open)
}

// Claim: Copies of a permit share one end; every later End is reported and changes nothing.
func TestCircuit_ATrialEndsOnce(t *testing.T) {
	c, trial, now := halfOpen(t, health.CircuitConfig{Trials: 2, Successes: 2})
	end(t, c, trial, poise.Success, now)
	acquire(t, c, now)
	if err := c.End(trial, poise.Success, now); !errors.Is(err, health.ErrPermitEnded) {
		t.Fatal(err)
	}
	if state := c.State(now); state.Successes != 1 || state.Trials != 1 {
		t.Fatalf("%+v", state)
	}
}

// Claim: Copies of a permit share one end; every later End is reported and changes nothing.
func TestCircuit_ALatePermitEndsOnceToo(t *testing.T) {
	c := newCircuit(t, health.CircuitConfig{})
	late := acquire(t, c, noon)
	c.ForceClose(noon)
	for i, want := range []error{health.ErrPermitStale, health.ErrPermitEnded, health.ErrPermitEnded} {
		if err := c.End(late, poise.Success, noon); !errors.Is(err, want) {
			t.Errorf("end %d is answered by %v, want %v", i, err, want)
		}
	}
}

func TestCircuit_RefusesThePermitsOfOthers(t *testing.T) {
	c, other := newCircuit(t, health.CircuitConfig{Failures: 1}), newCircuit(t, health.CircuitConfig{Failures: 1})
	p := acquire(t, other, noon)
	acquire(t, c, noon)
	for _, p := range []health.Permit{p, {}} {
		if err := c.End(p, poise.Failure, noon); !errors.Is(err, health.ErrPermitForeign) {
			t.Errorf("it is answered by %v", err)
		}
	}
	requireMode(t, c, noon, health.Closed)
	end(t, other, p, poise.Failure, noon) // and it is still good where it belongs
}

// Claim: A trial that is held for MaxHold counts as cancelled from the next Acquire or End on; its own End is reported and changes nothing.
// Code: Circuit.reclaim
//
// Cases: G19, B19.
func TestCircuit_ReclaimsLostTrials(t *testing.T) {
	c, lost, now := halfOpen(t, health.CircuitConfig{Trials: 2, MaxHold: 10 * time.Second})
	alive := acquire(t, c, now.Add(time.Second))
	almost, over := now.Add(10*time.Second-1), now.Add(10*time.Second)
	requireNoPermit(t, c, almost, health.ErrTrialsTaken, 0)
	if left, ok := c.NextChange(almost); !ok || left != 1 {
		t.Fatalf("NextChange answers %v, %t", left, ok)
	}
	if state := c.State(over); state.Trials != 1 || !c.Available(over) {
		t.Fatalf("%+v", state)
	}
	if state := c.State(almost); state.Trials != 2 {
		t.Fatalf("a look reclaimed it: %+v", state)
	}
	second := acquire(t, c, over)
	for range 2 {
		if err := c.End(lost, poise.Success, over); !errors.Is(err, health.ErrPermitExpired) {
			t.Fatalf("its own end is answered by %v", err)
		}
	}
	if state := c.State(over); state.Mode != health.HalfOpen || state.Trials != 2 || state.Successes != 0 {
		t.Fatalf("%+v", state)
	}
	end(t, c, second, poise.Cancelled, over)
	end(t, c, alive, poise.Success, over)
	requireMode(t, c, over, health.Closed)
}

// Claim: A trial that is held for MaxHold counts as cancelled from the next Acquire or End on; its own End is reported and changes nothing.
func TestCircuit_EndReclaimsToo(t *testing.T) {
	c, lost, now := halfOpen(t, health.CircuitConfig{MaxHold: time.Second})
	if err := c.End(lost, poise.Failure, now.Add(time.Second)); !errors.Is(err, health.ErrPermitExpired) {
		t.Fatal(err)
	}
	requireMode(t, c, now, health.HalfOpen)
	for range 100 { // however many are lost, one can be had after the next hold
		now = now.Add(time.Second)
		acquire(t, c, now)
		requireNoPermit(t, c, now, health.ErrTrialsTaken, 0)
	}
}

// Claim: ForceOpen and ForceClose act at once in every mode and begin an epoch; a time open begins afresh, at its first length.
func TestCircuit_Forces(t *testing.T) {
	modes := map[string]func() (*health.Circuit, time.Time){
		"closed": func() (*health.Circuit, time.Time) {
			c := newCircuit(t, health.CircuitConfig{OpenFor: time.Second, Failures: 2})
			call(t, c, poise.Failure, noon)
			return c, noon
		},
		"open": func() (*health.Circuit, time.Time) {
			c, trial, now := halfOpen(t, health.CircuitConfig{OpenFor: time.Second, Failures: 2})
			end(t, c, trial, poise.Failure, now)
			return c, now
		},
		"half-open": func() (*health.Circuit, time.Time) {
			c, _, now := halfOpen(t, health.CircuitConfig{OpenFor: time.Second, Failures: 2})
			return c, now
		},
	}
	for name, make := range modes {
		c, now := make()
		epoch := c.State(now).Epoch
		c.ForceClose(now)
		if state := c.State(now); state != (health.CircuitState{Mode: health.Closed, Epoch: epoch + 1}) {
			t.Errorf("%s: closing leaves %+v", name, state)
		}
		call(t, c, poise.Failure, now)
		requireMode(t, c, now, health.Closed)

		c, now = make()
		epoch = c.State(now).Epoch
		later := now.Add(300 * time.Millisecond)
		c.ForceOpen(later)
		state := c.State(later)
		if state.Mode != health.Open || state.Epoch != epoch+1 || state.RetryAfter < time.Second/2 || state.RetryAfter > time.Second {
			t.Errorf("%s: opening leaves %+v", name, state)
		}
		later = later.Add(state.RetryAfter)
		call(t, c, poise.Failure, later)
		if left := c.State(later).RetryAfter; left < time.Second || left > 2*time.Second {
			t.Errorf("%s: the next time open is %v", name, left)
		}
	}
}

// Claim: Available, NextChange and State change nothing.
// Code: Circuit.Available, Circuit.NextChange, Circuit.State
func TestCircuit_AskingChangesNothing(t *testing.T) {
	asked, left := newCircuit(t, health.CircuitConfig{Failures: 1, MaxHold: time.Second, Chance: poise.NewGenerator(3)}),
		newCircuit(t, health.CircuitConfig{Failures: 1, MaxHold: time.Second, Chance: poise.NewGenerator(3)})
	chance := poise.NewGenerator(5)
	now := noon
	for step := range 2000 {
		for range 3 {
			when := now.Add(time.Duration(chance.Below(uint64(4*time.Minute))) - 2*time.Minute)
			asked.Available(when)
			asked.NextChange(when)
			asked.State(when)
		}
		now = now.Add(time.Duration(chance.Below(uint64(20*time.Second))) - 3*time.Second)
		outcome := poise.Outcome(chance.Below(4))
		p, errAsked := asked.Acquire(now)
		q, errLeft := left.Acquire(now)
		if (errAsked == nil) != (errLeft == nil) {
			t.Fatalf("step %d: %v and %v", step, errAsked, errLeft)
		}
		if errAsked == nil && chance.Below(4) > 0 {
			end(t, asked, p, outcome, now)
			end(t, left, q, outcome, now)
		}
		if asked.State(now) != left.State(now) {
			t.Fatalf("step %d: %+v and %+v", step, asked.State(now), left.State(now))
		}
	}
}

// Claim: A clock that steps back costs at most one more time open, or one more hold.
// Code: Circuit.reclaim, Circuit.next
//
// Cases: B22.
func TestCircuit_SurvivesClockSteps(t *testing.T) {
	for _, back := range []time.Duration{1, time.Second, 30 * time.Second, time.Hour, 1000000 * time.Hour} {
		c := newCircuit(t, health.CircuitConfig{})
		c.ForceOpen(noon)
		wait := c.State(noon).RetryAfter
		stepped := noon.Add(-back)
		if back >= wait {
			acquire(t, c, stepped)
			continue
		}
		requireNoPermit(t, c, stepped, health.ErrOpen, wait)
		requireNoPermit(t, c, stepped.Add(wait-1), health.ErrOpen, 1)
		acquire(t, c, stepped.Add(wait))
	}
	c := newCircuit(t, health.CircuitConfig{})
	c.ForceOpen(noon)
	acquire(t, c, noon.Add(time.Hour)) // a step forward ends the time
}

// Claim: A clock that steps back costs at most one more time open, or one more hold.
//
// Cases: B22, G19.
func TestCircuit_ReclaimsAcrossClockSteps(t *testing.T) {
	for _, back := range []time.Duration{1, time.Second, time.Minute, time.Hour} {
		c, _, now := halfOpen(t, health.CircuitConfig{})
		stepped := now.Add(-back)
		if back >= time.Minute {
			acquire(t, c, stepped)
			continue
		}
		requireNoPermit(t, c, stepped, health.ErrTrialsTaken, 0)
		requireNoPermit(t, c, stepped.Add(time.Minute-1), health.ErrTrialsTaken, 0)
		acquire(t, c, stepped.Add(time.Minute))
	}
}

// Available alone moves no instant, and so it may take one time more: what it must
// not do is wait for the old instant.
//
// Cases: B22.
func TestCircuit_AvailableFreezesNever(t *testing.T) {
	for _, back := range []time.Duration{1, time.Second, 29 * time.Second, time.Hour, 1000000 * time.Hour} {
		c := newCircuit(t, health.CircuitConfig{})
		c.ForceOpen(noon)
		wait := c.State(noon).RetryAfter
		stepped := noon.Add(-back)
		left, ok := c.NextChange(stepped)
		if ok != (back < wait) || left > 2*wait {
			t.Errorf("%v back: %v, %t of %v", back, left, ok, wait)
		}
		if !c.Available(stepped.Add(left)) {
			t.Errorf("%v back: it is not available when it said", back)
		}
	}
}

// Cases: B31.
func TestNewCircuit_NamesTheFieldThatIsOutOfRange(t *testing.T) {
	for _, row := range []struct {
		field string
		value any
		cfg   health.CircuitConfig
	}{
		{"Failures", -1, health.CircuitConfig{Failures: -1}},
		{"OpenFor", time.Duration(-1), health.CircuitConfig{OpenFor: -1}},
		{"MaxOpenFor", time.Duration(-1), health.CircuitConfig{MaxOpenFor: -1}},
		{"MaxOpenFor", time.Duration(1), health.CircuitConfig{OpenFor: 2, MaxOpenFor: 1}},
		{"Trials", -1, health.CircuitConfig{Trials: -1}},
		{"Successes", -1, health.CircuitConfig{Successes: -1}},
		{"MaxHold", time.Duration(-1), health.CircuitConfig{MaxHold: -1}},
		{"Window", -1, health.CircuitConfig{Window: -1}},
		{"Window", 65537, health.CircuitConfig{Window: 65537}},
		{"FailurePercent", 50, health.CircuitConfig{FailurePercent: 50}},
		{"FailurePercent", -1, health.CircuitConfig{Window: 1, FailurePercent: -1}},
		{"FailurePercent", 101, health.CircuitConfig{Window: 1, FailurePercent: 101}},
		{"MinSamples", 1, health.CircuitConfig{MinSamples: 1}},
		{"MinSamples", -1, health.CircuitConfig{Window: 1, MinSamples: -1}},
		{"MinSamples", 11, health.CircuitConfig{Window: 10, MinSamples: 11}},
	} {
		_, err := health.NewCircuit(row.cfg)
		var refused *poise.FieldError
		if !errors.As(err, &refused) || refused.Field != row.field || refused.Value != row.value || !errors.Is(err, health.ErrOutOfRange) {
			t.Errorf("want %s of %v to be refused, got %v", row.field, row.value, err)
		}
	}
	newCircuit(t, health.CircuitConfig{OpenFor: time.Hour}) // the default longest gives way
	newCircuit(t, health.CircuitConfig{Window: 65536, FailurePercent: 1, MinSamples: 65536})
	newCircuit(t, health.CircuitConfig{Window: 1, FailurePercent: 100, MinSamples: 1, Failures: 1, OpenFor: 1, MaxOpenFor: 1, MaxHold: 1})
}

func TestCircuit_SpeaksOfItself(t *testing.T) {
	c := newCircuit(t, health.CircuitConfig{OpenFor: 1})
	c.ForceOpen(noon)
	_, err := c.Acquire(noon)
	if text := err.Error(); text != "health: circuit is open for 1ns more" {
		t.Errorf("%q", text)
	}
	acquire(t, c, noon.Add(1))
	if _, err = c.Acquire(noon); !strings.Contains(err.Error(), "all trials are out") || strings.Contains(err.Error(), "0s") {
		t.Errorf("%q", err)
	}
	seen := map[string]bool{}
	for mode := range health.HalfOpen + 2 {
		seen[mode.String()] = true
	}
	for cause := range health.CauseTrialsSucceeded + 2 {
		seen[cause.String()] = true
	}
	if len(seen) != 4+7 || seen[""] || !seen["half-open"] || !seen["unknown mode"] || !seen["unknown cause"] {
		t.Errorf("%v", seen)
	}
}

func TestCircuit_AllocatesNothing(t *testing.T) {
	closed := newCircuit(t, health.CircuitConfig{Window: 100, FailurePercent: 100})
	open := newCircuit(t, health.CircuitConfig{})
	open.ForceOpen(noon)
	taken, _, now := halfOpen(t, health.CircuitConfig{})
	trying, first, then := halfOpen(t, health.CircuitConfig{})
	end(t, trying, first, poise.Cancelled, then)
	turning := newCircuit(t, health.CircuitConfig{Failures: 1, OpenFor: 1})
	for name, use := range map[string]func(){
		"closed":     func() { call(t, closed, poise.Success, noon); call(t, closed, poise.Failure, noon) },
		"half-open":  func() { call(t, trying, poise.Cancelled, then) },
		"taken":      func() { _, _ = taken.Acquire(now) },
		"asked":      func() { open.Available(noon); open.NextChange(noon); open.State(noon) },
		"transition": func() { call(t, turning, poise.Failure, noon); call(t, turning, poise.Success, noon.Add(1)) },
	} {
		use()
		if n := testing.AllocsPerRun(1000, use); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	if n := testing.AllocsPerRun(1000, func() { _, _ = open.Acquire(noon) }); n != 1 {
		t.Errorf("the refusal of an open circuit: %v allocations", n)
	}
}

// A permit that is never ended costs its holder's memory and no more: the tickets
// of those that are ended serve again.
func TestCircuit_UsesTicketsAgain(t *testing.T) {
	c := newCircuit(t, health.CircuitConfig{})
	permits := make([]health.Permit, 100)
	burst := func() {
		for i := range permits {
			permits[i] = acquire(t, c, noon)
		}
		for _, p := range permits {
			end(t, c, p, poise.Success, noon)
		}
	}
	burst()
	if n := testing.AllocsPerRun(100, burst); n != 0 {
		t.Errorf("a burst as large as the last: %v allocations", n)
	}
}

// Concurrent results lose nothing: the last of them opens the circuit.
func TestCircuit_CountsEveryFailureOfManyGoroutines(t *testing.T) {
	for range 50 {
		c := newCircuit(t, health.CircuitConfig{Failures: 16})
		var group sync.WaitGroup
		for range 16 {
			group.Go(func() {
				p, err := c.Acquire(noon)
				if err == nil {
					err = c.End(p, poise.Failure, noon)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		requireMode(t, c, noon, health.Open)
	}
}

// Claim: Copies of a permit share one end; every later End is reported and changes nothing.
func TestCircuit_OneOfManyEndsAPermit(t *testing.T) {
	for range 50 {
		c := newCircuit(t, health.CircuitConfig{Failures: 2})
		p := acquire(t, c, noon)
		var mu sync.Mutex
		var group sync.WaitGroup
		ended := 0
		for range 8 {
			group.Go(func() {
				if c.End(p, poise.Failure, noon) == nil {
					mu.Lock()
					ended++
					mu.Unlock()
				}
			})
		}
		group.Wait()
		if state := c.State(noon); ended != 1 || state.Failures != 1 {
			t.Fatalf("%d ended it, and it is %+v", ended, state)
		}
	}
}
