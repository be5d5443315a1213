//go:build interleave

package walk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/spec/replay"
)

// dispatcher is a Balancer that the graph of Dispatch leads.
type dispatcher struct {
	balancer
	list      []poisehttp.Member // all there ever were
	lives     []any              // of them
	endpoints []*endpoint
	removed   []int
	calls     int // left to begin

	cancel   context.CancelFunc // of the call under way
	answers  string             // what the endpoint says next
	picks    int                // whom the policy picks next, 0 if it is to find nobody
	choices  []int              // whom it must have to choose from
	eligible []int              // whom it must have as eligible
	wrong    string             // what the policy should not have seen
	asked    bool               // the picker was asked since the call loaded it
	forgets  bool               // planted: the policy is not told who was tried
	body     io.ReadCloser      // of the response that the caller has
	breaks   bool               // the body, at its next read
}

// dispatchPlaces are those of a call, and the one where the control loop waits.
var dispatchPlaces = []place{
	{name: "waiting", function: "(*Balancer).control", op: "Event.Wait"},
	{name: "load", function: "(*call).pick", op: "Load"},
	{name: "permit", function: "(*Quarantine).Admit", op: "Lock"},
	{name: "begin", function: "(*InFlight).Acquire", op: "Load"},
	{name: "over", function: "(*RetryBudget).Spend", op: "Load"},
	{name: "discard", function: "(*Lease).claim", op: "CompareAndSwap", under: "(*call).leave"},
}

func newDispatcher(run *driver, constants replay.Record) (*dispatcher, error) {
	d := &dispatcher{calls: constants["Calls"].Int()}
	d.run = run
	for m := range constants["N"].Int() {
		e := &endpoint{run: run, place: "sent", answer: d.answer}
		d.endpoints = append(d.endpoints, e)
		d.list = append(d.list, poisehttp.Member{ID: name(m + 1), Endpoint: e, Limit: uint64(constants["Limit"].Int())})
	}
	run.spawned = "control"
	var err error
	d.Balancer, err = poisehttp.New(poisehttp.Config{
		Policy: d, Members: d.list, Attempts: constants["Attempts"].Int(),
		Quarantine:  poisehttp.QuarantineConfig{Failures: 1, Backoff: aside, MaxBackoff: aside, MaxAside: 100},
		RetryBudget: poisehttp.RetryBudgetConfig{Percent: 1, Burst: constants["Burst"].Int()},
	})
	if err == nil {
		for _, m := range d.members() {
			d.lives = append(d.lives, replay.Field(m, "life"))
		}
	}
	return d, err
}

// numbers returns the eligible members of a View that are not passed over.
func numbers(v *poise.View, tried *poise.Tried) (members []int) {
	for position := range v.EligibleLen() {
		s, _ := v.Sample(v.Eligible(position))
		if tried == nil || !tried.Has(s.ID, s.Incarnation) {
			var m int
			_, _ = fmt.Sscan(s.ID, &m)
			members = append(members, m)
		}
	}
	return members
}

func (d *dispatcher) Prepare(v *poise.View) (poise.Picker, error) { return choosing{d, v}, nil }

// choosing is a Picker that picks whom the graph wants.
type choosing struct {
	of   *dispatcher
	view *poise.View
}

func (c choosing) Pick(q poise.Query) (poise.Selection, error) {
	d := c.of
	if !d.asked {
		d.asked = true
		d.run.halt("pick")
		if got := numbers(c.view, nil); !slices.Equal(got, d.eligible) {
			d.wrong = fmt.Sprintf("the View of the pick has %v eligible instead of %v", got, d.eligible)
		}
	}
	if err := c.view.Check(); err != nil {
		return poise.Selection{}, err
	}
	if d.forgets {
		q.Tried = nil
	}
	left := numbers(c.view, q.Tried)
	if len(left) == 0 {
		return poise.Selection{}, poise.ErrAllTried
	}
	picks := d.picks
	if !slices.Equal(left, d.choices) {
		d.wrong, picks = fmt.Sprintf("the policy may pick from %v instead of %v", left, d.choices), left[0]
	}
	at, _ := c.view.Lookup(name(picks))
	return c.view.Select(at)
}

