package health_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// result makes a call to the endpoint that takes a millisecond and comes to the result.
func (f *passiveFleet) result(i int, r poise.Result) {
	c := f.endpoints[i].Begin(f.now)
	f.now = f.now.Add(time.Millisecond)
	f.endpoints[i].End(&c, r, f.now)
}

// wait lets the time pass, and advances as it should be.
func (f *passiveFleet) wait(d time.Duration) {
	for ; d > 0; d -= 100 * time.Millisecond {
		f.now = f.now.Add(min(d, 100*time.Millisecond))
		f.Advance(f.now, 0)
	}
}

func (f *passiveFleet) inspect(i int) health.PassiveInspection { return f.endpoints[i].Inspect(f.now) }

// Claim: An endpoint that fails more often than its peers is ejected although it serves, unless as many as MaxPartialPercent are out for that.
// Code: PassiveEndpoint.partial, PassiveEndpoint.add
//
// Cases: B99.
func TestPassiveHealth_EjectsWhoServesAPart(t *testing.T) {
	f := newPassiveFleet(t, 6, health.PassiveHealthConfig{Seed: 1})
	for k := range 400 {
		f.rounds(1, []poise.Outcome{poise.Failure, poise.Success}[k%2], 1, 2)
	}
	out := f.ejected()
	if len(out) != 1 { // a third of six, rounded down from 1.98
		t.Errorf("%v are ejected", out)
	}
	for _, i := range out {
		if in := f.inspect(i); in.Cause != health.EjectedPartial {
			t.Errorf("endpoint %d is out for %v", i, in.Cause)
		}
	}
	f = newPassiveFleet(t, 6, health.PassiveHealthConfig{Seed: 1, MaxPartialPercent: 100})
	for k := range 400 {
		f.rounds(1, []poise.Outcome{poise.Failure, poise.Success}[k%2], 1, 2)
	}
	f.require("all that serve a part, if they may", 1, 2)
	f = newPassiveFleet(t, 2, health.PassiveHealthConfig{Seed: 1, MaxPartialPercent: 1})
	for k := range 400 {
		f.rounds(1, []poise.Outcome{poise.Failure, poise.Success}[k%2], 1)
	}
	f.require("one always may", 1)
}

// Claim: LeastRecentlyTried prefers those that serve a part, and of others the one that no call was sent to for the longest time.
func TestPassiveHealth_PrefersWhoServesAPart(t *testing.T) {
	f := newPassiveFleet(t, 4, health.PassiveHealthConfig{Seed: 1})
	for k := range 60 {
		f.rounds(1, []poise.Outcome{poise.Failure, poise.Success}[k%2], 2)
	}
	f.require("one serves half", 2)
	f.rounds(5, poise.Unreachable, 0, 1, 3)
	f.require("the others serve nothing", 0, 1, 2, 3)
	all := func(any) bool { return true }
	if e, ok := f.LeastRecentlyTried(all, f.now); !ok || e.Value() != 2 {
		t.Errorf("the call goes to %v", e.Value())
	}
	order := ""
	for range 6 {
		e, ok := f.LeastRecentlyTried(func(value any) bool { return value != 2 }, f.now)
		if !ok {
			t.Fatal("nobody is left")
		}
		c := e.Begin(f.now)
		e.End(&c, poise.Result{Outcome: poise.Unreachable}, f.now)
		order += fmt.Sprint(e.Value())
	}
	if order != "013013" {
		t.Errorf("calls of last resort went to %s", order)
	}
}

// Claim: A few calls that could not be sent, fewer than Misses in a row, do not eject an endpoint that served lately; one ejects any other.
// Code: PassiveEndpoint.unreachable
func TestPassiveHealth_ForgivesAFewMisses(t *testing.T) {
	f := newPassiveFleet(t, 2, health.PassiveHealthConfig{Seed: 1})
	f.rounds(20, poise.Success)
	for range 30 {
		f.call(1, poise.Unreachable)
		f.call(1, poise.Unreachable)
		f.call(1, poise.Success)
	}
	f.require("two in a row")
	for range 3 {
		f.call(1, poise.Unreachable)
	}
	f.require("three in a row", 1)
	f = newPassiveFleet(t, 2, health.PassiveHealthConfig{Seed: 1})
	f.call(1, poise.Unreachable)
	f.require("the first call of all", 1)
}

