package health_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// passiveFleet is the endpoints of one PassiveHealth, by number, at an instant that the
// test moves on.
type passiveFleet struct {
	t interface {
		Helper()
		Fatalf(string, ...any)
	}
	*health.PassiveHealth
	endpoints []*health.PassiveEndpoint
	now       time.Time
}

func newPassiveFleet(t *testing.T, n int, cfg health.PassiveHealthConfig) *passiveFleet {
	t.Helper()
	f := &passiveFleet{t: t, now: time.Unix(1000, 0)}
	f.make(n, cfg)
	return f
}

func (f *passiveFleet) make(n int, cfg health.PassiveHealthConfig) {
	var err error
	if f.PassiveHealth, err = health.NewPassiveHealth(cfg); err != nil {
		f.t.Fatalf("%v", err)
	}
	for i := range n {
		f.endpoints = append(f.endpoints, f.Add(i, f.now))
	}
}

// call makes a call to the endpoint that takes a millisecond and comes to the outcome.
func (f *passiveFleet) call(i int, outcome poise.Outcome) {
	c := f.endpoints[i].Begin(f.now)
	f.now = f.now.Add(time.Millisecond)
	f.endpoints[i].End(&c, poise.Result{Outcome: outcome}, f.now)
}

// rounds makes calls in turn to every endpoint that is not ejected, those of the failing
// ones with the outcome, and advances.
func (f *passiveFleet) rounds(n int, outcome poise.Outcome, failing ...int) {
	for range n {
		for i, e := range f.endpoints {
			switch {
			case e.Ejected():
			case slices.Contains(failing, i):
				f.call(i, outcome)
			default:
				f.call(i, poise.Success)
			}
		}
		f.now = f.now.Add(10 * time.Millisecond)
		f.Advance(f.now, 0)
	}
}

func (f *passiveFleet) ejected() (ejected []int) {
	for i, e := range f.endpoints {
		if e.Ejected() {
			ejected = append(ejected, i)
		}
	}
	return ejected
}

func (f *passiveFleet) require(what string, want ...int) {
	f.t.Helper()
	if got := f.ejected(); !slices.Equal(got, want) {
		f.t.Fatalf("%s: %v are ejected, want %v", what, got, want)
	}
}

var held = []poise.Outcome{poise.Failure, poise.Unreachable, poise.Silent}

// Claim: An endpoint that serves nothing is ejected while others serve, however many of the fleet are out.
// Code: PassiveEndpoint.verdict, PassiveEndpoint.eject
//
// Cases: B85, B86.
func TestPassiveHealth_EjectsWhoServesNothing(t *testing.T) {
	for _, outcome := range append([]poise.Outcome{poise.Overloaded}, held...) {
		for _, n := range []int{2, 3, 5, 10} {
			f := newPassiveFleet(t, n, health.PassiveHealthConfig{Seed: 1})
			f.rounds(20, poise.Success)
			failing := []int{}
			for i := 1; i < n; i++ {
				failing = append(failing, i)
			}
			f.rounds(200, outcome, failing...)
			f.require(fmt.Sprintf("%v, %d of %d", outcome, n-1, n), failing...)
		}
	}
}

// Claim: What fails everywhere alike ejects nobody.
// Code: PassiveHealth.convicts, PassiveHealth.peerRate
func TestPassiveHealth_BlamesNobodyForWhatFailsEverywhere(t *testing.T) {
	for _, outcome := range []poise.Outcome{poise.Failure, poise.Overloaded, poise.Silent} {
		f := newPassiveFleet(t, 3, health.PassiveHealthConfig{Seed: 1})
		f.rounds(200, outcome, 0, 1, 2)
		f.require(outcome.String() + " from the first call on")
	}
	f := newPassiveFleet(t, 4, health.PassiveHealthConfig{Seed: 1})
	chance := poise.NewGenerator(7)
	for range 20_000 {
		outcome := poise.Success
		if chance.Below(2) == 0 {
			outcome = poise.Failure
		}
		f.call(int(chance.Below(4)), outcome)
		f.require("each call fails with one half")
	}
}

