package replay_test

import (
	"errors"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/spec/replay"
)

// The sizes by which verdicts of a real PassiveHealth are those of the specification.
const (
	// passiveMany is how many calls a success of a serving endpoint stands for. They pay
	// for one trial, and make a run of so many failures as the graph says convict.
	passiveMany = 64
	// passiveLost is how many calls in a row are a silence of the fleet.
	passiveLost = 4
	// passiveTick is a tick, passiveCall is how long each call takes, and passiveWait the
	// time out, which jitter makes a quarter shorter or longer.
	passiveTick = 550 * time.Second
	passiveCall = time.Second
	passiveWait = 400 * time.Second
	// passiveSpare is how many calls of an earlier life each endpoint has to lose.
	passiveSpare = 24
)

// passive is a PassiveHealth, the calls that callers have, and a clock.
type passive struct {
	*health.PassiveHealth
	constants replay.Record
	endpoints map[string]*health.PassiveEndpoint
	calls     map[string]*health.PassiveCall
	at, kind  map[string]string // of the calls
	removed   map[string]bool
	spare     map[string][]health.PassiveCall
	lost      int
	tick      time.Time // when the present tick began
	now       time.Time
}

func newPassiveReplay(constants, _ replay.Record) (*passive, error) {
	if constants["Run"].Int() != 3 || constants["Wait"].Int() != 1 || constants["Hold"].Int() != 1 {
		return nil, errors.New("the sizes are those of Run = 3, Wait = 1 and Hold = 1")
	}
	h, err := health.NewPassiveHealth(health.PassiveHealthConfig{
		Seed: 1, Odds: 3e4, Misses: 1, Silence: 2100 * time.Millisecond, BusyTime: 1,
		UnreachableBackoff: passiveWait, Backoff: passiveWait, MaxBackoff: passiveWait,
		TrialShare: 1.0 / passiveMany, Trials: constants["Trials"].Int(), ReturnSuccesses: constants["Successes"].Int(),
	})
	if err != nil {
		return nil, err
	}
	p := &passive{
		PassiveHealth: h, constants: constants, now: time.Unix(1_000_000, 0),
		endpoints: map[string]*health.PassiveEndpoint{}, calls: map[string]*health.PassiveCall{},
		at: map[string]string{"a": "", "b": ""}, kind: map[string]string{"a": "none", "b": "none"},
		removed: map[string]bool{}, spare: map[string][]health.PassiveCall{},
	}
	for _, name := range []string{"x", "y"} {
		p.endpoints[name] = h.Add(name, p.now)
	}
	// Both have been out before, so that calls of that time are left, and serve well.
	for _, name := range []string{"x", "y"} {
		e := p.endpoints[name]
		for range passiveSpare {
			p.spare[name] = append(p.spare[name], e.Begin(p.now))
		}
		c := e.Begin(p.now)
		e.End(&c, poise.Result{Outcome: poise.Unreachable}, p.now)
		e.Probe(true, p.now)
		// The time of one call in eight is measured: not that of one that took a tick.
		p.serve(e, 2*passiveMany+2)
	}
	for range 2 {
		p.now = p.now.Add(passiveCall)
		p.Advance(p.now, 0)
	}
	p.tick = p.now
	return p, nil
}

// serve makes calls that succeed at once.
func (p *passive) serve(e *health.PassiveEndpoint, n int) {
	for range n {
		c := e.Begin(p.now)
		e.End(&c, poise.Result{}, p.now)
	}
}

// passes lets the time of a call pass, in which a late Advance looks.
func (p *passive) passes() {
	p.now = p.now.Add(passiveCall)
	p.Advance(p.now, time.Hour)
}

func (p *passive) begin(args replay.Record) (any, error) {
	call, at := args["call"].Str(), args["at"].Str()
	defer p.passes()
	e := p.endpoints[at]
	c := e.Begin(p.now)
	if c.Trial() {
		return nil, errors.New("Begin has made a trial")
	}
	p.calls[call], p.at[call], p.kind[call] = &c, at, "plain"
	if p.removed[at] {
		p.kind[call] = "gone"
	}
	return false, nil
}

func (p *passive) try(args replay.Record) (any, error) {
	call, at := args["call"].Str(), args["at"].Str()
	defer p.passes()
	e, c, ok := p.Trial(true, func(value any) bool { return value == at }, p.now)
	if !ok {
		return false, nil
	}
	if e != p.endpoints[at] || !c.Trial() {
		return nil, errors.New("that is no trial of the endpoint")
	}
	p.calls[call], p.at[call], p.kind[call] = &c, at, "trial"
	return true, nil
}