// Claim: RetryAfter lowers Share to MinShare for as long, up to MaxRetryAfter, unless peers are short of capacity too.
// Code: PassiveEndpoint.refuse, PassiveEndpoint.peersAreBusy
func TestPassiveEndpoint_HonoursRetryAfter(t *testing.T) {
	f := newPassiveFleet(t, 3, health.PassiveHealthConfig{Seed: 1, MaxRetryAfter: 2 * time.Second, MinShare: 0.2})
	f.rounds(20, poise.Success)
	f.result(1, poise.Result{Outcome: poise.Overloaded, RetryAfter: time.Hour})
	f.wait(1500 * time.Millisecond)
	if share := f.inspect(1).Share; share > 0.21 {
		t.Errorf("while it rests its share is %v", share)
	}
	f.wait(time.Second)
	if share := f.inspect(1).Share; share != 1 {
		t.Errorf("after the longest rest its share is %v", share)
	}
	for range 30 {
		for i := range 3 {
			f.call(i, poise.Overloaded)
			f.call(i, poise.Success)
		}
	}
	f.wait(3 * time.Second)
	f.result(1, poise.Result{Outcome: poise.Overloaded, RetryAfter: time.Hour})
	if share := f.inspect(1).Share; share < 0.21 {
		t.Error("it rests although the fleet is short of capacity")
	}
}

// Claim: Silence of an endpoint that answers others counts as "too busy", and lowers nothing where peers are short of capacity too.
// Code: PassiveEndpoint.refuse, PassiveEndpoint.weighShare
func TestPassiveHealth_WaitingIsNoDeath(t *testing.T) {
	waits := func(n int) *passiveFleet {
		f := newPassiveFleet(t, 4, health.PassiveHealthConfig{Seed: 1})
		f.rounds(20, poise.Success)
		for range 200 {
			for i := range 4 {
				c := f.endpoints[i].Begin(f.now)
				f.call(i, poise.Success)
				outcome := poise.Success
				if i < n {
					outcome = poise.Silent
				}
				f.endpoints[i].End(&c, poise.Result{Outcome: outcome}, f.now)
			}
			f.wait(20 * time.Millisecond)
		}
		f.require("they answer others")
		return f
	}
	if f := waits(1); f.inspect(0).Share >= 0.5 || f.inspect(1).Share != 1 {
		t.Errorf("one keeps its callers waiting: %+v", f.inspect(0))
	}
	if f := waits(4); f.inspect(0).Share != 1 {
		t.Errorf("all keep their callers waiting: %+v", f.inspect(0))
	}
}

// Claim: OverloadedShare is near 1 where all is refused, and silence of one endpoint of several does not raise it.
func TestPassiveHealth_SaysHowMuchIsRefused(t *testing.T) {
	f := newPassiveFleet(t, 4, health.PassiveHealthConfig{Seed: 1})
	f.rounds(20, poise.Success)
	if share := f.OverloadedShare(f.now); share != 0 {
		t.Errorf("all is well: %v", share)
	}
	for range 50 {
		f.call(1, poise.Silent)
		f.call(0, poise.Success)
	}
	if share := f.OverloadedShare(f.now); share != 0 {
		t.Errorf("one is silent: %v", share)
	}
	for range 50 {
		f.call(2, poise.Silent)
		f.call(3, poise.Silent)
	}
	if share := f.OverloadedShare(f.now); share < 0.9 {
		t.Errorf("three are silent: %v", share)
	}
	f = newPassiveFleet(t, 2, health.PassiveHealthConfig{Seed: 1})
	for range 300 {
		f.call(0, poise.Overloaded)
		f.call(1, poise.Overloaded)
	}
	if share := f.OverloadedShare(f.now); share < 0.9 {
		t.Errorf("all is refused: %v", share)
	}
	f.wait(10 * time.Second)
	if share := f.OverloadedShare(f.now); share > 0.01 {
		t.Errorf("ten seconds later: %v", share)
	}
}