// Claim: Cancelled and Invalid change nothing.
// Code: PassiveEndpoint.conclude
//
// Cases: B101.
func TestPassiveHealth_TheCallersOwnSaysNothing(t *testing.T) {
	for _, outcome := range []poise.Outcome{poise.Cancelled, poise.Invalid} {
		f := newPassiveFleet(t, 3, health.PassiveHealthConfig{Seed: 1})
		f.rounds(20, poise.Success)
		f.rounds(500, outcome, 1)
		f.require(outcome.String())
		if in := f.endpoints[1].Inspect(f.now); in.Run != 0 || in.Share != 1 || in.State != health.Serving {
			t.Errorf("%v leaves %+v", outcome, in)
		}
	}
}

// Claim: LeastRecentlyTried returns an ejected endpoint while there is one that allow lets through.
// Code: PassiveHealth.LeastRecentlyTried
func TestPassiveHealth_RefusesNoCall(t *testing.T) {
	f := newPassiveFleet(t, 3, health.PassiveHealthConfig{Seed: 1})
	f.rounds(20, poise.Success)
	f.rounds(50, poise.Unreachable, 0, 1, 2)
	f.require("all refuse", 0, 1, 2)
	tried := map[any]bool{}
	for range 3 {
		e, ok := f.LeastRecentlyTried(func(value any) bool { return !tried[value] }, f.now)
		if !ok {
			t.Fatalf("nobody is left after %v", tried)
		}
		tried[e.Value()] = true
	}
	if _, ok := f.LeastRecentlyTried(func(value any) bool { return !tried[value] }, f.now); ok {
		t.Error("somebody whom nobody lets through was returned")
	}
}

// trial claims the trial that is due for the endpoint.
func (f *passiveFleet) trial(i int) (c health.PassiveCall, ok bool) {
	_, c, ok = f.Trial(true, func(value any) bool { return value == i }, f.now)
	return c, ok
}

// Claim: At most one trial of an endpoint runs at once.
// Code: PassiveHealth.claim
// Claim: An ejected endpoint whose trial succeeds is Returning, and Serving after ReturnSuccesses.
// Code: PassiveEndpoint.tried, PassiveEndpoint.comeBack
func TestPassiveHealth_ComesBackByTrials(t *testing.T) {
	f := newPassiveFleet(t, 3, health.PassiveHealthConfig{Seed: 1, ReturnSuccesses: 4})
	f.rounds(20, poise.Success)
	f.rounds(5, poise.Unreachable, 2)
	f.require("it refuses", 2)
	f.rounds(100, poise.Success) // its backoff is over
	c, ok := f.trial(2)
	if !ok {
		t.Fatal("no trial is due after a second")
	}
	if _, again := f.trial(2); again {
		t.Error("a second trial of it runs beside the first")
	}
	if changed := f.endpoints[2].End(&c, poise.Result{}, f.now.Add(time.Millisecond)); !changed {
		t.Error("the trial has changed nothing")
	}
	if in := f.endpoints[2].Inspect(f.now); in.State != health.Returning || in.Share >= 1 {
		t.Errorf("after a trial that succeeded: %+v", in)
	}
	f.rounds(40, poise.Success)
	if in := f.endpoints[2].Inspect(f.now); in.State != health.Serving || in.Share != 1 {
		t.Errorf("after many successes: %+v", in)
	}
	f.require("all serve")
}

// Claim: A late Advance ejects nobody.
// Code: PassiveHealth.Advance
//
// Cases: B101.
func TestPassiveHealth_APauseBlamesNobody(t *testing.T) {
	paused := func(late time.Duration) []int {
		f := newPassiveFleet(t, 3, health.PassiveHealthConfig{Seed: 1})
		f.rounds(50, poise.Success)
		var open []health.PassiveCall
		for range 5 {
			open = append(open, f.endpoints[1].Begin(f.now))
			f.call(0, poise.Success)
			f.call(2, poise.Success)
		}
		for range 40 {
			f.now = f.now.Add(100 * time.Millisecond)
			if late == 0 { // peers go on
				f.call(0, poise.Success)
				f.call(2, poise.Success)
				f.Advance(f.now, 0)
			}
		}
		f.Advance(f.now, late)
		got := f.ejected()
		for i := range open {
			f.endpoints[1].End(&open[i], poise.Result{Outcome: poise.Cancelled}, f.now)
		}
		return got
	}
	if got := paused(0); !slices.Equal(got, []int{1}) {
		t.Errorf("silent for four seconds while peers answer: %v are ejected", got)
	}
	if got := paused(4 * time.Second); got != nil {
		t.Errorf("after a pause of four seconds %v are ejected", got)
	}
}