// answer is what the endpoints do in the words of the specification.
func (d *dispatcher) answer(req *http.Request) (*http.Response, error) {
	switch d.answers {
	case "served":
		return &http.Response{StatusCode: http.StatusOK, Body: &content{d}}, nil
	case "busy":
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: &content{d}}, nil
	case "failed":
		return nil, errBroken
	case "unsent":
		return nil, fmt.Errorf("%w: %w", poisehttp.ErrNotSent, errBroken)
	case "cancelled":
		d.cancel()
		return nil, req.Context().Err()
	}
	panic(errBroken)
}

// content is the body of a response.
type content struct{ of *dispatcher }

func (c *content) Read([]byte) (int, error) {
	if c.of.breaks {
		return 0, errBroken
	}
	return 0, io.EOF
}

func (*content) Close() error { return nil }

// call makes one call and returns how RoundTrip ended.
func (d *dispatcher) call(method string) (result any) {
	defer func() {
		if v := recover(); v != nil {
			result = "panic"
		}
	}()
	d.calls--
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	req, err := http.NewRequestWithContext(ctx, method, "http://service.example.com/", nil)
	if err != nil {
		return err
	}
	resp, err := d.RoundTrip(req)
	expected := []error{errBroken, context.Canceled, poise.ErrNoEligible, poise.ErrAtCapacity, poisehttp.ErrDraining}
	switch {
	case err == nil:
		d.body = resp.Body
		return "response"
	case slices.ContainsFunc(expected, func(e error) bool { return errors.Is(err, e) }):
		return "error"
	}
	return err
}

// endBody ends the response that the caller has.
func (d *dispatcher) endBody(how string) (err error) {
	var more [1]byte
	switch how {
	case "read":
		if _, err = d.body.Read(more[:]); err == io.EOF {
			err = nil
		}
	case "broken":
		d.breaks = true
		if _, err = d.body.Read(more[:]); errors.Is(err, errBroken) {
			err = nil
		}
	case "closed":
		err = d.body.Close()
	case "cancelled":
		d.cancel()
		synctest.Wait()
	}
	return err
}

// refresh lets the control loop look, once.
func (d *dispatcher) refresh(over bool) error {
	if over {
		d.passTime()
	}
	if !d.poked() {
		if err := d.ring(); err != nil {
			return fmt.Errorf("nobody lets the control loop look: %w", err)
		}
	}
	return d.run.Step("control")
}

// update takes a member away.
func (d *dispatcher) update(m int) error {
	d.removed = append(d.removed, m)
	return d.Update(slices.DeleteFunc(slices.Clone(d.list), func(spec poisehttp.Member) bool {
		return slices.ContainsFunc(d.removed, func(m int) bool { return spec.ID == name(m) })
	}))
}

func dispatchMapping(driver func() *driver) replay.StepMapping[*dispatcher] {
	return replay.StepMapping[*dispatcher]{
		New: func(constants, _ replay.Record) (*dispatcher, error) { return newDispatcher(driver(), constants) },
		Begin: map[string]func(*dispatcher, replay.Record) func() any{
			"(*Balancer).RoundTrip": func(d *dispatcher, args replay.Record) func() any {
				method := map[string]string{"idempotent": http.MethodGet, "once": http.MethodPost}[args["arg"].Str()]
				return func() any { return d.call(method) }
			},
		},
		World: map[string]func(*dispatcher, replay.Record) (any, error){
			"BodyEnds": func(d *dispatcher, args replay.Record) (any, error) { return "", d.endBody(args["arg"].Str()) },
			"Refresh": func(d *dispatcher, args replay.Record) (any, error) {
				return "", d.refresh(args["arg"].Str() == "over")
			},
			"Update": func(d *dispatcher, args replay.Record) (any, error) { return "", d.update(args["member"].Int()) },
			"Rest":   func(*dispatcher, replay.Record) (any, error) { return "", nil },
		},
		Decide: func(d *dispatcher, from, args replay.Record) {
			switch args["op"].Str() {
			case "PickLoad":
				d.asked = false
			case "Pick", "PickNone":
				d.picks, d.choices, d.eligible = args["member"].Int(), choices(from, args["by"].Str()), set(from["has"], args["by"].Str())
			case "Answer":
				d.answers = args["arg"].Str()
			}
		},
		Wander: 2000,
		Ways: func(_, state replay.Record, by string) int {
			switch state["pc"].Fields()[by].Str() {
			case "pick":
				return max(1, len(choices(state, by)))
			case "sent":
				return 6
			}
			return 1
		},
		Project: (*dispatcher).project,
		May:     mayDispatch,
		Busy: func(state replay.Record) []string {
			return slices.DeleteFunc(busy("idle")(state), func(c string) bool {
				return state["pc"].Fields()[c].Str() == "body" // RoundTrip has returned
			})
		},
		Hidden: []replay.Exempt{
			{Name: "safe", Why: "the method of the request shows in whether it is sent again"},
			{Name: "sent", Why: "a local variable of the call shows in whom the policy may pick, which is compared"},
			{Name: "answered", Why: "a local variable of the call shows in whom the policy may pick, which is compared"},
			{Name: "refused", Why: "a local variable of the call shows in whom the policy may pick, which is compared"},
			{Name: "attempts", Why: "a local variable of the call shows in whether it is sent again"},
			{Name: "has", Why: "a local variable of pick is compared when the policy picks"},
			{Name: "to", Why: "a local variable of admit shows in who admits the call"},
			{Name: "permit", Why: "a permit shows in what its report changes"},
			{Name: "held", Why: "a local variable of the call shows in whose slot it gives back"},
			{Name: "former", Why: "a local variable of the call shows in whose slot it gives back"},
			{Name: "answer", Why: "a local variable of the call shows in how it goes on"},
		},
	}
}