// Claim: A late answer of an endpoint that was ejected for silence brings it back.
func TestPassiveHealth_HearsALateAnswer(t *testing.T) {
	f := newPassiveFleet(t, 3, health.PassiveHealthConfig{Seed: 1})
	f.rounds(20, poise.Success)
	var open []health.PassiveCall
	for range 100 {
		if !f.endpoints[1].Ejected() {
			open = append(open, f.endpoints[1].Begin(f.now))
		}
		f.call(0, poise.Success)
		f.call(2, poise.Success)
		f.wait(50 * time.Millisecond)
	}
	f.require("it hangs", 1)
	if in := f.inspect(1); in.Cause != health.EjectedSilent {
		t.Errorf("it is out for %v", in.Cause)
	}
	if !f.endpoints[1].End(&open[0], poise.Result{}, f.now) {
		t.Error("its answer has changed nothing")
	}
	f.require("it answers")
	if in := f.inspect(1); in.State != health.Returning {
		t.Errorf("it is %+v", in)
	}
}

// Claim: Any other result of a call that began before the last ejection changes nothing.
// Code: PassiveEndpoint.judge
func TestPassiveHealth_IgnoresWhatBeganBefore(t *testing.T) {
	f := newPassiveFleet(t, 2, health.PassiveHealthConfig{Seed: 1})
	f.rounds(20, poise.Success)
	old, older := f.endpoints[1].Begin(f.now), f.endpoints[1].Begin(f.now)
	for range 3 {
		f.call(1, poise.Unreachable)
	}
	f.require("it refuses", 1)
	if f.endpoints[1].End(&old, poise.Result{}, f.now) || !f.endpoints[1].Ejected() {
		t.Error("the success of an old call has brought it back")
	}
	f.endpoints[1].Probe(true, f.now)
	if f.endpoints[1].End(&older, poise.Result{Outcome: poise.Unreachable}, f.now) || f.inspect(1).State != health.Returning {
		t.Error("the failure of an old call has ejected it again")
	}
}

// Claim: What becomes of a body after a sound beginning is no run of failures, but counts as serving a part.
func TestPassiveCall_TellsOfBrokenBodies(t *testing.T) {
	f := newPassiveFleet(t, 3, health.PassiveHealthConfig{Seed: 1})
	f.rounds(20, poise.Success)
	for range 100 {
		if f.endpoints[1].Ejected() {
			break
		}
		c := f.endpoints[1].Begin(f.now)
		f.endpoints[1].Answered(&c, poise.Result{}, f.now)
		f.endpoints[1].End(&c, poise.Result{Outcome: poise.Failure, Err: errors.New("cut off")}, f.now)
		if run := f.inspect(1).Run; run != 0 {
			t.Fatalf("a run of %d", run)
		}
		f.call(0, poise.Success)
		f.call(2, poise.Success)
	}
	f.require("each body breaks off", 1)
	if in := f.inspect(1); in.Cause != health.EjectedPartial || in.LastError == nil {
		t.Errorf("%+v", in)
	}
	c := f.endpoints[0].Begin(f.now)
	f.endpoints[0].Answered(&c, poise.Result{}, f.now)
	f.endpoints[0].End(&c, poise.Result{Outcome: poise.Cancelled}, f.now)
	if in := f.inspect(0); in.LastError != nil || in.State != health.Serving {
		t.Errorf("a reader that left: %+v", in)
	}
}

// Claim: Each time out is the backoff of its cause, doubled with each failed trial while the fleet serves, up to MaxBackoff, and at most a quarter more or less.
func TestPassiveHealth_BacksOff(t *testing.T) {
	for seed := range uint64(20) {
		f := newPassiveFleet(t, 2, health.PassiveHealthConfig{Seed: seed + 1, MaxBackoff: time.Second})
		f.rounds(20, poise.Success)
		f.rounds(3, poise.Unreachable, 1)
		f.require("it refuses", 1)
		want := 100 * time.Millisecond
		for range 6 {
			in := f.inspect(1)
			if left := in.Until.Sub(in.Since); in.Backoff != want {
				t.Fatalf("backoff %v, want %v", in.Backoff, want)
			} else if out := in.Until.Sub(f.now); out > want+want/4 || left < 0 {
				t.Fatalf("out for %v of %v", out, want)
			}
			f.call(0, poise.Success)
			f.now = in.Until.Add(-1)
			if _, ok := f.trial(1); ok {
				t.Fatal("a trial before its time")
			}
			f.now = in.Until
			f.call(0, poise.Success)
			c, ok := f.trial(1)
			if !ok {
				t.Fatal("no trial at its time")
			}
			began := f.now
			f.endpoints[1].End(&c, poise.Result{Outcome: poise.Unreachable}, f.now)
			want = min(2*want, time.Second)
			if out := f.inspect(1).Until.Sub(began); out < want-want/4 {
				t.Fatalf("out for %v of %v", out, want)
			}
		}
		f.wait(5 * time.Second) // nobody serves: it does not grow
		c, ok := f.trial(1)
		if !ok {
			t.Fatal("no trial")
		}
		before := f.inspect(1).Backoff
		f.endpoints[1].End(&c, poise.Result{Outcome: poise.Unreachable}, f.now)
		if after := f.inspect(1).Backoff; after != before {
			t.Errorf("while nobody serves it grows from %v to %v", before, after)
		}
	}
}

