package replay_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/spec/replay"
)

// loop is a Loop without passive health, whose policy picks whom the graph wishes for.
type loop struct {
	*dispatch.Loop
	now      time.Time
	wish     string
	list     []dispatch.Spec // as of the last Update
	removed  []int
	released map[int]int
	callers  map[string]*logicalCall
	others   map[int]*dispatch.Call
	budget   map[string]int // what is left to be begun
	fault    string         // planted by a test
}

// logicalCall is a call of a caller, with its attempts.
type logicalCall struct {
	phase    string
	safe     bool
	attempts dispatch.Attempts
	call     dispatch.Call
	result   poise.Result
}

// wishing is a Picker that picks whom its loop wishes for, if it may, else the first it may.
type wishing struct {
	of   *loop
	view *poise.View
}

func (l *loop) Prepare(v *poise.View) (poise.Picker, error) { return wishing{l, v}, nil }

func (w wishing) Pick(q poise.Query) (poise.Selection, error) {
	if err := w.view.Check(); err != nil {
		return poise.Selection{}, err
	}
	first := -1
	for position := range w.view.EligibleLen() {
		i := w.view.Eligible(position)
		s, err := w.view.Sample(i)
		if err != nil {
			return poise.Selection{}, err
		}
		if q.Tried != nil && q.Tried.Has(s.ID, s.Incarnation) {
			continue
		}
		if s.ID == w.of.wish {
			return w.view.Select(i)
		}
		if first < 0 {
			first = i
		}
	}
	if first < 0 {
		return poise.Selection{}, poise.ErrAllTried
	}
	return w.view.Select(first)
}

func newLoop(constants replay.Record, fault string) (*loop, error) {
	l := &loop{
		now: time.Unix(1, 0), released: map[int]int{}, callers: map[string]*logicalCall{"a": {phase: "idle"}},
		others: map[int]*dispatch.Call{}, fault: fault,
		budget: map[string]int{
			"calls": constants["Calls"].Int(), "reports": constants["Reports"].Int(), "others": constants["Others"].Int(),
		},
	}
	var err error
	l.Loop, err = dispatch.NewLoop(dispatch.LoopConfig{
		Policy: l, Passive: health.PassiveHealthConfig{Off: true},
		Retry: dispatch.RetryConfig{
			Attempts: constants["Attempts"].Int(),
			Budget:   dispatch.RetryBudgetConfig{Percent: 1, NoFloor: true, Burst: constants["Burst"].Int()},
		},
	})
	if err != nil {
		return nil, err
	}
	for m := 1; m <= constants["N"].Int(); m++ {
		spec := dispatch.Spec{Limit: uint64(constants["Limit"].Int()), Value: m}
		spec.ID, spec.Incarnation = strconv.Itoa(m), uint64(m)
		l.list = append(l.list, spec)
	}
	return l, l.Update(l.list, l.now)
}

// words are the outcomes as the specification spells them.
var words = map[string]poise.Outcome{
	"success": poise.Success, "failure": poise.Failure, "overloaded": poise.Overloaded,
	"unreachable": poise.Unreachable, "cancelled": poise.Cancelled,
}

// passes lets so much time pass that the next change of health is published at once.
func (l *loop) passes() time.Time {
	l.now = l.now.Add(time.Second)
	return l.now
}

// collect notes which values were released.
func (l *loop) collect() {
	for _, v := range l.Released() {
		l.released[v.(int)]++
	}
}

// refusals are the errors of Acquire as the specification spells them.
var refusals = []struct {
	err  error
	word string
}{
	{poise.ErrEmpty, "empty"}, {poise.ErrAtCapacity, "at capacity"}, {poise.ErrAllTried, "all tried"}, {poise.ErrNoEligible, "no eligible"},
}

func (l *loop) acquire(args replay.Record) (any, error) {
	l.wish = strconv.Itoa(args["arg"].Int())
	if args["by"].Str() == "" {
		l.budget["others"]--
		c := new(dispatch.Call)
		l.others[args["arg"].Int()] = c
		err := l.Acquire(c, dispatch.Query{Now: l.passes()})
		return c.ID(), err
	}
	c := l.callers[args["by"].Str()]
	q := dispatch.Query{Now: l.passes(), Attempts: &c.attempts, Repeatable: c.safe}
	if l.fault == "forgets the tried" {
		q.Attempts = nil
	}
	err := l.Acquire(&c.call, q)
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			l.callers[args["by"].Str()] = &logicalCall{phase: "idle"}
			return r.word, nil
		}
	}
	if err != nil {
		return nil, err
	}
	c.phase, c.result = "held", poise.Result{}
	return c.call.ID(), nil
}

