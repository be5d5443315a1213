//go:build interleave

package models

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/models/explore"
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// trying is a fleet in which one endpoint is out and due for a trial, or a twin of it
// with a planted bug. Two trials that fail can be paid for.
type trying interface {
	// try begins a trial of the endpoint that is out, and returns what ends it.
	try() (end func(poise.Outcome) (changed bool), ok bool)
	// begin begins a call to it that found nobody else.
	begin() (end func(poise.Outcome) (changed bool))
	remove()
	probe() (changed bool)
	// advance looks when a trial that was under way before has run for too long.
	advance()
	out() bool
	// affords is how many failed trials can be paid for. It spends them, after the end.
	affords() int
}

// realTrying is a PassiveHealth of one endpoint that is out, one that serves, and
// another one that is out, which tells at the end what the budget affords.
type realTrying struct {
	*health.PassiveHealth
	x, probed *health.PassiveEndpoint
	now       time.Time
}

// newTrying returns a fleet whose endpoint could not be reached, or has failed.
func newTrying(reached bool) *realTrying {
	h, err := health.NewPassiveHealth(health.PassiveHealthConfig{
		Seed: 1, Misses: 1, UnreachableBackoff: 1, Backoff: 1, MaxBackoff: 1, TrialShare: 0.25, Trials: 3,
	})
	if err != nil {
		panic(err)
	}
	r := &realTrying{PassiveHealth: h, now: time.Unix(1000, 0)}
	r.x, r.probed = h.Add("x", r.now), h.Add("probed", r.now)
	serving := h.Add("serving", r.now)
	for range 8 {
		c := serving.Begin(r.now)
		serving.End(&c, poise.Result{}, r.now)
	}
	for _, e := range []*health.PassiveEndpoint{r.x, r.probed} {
		c := e.Begin(r.now)
		e.End(&c, poise.Result{Outcome: poise.Unreachable}, r.now)
		if reached || e == r.probed {
			r.now = r.now.Add(time.Millisecond)
			end, ok := r.tryAt(e)
			if !ok || end(poise.Failure) {
				panic("no trial that fails")
			}
		}
	}
	r.now = r.now.Add(time.Second)
	return r
}

func (r *realTrying) tryAt(e *health.PassiveEndpoint) (end func(poise.Outcome) bool, ok bool) {
	_, c, ok := r.Trial(true, func(value any) bool { return value == e.Value() }, r.now)
	return r.ends(e, &c), ok
}

func (r *realTrying) ends(e *health.PassiveEndpoint, c *health.PassiveCall) func(poise.Outcome) bool {
	return func(o poise.Outcome) bool { return e.End(c, poise.Result{Outcome: o}, r.now) }
}

func (r *realTrying) try() (end func(poise.Outcome) bool, ok bool) { return r.tryAt(r.x) }

func (r *realTrying) begin() func(poise.Outcome) bool {
	c := r.x.Begin(r.now)
	return r.ends(r.x, &c)
}

func (r *realTrying) remove()     { r.Remove(r.x, r.now) }
func (r *realTrying) probe() bool { return r.x.Probe(true, r.now) }
func (r *realTrying) advance()    { r.Advance(r.now, 0) }
func (r *realTrying) out() bool   { return r.x.Ejected() }

func (r *realTrying) affords() (n int) {
	for {
		r.now = r.now.Add(time.Second)
		end, ok := r.tryAt(r.probed)
		if !ok {
			return n
		}
		end(poise.Failure)
		n++
	}
}

// lasts lets a trial run until the next look finds that it has run for too long.
func (r *realTrying) lasts() {
	r.Advance(r.now, time.Hour)
	for range 9 {
		r.now = r.now.Add(200 * time.Millisecond)
		r.Advance(r.now, 0)
	}
	r.now = r.now.Add(200 * time.Millisecond)
}

// buggyTrying is the same in hooked cells, with one line changed.
type buggyTrying struct {
	mu                     explore.Mutex
	isOut, trial           explore.Int64
	trials, tokens, excess explore.Int64 // claimed, in the bucket, begun and not over
	free                   bool
	tryingFaults
}

type tryingFaults struct {
	triesUnlocked bool // Trial looks for who is due before it takes the lock
	endsUnlocked  bool // End looks for the trial before it takes the lock
	leaksAtOnce   bool // Remove and Probe forget the trial, and do not give back what it paid
	comesBackFor  bool // whoever succeeds says that it has come back
	looksUnlocked bool // Advance looks for the trial before it takes the lock
}

func brokenTrying(free bool, f tryingFaults) func() trying {
	return func() trying {
		b := &buggyTrying{free: free, tryingFaults: f}
		b.isOut.Store(1)
		b.tokens.Store(2)
		return b
	}
}