// Claim: Share is above 0 and at most 1, and 1 of an endpoint that is Serving and has not said "too busy".
// Code: PassiveEndpoint.Share, PassiveEndpoint.weighShare
// Claim: "Too busy" lowers Share, which time brings back to 1.
// Code: PassiveEndpoint.weighShare, PassiveEndpoint.refuse
func TestPassiveEndpoint_ShareOfWhoIsBusy(t *testing.T) {
	f := newPassiveFleet(t, 3, health.PassiveHealthConfig{Seed: 1})
	f.rounds(20, poise.Success)
	for range 10 {
		f.call(1, poise.Overloaded)
		f.call(1, poise.Success)
		f.call(0, poise.Success)
		f.call(2, poise.Success)
	}
	f.Advance(f.now, 0)
	share := f.endpoints[1].Share(f.now)
	if share <= 0 || share >= 1 || f.endpoints[0].Share(f.now) != 1 {
		t.Errorf("shares %v and %v", share, f.endpoints[0].Share(f.now))
	}
	for range 600 {
		f.now = f.now.Add(100 * time.Millisecond)
		f.Advance(f.now, 0)
	}
	if share := f.endpoints[1].Share(f.now); share != 1 {
		t.Errorf("a minute later its share is %v", share)
	}
	f.require("nobody is out for being busy at times")
}

// Claim: What becomes of a call counts for nothing after Remove.
// Code: PassiveEndpoint.conclude, PassiveHealth.Remove
func TestPassiveEndpoint_ForgetsTheRemoved(t *testing.T) {
	f := newPassiveFleet(t, 3, health.PassiveHealthConfig{Seed: 1})
	f.rounds(20, poise.Success)
	c := f.endpoints[1].Begin(f.now)
	f.Remove(f.endpoints[1], f.now)
	for range 20 {
		if f.endpoints[1].End(&c, poise.Result{Outcome: poise.Unreachable}, f.now) {
			t.Fatal("a removed endpoint was ejected")
		}
		c = f.endpoints[1].Begin(f.now)
	}
	if _, ok := f.LeastRecentlyTried(func(any) bool { return true }, f.now); ok {
		t.Error("a removed endpoint is among the ejected")
	}
}

// Claim: A probe that passes brings back an endpoint that nothing could be sent to.
// Code: PassiveEndpoint.Probe
//
// Cases: B110.
func TestPassiveEndpoint_AProbeEndsAnEjection(t *testing.T) {
	f := newPassiveFleet(t, 2, health.PassiveHealthConfig{Seed: 1})
	f.rounds(20, poise.Success)
	f.rounds(5, poise.Unreachable, 1)
	f.require("it refuses", 1)
	if f.endpoints[1].Probe(false, f.now) {
		t.Error("a probe that failed has changed something")
	}
	if !f.endpoints[1].Probe(true, f.now) {
		t.Error("a probe that passed has changed nothing")
	}
	f.require("its probe has passed")
}

// Claim: The first End of a call counts, and every later one changes nothing.
// Code: PassiveEndpoint.End
func TestPassiveCall_EndsOnce(t *testing.T) {
	f := newPassiveFleet(t, 2, health.PassiveHealthConfig{Seed: 1})
	f.rounds(20, poise.Success)
	c := f.endpoints[1].Begin(f.now)
	for range 100 {
		f.endpoints[1].End(&c, poise.Result{Outcome: poise.Failure, Err: errors.New("broken")}, f.now)
	}
	if run := f.endpoints[1].Inspect(f.now).Run; run != 1 {
		t.Errorf("one call that was ended often counts as %d failures", run)
	}
	var none health.PassiveCall
	if f.endpoints[1].End(&none, poise.Result{Outcome: poise.Unreachable}, f.now) {
		t.Error("a call that never began has ejected somebody")
	}
}

// Claim: With Divert, failed calls of one key make a suspect, and eject nobody before other endpoints could be asked.
func TestPassiveCall_OneKeyIsOneFailure(t *testing.T) {
	ejects := func(key func(k uint64) uint64) (ejected []int, suspect bool) {
		f := newPassiveFleet(t, 3, health.PassiveHealthConfig{Seed: 1, Divert: true})
		f.rounds(20, poise.Success)
		for k := range uint64(15) {
			c := f.endpoints[1].Begin(f.now)
			c.SetKey(key(k))
			f.now = f.now.Add(time.Millisecond)
			f.endpoints[1].End(&c, poise.Result{Outcome: poise.Failure}, f.now)
			f.call(0, poise.Success)
			f.call(2, poise.Success)
			f.Advance(f.now, 0)
		}
		return f.ejected(), f.endpoints[1].Accused()
	}
	if got, suspect := ejects(func(uint64) uint64 { return 9 }); got != nil || !suspect {
		t.Errorf("failures of one key have ejected %v, suspect %t", got, suspect)
	}
	if got, _ := ejects(func(k uint64) uint64 { return k + 1 }); !slices.Equal(got, []int{1}) {
		t.Errorf("failures of many keys have ejected %v", got)
	}
}

