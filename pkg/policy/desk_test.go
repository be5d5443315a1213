package policy_test

import (
	"fmt"
	"maps"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// reporter is what a helper needs of a test: *testing.T, *testing.B and *rapid.T
// have it.
type reporter interface {
	Helper()
	Fatalf(format string, args ...any)
}

// fixed is a load that does not change and is no InFlight.
type fixed uint64

func (f fixed) Load(time.Time) (uint64, error) { return uint64(f), nil }
func (f fixed) Unit() poise.LoadUnit           { return poise.RequestsInFlight }

// holding returns an InFlight with so many leases taken.
func holding(t reporter, load uint64) *poise.InFlight {
	t.Helper()
	f := poise.NewInFlight(0)
	for range load {
		if _, err := f.Acquire(); err != nil {
			t.Fatalf("Acquire: %v", err)
		}
	}
	return f
}

// named returns ready, idle candidates.
func named(ids ...string) []poise.Sample {
	samples := make([]poise.Sample, len(ids))
	for i, id := range ids {
		samples[i] = poise.Sample{ID: id, Load: poise.NewInFlight(0)}
	}
	return samples
}

// backends returns n ready, idle candidates.
func backends(n int) []poise.Sample {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("backend-%d", i)
	}
	return named(ids...)
}

// loaded returns ready candidates that hold so much work.
func loaded(t reporter, loads ...uint64) []poise.Sample {
	t.Helper()
	samples := backends(len(loads))
	for i, load := range loads {
		samples[i].Load = holding(t, load)
	}
	return samples
}

func viewOf(t reporter, samples []poise.Sample) *poise.View {
	t.Helper()
	candidates := make([]poise.Candidate, len(samples))
	for i := range samples {
		candidates[i] = samples[i]
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		t.Fatalf("NewView: %v", err)
	}
	return v
}

// desk is a View and a Picker on it.
type desk struct {
	view   *poise.View
	picker poise.Picker
}

func open(t reporter, p poise.Policy, samples []poise.Sample) desk {
	t.Helper()
	v := viewOf(t, samples)
	picker, err := p.Prepare(v)
	if err != nil {
		t.Fatalf("Prepare: %v", err)
	}
	return desk{v, picker}
}

// pick returns the index of a pick that must succeed.
func (d desk) pick(t reporter, q poise.Query) int {
	t.Helper()
	index, err := d.try(q)
	if err != nil {
		t.Fatalf("Pick: %v", err)
	}
	return index
}

// try returns the index of a pick, or -1 and its error.
func (d desk) try(q poise.Query) (int, error) {
	selection, err := d.picker.Pick(q)
	if err != nil {
		return -1, err
	}
	return d.view.Index(selection)
}

// picks returns the indices of so many plain picks.
func (d desk) picks(t reporter, n int) []int {
	t.Helper()
	list := make([]int, n)
	for k := range list {
		list[k] = d.pick(t, poise.Query{})
	}
	return list
}

// counts returns how many of so many plain picks each candidate got.
func (d desk) counts(t reporter, n int) []int {
	t.Helper()
	counts := make([]int, d.view.Len())
	for range n {
		counts[d.pick(t, poise.Query{})]++
	}
	return counts
}

func newRoundRobin(t reporter, seed uint64) *policy.RoundRobin {
	t.Helper()
	p := policy.NewRoundRobin(policy.RoundRobinConfig{Seed: seed})
	return p
}

func newRandom(t reporter, seed uint64) *policy.Random {
	t.Helper()
	p := policy.NewRandom(policy.RandomConfig{Seed: seed})
	return p
}

func newPowerOfTwoChoices(t reporter, seed uint64) *policy.PowerOfTwoChoices {
	t.Helper()
	p := policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: seed})
	return p
}

func newRendezvous(t reporter, cfg policy.RendezvousConfig) *policy.Rendezvous {
	t.Helper()
	p := policy.NewRendezvous(cfg)
	return p
}

// every returns one of each policy, by name, seeded alike. None panics, for that
// picks candidates that are not eligible.
func every(t reporter) map[string]poise.Policy {
	t.Helper()
	policies := all(t)
	maps.Copy(policies, allWeighted(t))
	for name, kind := range keyedKinds {
		policies[name] = kind(t, keyedConfig{})
	}
	eachTopology(t, policy.TopologyConfig{Seed: 1, PanicOff: true}, func(name string, p poise.Policy) { policies[name] = p })
	return policies
}

// all returns one of each policy that ignores weights and places, but for Maglev, by
// name, seeded alike.
func all(t reporter) map[string]poise.Policy {
	t.Helper()
	return map[string]poise.Policy{
		"RoundRobin":        newRoundRobin(t, 0),
		"Random":            newRandom(t, 1),
		"LeastLoaded":       new(policy.LeastLoaded),
		"PowerOfTwoChoices": newPowerOfTwoChoices(t, 1),
		"Rendezvous":        new(policy.Rendezvous),
	}
}

// retried returns a Tried of the samples at the indices.
func retried(samples []poise.Sample, indices ...int) *poise.Tried {
	tried := new(poise.Tried)
	for _, i := range indices {
		tried.Add(samples[i].ID, samples[i].Incarnation)
	}
	return tried
}
