//go:build interleave

package walk

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/spec/replay"
)

// refresher is a Balancer that the graph of ViewRefresh leads.
type refresher struct {
	balancer
	carrier carrier
	inner   poise.Policy
	newest  *carried // the Picker prepared last
	refuses bool     // the policy, at its next Prepare
	fails   bool     // the endpoint, at its next answer
	was     bool     // whether the newest table was carried over
}

// carried is a Picker of a carrier, stopped before each pick.
type carried struct {
	poise.Picker
	of    *refresher
	table any
	ids   []string
}

func (c *carried) Pick(q poise.Query) (poise.Selection, error) {
	c.of.run.halt("pick")
	return c.Picker.Pick(q)
}

var errRefused = errors.New("refused")

func (r *refresher) Prepare(v *poise.View) (poise.Picker, error) {
	r.run.halt("prepare")
	if r.refuses {
		return nil, errRefused
	}
	picker, err := r.inner.Prepare(v)
	if err != nil {
		return nil, err
	}
	next := &carried{Picker: picker, of: r}
	next.table, next.ids = r.carrier.table(picker)
	r.was = r.newest != nil && r.newest.table == next.table
	r.newest = next
	return next, nil
}

// carriers are the policies that keep a table of the members.
func carriers() []carrier {
	return []carrier{
		{"Maglev", func() (poise.Policy, error) { return policy.NewMaglev(policy.MaglevConfig{TableSize: 7}) }, "table", "ids"},
		{"RingHash", func() (poise.Policy, error) { return new(policy.RingHash), nil }, "ring", "members"},
		{"Rendezvous", func() (poise.Policy, error) { return new(policy.Rendezvous), nil }, "rows", "ids"},
	}
}

func newRefresher(c carrier, run *driver, constants replay.Record) (*refresher, error) {
	r := &refresher{carrier: c}
	r.run = run
	var err error
	if r.inner, err = c.policy(); err != nil {
		return nil, err
	}
	cfg := poisehttp.Config{
		Policy: r, Key: func(*http.Request) poise.Key { return poise.StringKey("key") }, Attempts: 1, Admissions: 1,
		Quarantine: poisehttp.QuarantineConfig{Failures: 1, Backoff: aside, MaxBackoff: aside, MaxAside: 100},
	}
	for m := range constants["N"].Int() {
		cfg.Members = append(cfg.Members, poisehttp.Member{
			ID: name(m + 1), Endpoint: &endpoint{run: run, place: "work", answer: r.answer},
		})
	}
	run.spawned = "control"
	r.Balancer, err = poisehttp.New(cfg)
	return r, err
}