// Claim: While the fleet serves and no call is refused or waits in vain, trials that cost a call are at most TrialShare of the calls that succeed.
func TestPassiveHealth_BoundsTrials(t *testing.T) {
	f := newPassiveFleet(t, 10, health.PassiveHealthConfig{Seed: 1, Backoff: time.Millisecond, MaxBackoff: time.Second})
	f.rounds(200, poise.Failure, 1, 2, 3, 4, 5)
	f.require("half fail", 1, 2, 3, 4, 5)
	served, trials := 0, 0
	for range 20_000 {
		if e, c, ok := f.Trial(true, func(any) bool { return true }, f.now); ok {
			trials++
			e.End(&c, poise.Result{Outcome: poise.Failure}, f.now)
		}
		f.call([]int{0, 6, 7, 8, 9}[served%5], poise.Success)
		served++
		if served%100 == 0 {
			f.Advance(f.now, 0)
		}
	}
	if trials < 60 || trials > 83+3 {
		t.Errorf("%d trials beside %d calls", trials, served)
	}
}

// Claim: Calls that must not be sent twice leave a due trial to others for a moment.
func TestPassiveHealth_PrefersRepeatableCalls(t *testing.T) {
	f := newPassiveFleet(t, 2, health.PassiveHealthConfig{Seed: 1})
	f.rounds(300, poise.Success)
	f.rounds(30, poise.Failure, 1)
	f.require("it fails", 1)
	f.rounds(500, poise.Success) // pays for a trial
	f.endpoints[1].Probe(true, f.now)
	f.now = f.inspect(1).Until
	all := func(any) bool { return true }
	if _, _, ok := f.Trial(false, all, f.now); ok && f.inspect(1).Until.After(f.now) {
		t.Error("a call that must not be sent twice makes the trial at once")
	}
	if _, _, ok := f.Trial(true, all, f.now.Add(time.Second)); !ok && !f.inspect(1).TrialRunning {
		t.Error("nobody makes the trial")
	}
}

// Claim: A trial that does not end counts as silent after a while, so that the next can begin.
func TestPassiveHealth_GivesUpTrialsThatHang(t *testing.T) {
	f := newPassiveFleet(t, 2, health.PassiveHealthConfig{Seed: 1})
	f.rounds(20, poise.Success)
	f.rounds(3, poise.Unreachable, 1)
	f.rounds(100, poise.Success)
	hung, ok := f.trial(1)
	if !ok {
		t.Fatal("no trial")
	}
	f.rounds(300, poise.Success)
	if in := f.inspect(1); in.TrialRunning || in.Cause != health.EjectedSilent {
		t.Fatalf("three seconds later it is %+v", in)
	}
	f.rounds(1000, poise.Success)
	if _, ok := f.trial(1); !ok {
		t.Error("no other trial begins")
	}
	if !f.endpoints[1].End(&hung, poise.Result{}, f.now) || f.inspect(1).State != health.Returning {
		t.Error("the success of a trial that was given up brings nobody back")
	}
}

