package replay_test

import (
	"errors"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/spec/replay"
)

// circuit is a Circuit, the permits that callers have, and a clock.
type circuit struct {
	*health.Circuit
	cfg     health.CircuitConfig
	permits map[string]health.Permit
	epochs  map[string]int  // of the permits; below 0 what became of them
	trials  map[string]bool // issued while half-open
	now     time.Time
	back    int
}

// What the specification calls a permit that does not act.
const (
	noPermit      = -1
	endedPermit   = -2
	expiredPermit = -3
	stalePermit   = -4
)

func circuitMapping() replay.Mapping[*circuit] {
	return replay.Mapping[*circuit]{
		New: func(constants, initial replay.Record) (*circuit, error) {
			ticks := func(name string) time.Duration { return tick * time.Duration(constants[name].Int()) }
			cfg := health.CircuitConfig{
				Failures: constants["Failures"].Int(), Trials: constants["Trials"].Int(), Successes: constants["Successes"].Int(),
				OpenFor: ticks("OpenFor"), MaxOpenFor: ticks("MaxOpenFor"), MaxHold: ticks("MaxHold"),
				Chance: poise.NewGenerator(1),
			}
			c, err := health.NewCircuit(cfg)
			return &circuit{
				Circuit: c, cfg: cfg, now: time.Unix(1_000_000, 0), back: initial["back"].Int(),
				permits: map[string]health.Permit{}, trials: map[string]bool{"a": false, "b": false},
				epochs: map[string]int{"a": noPermit, "b": noPermit},
			}, err
		},
		Apply: map[string]func(*circuit, replay.Record) (any, error){
			"(*Circuit).Acquire": func(c *circuit, args replay.Record) (any, error) { return c.acquire(args["call"].Str()) },
			"(*Circuit).End":     (*circuit).end,
			"(*Circuit).ForceOpen": func(c *circuit, args replay.Record) (any, error) {
				c.draw(0, args["number"].Int())
				c.ForceOpen(c.now)
				return 0, nil
			},
			"(*Circuit).ForceClose": func(c *circuit, _ replay.Record) (any, error) {
				c.ForceClose(c.now)
				return 0, nil
			},
			"(*Circuit).NextChange": func(c *circuit, _ replay.Record) (any, error) {
				left, changes := c.NextChange(c.now)
				if changes == c.Available(c.now) || changes != (left > 0) {
					return nil, errors.New("NextChange and Available contradict each other")
				}
				return int(left / tick), nil
			},
			"Tick": func(c *circuit, _ replay.Record) (any, error) {
				c.now = c.now.Add(tick)
				return 0, nil
			},
			"StepBack": func(c *circuit, args replay.Record) (any, error) {
				c.now = c.now.Add(-tick * time.Duration(args["number"].Int()))
				c.back--
				return 0, nil
			},
		},
		Project: (*circuit).project,
		May:     mayCircuit,
	}
}

func (c *circuit) acquire(call string) (any, error) {
	p, err := c.Acquire(c.now)
	var refused *health.CircuitError
	switch {
	case err == nil:
		state := c.State(c.now)
		c.permits[call], c.epochs[call] = p, int(state.Epoch)
		c.trials[call] = state.Mode == health.HalfOpen
		return 0, nil
	case errors.Is(err, health.ErrTrialsTaken):
		return -1, nil
	case errors.As(err, &refused):
		return int(refused.RetryAfter / tick), nil
	}
	return nil, err
}

func (c *circuit) end(args replay.Record) (any, error) {
	outcomes := map[string]poise.Outcome{
		"success": poise.Success, "failure": poise.Failure,
		"overloaded": poise.Overloaded, "cancelled": poise.Cancelled,
	}
	call := args["call"].Str()
	c.draw(c.Inspect().Rounds, args["number"].Int())
	err := c.End(c.permits[call], outcomes[args["outcome"].Str()], c.now)
	if c.epochs[call] >= 0 && !errors.Is(err, health.ErrPermitExpired) {
		c.epochs[call], c.trials[call] = endedPermit, false
	}
	for known, res := range map[error]int{
		nil: 0, health.ErrPermitForeign: noPermit, health.ErrPermitEnded: endedPermit,
		health.ErrPermitExpired: expiredPermit, health.ErrPermitStale: stalePermit,
	} {
		if err == known {
			return res, nil
		}
	}
	return nil, err
}

// draw moves the generator to where its next draw takes this much off the whole of
// a round.
func (c *circuit) draw(round uint, off int) {
	half := c.whole(round) / 2
	for off <= half {
		if int(poise.NewGenerator(c.cfg.Chance.Seed()).Below(uint64(half)+1)) == off {
			return
		}
		c.cfg.Chance.Uint64()
	}
}

