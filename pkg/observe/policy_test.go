package observe_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/observe"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/pkg/policytest"
)

type decisions []observe.Decided

func (d *decisions) Decided(of observe.Decided) { *d = append(*d, of) }

// ignore is a DecisionObserver for laws that overlap.
var ignore = observe.DecisionObserverFunc(func(observe.Decided) {})

func observed(tb testing.TB, cfg observe.PolicyConfig) *observe.Policy {
	tb.Helper()
	p, err := observe.NewPolicy(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// The laws of policies hold of a policy that is observed.
//
// Claim: A Policy picks what its policy picks, and returns its errors as they are.
func TestPolicy_KeepsTheLawsOfItsPolicy(t *testing.T) {
	for name, of := range map[string]func() poise.Policy{
		"round robin": func() poise.Policy { return new(policy.RoundRobin) },
		"random":      func() poise.Policy { return policy.NewRandom(policy.RandomConfig{Seed: 7}) },
		"rendezvous":  func() poise.Policy { return policy.NewRendezvous(policy.RendezvousConfig{}) },
	} {
		t.Run(name, func(t *testing.T) {
			policytest.Run(t, policytest.Suite{New: func() poise.Policy {
				return observed(t, observe.PolicyConfig{Policy: of(), Observer: ignore})
			}})
		})
	}
}

func viewOf(t *testing.T, list ...poise.Sample) *poise.View {
	t.Helper()
	var candidates []poise.Candidate
	for _, s := range list {
		candidates = append(candidates, s)
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Claim: Each pick is told once, after it was made.
//
// Claim: A DecisionObserver is told once of each pick, whether somebody was chosen or not.
//
// Claim: The Pickers of a Policy are Preferrers where those of its policy are.
func TestPolicy_TellsOfEachPick(t *testing.T) {
	var told decisions
	clock := time.Unix(1, 0)
	p := observed(t, observe.PolicyConfig{Policy: new(policy.RoundRobin), Observer: &told, Clock: func() time.Time {
		clock = clock.Add(time.Microsecond)
		return clock
	}})
	picker, err := p.Prepare(viewOf(t, poise.Sample{ID: "a"}, poise.Sample{ID: "b", Status: poise.Draining}, poise.Sample{ID: "c"}))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, _ = picker.Pick(poise.Query{})
	}
	var passed int
	observe.DecisionObserverFunc(func(d observe.Decided) { passed += d.Candidates }).Decided(told[0])
	if passed != 3 {
		t.Errorf("the function is told of %d candidates", passed)
	}
	empty, err := p.Prepare(viewOf(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := empty.Pick(poise.Query{}); !errors.Is(err, poise.ErrEmpty) {
		t.Errorf("nobody is picked with %v", err)
	}
	var want decisions
	for _, selected := range []int{0, 2, 0} {
		want = append(want, observe.Decided{Candidates: 3, Selected: selected, Took: time.Microsecond})
	}
	want = append(want, observe.Decided{Kind: observe.DecidedEmpty, Selected: -1, Took: time.Microsecond})
	if !slices.Equal(told, want) {
		t.Errorf("told was %+v\nwant %+v", told, want)
	}
	if _, prefers := picker.(poise.Preferrer); prefers {
		t.Error("a policy without keys has an order of preference")
	}
	keyed := policy.NewRendezvous(policy.RendezvousConfig{})
	view := viewOf(t, poise.Sample{ID: "a"}, poise.Sample{ID: "b"})
	bare, err := keyed.Prepare(view)
	if err != nil {
		t.Fatal(err)
	}
	of, err := observed(t, observe.PolicyConfig{Policy: keyed, Observer: ignore}).Prepare(view)
	if err != nil {
		t.Fatal(err)
	}
	key := poise.StringKey("k")
	if p, prefers := of.(poise.Preferrer); !prefers || !slices.Equal(slices.Collect(p.Preference(key)), slices.Collect(bare.(poise.Preferrer).Preference(key))) {
		t.Error("the order of preference is lost")
	}
}

// A priority that is short of members spills, and panics when too few are left.
func TestPolicy_TellsWhereAPickWasMade(t *testing.T) {
	scopes := func(ready int, backup poise.Reason) map[observe.ScopeKind]int {
		var list []poise.Sample
		for i := range 10 {
			s := poise.Sample{ID: string(rune('a' + i)), Priority: 3}
			if i >= ready {
				s.Excluded = poise.ExcludedUnhealthy
			}
			list = append(list, s)
		}
		list = append(list, poise.Sample{ID: "z", Priority: 4, Excluded: backup})
		top, err := policy.NewPriority(policy.TopologyConfig{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		var told decisions
		picker, err := observed(t, observe.PolicyConfig{Policy: top, Observer: &told, Scopes: true}).Prepare(viewOf(t, list...))
		if err != nil {
			t.Fatal(err)
		}
		for range 200 {
			if _, err := picker.Pick(poise.Query{}); err != nil {
				t.Fatal(err)
			}
		}
		var why poise.Decision
		_, _ = picker.Pick(poise.Query{Why: &why})
		if why.Scope.Policy == "" {
			t.Error("who asks why is not told")
		}
		count := map[observe.ScopeKind]int{}
		for _, d := range told {
			count[d.Scope]++
		}
		return count
	}
	if got := scopes(1, poise.ExcludedUnhealthy); got[observe.ScopePanic] == 0 {
		t.Errorf("a priority of which one of ten is left gives %v", got)
	}
	if got := scopes(10, poise.NotExcluded); got[observe.ScopeFirst] != 201 {
		t.Errorf("a sound priority gives %v", got)
	}
	if got := scopes(6, poise.NotExcluded); got[observe.ScopeFirst] == 0 || got[observe.ScopeSpill] == 0 || got[observe.ScopeUnknown] != 0 {
		t.Errorf("a priority of which six of ten are left gives %v", got)
	}
	var told decisions
	picker, err := observed(t, observe.PolicyConfig{Policy: new(policy.RoundRobin), Observer: &told, Scopes: true}).Prepare(viewOf(t, poise.Sample{ID: "a"}))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = picker.Pick(poise.Query{})
	if told[0].Scope != observe.ScopeUnknown {
		t.Errorf("a policy without priorities picks in %v", told[0].Scope)
	}
}

type refusing struct{ err error }

func (r refusing) Prepare(*poise.View) (poise.Picker, error) { return nil, r.err }

// Claim: A panic of the DecisionObserver is dropped.
func TestPolicy_OutlivesItsObserver(t *testing.T) {
	p := observed(t, observe.PolicyConfig{Policy: new(policy.RoundRobin), Observer: observe.DecisionObserverFunc(func(observe.Decided) { panic("observer") })})
	picker, err := p.Prepare(viewOf(t, poise.Sample{ID: "a"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := picker.Pick(poise.Query{}); err != nil {
		t.Error(err)
	}
	refused := errors.New("refused")
	if picker, err := observed(t, observe.PolicyConfig{Policy: refusing{refused}, Observer: ignore}).Prepare(viewOf(t)); picker != nil || err != refused {
		t.Errorf("a refused Prepare gives %v, %v", picker, err)
	}
	if picker, err := observed(t, observe.PolicyConfig{Policy: refusing{}, Observer: ignore}).Prepare(viewOf(t)); picker != nil || err != nil {
		t.Errorf("a Prepare of nothing gives %v, %v", picker, err)
	}
	for field, cfg := range map[string]observe.PolicyConfig{
		"Policy":   {Observer: ignore},
		"Observer": {Policy: new(policy.RoundRobin)},
	} {
		_, err := observe.NewPolicy(cfg)
		var of *poise.FieldError
		if !errors.As(err, &of) || of.Field != field || !errors.Is(err, observe.ErrMissing) {
			t.Errorf("without %s: %v", field, err)
		}
	}
}

func TestPolicy_AllocatesNothing(t *testing.T) {
	m := new(observe.Metrics)
	picker, err := observed(t, observe.PolicyConfig{Policy: new(policy.RoundRobin), Observer: m}).Prepare(viewOf(t, poise.Sample{ID: "a"}, poise.Sample{ID: "b"}))
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = picker.Pick(poise.Query{}) }); n != 0 {
		t.Errorf("a pick that is observed allocates %v times", n)
	}
}
