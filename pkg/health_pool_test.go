package poise_test

import (
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// poolPlace is what the source of a pool says of a member.
type poolPlace struct {
	priority uint32
	locality string
}

// poolHealth is what is known of the health of one life of a member.
type poolHealth struct {
	active  *health.ActiveHealth
	circuit *health.Circuit
	outlier *health.OutlierSubject
}

// pool is a directory whose members' health is checked.
type pool struct {
	testing.TB
	directory *discovery.Directory[poolPlace]
	session   *discovery.Session[poolPlace]
	outliers  *health.OutlierController
	health    map[uint64]poolHealth // by incarnation
	now       time.Time
}

func newPool(t testing.TB) *pool {
	t.Helper()
	directory, err := discovery.New(discovery.Config[poolPlace]{Equal: func(a, b poolPlace) bool { return a == b }})
	if err != nil {
		t.Fatal(err)
	}
	session, err := directory.Open("test")
	if err != nil {
		t.Fatal(err)
	}
	outliers, err := health.NewOutlierController(health.OutlierControllerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return &pool{t, directory, session, outliers, map[uint64]poolHealth{}, time.Unix(0, 0)}
}

func (p *pool) reconcile(entries ...discovery.Entry[poolPlace]) {
	p.Helper()
	if _, err := p.session.Reconcile(entries); err != nil {
		p.Fatal(err)
	}
}

// of returns the health of the present life of an identity.
func (p *pool) of(id string) poolHealth {
	p.Helper()
	m, found := p.directory.Load().Lookup(id)
	if !found {
		p.Fatalf("there is no %s", id)
	}
	of, known := p.health[m.Incarnation]
	if !known {
		active, err := health.NewActiveHealth(health.ActiveHealthConfig{})
		if err != nil {
			p.Fatal(err)
		}
		circuit, err := health.NewCircuit(health.CircuitConfig{})
		if err != nil {
			p.Fatal(err)
		}
		of = poolHealth{active, circuit, p.outliers.Subject()}
		p.health[m.Incarnation] = of
	}
	return of
}

// force sets what the probes of a member have found.
func (p *pool) force(id string, condition health.Condition) {
	p.Helper()
	if err := p.of(id).active.Force(condition, p.now); err != nil {
		p.Fatal(err)
	}
}

func (p *pool) view() *poise.View {
	p.Helper()
	view, err := p.directory.Load().View(func(m discovery.Member[poolPlace]) poise.Sample {
		of := p.of(m.ID)
		return health.WithHealth{
			Candidate: poise.Sample{ID: m.ID, Priority: m.Value.priority, Locality: m.Value.locality},
			Active:    of.active, Circuit: of.circuit, Outlier: of.outlier, Now: p.now,
		}.Sample()
	})
	if err != nil {
		p.Fatal(err)
	}
	return view
}

// shares picks a thousand times and returns who was picked how often.
func (p *pool) shares(by poise.Policy) map[string]int {
	p.Helper()
	view := p.view()
	picker, err := by.Prepare(view)
	if err != nil {
		p.Fatal(err)
	}
	shares := map[string]int{}
	for range 1000 {
		selection, err := picker.Pick(poise.Query{})
		if err != nil {
			shares[err.Error()]++
			continue
		}
		i, err := view.Index(selection)
		if err != nil {
			p.Fatal(err)
		}
		sample, err := view.Sample(i)
		if err != nil {
			p.Fatal(err)
		}
		shares[sample.ID]++
	}
	return shares
}

func (p *pool) requireReasons(want map[string]poise.Reason) {
	p.Helper()
	view := p.view()
	for i, sample := range view.All() {
		if got := view.Reason(i); got != want[sample.ID] {
			p.Errorf("%s is left out as %v, want %v", sample.ID, got, want[sample.ID])
		}
	}
}

// eject has the outlier controller eject one of the pool.
func (p *pool) eject(id string) {
	p.Helper()
	var members []health.OutlierMember
	for _, m := range p.directory.Load().All() {
		members = append(members, health.OutlierMember{Subject: p.of(m.ID).outlier})
	}
	for range 5 {
		p.of(id).outlier.Begin().Record(poise.Failure, health.MemberFailure)
	}
	if s, err := p.outliers.Sweep(p.now, members, nil); err != nil || len(s.Changes) != 1 {
		p.Fatalf("%+v, %v", s, err)
	}
}

// requireBetween requires a share of a thousand picks, at four standard deviations
// of the widest of them, which is a half.
func requireBetween(t testing.TB, who string, got, expected int) {
	t.Helper()
	if low, high := expected-64, expected+64; got < low || got > high {
		t.Errorf("%s got %d of 1000, want %d to %d", who, got, low, high)
	}
}

// A priority loses traffic as its members fall ill, by whatever part of health.
//
// Cases: G6, HC5, B44.
func TestChecked_PriorityOverADiscoveredPool(t *testing.T) {
	p := newPool(t)
	first := []discovery.Entry[poolPlace]{
		{ID: "a", Value: poolPlace{0, "west"}}, {ID: "b", Value: poolPlace{0, "west"}}, {ID: "c", Value: poolPlace{0, "east"}},
	}
	p.reconcile(append(first, discovery.Entry[poolPlace]{ID: "d", Value: poolPlace{1, "west"}})...)
	by, err := policy.NewPriority(policy.TopologyConfig{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.shares(by); got["d"] != 0 || len(got) != 3 {
		t.Fatalf("with everybody healthy: %v", got)
	}
	p.force("a", health.Unhealthy)
	p.of("b").circuit.ForceOpen(p.now)
	p.requireReasons(map[string]poise.Reason{"a": poise.ExcludedUnhealthy, "b": poise.ExcludedCircuitOpen})
	got := p.shares(by) // a third of the first priority, times 1.4
	requireBetween(t, "c", got["c"], 467)
	requireBetween(t, "d", got["d"], 533)
	p.eject("c")
	p.requireReasons(map[string]poise.Reason{
		"a": poise.ExcludedUnhealthy, "b": poise.ExcludedCircuitOpen, "c": poise.ExcludedOutlier,
	})
	if got := p.shares(by); got["d"] != 1000 {
		t.Errorf("with the first priority ill: %v", got)
	}
	// The circuit's time is over, and the probes succeed again.
	p.now = p.now.Add(p.of("b").circuit.State(p.now).RetryAfter)
	p.force("a", health.Healthy)
	got = p.shares(by)
	requireBetween(t, "a", got["a"], 467)
	requireBetween(t, "b", got["b"], 467)
	// Draining is draining, however healthy.
	p.reconcile(first[1:]...)
	p.force("a", health.Unhealthy)
	p.requireReasons(map[string]poise.Reason{
		"a": poise.ExcludedDraining, "c": poise.ExcludedOutlier, "d": poise.ExcludedDraining,
	})
	if got := p.shares(by); got["b"] != 1000 {
		t.Errorf("with a and d draining: %v", got)
	}
	// Who comes back is another, and has no past (B47).
	if _, err := p.directory.FinishDrain("a", 0); err != nil {
		t.Fatal(err)
	}
	p.reconcile(first...)
	p.requireReasons(map[string]poise.Reason{"c": poise.ExcludedOutlier, "d": poise.ExcludedDraining})
}

// A zone loses its share as its members fall ill.
//
// Cases: G6, HC5, B37.
func TestChecked_LocalityOverADiscoveredPool(t *testing.T) {
	p := newPool(t)
	p.reconcile([]discovery.Entry[poolPlace]{
		{ID: "a", Value: poolPlace{0, "west"}}, {ID: "b", Value: poolPlace{0, "west"}},
		{ID: "c", Value: poolPlace{0, "east"}}, {ID: "d", Value: poolPlace{0, "east"}},
	}...)
	by, err := policy.NewLocality(policy.TopologyConfig{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	got := p.shares(by)
	requireBetween(t, "west", got["a"]+got["b"], 500)
	p.force("a", health.Unhealthy)
	got = p.shares(by) // half of west, times 1.4, against all of east
	requireBetween(t, "b", got["b"], 412)
	if got["a"] != 0 {
		t.Errorf("an unhealthy member is picked: %v", got)
	}
	p.eject("b")
	got = p.shares(by)
	requireBetween(t, "c", got["c"], 500)
	if got["a"]+got["b"] != 0 {
		t.Errorf("a zone without healthy members is picked: %v", got)
	}
}

// A window is the load of its candidate: failures keep it from being chosen, and
// waiting, where no outcome could, brings it back.
//
// Cases: OW4, G19, B17.
func TestOutcomeWindow_IsALoadThatPoliciesCompare(t *testing.T) {
	now := time.Unix(0, 0)
	windows := map[string]*health.OutcomeWindow{}
	var candidates []poise.Candidate
	for _, id := range []string{"a", "b"} {
		w, err := health.NewOutcomeWindow(health.OutcomeWindowConfig{HalfLife: time.Second}, now)
		if err != nil {
			t.Fatal(err)
		}
		windows[id] = w
		candidates = append(candidates, poise.Sample{ID: id, Load: w})
	}
	view, err := poise.NewView(candidates)
	if err != nil {
		t.Fatal(err)
	}
	picker, err := new(policy.LeastLoaded).Prepare(view)
	if err != nil {
		t.Fatal(err)
	}
	pick := func() string {
		selection, err := picker.Pick(poise.Query{Now: now})
		if err != nil {
			t.Fatal(err)
		}
		i, err := view.Index(selection)
		if err != nil {
			t.Fatal(err)
		}
		sample, err := view.Sample(i)
		if err != nil {
			t.Fatal(err)
		}
		return sample.ID
	}
	for range 10 { // a fails, at once
		if pick() == "a" {
			windows["a"].Record(poise.Failure, now)
		} else {
			windows["b"].Record(poise.Success, now)
		}
	}
	if calls := windows["a"].Stats(now).Samples(); calls != 1 {
		t.Errorf("a failed %d times before it was left alone", calls)
	}
	now = now.Add(time.Minute)
	windows["b"].Record(poise.Failure, now)
	if got := pick(); got != "a" {
		t.Errorf("after a minute %s is picked", got)
	}
}
