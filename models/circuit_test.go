//go:build interleave

package models

import (
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/models/explore"
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// circuitBounds are the settings of the circuits here, but for those that count to
// two. The time open is one nanosecond, and instants are nanoseconds.
var circuitBounds = seq.CircuitBounds{Failures: 1, Trials: 1, Successes: 1, Hold: 5}

// circuit is a health.Circuit, or a twin of it with a planted bug. A permit's end
// may be called again, as that of a copy.
type circuit interface {
	acquire(at int) (end func(v seq.Verdict) bool, ok bool)
	force(open bool, at int)
}

type realCircuit struct{ *health.Circuit }

func newRealCircuit(bounds seq.CircuitBounds) realCircuit {
	c, err := health.NewCircuit(health.CircuitConfig{
		Failures: bounds.Failures, Trials: bounds.Trials, Successes: bounds.Successes,
		OpenFor: 1, MaxOpenFor: 1, MaxHold: time.Duration(bounds.Hold), Chance: poise.NewGenerator(1),
	})
	if err != nil {
		panic(err)
	}
	return realCircuit{c}
}

func (c realCircuit) acquire(at int) (end func(v seq.Verdict) bool, ok bool) {
	permit, err := c.Acquire(time.Unix(0, int64(at)))
	if err != nil {
		return nil, false
	}
	return func(v seq.Verdict) bool {
		outcome := poise.Success
		if v.Failed {
			outcome = poise.Failure
		}
		return c.End(permit, outcome, time.Unix(0, int64(v.At))) == nil
	}, true
}

func (c realCircuit) force(open bool, at int) {
	if now := time.Unix(0, int64(at)); open {
		c.ForceOpen(now)
	} else {
		c.ForceClose(now)
	}
}

// The modes of a circuit with a bug.
const (
	modeClosed = iota
	modeOpen
	modeHalfOpen
)

// buggyCircuit is a circuit of the same settings with one line changed, in hooked
// cells. A trial has a number, and one of them is out or none.
type buggyCircuit struct {
	mu                                explore.Mutex
	mode, epoch, since, trial, trials explore.Int64
	circuitFaults
}

type circuitFaults struct {
	matchesTheKind bool // a permit acts wherever its kind fits: the missing epoch
	unlocked       bool // Acquire looks at what is out before it takes the lock
	endsTwice      bool // a permit's flag is read and then set, outside the lock
	holdsForEver   bool // nothing is reclaimed
	countsExpired  bool // a trial that was reclaimed still counts
}

func (c *buggyCircuit) acquire(at int) (end func(v seq.Verdict) bool, ok bool) {
	taken := false
	if c.unlocked {
		taken = c.taken(at)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.unlocked {
		taken = c.taken(at)
	}
	if taken {
		return nil, false
	}
	number := int64(0)
	if c.mode.Load() == modeOpen {
		c.begin(modeHalfOpen, at)
	}
	if c.mode.Load() == modeHalfOpen {
		number = c.trials.Add(1)
		c.trial.Store(number)
		c.since.Store(int64(at))
	}
	return c.permit(number), true
}

// taken reports whether nothing is to be had.
func (c *buggyCircuit) taken(at int) bool {
	passed := int64(at) - c.since.Load()
	switch c.mode.Load() {
	case modeOpen:
		return passed == 0
	case modeHalfOpen:
		return c.trial.Load() != 0 && (c.holdsForEver || passed < int64(circuitBounds.Hold) && -passed < int64(circuitBounds.Hold))
	}
	return false
}

func (c *buggyCircuit) permit(number int64) func(v seq.Verdict) bool {
	epoch := c.epoch.Load()
	ended := new(explore.Bool)
	return func(v seq.Verdict) bool {
		if c.endsTwice {
			again := ended.Load()
			ended.Store(true)
			if again {
				return false
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.endsTwice && ended.Load() {
			return false
		}
		ended.Store(true)
		return c.act(epoch, number, v)
	}
}

func (c *buggyCircuit) act(epoch, number int64, v seq.Verdict) bool {
	mode := c.mode.Load()
	fits := epoch == c.epoch.Load()
	if c.matchesTheKind {
		fits = mode == modeClosed && number == 0 || mode == modeHalfOpen && number != 0
	}
	if !fits {
		return false
	}
	if mode == modeHalfOpen {
		late := number != c.trial.Load() || !c.taken(v.At)
		if late && !c.countsExpired && !c.matchesTheKind {
			return false
		}
		c.trial.Store(0)
	}
	switch {
	case v.Failed:
		c.begin(modeOpen, v.At)
	case mode == modeHalfOpen:
		c.begin(modeClosed, v.At)
	}
	return true
}

func (c *buggyCircuit) begin(mode int64, at int) {
	c.epoch.Add(1)
	c.mode.Store(mode)
	c.since.Store(int64(at))
	c.trial.Store(0)
}

func (c *buggyCircuit) force(open bool, at int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if open {
		c.begin(modeOpen, at)
	} else {
		c.begin(modeClosed, at)
	}
}

// begun is a circuit with a permit that was issued before the tasks began.
type begun struct {
	circuit
	end func(v seq.Verdict) bool
}

// before makes the circuit of a model, on which the calls have been made already
// that led to where the tasks begin.
func before(c func() circuit, calls func(circuit) (end func(v seq.Verdict) bool)) func() *begun {
	return func() *begun {
		made := c()
		return &begun{made, calls(made)}
	}
}

func shipped() circuit { return newRealCircuit(circuitBounds) }

func with(f circuitFaults) func() circuit {
	return func() circuit { return &buggyCircuit{circuitFaults: f} }
}

// trialOf is one call at two instants, whose result is known beforehand.
func trialOf(permit, at, until int, failed bool) func(*begun, *explore.T) {
	return func(c *begun, h *explore.T) {
		var end func(seq.Verdict) bool
		if h.Call("Acquire", seq.Verdict{Permit: permit, At: at}, func() (ok any) { end, ok = c.acquire(at); return ok }) == true {
			endOf(end, permit, until, failed)(c, h)
		}
	}
}

// endOf ends a permit; the circuit's own one if it names none.
func endOf(end func(seq.Verdict) bool, permit, at int, failed bool) func(*begun, *explore.T) {
	return func(c *begun, h *explore.T) {
		end := end
		if end == nil {
			end = c.end
		}
		v := seq.Verdict{Permit: permit, At: at, Failed: failed}
		h.Call("End", v, func() any { return end(v) })
	}
}

func forcing(open bool, at int) func(*begun, *explore.T) {
	name := map[bool]string{true: "ForceOpen", false: "ForceClose"}[open]
	return func(c *begun, h *explore.T) {
		h.Call(name, at, func() any { c.force(open, at); return nil })
	}
}

// opened is a circuit forced open at instant 0.
func opened(c circuit) (end func(v seq.Verdict) bool) {
	c.force(true, 0)
	return nil
}

var openedOps = []seq.Op{{Name: "ForceOpen", Arg: 0}}

// Claim: A half-open circuit never has more permits out than configured.
// Claim: The first Acquire after that makes the circuit half-open and gets a permit.
//
// Cases: B18.
func TestCircuit_CallsThatComeWhenItsTimeIsOver(t *testing.T) {
	calls := []explore.Task[*begun]{
		{Name: "call 0", Body: trialOf(0, 1, 2, true)},
		{Name: "call 1", Body: trialOf(1, 1, 2, false)},
		{Name: "call 2", Body: trialOf(2, 1, 2, false)},
	}
	explore.Check(t, explore.Model[*begun]{
		Name:     "circuit: three calls when the time open is over, of which one may be a trial",
		NotShown: "More than one trial at once, which is the same comparison with another number.",
		New:      before(shipped, opened),
		Tasks:    calls,
		Outcome:  results[*begun],
		Spec:     seq.After(seq.Circuit(circuitBounds), openedOps...),
		Bugs: []explore.Bug[*begun]{
			{
				Name: "the trials are counted outside the lock", Breaks: "history", Tasks: calls[:2],
				New: before(with(circuitFaults{unlocked: true}), opened),
			},
		},
	})
}

// Claim: A permit of an earlier epoch changes nothing: neither its result nor its end counts.
//
// Cases: G4, B20.
func TestCircuit_LateCallAgainstForces(t *testing.T) {
	issued := func(c circuit) func(seq.Verdict) bool {
		end, _ := c.acquire(0)
		return end
	}
	explore.Check(t, explore.Model[*begun]{
		Name:     "circuit: a call that fails, against opening and closing by force and a call of the new epoch",
		NotShown: "More than one late call.",
		New:      before(shipped, issued),
		Tasks: []explore.Task[*begun]{
			{Name: "late call", Body: endOf(nil, 0, 1, true)},
			{Name: "control", Body: func(c *begun, h *explore.T) {
				forcing(true, 1)(c, h)
				forcing(false, 1)(c, h)
			}},
			{Name: "call 1", Body: trialOf(1, 1, 1, false)},
		},
		Outcome: results[*begun],
		Spec:    seq.After(seq.Circuit(circuitBounds), seq.Op{Name: "Acquire", Arg: seq.Verdict{}, Result: true}),
		Bugs: []explore.Bug[*begun]{
			bug("a permit acts wherever its kind fits", "history", before(with(circuitFaults{matchesTheKind: true}), issued)),
		},
	})
}

// trialOut is a half-open circuit with a trial out since instant 1.
func trialOut(c circuit) func(seq.Verdict) bool {
	c.force(true, 0)
	end, _ := c.acquire(1)
	return end
}

var trialOutOps = append(openedOps[:1:1], seq.Op{Name: "Acquire", Arg: seq.Verdict{At: 1}, Result: true})

// Claim: A permit of an earlier epoch changes nothing: neither its result nor its end counts.
//
// Cases: G4.
func TestCircuit_LateTrialAgainstTheNextHalfOpenPeriod(t *testing.T) {
	explore.Check(t, explore.Model[*begun]{
		Name:     "circuit: a trial that succeeds, against opening by force and the trial of the next half-open period",
		NotShown: "A trial that fails late, whose way through the code is the same.",
		New:      before(shipped, trialOut),
		Tasks: []explore.Task[*begun]{
			{Name: "late trial", Body: endOf(nil, 0, 3, false)},
			{Name: "control", Body: func(c *begun, h *explore.T) {
				forcing(true, 2)(c, h)
				trialOf(1, 3, 3, true)(c, h)
			}},
		},
		Outcome: results[*begun],
		Spec:    seq.After(seq.Circuit(circuitBounds), trialOutOps...),
		Bugs: []explore.Bug[*begun]{
			bug("a permit acts wherever its kind fits", "history", before(with(circuitFaults{matchesTheKind: true}), trialOut)),
		},
	})
}

// Claim: Copies of a permit share one end; every later End is reported and changes nothing.
func TestCircuit_CopiesOfAPermitEndAtOnce(t *testing.T) {
	issued := func(c circuit) func(seq.Verdict) bool {
		end, _ := c.acquire(0)
		return end
	}
	explore.Check(t, explore.Model[*begun]{
		Name:     "circuit: three ends of one permit",
		NotShown: "Ends with different outcomes, of which the first counts; failures, of which the first would make the others late.",
		New:      before(shipped, issued),
		Tasks:    same(3, "end", endOf(nil, 0, 1, false)),
		Outcome:  results[*begun],
		Spec:     seq.After(seq.Circuit(circuitBounds), seq.Op{Name: "Acquire", Arg: seq.Verdict{}, Result: true}),
		Bugs: []explore.Bug[*begun]{
			bug("flag that is read and then set", "history", before(with(circuitFaults{endsTwice: true}), issued)),
		},
	})
}

// Claim: A trial that is held for MaxHold counts as cancelled from the next Acquire or End on; its own End is reported and changes nothing.
//
// Cases: G19, B19.
func TestCircuit_LostTrialAgainstTheNext(t *testing.T) {
	explore.Check(t, explore.Model[*begun]{
		Name:     "circuit: a trial that ends just when its hold is over, against another call",
		NotShown: "More than one trial out.",
		New:      before(shipped, trialOut),
		Tasks: []explore.Task[*begun]{
			{Name: "late trial", Body: endOf(nil, 0, 5, true)},
			{Name: "call 1", Body: trialOf(1, 6, 7, false)},
			{Name: "call 2", Body: trialOf(2, 5, 7, false)},
		},
		Outcome: results[*begun],
		Spec:    seq.After(seq.Circuit(circuitBounds), trialOutOps...),
		Bugs: []explore.Bug[*begun]{
			bug("a lost permit is held for ever", "history", before(with(circuitFaults{holdsForEver: true}), trialOut)),
			bug("an end after its hold counts", "history", before(with(circuitFaults{countsExpired: true}), trialOut)),
		},
	})
}

// losingCircuit opens after two failures, and reads how many there were before it
// writes one more.
type losingCircuit struct{ failures explore.Int64 }

func (c *losingCircuit) acquire(int) (end func(v seq.Verdict) bool, ok bool) {
	if c.failures.Load() >= 2 {
		return nil, false
	}
	return func(seq.Verdict) bool {
		failures := c.failures.Load()
		c.failures.Store(failures + 1)
		return true
	}, true
}

func (c *losingCircuit) force(bool, int) {}

// Claim: The configured number of failures in a row opens a closed circuit; a success in between starts the count again.
func TestCircuit_TwoFailuresAtOnce(t *testing.T) {
	two := seq.CircuitBounds{Failures: 2, Trials: 2, Successes: 2, Hold: 12}
	twice := func(c circuit) func(seq.Verdict) bool {
		first, _ := c.acquire(0)
		second, _ := c.acquire(0)
		left := []func(seq.Verdict) bool{first, second}
		return func(v seq.Verdict) bool { return left[v.Permit](v) }
	}
	explore.Check(t, explore.Model[*begun]{
		Name:     "circuit: two calls that fail, of two that open it, and a third call",
		NotShown: "The share of failures in a window, which is counted in the same place.",
		New:      before(func() circuit { return newRealCircuit(two) }, twice),
		Tasks: []explore.Task[*begun]{
			{Name: "call 0", Body: endOf(nil, 0, 1, true)},
			{Name: "call 1", Body: endOf(nil, 1, 1, true)},
			{Name: "call 2", Body: trialOf(2, 1, 1, false)},
		},
		Outcome: results[*begun],
		Spec: seq.After(seq.Circuit(two),
			seq.Op{Name: "Acquire", Arg: seq.Verdict{}, Result: true}, seq.Op{Name: "Acquire", Arg: seq.Verdict{Permit: 1}, Result: true}),
		Bugs: []explore.Bug[*begun]{
			bug("a failure is lost", "history", before(func() circuit { return new(losingCircuit) }, twice)),
		},
	})
}