// set returns the members of a set that a caller has.
func set(of replay.Value, by string) (members []int) {
	for _, m := range of.Fields()[by].Elements() {
		members = append(members, m.Int())
	}
	slices.Sort(members)
	return members
}

// choices says whom a policy may pick: who is untried, or after an error, where
// there is none, who neither refused nor answered.
func choices(state replay.Record, by string) []int {
	without := func(names ...string) []int {
		return slices.DeleteFunc(set(state["has"], by), func(m int) bool {
			return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(set(state[n], by), m) })
		})
	}
	untried := without("sent", "refused")
	if len(untried) == 0 && state["answer"].Fields()[by].Str() != "busy" {
		return without("answered", "refused")
	}
	return untried
}

func (d *dispatcher) project() map[string]any {
	var used, epochs, closed replay.Tuple
	asides, current := []int{}, []int{}
	for i, l := range d.lives {
		quarantine := replay.Field(l, "quarantine").(*poisehttp.Quarantine)
		used = append(used, replay.Field(l, "slots").(*poisehttp.Slots).InFlight().Current())
		epochs = append(epochs, replay.Field(quarantine, "epoch"))
		closed = append(closed, d.endpoints[i].closed)
		if quarantine.Aside() {
			asides = append(asides, i+1)
		}
	}
	current = append(current, numbers(d.read("current", "view").(*poise.View), nil)...)
	pc := map[string]string{"a": "idle"}
	switch at := d.run.where("a"); {
	case at != "":
		pc["a"] = at
	case slices.ContainsFunc(used, func(n any) bool { return n.(uint64) > 0 }):
		pc["a"] = "body"
	}
	if d.wrong != "" {
		pc["a"] = d.wrong
	}
	return map[string]any{
		"used": used, "epoch": epochs, "closed": closed, "aside": asides, "removed": append([]int{}, d.removed...),
		"current": current, "pc": pc, "calls": d.calls,
		"saved": d.read("budget", "saved").(uint64) / 100,
	}
}

// mayDispatch says what may begin.
func mayDispatch(constants, state replay.Record, name string, args replay.Record) bool {
	elements := func(variable string) []replay.Value { return state[variable].Elements() }
	removed, asides := elements("removed"), elements("aside")
	idle := state["pc"].Fields()["a"].Str() == "idle"
	switch name {
	case "(*Balancer).RoundTrip":
		return idle && state["calls"].Int() > 0
	case "(*attempt).release":
		return state["pc"].Fields()["a"].Str() == "body" && state["held"].Fields()["a"].Fields()["member"] == args["member"]
	case "(*Balancer).Update":
		return !slices.Contains(removed, args["member"]) && len(removed) < constants["Removals"].Int()
	case "(*Balancer).refresh":
		if args["arg"].Str() == "over" {
			return len(asides) > 0
		}
		truth := 0
		for m := range constants["N"].Int() {
			if v := replay.Of(m + 1); !slices.Contains(removed, v) && !slices.Contains(asides, v) {
				truth |= 1 << m
			}
		}
		for _, m := range elements("current") {
			truth ^= 1 << (m.Int() - 1)
		}
		return truth != 0
	}
	return idle && state["calls"].Int() == 0 // the world rests
}