// whole returns the time open of a round before jitter, by the words of the
// Contract.
func (c *circuit) whole(round uint) int {
	return int(min(c.cfg.OpenFor<<round, c.cfg.MaxOpenFor) / tick)
}

func (c *circuit) project() map[string]any {
	is := c.Inspect()
	state := map[string]any{
		"mode": is.Mode.String(), "back": c.back, "age": 0, "wait": is.OpenFor,
		"epoch": is.Epoch, "failures": is.Failures, "rounds": is.Rounds, "successes": is.Successes,
	}
	if is.Mode == health.Open {
		state["age"] = int(c.now.Sub(is.Since) / tick)
	}
	epochs, trials, hold := map[string]int{}, map[string]bool{}, map[string]int{}
	for call, epoch := range c.epochs {
		epochs[call], trials[call], hold[call] = epoch, c.trials[call], 0
		if epoch < 0 {
			continue
		}
		switch p := c.InspectPermit(c.permits[call]); {
		case p.Err == health.ErrPermitExpired:
			epochs[call], trials[call] = expiredPermit, false
		case p.Err == nil && is.Mode == health.HalfOpen:
			// The specification does not count past the end of a hold.
			hold[call] = int(min(c.now.Sub(p.Since), c.cfg.MaxHold) / tick)
		}
	}
	state["permit"], state["trial"], state["hold"] = epochs, trials, hold
	return state
}

// look is a state of the specification, as a client sees it.
type look struct {
	constants, state replay.Record
}

func (l look) is(name string) int { return l.state[name].Int() }

func (l look) over(passed int, span int) bool { return passed >= span || passed <= -span }

// permit returns what the permit of a call is once what was held for too long
// counts as cancelled.
func (l look) permit(call string) int {
	permit := l.state["permit"].Fields()[call].Int()
	hold := l.state["hold"].Fields()[call].Int()
	if l.halfOpen() && permit == l.is("epoch") && l.over(hold, l.constants["MaxHold"].Int()) {
		return expiredPermit
	}
	return permit
}

func (l look) halfOpen() bool { return l.state["mode"].Str() == "half-open" }

// whether the clock may go on, and whether it may step back.
func (l look) clock() (on, back bool) {
	if l.state["mode"].Str() == "open" {
		age, wait := l.is("age"), l.is("wait")
		return age < wait, age >= 0 && age < wait
	}
	out := false
	back = true
	for call, hold := range l.state["hold"].Fields() {
		if !l.halfOpen() || l.state["permit"].Fields()[call].Int() != l.is("epoch") {
			continue
		}
		out = true
		on = on || hold.Int() < l.constants["MaxHold"].Int()
		back = back && hold.Int() >= 0 && hold.Int() < l.constants["MaxHold"].Int()
	}
	return on, back && out
}

// opens reports whether a time open may begin, of which the jitter takes so much
// off, in the bounds of the graph.
func (l look) opens(round, off int) bool {
	whole := min(l.constants["OpenFor"].Int()<<round, l.constants["MaxOpenFor"].Int())
	return l.is("epoch")+2 <= l.constants["Epochs"].Int() && off <= whole/2
}

// mayCircuit says what clients may do: anybody may end what they have with any
// outcome, and take a permit unless the last one still acts.
func mayCircuit(constants, state replay.Record, name string, args replay.Record) bool {
	l := look{constants, state}
	call, outcome, number := args["call"].Str(), args["outcome"].Str(), args["number"].Int()
	on, back := l.clock()
	switch name {
	case "(*Circuit).Acquire":
		return l.permit(call) != l.is("epoch")
	case "(*Circuit).NextChange":
		return true
	case "(*Circuit).ForceOpen":
		return l.opens(0, number)
	case "(*Circuit).ForceClose":
		return l.is("epoch") < constants["Epochs"].Int()
	case "Tick":
		return on
	case "StepBack":
		return back && l.is("back") > 0
	}
	failed := outcome == "failure" || outcome == "overloaded"
	switch {
	case l.permit(call) != l.is("epoch"):
		// What does not act is tried with two outcomes, which stand for all.
		return number == 0 && (outcome == "success" || outcome == "failure")
	case failed && (l.halfOpen() || l.is("failures")+1 >= constants["Failures"].Int()):
		return l.opens(l.is("rounds"), number)
	case number != 0:
		return false
	case outcome == "success" && l.halfOpen() && l.is("successes")+1 >= constants["Successes"].Int():
		return l.is("epoch") < constants["Epochs"].Int()
	}
	return true
}

func TestCircuit_WalksItsStateGraph(t *testing.T) {
	replay.Walk(t, replay.Load(t, "../tla/circuit/Circuit.graph"), circuitMapping())
}