// Claim: Used by one goroutine, equal seeds and equal inputs give equal results.
// Code: PassiveHealth.jittered
func TestPassiveHealth_Law(t *testing.T) {
	outcomes := []poise.Outcome{
		poise.Success, poise.Success, poise.Failure, poise.Overloaded, poise.Cancelled, poise.Unreachable, poise.Silent, poise.Invalid,
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "endpoints")
		script := rapid.SliceOfN(rapid.IntRange(0, 1<<16), 1, 400).Draw(t, "script")
		run := func() string {
			f := &passiveFleet{t: t, now: time.Unix(1000, 0)}
			f.make(n, health.PassiveHealthConfig{Seed: 3})
			open := make([][]health.PassiveCall, n)
			for _, word := range script {
				i := word % n
				e := f.endpoints[i]
				f.now = f.now.Add(time.Duration(word>>10) * time.Millisecond)
				switch word >> 3 % 5 {
				case 0, 1:
					open[i] = append(open[i], e.Begin(f.now))
				case 2, 3:
					if last := len(open[i]) - 1; last >= 0 {
						c := open[i][last]
						open[i] = open[i][:last]
						e.End(&c, poise.Result{Outcome: outcomes[word>>6%len(outcomes)]}, f.now)
					}
				default:
					if _, c, ok := f.Trial(true, func(any) bool { return true }, f.now); ok {
						f.trialEnds(&c, outcomes[word>>6%len(outcomes)])
					}
					f.Advance(f.now, 0)
				}
				for _, e := range f.endpoints {
					in := e.Inspect(f.now)
					if in.Share <= 0 || in.Share > 1 || e.Ejected() != (in.State == health.Ejected) || in.Run < 0 {
						t.Fatalf("%v is %+v, ejected %t", e.Value(), in, e.Ejected())
					}
				}
			}
			text := ""
			for _, e := range f.endpoints {
				text += fmt.Sprintf("%+v\n", e.Inspect(f.now))
			}
			return text
		}
		if first, again := run(), run(); first != again {
			t.Fatalf("one run gives\n%s\nand another\n%s", first, again)
		}
	})
}

// trialEnds ends a trial of whichever endpoint has one.
func (f *passiveFleet) trialEnds(c *health.PassiveCall, outcome poise.Outcome) {
	for _, e := range f.endpoints {
		if e.Inspect(f.now).TrialRunning {
			e.End(c, poise.Result{Outcome: outcome}, f.now)
			return
		}
	}
}

func TestPassiveHealth_AllocatesNothingPerCall(t *testing.T) {
	f := newPassiveFleet(t, 10, health.PassiveHealthConfig{Seed: 1})
	f.rounds(20, poise.Success)
	i := 0
	if n := testing.AllocsPerRun(100, func() {
		for range 100 { // since the mean is rounded down
			outcome := poise.Success
			if i++; i%7 == 0 {
				outcome = poise.Failure
			}
			f.call(i%10, outcome)
		}
		f.Advance(f.now, 0)
	}); n != 0 {
		t.Errorf("a call allocates %v times", n)
	}
}

func TestNewPassiveHealth_RefusesWhatCannotWork(t *testing.T) {
	for field, cfg := range map[string]health.PassiveHealthConfig{
		"Odds":              {Odds: 1},
		"PeerRate":          {PeerRate: 1},
		"MaxPartialPercent": {MaxPartialPercent: 101},
		"Silence":           {Silence: -1},
		"MaxBackoff":        {MaxBackoff: 1},
		"TrialShare":        {TrialShare: 2},
		"Trials":            {Trials: -1},
		"ReturnSuccesses":   {ReturnSuccesses: -1},
		"MinShare":          {MinShare: 2},
	} {
		_, err := health.NewPassiveHealth(cfg)
		if refused, ok := errors.AsType[*poise.FieldError](err); !ok || refused.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