// Claim: The first success after nobody served makes every ejected endpoint due within half a second, if it ends a run of failures or a trial.
func TestPassiveHealth_WakesEverybody(t *testing.T) {
	f := newPassiveFleet(t, 10, health.PassiveHealthConfig{Seed: 1})
	f.rounds(20, poise.Success)
	f.rounds(5, poise.Unreachable, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	f.require("all refuse", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	all := func(any) bool { return true }
	f.call(1, poise.Success) // a last resort
	for range 200 {          // trials that fail while one serves: backoffs grow
		if e, c, ok := f.Trial(true, func(value any) bool { return value != 1 }, f.now); ok {
			e.End(&c, poise.Result{Outcome: poise.Unreachable}, f.now)
		}
		f.rounds(10, poise.Success)
	}
	far := 0
	for i := range f.endpoints {
		if f.inspect(i).Until.Sub(f.now) > time.Second {
			far++
		}
	}
	if far == 0 {
		t.Fatal("no backoff has grown")
	}
	f.rounds(1, poise.Unreachable, 1)
	f.call(1, poise.Unreachable)
	f.call(1, poise.Unreachable)
	for range 30 { // nobody serves for a second
		e, ok := f.LeastRecentlyTried(all, f.now)
		if !ok {
			t.Fatal("nobody is left")
		}
		c := e.Begin(f.now)
		e.End(&c, poise.Result{Outcome: poise.Unreachable}, f.now)
		f.wait(40 * time.Millisecond)
	}
	f.call(4, poise.Success)
	for i := range f.endpoints {
		if in := f.inspect(i); in.State == health.Ejected && in.Until.Sub(f.now) >= 500*time.Millisecond {
			t.Errorf("endpoint %d is due only in %v", i, in.Until.Sub(f.now))
		}
	}
}

// Claim: Where those that are left lose a greater part of their calls for seconds than the part of the fleet that is out, all are back for a time but those that are unreachable or whose last trial ended in silence.
func TestPassiveHealth_EndsEjectionsThatCostMoreThanTheySave(t *testing.T) {
	f := newPassiveFleet(t, 4, health.PassiveHealthConfig{Seed: 1})
	f.rounds(50, poise.Success)
	f.rounds(3, poise.Unreachable, 0)
	f.rounds(200, poise.Failure, 1)
	f.require("one refuses and one fails", 0, 1)
	for k := range 800 { // the rest is short of capacity
		f.call(2+k%2, []poise.Outcome{poise.Success, poise.Overloaded, poise.Overloaded, poise.Overloaded}[k/2%4])
		f.wait(10 * time.Millisecond)
		if f.endpoints[2].Ejected() || f.endpoints[3].Ejected() {
			t.Fatalf("%v are ejected", f.ejected())
		}
	}
	f.require("the unreachable", 0)
	for range 20 {
		f.call(1, poise.Failure)
		f.call(2, poise.Success)
	}
	f.require("nobody is convicted for a while", 0)
	f.wait(20 * time.Second)
	f.rounds(200, poise.Failure, 1)
	f.require("convicted again, after it", 0, 1)

	f = newPassiveFleet(t, 4, health.PassiveHealthConfig{Seed: 1, TrialShare: 1})
	f.rounds(50, poise.Success)
	f.rounds(200, poise.Failure, 1)
	f.require("one fails", 1)
	f.rounds(50, poise.Success)
	c, ok := f.trial(1)
	if !ok {
		t.Fatal("no trial is due")
	}
	f.trialEnds(&c, poise.Silent)
	for k := range 800 {
		f.call(2+k%2, []poise.Outcome{poise.Success, poise.Overloaded, poise.Overloaded, poise.Overloaded}[k/2%4])
		f.wait(10 * time.Millisecond)
	}
	f.require("its last trial ended in silence", 1)
}

// Claim: Silence of an endpoint whose peers are short of capacity is held against it after four times as long.
// Code: PassiveEndpoint.silenceBesidePeers, PassiveEndpoint.listen
// Claim: Share is not lowered beside peers that answer nothing.
// Code: PassiveEndpoint.weighShare, busyRecord.lossOdds
func TestPassiveHealth_LeavesOutTheSilentBesideTheBusy(t *testing.T) {
	f := newPassiveFleet(t, 2, health.PassiveHealthConfig{Seed: 1})
	f.rounds(50, poise.Success)
	var hung []health.PassiveCall
	begun := f.now
	for k := 0; !f.endpoints[0].Ejected(); k++ {
		if f.now.Sub(begun) > 10*time.Second {
			t.Fatal("ten seconds of silence eject nobody")
		}
		hung = append(hung, f.endpoints[0].Begin(f.now))
		if k >= 30 {
			f.endpoints[0].End(&hung[k-30], poise.Result{Outcome: poise.Silent}, f.now)
		}
		f.call(1, []poise.Outcome{poise.Success, poise.Overloaded}[k%2])
		f.wait(10 * time.Millisecond)
		if share := f.endpoints[1].Share(f.now); k > 60 && share < 1 {
			t.Fatalf("after %d calls the share of the one that answers is %v", k, share)
		}
	}
	if after := f.now.Sub(begun); after < 2*time.Second {
		t.Errorf("its silence ejects it after %v", after)
	}
	f.require("it is silent", 0)
}

// Claim: A clock that steps freezes nothing: what waits for a time waits at most once more.
// Code: PassiveHealth.enter
//
// Cases: B101.
func TestPassiveHealth_SurvivesClockSteps(t *testing.T) {
	for _, step := range []time.Duration{
		-time.Second, -time.Minute, -time.Hour, -100 * 365 * 24 * time.Hour, time.Hour, 100 * 365 * 24 * time.Hour, 250 * 365 * 24 * time.Hour,
	} {
		f := newPassiveFleet(t, 3, health.PassiveHealthConfig{Seed: 1})
		f.rounds(50, poise.Success)
		f.rounds(3, poise.Unreachable, 1)
		f.require("it refuses", 1)
		for range 5 {
			c := f.endpoints[0].Begin(f.now)
			f.now = f.now.Add(step)
			f.endpoints[0].End(&c, poise.Result{}, f.now)
			f.Advance(f.now, 0)
			f.require(fmt.Sprintf("after a step of %v", step), 1)
		}
		f.rounds(300, poise.Success)
		c, ok := f.trial(1)
		if !ok {
			t.Fatalf("after steps of %v no trial is due", step)
		}
		f.endpoints[1].End(&c, poise.Result{}, f.now)
		f.rounds(300, poise.Success)
		if in := f.inspect(1); in.State != health.Serving || in.Share != 1 {
			t.Errorf("after steps of %v it is %+v", step, in)
		}
		f.rounds(10, poise.Unreachable, 2)
		f.require("whoever refuses later", 2)
	}
}

// Claim: Off judges nothing.
func TestPassiveHealth_Off(t *testing.T) {
	f := newPassiveFleet(t, 3, health.PassiveHealthConfig{Off: true})
	f.rounds(100, poise.Unreachable, 1)
	f.rounds(100, poise.Overloaded, 2)
	f.require("it is off")
	if next, changed := f.Advance(f.now, 0); !next.IsZero() || changed {
		t.Error("there is something to do")
	}
	if in := f.inspect(2); in.Share != 1 || in.Run != 0 || f.OverloadedShare(f.now) != 0 {
		t.Errorf("%+v", in)
	}
	f.Remove(f.endpoints[0], f.now)
	f.endpoints[1].Probe(true, f.now)
}

// Claim: A suspect is ejected when calls that failed there succeed elsewhere, and cleared when they fail there too.
func TestPassiveEndpoint_AsksOthersAboutASuspect(t *testing.T) {
	suspect := func() *passiveFleet {
		f := newPassiveFleet(t, 3, health.PassiveHealthConfig{Seed: 1, Divert: true})
		f.rounds(20, poise.Success)
		for range 12 {
			c := f.endpoints[1].Begin(f.now)
			c.SetKey(9)
			f.now = f.now.Add(time.Millisecond)
			f.endpoints[1].End(&c, poise.Result{Outcome: poise.Failure}, f.now)
			f.call(0, poise.Success)
			f.call(2, poise.Success)
		}
		if !f.endpoints[1].Accused() || f.endpoints[1].Ejected() || !f.inspect(1).Accused {
			t.Fatalf("%+v", f.inspect(1))
		}
		return f
	}
	instead := func(f *passiveFleet, key uint64, outcome poise.Outcome) {
		c := f.endpoints[0].BeginFor(f.endpoints[1], f.now)
		c.SetKey(key)
		f.endpoints[0].End(&c, poise.Result{Outcome: outcome}, f.now)
		f.call(0, poise.Success)
	}
	f := suspect()
	for range 20 {
		instead(f, 7, poise.Success)
	}
	f.require("calls of another key say nothing")
	for range 20 {
		instead(f, 9, poise.Success)
	}
	f.require("they succeed elsewhere", 1)
	f = suspect()
	for range 3 {
		instead(f, 9, poise.Failure)
	}
	if f.endpoints[1].Accused() || f.endpoints[1].Ejected() {
		t.Errorf("they fail elsewhere too, and it is %+v", f.inspect(1))
	}
	f = suspect()
	for range 25 {
		f.call(0, poise.Success)
		c := f.endpoints[1].Begin(f.now)
		c.SetKey(9)
		f.endpoints[1].End(&c, poise.Result{Outcome: poise.Failure}, f.now)
	}
	f.require("nobody looks into it", 1)
}

// Claim: In fleets of any size each success of a peer counts in the end.
// Code: PassiveEndpoint.count
func TestPassiveHealth_CountsInBatches(t *testing.T) {
	for _, n := range []int{31, 32, 33, 100, 1000} {
		f := newPassiveFleet(t, n, health.PassiveHealthConfig{Seed: 1})
		f.rounds(40, poise.Failure, 5)
		f.require(fmt.Sprintf("one of %d", n), 5)
	}
	f := newPassiveFleet(t, 100, health.PassiveHealthConfig{Seed: 1})
	var failing []int
	for i := 1; i < 100; i++ {
		failing = append(failing, i)
	}
	f.rounds(20, poise.Success)
	f.rounds(12, poise.Failure, failing...)
	if out := f.ejected(); len(out) != 99 || slices.Contains(out, 0) {
		t.Errorf("of 99 of 100 %d are ejected within 12 calls each", len(out))
	}
}

// Cases: B114.
func TestPassiveInspection_InWords(t *testing.T) {
	f := newPassiveFleet(t, 2, health.PassiveHealthConfig{Seed: 1})
	f.result(1, poise.Result{Outcome: poise.Unreachable, Err: errors.New("connection refused")})
	text, err := json.Marshal(f.inspect(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"State":"ejected"`, `"Cause":"unreachable"`, `"Backoff":"100ms"`, `"LastError":"connection refused"`, `"Until":"1970`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s is not in %s", part, text)
		}
	}
	for s := range health.PassiveState(3) {
		var back health.PassiveState
		if text, err := s.MarshalText(); err != nil || string(text) != s.String() || back.UnmarshalText(text) != nil || back != s {
			t.Errorf("%d is %q, %v", s, text, err)
		}
	}
	for c := range health.EjectionCause(6) {
		var back health.EjectionCause
		if text, err := c.MarshalText(); err != nil || string(text) != c.String() || back.UnmarshalText(text) != nil || back != c {
			t.Errorf("%d is %q, %v", c, text, err)
		}
	}
	if _, err := health.PassiveState(9).MarshalText(); err == nil || health.PassiveState(9).String() == "" {
		t.Error("a state that does not exist has a text")
	}
	if new(health.EjectionCause).UnmarshalText([]byte("gone")) == nil {
		t.Error("a cause that does not exist is read")
	}
}

// Claim: Used by one goroutine, equal seeds and equal inputs give equal results.
func TestPassiveHealth_Golden(t *testing.T) {
	var b strings.Builder
	b.WriteString("# What a PassiveHealth of seed 42 did to a script.\n")
	f := newPassiveFleet(t, 4, health.PassiveHealthConfig{Seed: 42})
	chance := poise.NewGenerator(42)
	was := make([]string, 4)
	moods := make([]uint32, 4)
	for step := range 4000 {
		if step%250 == 0 {
			moods[chance.Below(4)] = uint32(chance.Below(8))
		}
		i := int(chance.Below(4))
		if e, c, ok := f.Trial(true, func(any) bool { return true }, f.now); ok {
			i = e.Value().(int)
			f.now = f.now.Add(time.Millisecond)
			e.End(&c, poise.Result{Outcome: moodOutcome(moods[i], uint32(step))}, f.now)
		} else if !f.endpoints[i].Ejected() {
			f.call(i, moodOutcome(moods[i], uint32(step)))
		}
		f.now = f.now.Add(9 * time.Millisecond)
		if step%10 == 0 {
			f.Advance(f.now, 0)
		}
		for i := range f.endpoints {
			in := f.inspect(i)
			if now := fmt.Sprintf("%v %v", in.State, in.Cause); now != was[i] {
				was[i] = now
				fmt.Fprintf(&b, "%v: %d is %s, share %.3f, ejections %d, backoff %v\n", f.now.Sub(time.Unix(1000, 0)), i, now, in.Share, in.Ejections, in.Backoff)
			}
		}
	}
	const file = "testdata/passive_health.golden"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s differs; it now is\n%s", file, b.String())
	}
}