var passiveOutcomes = map[string]poise.Outcome{
	"success": poise.Success, "failure": poise.Failure, "overloaded": poise.Overloaded,
	"unreachable": poise.Unreachable, "cancelled": poise.Cancelled,
}

func (p *passive) end(args replay.Record) (any, error) {
	call, at := args["call"].Str(), args["at"].Str()
	defer p.passes()
	e, outcome := p.endpoints[at], passiveOutcomes[args["outcome"].Str()]
	plain := e.Inspect(p.now).State == health.Serving && p.kind[call] == "plain"
	ejections := e.Inspect(p.now).Ejections
	changed := e.End(p.calls[call], poise.Result{Outcome: outcome}, p.now)
	gone := p.removed[at]
	p.at[call], p.kind[call] = "", "none"
	p.follow(at)
	switch {
	case e.Inspect(p.now).Ejections > ejections:
		p.older(at)
		p.lose(at)
	case gone:
	case outcome.IsFailure():
		p.lose(at)
	case outcome == poise.Success:
		p.lost = 0
		if plain {
			p.serve(e, passiveMany-1)
		}
	}
	return changed, nil
}

// lose makes one lost call as many as are a silence, by calls of an earlier life.
func (p *passive) lose(at string) {
	p.lost++
	for ; p.lost < passiveLost; p.lost++ {
		c := p.spare[at][0]
		p.spare[at] = p.spare[at][1:]
		p.endpoints[at].End(&c, poise.Result{Outcome: poise.Unreachable}, p.now)
	}
}

// follow notes which calls are no trials any more.
func (p *passive) follow(at string) {
	if !p.endpoints[at].Inspect(p.now).TrialRunning {
		for call := range p.at {
			if p.at[call] == at && p.kind[call] == "trial" {
				p.kind[call] = "plain"
			}
		}
	}
}

// older notes that the endpoint was ejected.
func (p *passive) older(at string) {
	for call := range p.at {
		if next := map[string]string{"plain": "late", "late": "older"}[p.kind[call]]; p.at[call] == at && next != "" {
			p.kind[call] = next
		}
	}
}

func (p *passive) probe(args replay.Record) (any, error) {
	at := args["at"].Str()
	defer p.passes()
	e := p.endpoints[at]
	if e.Probe(false, p.now) {
		return nil, errors.New("a probe that failed has changed something")
	}
	changed := e.Probe(true, p.now)
	p.follow(at)
	return changed, nil
}

func (p *passive) remove(args replay.Record) (any, error) {
	at := args["at"].Str()
	defer p.passes()
	p.Remove(p.endpoints[at], p.now)
	p.removed[at] = true
	for call := range p.at {
		if p.at[call] == at {
			p.kind[call] = "gone"
		}
	}
	return false, nil
}

func (p *passive) ask(args replay.Record) (any, error) {
	at := args["at"].Str()
	e, ok := p.LeastRecentlyTried(func(value any) bool { return value == at }, p.now)
	if ok && e != p.endpoints[at] {
		return nil, errors.New("that is another endpoint")
	}
	return ok, nil
}

// advance lets a tick pass, and looks at its end as often as in two seconds of calls.
func (p *passive) advance(replay.Record) (any, error) {
	const looks, look = 11, 200 * time.Millisecond
	p.tick = p.tick.Add(passiveTick)
	p.now = p.tick.Add(-looks * look)
	p.Advance(p.now, time.Hour)
	changed := false
	for range looks {
		p.now = p.now.Add(look)
		_, turned := p.Advance(p.now, 0)
		changed = changed || turned
	}
	for at := range p.endpoints {
		p.follow(at)
	}
	return changed, nil
}

func (p *passive) project() map[string]any {
	state, cause, run, good, left, trial := map[string]string{}, map[string]string{}, map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	for at, e := range p.endpoints {
		is := e.Inspect(p.now)
		state[at], cause[at] = is.State.String(), "not ejected"
		run[at] = min(is.Run, p.constants["Run"].Int()-1)
		good[at], left[at], trial[at] = 0, 0, -1
		switch {
		case p.removed[at]:
			state[at] = "removed"
		case is.State == health.Returning:
			good[at] = is.Successes
		case is.State == health.Ejected:
			cause[at] = map[health.EjectionCause]string{
				health.EjectedUnreachable: "unreachable", health.EjectedFailures: "failures",
				health.EjectedOverloaded: "overloaded", health.EjectedSilent: "silent",
			}[is.Cause]
			if is.TrialRunning {
				trial[at] = 0
			} else if is.Until.After(p.now) {
				left[at] = 1
			}
		}
		if e.Ejected() != (is.State == health.Ejected) || is.Share <= 0 || is.Share > 1 {
			state[at] = "contradictory"
		}
	}
	calls := map[string]map[string]string{}
	for call := range p.at {
		calls[call] = map[string]string{"at": p.at[call], "kind": p.kind[call]}
	}
	return map[string]any{
		"state": state, "cause": cause, "run": run, "good": good, "left": left, "trial": trial,
		"call": calls, "lost": p.lost > 0, "tokens": p.tokens(),
	}
}