func (l *loop) end(args replay.Record) (any, error) {
	defer l.collect()
	if args["by"].Str() == "" {
		m := args["arg"].Int()
		c := l.others[m]
		delete(l.others, m)
		return strconv.FormatBool(c.End(poise.Result{Outcome: poise.Cancelled}, l.passes())), nil
	}
	c := l.callers[args["by"].Str()]
	if c.phase == "held" {
		c.result.Outcome = words[args["arg"].Str()]
	}
	if l.fault == "ends nothing" {
		return "true", nil
	}
	c.phase = "over"
	return strconv.FormatBool(c.call.End(c.result, l.passes())), nil
}

func (l *loop) next(args replay.Record) (any, error) {
	by := args["by"].Str()
	c := l.callers[by]
	step := l.Next(&c.attempts, c.result, c.safe || l.fault == "repeats anything", l.passes())
	if step.Action == dispatch.Repeat {
		c.phase = "ready"
	} else {
		l.callers[by] = &logicalCall{phase: "idle"}
	}
	return step.Reason.String(), nil
}

func dispatchMapping(fault string) replay.Mapping[*loop] {
	return replay.Mapping[*loop]{
		New: func(constants, _ replay.Record) (*loop, error) { return newLoop(constants, fault) },
		Apply: map[string]func(*loop, replay.Record) (any, error){
			"Begin": func(l *loop, args replay.Record) (any, error) {
				l.budget["calls"]--
				l.callers[args["by"].Str()] = &logicalCall{phase: "ready", safe: args["arg"].Int() == 1}
				return "", nil
			},
			"Rest":            func(*loop, replay.Record) (any, error) { return "", nil },
			"(*Loop).Acquire": (*loop).acquire,
			"(*Call).Answered": func(l *loop, args replay.Record) (any, error) {
				c := l.callers[args["by"].Str()]
				c.phase, c.result.Outcome = "answered", words[args["arg"].Str()]
				return strconv.FormatBool(c.call.Answered(c.result, l.passes())), nil
			},
			"(*Call).End":  (*loop).end,
			"(*Loop).Next": (*loop).next,
			"(*Loop).Report": func(l *loop, args replay.Record) (any, error) {
				l.budget["reports"]--
				found := poise.ExcludedUnhealthy
				for _, m := range l.Inspect(l.now).Members {
					if m.Incarnation == uint64(args["arg"].Int()) && m.Unhealthy != poise.NotExcluded {
						found = poise.NotExcluded
					}
				}
				return "", l.Report(uint64(args["arg"].Int()), found, l.passes())
			},
			"(*Loop).Update": func(l *loop, args replay.Record) (any, error) {
				m := args["arg"].Int()
				var list []dispatch.Spec
				for _, spec := range l.list {
					if spec.Value != m {
						list = append(list, spec)
					}
				}
				l.list, l.removed = list, append(l.removed, m)
				defer l.collect()
				return "", l.Update(list, l.passes())
			},
		},
		Project: (*loop).project,
		May:     mayDispatch,
		Hidden: []replay.Exempt{
			{Name: "visits", Why: "in which order members were tried shows in whom an attempt goes back to"},
			{Name: "spent", Why: "who is not tried again shows in whom an attempt goes back to, and in Next"},
			{Name: "paid", Why: "a retry that was paid shows in what is saved"},
			{Name: "sent", Why: "how often a call was sent shows in Next"},
		},
	}
}