// Claim: Share of an endpoint that returns grows with each of its successes, and with time if it gets no call.
// Code: PassiveEndpoint.returned, PassiveEndpoint.setReturn
//
// Otherwise it would wait long for its calls where there are few: the less it gets, the
// less it grows.
func TestPassiveHealth_ReturnsByTimeAsWell(t *testing.T) {
	f := newPassiveFleet(t, 3, health.PassiveHealthConfig{Seed: 1, MinShare: 0.1})
	f.rounds(20, poise.Success)
	f.rounds(5, poise.Unreachable, 2)
	f.require("it refuses", 2)
	f.rounds(100, poise.Success)
	c, ok := f.trial(2)
	if !ok {
		t.Fatal("no trial is due")
	}
	f.endpoints[2].End(&c, poise.Result{}, f.now)
	first := f.inspect(2).Share
	f.call(2, poise.Success)
	second := f.inspect(2).Share
	if second < 1.4*first {
		t.Errorf("a success lets %v grow to %v", first, second)
	}
	previous := second
	for range 40 {
		f.now = f.now.Add(100 * time.Millisecond)
		f.Advance(f.now, 0)
		share := f.inspect(2).Share
		if share < previous || share == previous && share < 1 {
			t.Fatalf("without a call %v becomes %v", previous, share)
		}
		previous = share
	}
	if in := f.inspect(2); in.Share != 1 || in.State != health.Returning {
		t.Errorf("after four seconds without a call: %+v", in)
	}
}