// tokens counts how many trials the budget affords, and spends them, by trials of a new
// endpoint that fail: it is for the end of a walk.
func (p *passive) tokens() (n int) {
	for call, kind := range p.kind {
		if kind == "trial" {
			p.endpoints[p.at[call]].End(p.calls[call], poise.Result{Outcome: poise.Failure}, p.now)
		}
	}
	// A success, so that the fleet does not seem to lose everything.
	p.endpoints["y"].End(&p.spare["y"][0], poise.Result{}, p.now)
	meter := p.Add("meter", p.now)
	c := meter.Begin(p.now)
	meter.End(&c, poise.Result{Outcome: poise.Unreachable}, p.now)
	for n = -1; ; n++ { // the first one is free
		p.now = p.now.Add(2 * passiveWait)
		_, c, ok := p.Trial(true, func(value any) bool { return value == "meter" }, p.now)
		if !ok {
			return n
		}
		meter.End(&c, poise.Result{Outcome: poise.Failure}, p.now)
	}
}

// mayPassive says what clients may do in the bounds of the graph: those that only try
// do nothing else, calls to sound endpoints are not refused, and nobody goes to an
// ejected endpoint while there is another one.
func mayPassive(constants, state replay.Record, name string, args replay.Record) bool {
	call, at, outcome := args["call"].Str(), args["at"].Str(), args["outcome"].Str()
	in := func(set, member string) bool {
		for _, v := range constants[set].Elements() {
			if v.Str() == member {
				return true
			}
		}
		return false
	}
	ill := in("Ill", at)
	states := state["state"].Fields()
	at0 := states[at].Str()
	has := state["call"].Fields()[call].Fields()
	kind := has["kind"].Str()
	switch name {
	case "(*PassiveEndpoint).Begin":
		open := false
		for _, s := range states {
			open = open || s.Str() == "serving" || s.Str() == "returning"
		}
		return kind == "none" && !in("Tries", call) && (at0 != "ejected" || !open)
	case "(*PassiveHealth).Trial":
		return kind == "none" && (!ill || in("Tries", call))
	case "(*PassiveHealth).Remove":
		return ill && at0 != "removed"
	case "(*PassiveEndpoint).End":
	default:
		return true
	}
	switch {
	case has["at"].Str() != at:
		return false
	case kind == "late" || kind == "older" || kind == "gone":
		return outcome == "success" || outcome == "unreachable"
	case at0 == "ejected":
		return in("TrialOutcomes", outcome) && (outcome == "success" || ill)
	}
	if outcome == "overloaded" {
		// Of one that returns and is not convicted, few calls are refused.
		run := state["run"].Fields()[at].Int()
		few := at0 != "returning" || state["seen"].Fields()[at].Bool() || run+1 < constants["Run"].Int()
		return ill && few && in("Outcomes", outcome)
	}
	return in("Outcomes", outcome)
}

func passiveMapping() replay.Mapping[*passive] {
	return replay.Mapping[*passive]{
		New: newPassiveReplay,
		Apply: map[string]func(*passive, replay.Record) (any, error){
			"(*PassiveEndpoint).Begin":            (*passive).begin,
			"(*PassiveHealth).Trial":              (*passive).try,
			"(*PassiveEndpoint).End":              (*passive).end,
			"(*PassiveEndpoint).Probe":            (*passive).probe,
			"(*PassiveHealth).Remove":             (*passive).remove,
			"(*PassiveHealth).LeastRecentlyTried": (*passive).ask,
			"(*PassiveHealth).Advance":            (*passive).advance,
		},
		Project: (*passive).project,
		May:     mayPassive,
		Hidden: []replay.Exempt{
			{Name: "seen", Why: "no inspection shows it: the verdict on the next call that is refused tells"},
		},
	}
}

// Claim: At most one trial of an endpoint runs at once.
// Claim: An ejected endpoint whose trial succeeds is Returning, and Serving after ReturnSuccesses.
// Claim: What becomes of a call counts for nothing after Remove.
func TestPassiveHealth_WalksItsStateGraph(t *testing.T) {
	replay.Walk(t, replay.Load(t, "../tla/passivehealth/PassiveHealth.graph"), passiveMapping())
}