func (l *loop) project() map[string]any {
	in := l.Inspect(l.now)
	out, removed := map[int]bool{}, map[int]bool{}
	var used, released, others replay.Tuple
	load := map[int]uint64{}
	for _, m := range in.Members {
		v := m.Value.(int)
		load[v] = m.InFlight
		out[v] = m.Unhealthy != poise.NotExcluded
		if out[v] != (m.Reason == poise.ExcludedUnhealthy) {
			load[v] = 1000 // what is published is something else
		}
	}
	for m := range len(in.Members) + len(l.removed) {
		m++
		if _, there := load[m]; !there {
			removed[m] = true
			load[m] = l.heldBy(m) // nobody shows it any more
		}
		used, released = append(used, load[m]), append(released, l.released[m])
		count := 0
		if l.others[m] != nil {
			count = 1
		}
		others = append(others, count)
	}
	phase, safe, to, result := map[string]string{}, map[string]bool{}, map[string]any{}, map[string]string{}
	for by, c := range l.callers {
		phase[by], safe[by], to[by], result[by] = c.phase, c.safe, 0, ""
		if id, err := strconv.Atoi(c.call.ID()); err == nil && c.attempts.Len() > 0 {
			to[by] = id
		}
		if c.phase == "answered" || c.phase == "over" || c.phase == "ready" && to[by] != 0 {
			result[by] = c.result.Outcome.String()
		}
	}
	return map[string]any{
		"used": used, "out": setOf(out), "removed": setOf(removed), "released": released, "others": others,
		"saved": in.Retries / 100, "phase": phase, "safe": safe, "to": to, "result": result,
		"budget": l.budget,
	}
}

// heldBy counts the calls that a removed member still has.
func (l *loop) heldBy(m int) (n uint64) {
	if l.others[m] != nil {
		n++
	}
	for _, c := range l.callers {
		if (c.phase == "held" || c.phase == "answered") && c.call.ID() == strconv.Itoa(m) {
			n++
		}
	}
	return n
}

// setOf returns the members of a set.
func setOf(members map[int]bool) []int {
	set := []int{}
	for m, in := range members {
		if in {
			set = append(set, m)
		}
	}
	return set
}

// mayDispatch says what a caller may do: one thing after the other.
func mayDispatch(constants, state replay.Record, name string, args replay.Record) bool {
	by := args["by"].Str()
	left := state["budget"].Fields()
	of := func(variable string) replay.Value { return state[variable].Elements()[args["arg"].Int()-1] }
	in := func(set string) bool {
		for _, m := range state[set].Elements() {
			if m == args["arg"] {
				return true
			}
		}
		return false
	}
	phase := ""
	if by != "" {
		phase = state["phase"].Fields()[by].Str()
	}
	switch name {
	case "Begin":
		return phase == "idle" && left["calls"].Int() > 0
	case "Rest":
		return left["calls"].Int() == 0 && state["phase"].Fields()["a"].Str() == "idle"
	case "(*Loop).Acquire":
		if by == "" {
			return left["others"].Int() > 0 && !in("removed") && !in("out") && of("used").Int() < constants["Limit"].Int()
		}
		return phase == "ready"
	case "(*Call).Answered":
		return phase == "held"
	case "(*Call).End":
		if by == "" {
			return of("others").Int() > 0
		}
		if args["arg"] == replay.Of("") {
			return phase == "answered" || phase == "over"
		}
		return phase == "held"
	case "(*Loop).Next":
		return phase == "over"
	case "(*Loop).Report":
		return left["reports"].Int() > 0 && !in("removed")
	case "(*Loop).Update":
		return !in("removed") && len(state["removed"].Elements()) < constants["Removals"].Int()
	}
	return false
}

const dispatchGraph = "../tla/dispatch/Dispatch.graph"

// Claim: A call is refused only while no eligible member that it may go to has room.
// Claim: Each value of a member that was removed is released once, when its last call has ended.
//
// Bounds: two members of one slot, one call of up to two attempts, somebody else's
// call, one report, one removal. Not shown: more of any, and calls that overlap.
func TestDispatch_WalksItsStateGraph(t *testing.T) {
	replay.Walk(t, replay.Load(t, dispatchGraph), dispatchMapping(""))
}

func TestDispatch_WalkFindsPlantedFaults(t *testing.T) {
	for _, fault := range []string{"forgets the tried", "ends nothing", "repeats anything"} {
		t.Run(fault, func(t *testing.T) {
			if _, problems := dispatchMapping(fault).Check(replay.Load(t, dispatchGraph)); len(problems) == 0 {
				t.Error("the walk did not notice")
			}
		})
	}
}