// Claim: An endpoint is Full while as many calls wait for an answer as waited when it last refused one.
// Claim: A refusal beside fewer calls than one was served beside lately makes no endpoint Full sooner.
// Claim: Full ends when a call is served beside as many, a second after the last refusal, and when callers wait in vain.
func TestPassiveEndpoint_IsFullWhileAsManyWaitAsWhenItRefused(t *testing.T) {
	var f *passiveFleet
	// refusing has the first endpoint refuse a call beside two others that wait there.
	refusing := func() (waiting []health.PassiveCall) {
		f = newPassiveFleet(t, 3, health.PassiveHealthConfig{Seed: 1})
		f.rounds(20, poise.Success)
		for range 2 {
			waiting = append(waiting, f.endpoints[0].Begin(f.now))
		}
		f.call(0, poise.Overloaded)
		return waiting
	}
	end := func(c *health.PassiveCall, o poise.Outcome) { f.endpoints[0].End(c, poise.Result{Outcome: o}, f.now) }
	full := func(want bool, when string) {
		t.Helper()
		if got := f.endpoints[0].Full(); got != want {
			t.Errorf("%s it is full: %t", when, got)
		}
	}

	waiting := refusing()
	full(true, "while two wait")
	if f.endpoints[1].Full() {
		t.Error("one that refused nothing is full")
	}
	end(&waiting[0], poise.Success)
	full(false, "while one waits")
	waiting[0] = f.endpoints[0].Begin(f.now)
	full(true, "while two wait again")
	end(&waiting[0], poise.Cancelled)
	full(false, "when a caller has left")
	waiting[0] = f.endpoints[0].Begin(f.now)
	f.wait(900 * time.Millisecond)
	full(true, "not yet a second later")
	f.wait(200 * time.Millisecond)
	full(false, "a second later")

	refusing()
	third := f.endpoints[0].Begin(f.now)
	end(&third, poise.Success)
	full(false, "when one was served beside two")
	f.call(0, poise.Overloaded)
	full(false, "when one was refused beside two, and one served")
	_ = f.endpoints[0].Begin(f.now)
	full(true, "while three wait")

	waiting = refusing()
	f.call(0, poise.Success)
	end(&waiting[0], poise.Silent)
	waiting[0] = f.endpoints[0].Begin(f.now)
	full(false, "when a caller has waited in vain")

	f = newPassiveFleet(t, 3, health.PassiveHealthConfig{Seed: 1})
	f.rounds(20, poise.Success)
	f.call(0, poise.Overloaded)
	full(false, "when it refused a call beside no other")
}