func (b *buggyTrying) due() bool { return b.isOut.Load() == 1 && b.trial.Load() == 0 }

func (b *buggyTrying) try() (end func(poise.Outcome) bool, ok bool) {
	due := b.triesUnlocked && b.due()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !due && !b.due() {
		return nil, false
	}
	number := b.trials.Add(1)
	b.trial.Store(number)
	b.excess.Add(1)
	if !b.free {
		b.tokens.Add(-1)
	}
	return func(o poise.Outcome) bool { return b.end(number, o) }, true
}

func (b *buggyTrying) begin() func(poise.Outcome) bool {
	return func(o poise.Outcome) bool { return b.end(0, o) }
}

func (b *buggyTrying) end(number int64, o poise.Outcome) bool {
	running := b.endsUnlocked && number != 0 && b.trial.Load() == number
	was := b.comesBackFor && b.isOut.Load() == 1
	b.mu.Lock()
	defer b.mu.Unlock()
	running = running || b.trial.Load() != 0
	was = was || b.isOut.Load() == 1
	if o != poise.Success || !was {
		return false
	}
	if running {
		b.over(true)
	}
	b.isOut.Store(0)
	return true
}

// over ends the trial.
func (b *buggyTrying) over(back bool) {
	b.trial.Store(0)
	b.excess.Add(-1)
	if back && !b.free {
		b.tokens.Add(1)
	}
}

func (b *buggyTrying) remove() { b.probe() }

func (b *buggyTrying) probe() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isOut.Load() == 0 {
		return false
	}
	if b.trial.Load() != 0 && !b.leaksAtOnce {
		b.over(true)
	}
	b.isOut.Store(0)
	return true
}

func (b *buggyTrying) advance() {
	lost := b.looksUnlocked && b.trial.Load() != 0
	b.mu.Lock()
	defer b.mu.Unlock()
	if lost || b.trial.Load() != 0 {
		b.over(false)
	}
}

func (b *buggyTrying) out() bool { return b.isOut.Load() == 1 }

func (b *buggyTrying) affords() int {
	if b.excess.Load() != 0 {
		return -1 // a trial is left that nobody ends, or one was ended twice
	}
	return int(b.tokens.Load())
}

// tryingRun is a fleet with what each task was told, and perhaps a trial that began
// before.
type tryingRun struct {
	trying
	told [3]bool
	end  func(poise.Outcome) bool
}

func fresh(f func() trying) func() *tryingRun {
	return func() *tryingRun { return &tryingRun{trying: f()} }
}

// underTrial is a fleet in which the trial has begun.
func underTrial(f func() trying) func() *tryingRun {
	return func() *tryingRun {
		r := &tryingRun{trying: f()}
		r.end, _ = r.try()
		if real, is := r.trying.(*realTrying); is {
			real.lasts()
		}
		return r
	}
}

func toldTrying(r *tryingRun, _ *explore.Run) string { return fmt.Sprint(r.told) }

func failedTrying() trying      { return newTrying(true) }
func unreachableTrying() trying { return newTrying(false) }

// doing is a task that notes what it was told.
func doing(number int, name string, what func(*tryingRun) bool) explore.Task[*tryingRun] {
	return explore.Task[*tryingRun]{Name: name, Body: func(r *tryingRun, _ *explore.T) { r.told[number] = what(r) }}
}

func trialBegins(r *tryingRun) bool { _, ok := r.try(); return ok }
func trialEnds(r *tryingRun) bool   { return r.end(poise.Success) }

// Claim: At most one trial of an endpoint runs at once.
func TestPassiveHealth_TrialAgainstTrial(t *testing.T) {
	explore.Check(t, explore.Model[*tryingRun]{
		Name:     "passive health: three callers that may make the trial of one endpoint",
		NotShown: "Trials of several endpoints, which one lock orders.",
		New:      fresh(failedTrying),
		Tasks: []explore.Task[*tryingRun]{
			doing(0, "caller 0", trialBegins), doing(1, "caller 1", trialBegins), doing(2, "caller 2", trialBegins),
		},
		Outcome: toldTrying,
		Final: func(r *tryingRun, _ *explore.Run) error {
			n := 0
			for _, ok := range r.told {
				if ok {
					n++
				}
			}
			if n != 1 {
				return fmt.Errorf("%d trials of one endpoint have begun", n)
			}
			return nil
		},
		Bugs: []explore.Bug[*tryingRun]{
			bug("who is due is looked up outside the lock", "final", fresh(brokenTrying(false, tryingFaults{triesUnlocked: true}))),
		},
	})
}