func (r *refresher) answer(*http.Request) (*http.Response, error) {
	if r.fails {
		return nil, errBroken
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// call makes one call and returns how it ended, in the words of the specification.
func (r *refresher) call() any {
	req, err := http.NewRequest(http.MethodGet, "http://service.example.com/", nil)
	if err != nil {
		return err
	}
	_, err = r.RoundTrip(req)
	switch {
	case errors.Is(err, poise.ErrNoEligible):
		return "no eligible"
	case errors.Is(err, poisehttp.ErrSetAside):
		return "set aside"
	case errors.Is(err, poisehttp.ErrDraining):
		return "draining"
	case err != nil && !errors.Is(err, errBroken):
		return err
	}
	return ""
}

func statusOf(word string) poise.Status {
	return map[string]poise.Status{"ready": poise.Ready, "draining": poise.Draining}[word]
}

// viewRefreshMapping leads Balancers of a policy. The driver is the one that the
// walk has just made.
func viewRefreshMapping(c carrier, driver func() *driver) replay.StepMapping[*refresher] {
	return replay.StepMapping[*refresher]{
		New: func(constants, _ replay.Record) (*refresher, error) { return newRefresher(c, driver(), constants) },
		Begin: map[string]func(*refresher, replay.Record) func() any{
			"(*call).pick": func(r *refresher, _ replay.Record) func() any { return r.call },
			"(*Balancer).SetStatus": func(r *refresher, args replay.Record) func() any {
				return func() any {
					err := r.SetStatus(name(args["member"].Int()), statusOf(args["res"].Str()))
					switch {
					case errors.Is(err, errRefused):
						return "refused"
					case err != nil:
						return err
					}
					return "published"
				}
			},
		},
		World: map[string]func(*refresher, replay.Record) (any, error){
			"TimeOver":   func(r *refresher, _ replay.Record) (any, error) { r.passTime(); return "", nil },
			"TimerRings": func(r *refresher, _ replay.Record) (any, error) { return "", r.ring() },
		},
		Decide: func(r *refresher, _, args replay.Record) {
			r.refuses = args["op"].Str() == "PrepareRefused"
			r.fails = args["op"].Str() == "EndSetsAside"
		},
		Wander: 500,
		Ways:   refreshWays,
		Within: map[string]func(*refresher) any{
			"Prepare": func(r *refresher) any {
				return map[bool]string{true: "carried", false: "made"}[r.was]
			},
			"Begin": func(*refresher) any { return "admitted" },
		},
		Project: (*refresher).project,
		May:     mayRefresh,
		Busy: func(state replay.Record) []string {
			callers := append(busy("idle")(state), "control")
			if state["lock"].Str() == "operator" {
				callers = append(callers, "operator")
			}
			return callers
		},
		Hidden: []replay.Exempt{
			{Name: "again", Why: "a local variable of refresh shows in whether the timer is set"},
			{Name: "due", Why: "an argument of refresh, an instant, shows in who comes back"},
			{Name: "view", Why: "what is sampled so far shows in what is published"},
			{Name: "target", Why: "the arguments of SetStatus show in what it changes"},
			{Name: "has", Why: "a local variable of pick shows in whom it picks"},
			{Name: "choice", Why: "a local variable of admit shows in who admits the call"},
			{Name: "stale", Why: "a permit is an argument of Report, and shows in what that changes"},
			{Name: "budget", Why: "bounds of the model"},
			{Name: "barred", Why: "what the model remembers for a promise"},
		},
	}
}

// viewRefreshPlaces are those of the control loop, of the operator and of callers.
// The first that fits counts: what comeBack calls comes before itself.
var viewRefreshPlaces = []place{
	{name: "waiting", function: "(*Balancer).control", op: "Event.Wait"},
	{name: "return", function: "(*Quarantine).Return", op: "Lock"},
	{name: "woken", function: "(*Balancer).comeBack", op: "Lock"},
	{name: "between", function: "(*Balancer).republish", op: "Lock"},
	{name: "sample", function: "(*member).Sample", op: "Lock"},
	{name: "drain", function: "(*Balancer).switchTo", op: "CompareAndSwap"},
	{name: "publish", function: "(*Balancer).publish", op: "Store"},
	{name: "permit", function: "(*Quarantine).Admit", op: "Lock"},
	{name: "begin", function: "(*InFlight).Acquire", op: "Load"},
	{name: "poke", function: "(*Balancer).poke", op: "Load"},
}

func (r *refresher) project() map[string]any {
	state := map[string]any{"kick": r.poked(), "next": 1, "lock": "", "stage": "", "control": "working"}
	_, state["timer"] = r.timer()
	var asides, overs, opens, statuses replay.Tuple
	for _, m := range r.members() {
		quarantine := dig(m, "life", "quarantine")
		asides = append(asides, replay.Field(quarantine, "aside").(bool))
		overs = append(overs, isOver(quarantine))
		opens = append(opens, dig(m, "life", "slots", "state").(uint32) == 0)
		statuses = append(statuses, strings.ToLower(replay.Field(m, "said").(poise.Status).String()))
	}
	state["aside"], state["over"], state["open"], state["status"] = asides, overs, opens, statuses
	has := func(c *carried) (has replay.Tuple) {
		for m := range asides {
			has = append(has, slices.Contains(c.ids, name(m+1)))
		}
		return has
	}
	state["table"], state["current"] = has(r.newest), has(r.read("current", "picker").(*carried))
	if at := r.run.where("control"); slices.Contains([]string{"waiting", "woken", "between"}, at) {
		state["control"] = at
	} else {
		state["lock"], state["stage"] = "control", at
	}
	if at := r.run.where("operator"); at != "" {
		state["lock"], state["stage"] = "operator", at
	}
	if held := replay.Field(r.Balancer, "mu", "held").(bool); held != (state["lock"] != "") {
		state["lock"] = "nobody knows who"
	}
	pc := map[string]string{"a": "idle"}
	if at := r.run.where("a"); at != "" {
		pc["a"] = at
	}
	state["pc"] = pc
	return state
}

// refreshWays says what is not the code's to decide: whether the policy refuses and
// whether an endpoint fails; and who has to wait.
func refreshWays(_, state replay.Record, by string) int {
	left := func(of string) int { return min(1, state["budget"].Fields()[of].Int()) }
	switch pc := state["pc"].Fields()[by]; {
	case by != "control" && by != "operator":
		if pc.Str() == "work" && !state["stale"].Fields()[by].Bool() {
			return 1 + left("failures")
		}
		return 1
	case by == "control" && state["control"].Str() == "waiting" && !state["kick"].Bool():
		return 0
	case by == "control" && state["control"].Str() != "waiting" && state["lock"].Str() != by:
		return 1 - min(1, len(state["lock"].Str()))
	case state["lock"].Str() == by && state["stage"].Str() == "prepare":
		return 1 + left("refusals")
	}
	return 1
}

// mayRefresh says what may begin: a call at any time, and a change of status while
// nobody is at work, since the graph begins it with the lock.
func mayRefresh(_, state replay.Record, name string, args replay.Record) bool {
	of := func(variable string) replay.Value { return state[variable].Elements()[max(args["member"].Int(), 1)-1] }
	switch name {
	case "(*Balancer).SetStatus":
		return state["lock"].Str() == "" && state["budget"].Fields()["changes"].Int() > 0
	case "TimeOver":
		return of("aside").Bool() && !of("over").Bool()
	case "TimerRings":
		return state["timer"].Bool()
	}
	return true
}

// checkRefresh walks the graph with a mapping that a test may have spoilt.
func checkRefresh(g *replay.Graph, c carrier, spoil func(*replay.Graph, *replay.StepMapping[*refresher])) []error {
	var d *driver
	m := viewRefreshMapping(c, func() *driver { return d })
	m.Enough, m.Wander = 50, 0
	spoil(g, &m)
	_, problems := m.Check(g, func() replay.Stepper {
		d = newPlacedDriver(viewRefreshPlaces)
		return d
	})
	return problems
}

// Claim: A health change that cannot be published leaves the last good picker
// serving, and is tried again.
//
// Bounds: one endpoint, one caller, one failure, two changes of status, one refusal.
// Not shown: more of any.
func TestViewRefresh_WalksItsStateGraphStepByStep(t *testing.T) {
	g := replay.Load(t, "../../spec/tla/viewrefresh/ViewRefresh.graph")
	for _, c := range carriers() {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d *driver
				replay.WalkSteps(t, g, viewRefreshMapping(c, func() *driver { return d }), func() replay.Stepper {
					d = newPlacedDriver(viewRefreshPlaces)
					return d
				})
			})
		})
	}
}