// Claim: A call holds its slot until the end or close of the response body, an error, a panic, or the caller's cancellation.
//
// Bounds: two endpoints of one slot, one call of up to five attempts, three retries
// saved, one endpoint removed. Not shown: more of any, and calls that overlap.
func TestDispatch_WalksItsStateGraphStepByStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d *driver
		replay.WalkSteps(t, replay.Load(t, "../../spec/tla/dispatch/Dispatch.graph"), dispatchMapping(func() *driver { return d }),
			func() replay.Stepper {
				d = newPlacedDriver(dispatchPlaces)
				return d
			})
	})
}

func TestDispatch_FindsPlantedFaults(t *testing.T) {
	type (
		graph   = *replay.Graph
		mapping = *replay.StepMapping[*dispatcher]
	)
	unmade := func(_, _ replay.Record) (*dispatcher, error) { return nil, errBroken } // what is compared without a Balancer
	nothing := func(*dispatcher, replay.Record) (any, error) { return "", nil }
	for _, c := range []struct {
		name  string
		spoil func(graph, mapping)
		want  string
	}{
		{"a response that nobody ends", func(_ graph, m mapping) { m.World["BodyEnds"] = nothing }, "used is <<1, 0>> and not <<0, 0>>"},
		{"a removal of nobody", func(_ graph, m mapping) { m.World["Update"] = nothing }, "current is {1, 2} and not {2}"},
		{"a refresh that sees nothing", func(_ graph, m mapping) { m.World["Refresh"] = nothing }, "current is {1, 2} and not {2}"},
		{"time that stands still", func(_ graph, m mapping) {
			m.World["Refresh"] = func(d *dispatcher, _ replay.Record) (any, error) { return "", d.refresh(false) }
		}, "aside is {1} and not {}"},
		{"a cancellation that counts", func(_ graph, m mapping) {
			decide := m.Decide
			m.Decide = func(d *dispatcher, from, args replay.Record) {
				if decide(d, from, args); d.answers == "cancelled" {
					d.answers = "failed"
				}
			}
		}, "after Answer, whether the call of a has ended is false"},
		{"a retry that goes to a tried one", func(g graph, m mapping) {
			begin := m.New
			m.New = func(constants, initial replay.Record) (*dispatcher, error) {
				d, err := begin(constants, initial)
				d.forgets = true
				return d, err
			}
		}, "Discard was not made inside (*call).leave"},
		{"a request that may be repeated and is not", func(_ graph, m mapping) {
			begin := m.Begin["(*Balancer).RoundTrip"]
			m.Begin["(*Balancer).RoundTrip"] = func(d *dispatcher, _ replay.Record) func() any {
				return begin(d, replay.Record{"arg": replay.Of("once")})
			}
		}, "after Answer, whether the call of a has ended is true"},
		{"a call that is made", func(_ graph, m mapping) {
			m.New = unmade
			may := m.May
			m.May = func(constants, state replay.Record, name string, args replay.Record) bool {
				return name != "(*Balancer).RoundTrip" && may(constants, state, name, args)
			}
		}, "whether a client may make (*Balancer).RoundTrip"},
		{"an answer that nobody gives", func(_ graph, m mapping) {
			m.New = unmade
			m.Ways = func(_, _ replay.Record, _ string) int { return 1 }
		}, "goes on in 6 ways"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d *driver
				g, m := replay.Load(t, "../../spec/tla/dispatch/Dispatch.graph"), dispatchMapping(func() *driver { return d })
				m.Enough, m.Wander = 50, 0
				c.spoil(g, &m)
				_, problems := m.Check(g, func() replay.Stepper {
					d = newPlacedDriver(dispatchPlaces)
					return d
				})
				requireProblem(t, problems, c.want)
			})
		})
	}
}