// settled judges what is left when the endpoint is not out any more.
func settled(affords ...int) func(*tryingRun, *explore.Run) error {
	return func(r *tryingRun, _ *explore.Run) error {
		if r.out() {
			return errors.New("it is still out")
		}
		got := r.affords()
		for _, want := range affords {
			if got == want {
				return nil
			}
		}
		return fmt.Errorf("%d trials can be paid for, want one of %v", got, affords)
	}
}

// Claim: What becomes of a call counts for nothing after Remove.
func TestPassiveHealth_TrialEndsAgainstRemove(t *testing.T) {
	explore.Check(t, explore.Model[*tryingRun]{
		Name:     "passive health: a trial that succeeds, against the removal of its endpoint",
		NotShown: "A trial that fails, which pays in either order unless the endpoint was removed first.",
		New:      underTrial(failedTrying),
		Tasks: []explore.Task[*tryingRun]{
			doing(0, "trial", trialEnds),
			doing(1, "remover", func(r *tryingRun) bool { r.remove(); return true }),
		},
		Outcome: toldTrying,
		Final:   settled(2),
		Bugs: []explore.Bug[*tryingRun]{
			bug("the trial is looked up outside the lock, and given back twice", "final",
				underTrial(brokenTrying(false, tryingFaults{endsUnlocked: true, comesBackFor: true}))),
			bug("a removal keeps what the trial paid", "final", underTrial(brokenTrying(false, tryingFaults{leaksAtOnce: true}))),
		},
	})
}

// Claim: An ejected endpoint whose trial succeeds is Returning, and Serving after ReturnSuccesses.
func TestPassiveHealth_TwoCallsBringItBack(t *testing.T) {
	explore.Check(t, explore.Model[*tryingRun]{
		Name:     "passive health: a trial and a call that found nobody else, which both succeed",
		NotShown: "Calls that fail, of which only that of the trial counts.",
		New:      underTrial(failedTrying),
		Tasks: []explore.Task[*tryingRun]{
			doing(0, "trial", trialEnds),
			doing(1, "call", func(r *tryingRun) bool { return r.begin()(poise.Success) }),
		},
		Outcome: toldTrying,
		Final: func(r *tryingRun, run *explore.Run) error {
			if r.told[0] == r.told[1] {
				return fmt.Errorf("who brought it back was told %v", r.told[:2])
			}
			return settled(2)(r, run)
		},
		Bugs: []explore.Bug[*tryingRun]{
			bug("both bring it back", "final", underTrial(brokenTrying(false, tryingFaults{comesBackFor: true}))),
		},
	})
}

// Claim: A trial that does not end counts as silent after a while, so that the next can begin.
func TestPassiveHealth_LostTrialAgainstItsEnd(t *testing.T) {
	explore.Check(t, explore.Model[*tryingRun]{
		Name:     "passive health: a trial that succeeds just when it has run for too long",
		NotShown: "How many run, which must be 3 to show in a fleet of this size; the graph of PassiveHealth shows it.",
		New:      underTrial(failedTrying),
		Tasks: []explore.Task[*tryingRun]{
			doing(0, "trial", trialEnds),
			doing(1, "look", func(r *tryingRun) bool { r.advance(); return true }),
		},
		Outcome: toldTrying,
		Final: func(r *tryingRun, run *explore.Run) error {
			if !r.told[0] {
				return errors.New("an answer has not brought it back")
			}
			return settled(1, 2)(r, run) // a lost one is paid
		},
		Sometimes: []explore.Pred[*tryingRun]{{Name: "it is back", Holds: func(r *tryingRun) bool { return !r.out() }}},
		Bugs: []explore.Bug[*tryingRun]{
			bug("the look finds the trial outside the lock, and ends it twice", "final",
				underTrial(brokenTrying(false, tryingFaults{looksUnlocked: true}))),
		},
	})
}

// Claim: A probe that passes brings back an endpoint that nothing could be sent to.
func TestPassiveHealth_ProbeAgainstTrial(t *testing.T) {
	explore.Check(t, explore.Model[*tryingRun]{
		Name:     "passive health: a probe that passes, against a caller that may make the trial",
		NotShown: "An endpoint that failed, which a probe only makes due.",
		New:      fresh(unreachableTrying),
		Tasks: []explore.Task[*tryingRun]{
			doing(0, "caller", trialBegins),
			doing(1, "probe", (*tryingRun).probe),
		},
		Outcome: toldTrying,
		Final: func(r *tryingRun, run *explore.Run) error {
			if !r.told[1] {
				return errors.New("the probe has changed nothing")
			}
			return settled(2)(r, run)
		},
		Bugs: []explore.Bug[*tryingRun]{
			bug("a probe leaves the trial running", "final", fresh(brokenTrying(true, tryingFaults{leaksAtOnce: true}))),
		},
	})
}