// first is a policy that goes on with the first Picker that it made.
type first struct {
	poise.Policy
	picker poise.Picker
}

func (f *first) Prepare(v *poise.View) (picker poise.Picker, err error) {
	if f.picker == nil {
		f.picker, err = f.Policy.Prepare(v)
	}
	return f.picker, err
}

func TestViewRefresh_FindsPlantedFaults(t *testing.T) {
	type (
		graph   = *replay.Graph
		mapping = *replay.StepMapping[*refresher]
	)
	for _, c := range []struct {
		name  string
		spoil func(graph, mapping)
		want  string
	}{
		{"a table that is carried over whatever the View", func(_ graph, m mapping) {
			begin := m.New
			m.New = func(constants, initial replay.Record) (*refresher, error) {
				r, err := begin(constants, initial)
				r.inner = &first{r.inner, r.newest.Picker}
				return r, err
			}
		}, `Prepare returned carried and not "made"`},
		{"a failure that counts for nothing", func(_ graph, m mapping) {
			m.Decide = func(r *refresher, _, args replay.Record) { r.refuses = args["op"].Str() == "PrepareRefused" }
		}, "after EndSetsAside, whether the call of a has ended is true"},
		{"a policy that never refuses", func(_ graph, m mapping) {
			m.Decide = func(r *refresher, _, args replay.Record) { r.fails = args["op"].Str() == "EndSetsAside" }
		}, `stage is "publish" and not ""`},
		{"a status that nobody sets", func(_ graph, m mapping) {
			m.Begin["(*Balancer).SetStatus"] = func(*refresher, replay.Record) func() any {
				return func() any { return "published" }
			}
		}, "SetStatusLock: the call has ended already"},
		{"a timer that nobody sets", func(_ graph, m mapping) {
			project := m.Project
			m.Project = func(r *refresher) map[string]any {
				r.read("timer").(*time.Timer).Stop()
				return project(r)
			}
		}, "timer is FALSE and not TRUE"},
		{"a step of another function", func(g graph, _ mapping) { g.Go["Permit"] = "(*Slots).Begin" }, "Permit was not made inside (*Slots).Begin"},
		{"a timer that rings unheard", func(_ graph, m mapping) {
			m.World["TimerRings"] = func(r *refresher, _ replay.Record) (any, error) {
				r.read("timer").(*time.Timer).Stop()
				return "", nil
			}
		}, "whether the call of control waits is true, and it can go on in 1 ways"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := replay.Load(t, "../../spec/tla/viewrefresh/ViewRefresh.graph")
				requireProblem(t, checkRefresh(g, carriers()[0], c.spoil), c.want)
			})
		})
	}
}
