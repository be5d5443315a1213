package policy_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// What happens between the choice of a scope and the pick inside it.

// priorityOf returns the samples of one priority, and their places in the list.
func priorityOf(samples []poise.Sample, priority uint32) (list []poise.Sample, places []int) {
	for i, s := range samples {
		if s.Priority == priority {
			list, places = append(list, s), append(places, i)
		}
	}
	return list, places
}

// twoPriorities is three candidates of priority 0, of which two are ready, and
// three of priority 1.
func twoPriorities() []poise.Sample { return append(crowd("p", 0, 3, 2), crowd("q", 1, 3, 3)...) }

// Cases: E4, G23.
// Claim: Each priority has an endpoint policy of its own, which outlives the View as long as candidates of that priority exist.
func TestPriority_EveryEndpointPolicyPicksAsItWouldAlone(t *testing.T) {
	for name, endpoint := range endpointPolicies {
		var made []poise.Policy // the first is the constructor's, thrown away
		p := newPriority(t, policy.TopologyConfig{Seed: 5, PanicOff: true, Endpoint: func(seed uint64) (poise.Policy, error) {
			alone, err := endpoint(seed)
			made = append(made, alone)
			if err != nil || seed == 0 {
				t.Fatalf("%s: seed %d, error %v", name, seed, err)
			}
			return endpoint(seed)
		}})
		var alone [2]poise.Policy
		samples := twoPriorities()
		for view := range 6 {
			// Priority 0 has nobody for a while, and keeps its state.
			for i := range 2 {
				samples[i].Status = []poise.Status{poise.Ready, poise.Unavailable}[(view/2)%2]
			}
			d := open(t, p, samples)
			var desks [2]desk
			var places [2][]int
			for priority := range alone {
				if alone[priority] == nil && len(made) > priority+1 {
					alone[priority] = made[priority+1]
				}
				var list []poise.Sample
				list, places[priority] = priorityOf(samples, uint32(priority))
				desks[priority] = open(t, alone[priority], list)
			}
			for k := range 100 {
				var why poise.Decision
				q := poise.Query{Key: poise.Uint64Key(uint64(k)), Now: time.Unix(int64(k), 0)}
				q.Why = &why
				got := d.pick(t, q)
				at := why.Scope.Priority
				q.Why = nil
				if want := places[at][desks[at].pick(t, q)]; got != want {
					t.Fatalf("%s: View %d pick %d took %d in priority %d, alone it takes %d", name, view, k, got, at, want)
				}
			}
		}
		if len(made) != 3 {
			t.Errorf("%s: %d policies were made, want one to look at and one for each priority", name, len(made))
		}
	}
}

// A priority without any candidate has ended; one that comes back starts afresh.
func TestTopology_ForgetsPlacesThatAreGone(t *testing.T) {
	made := 0
	cfg := policy.TopologyConfig{PanicOff: true, Endpoint: func(uint64) (poise.Policy, error) {
		made++
		return new(policy.RoundRobin), nil
	}}
	eachTopology(t, cfg, func(name string, p poise.Policy) {
		made = 0
		for _, step := range []struct {
			samples []poise.Sample
			want    int
		}{
			{crowd("a", 0, 2, 2), 1},
			{crowd("a", 0, 2, 2), 1},
			{append(crowd("a", 0, 2, 2), placed("b", 1)), 2},
			{crowd("a", 0, 2, 0), 2}, // nobody eligible, and still there
			{crowd("a", 0, 2, 2), 2},
			{crowd("b", 1, 1, 1), 3}, // priority 1 was gone for two Views
			{crowd("a", 0, 1, 1), 4},
		} {
			open(t, p, step.samples)
			if made != step.want {
				t.Errorf("%s: %d policies made, want %d", name, made, step.want)
			}
		}
	})
}

// The sibling has this law too.
//
// Claim: A Priority draws only where there is something to choose.
// Code: weightedList.draw, weightedList.drawIf
func TestTopology_DrawsOnlyWhereThereIsAChoice(t *testing.T) {
	// Over round robin the only draws are the topology's. If none is taken on the
	// way, the draws afterwards are those of a fresh policy.
	cfg := policy.TopologyConfig{Seed: 9, Endpoint: endpointPolicies["RoundRobin"], FailClosed: true}
	one := crowd("one", 7, 3, 3)
	rejecting := append(crowd("r", 0, 3, 0), crowd("s", 1, 2, 0)...)
	choice := append(twoPriorities(), poise.Sample{ID: "west", Priority: 1, Locality: "west", Load: poise.NewInFlight(0)})
	choice[0].Status = poise.Unavailable
	choose := func(p poise.Policy) (list []poise.ScopeChoice) {
		d := open(t, p, choice)
		for range 60 {
			var why poise.Decision
			d.pick(t, poise.Query{Why: &why})
			list = append(list, why.Scope)
		}
		return list
	}
	for _, made := range []func() poise.Policy{
		func() poise.Policy { return newPriority(t, cfg) },
		func() poise.Policy { return newLocality(t, cfg) },
	} {
		want := choose(made())
		p := made()
		open(t, p, one).picks(t, 7)
		for k := range one {
			open(t, p, one).pick(t, poise.Query{Tried: retried(one, k)})
		}
		for _, hopeless := range [][]poise.Sample{nil, rejecting, crowd("w", 0, 1, 0)} {
			_, _ = open(t, p, hopeless).try(poise.Query{})
			_, _ = open(t, p, hopeless).try(poise.Query{Tried: retried(one, 1)})
		}
		// With all of priority 0 tried only priority 1 is left, and there only west.
		open(t, p, choice).pick(t, poise.Query{Tried: retried(choice, 0, 1, 2, 3, 4, 5)})
		if got := choose(p); !slices.Equal(got, want) {
			t.Errorf("picks without a choice took draws: %+v", got[:5])
		}
	}
	keyed := cfg
	keyed.Endpoint = endpointPolicies["Rendezvous"]
	with, without := open(t, newPriority(t, keyed), choice), open(t, newPriority(t, keyed), choice)
	for k := range 60 {
		if _, err := with.try(poise.Query{}); err != poise.ErrNoKey {
			t.Fatalf("without a key: %v", err)
		}
		q := poise.Query{Key: poise.Uint64Key(uint64(k))}
		if got, want := with.pick(t, q), without.pick(t, q); got != want {
			t.Fatalf("pick %d is %d after picks without a key, %d without them", k, got, want)
		}
	}
}

// Cases: B49.
// Claim: A retry is drawn among the priorities that have anybody untried, and goes to one without traffic only when there is no other.
// Code: topologyPicker.pickUntried, topologyPicker.spareOpen
// Claim: A retry is drawn among the localities of its priority that have anybody untried.
// Code: topologyPicker.pickUntried, weightedList.drawIf
func TestTopology_RetriesElsewhere(t *testing.T) {
	samples := append(append(crowd("a", 0, 3, 3), crowd("b", 1, 2, 2)...), crowd("c", 2, 1, 1)...)
	samples[1].Locality, samples[2].Locality = "east", "west"
	eachTopology(t, policy.TopologyConfig{Seed: 1}, func(name string, p poise.Policy) {
		d := open(t, p, samples)
		for _, row := range []struct{ tried, want []int }{
			{[]int{3, 4, 5}, []int{0, 1, 2}},
			{[]int{0}, []int{1, 2}},
			{[]int{0, 2}, []int{1}},
			{[]int{0, 1, 2}, []int{3, 4}},
			{[]int{0, 1, 2, 3}, []int{4}},
			{[]int{0, 1, 2, 3, 4}, []int{5}},
			{[]int{0, 1, 2, 5}, []int{3, 4}},
		} {
			seen := map[int]bool{}
			for range 200 {
				seen[d.pick(t, poise.Query{Tried: retried(samples, row.tried...)})] = true
			}
			for i := range samples {
				if seen[i] != slices.Contains(row.want, i) {
					t.Errorf("%s: with %v tried, %d is picked: %t", name, row.tried, i, seen[i])
				}
			}
		}
		var why poise.Decision
		_, err := d.try(poise.Query{Tried: retried(samples, 0, 1, 2, 3, 4, 5), Why: &why})
		if err != poise.ErrAllTried || why.Tried != 6 || why.Scope != (poise.ScopeChoice{}) {
			t.Errorf("%s: with all tried: %v, Why is %+v", name, err, why)
		}
	})
	// In a panic those that it uses can all be tried too.
	down := crowd("d", 0, 2, 0)
	eachTopology(t, policy.TopologyConfig{Seed: 1}, func(name string, p poise.Policy) {
		d := open(t, p, down)
		if got := d.pick(t, poise.Query{Tried: retried(down, 0)}); got != 1 {
			t.Errorf("%s: a retry in panic goes to %d, want 1", name, got)
		}
		if _, err := d.try(poise.Query{Tried: retried(down, 0, 1)}); err != poise.ErrAllTried {
			t.Errorf("%s: with all of a panic tried: %v", name, err)
		}
	})
	// A priority that rejects is left to a retry as long as it has anybody.
	short := append(crowd("e", 0, 9, 1), crowd("f", 1, 9, 1)...)
	eachTopology(t, policy.TopologyConfig{Seed: 1, FailClosed: true}, func(name string, p poise.Policy) {
		d := open(t, p, short)
		for tried, want := range map[int]error{0: poise.ErrPanicRejected, 9: poise.ErrPanicRejected} {
			if _, err := d.try(poise.Query{Tried: retried(short, tried)}); err != want {
				t.Errorf("%s: with %d tried: %v, want %v", name, tried, err, want)
			}
		}
		if _, err := d.try(poise.Query{Tried: retried(short, 0, 9)}); err != poise.ErrAllTried {
			t.Errorf("%s: with everyone eligible tried: %v", name, err)
		}
	})
}

// A retry keeps the proportions of what is left.
func TestTopology_SharesARetryInProportion(t *testing.T) {
	const bias = 0.02
	samples := make([]poise.Sample, 3)
	for i := range samples {
		samples[i] = placed(fmt.Sprint("zone-", i), 0)
		samples[i].Locality, samples[i].LocalityWeight = samples[i].ID, weightOf(t, uint32(i+1))
	}
	d := open(t, newLocality(t, policy.TopologyConfig{Seed: 6}), samples)
	counts := make([]int, 3)
	q := poise.Query{Tried: retried(samples, 1)}
	for range sampleSize(1.0/4, bias) + 1 {
		counts[d.pick(t, q)]++
	}
	if counts[1] != 0 {
		t.Errorf("the tried one got %d", counts[1])
	}
	if err := checkProportions([]int{counts[0], counts[2]}, []uint32{1, 3}, bias); err != nil {
		t.Error(err)
	}
}

// Claim: With ByKey, a key stays in its priority as long as the shares stay.
func TestTopology_ByKeyAKeyKeepsItsScope(t *testing.T) {
	samples := twoPriorities()
	samples[1].Status = poise.Unavailable // 1 of 3: 466,666 of a million
	for i := range samples {
		samples[i].Locality = fmt.Sprint("zone-", i%2)
	}
	cfg := policy.TopologyConfig{Seed: 1, ByKey: true, Endpoint: endpointPolicies["Rendezvous"]}
	other := cfg
	other.Seed = 2
	const keys = 20_000
	for _, with := range []func(policy.TopologyConfig) poise.Policy{
		func(cfg policy.TopologyConfig) poise.Policy { return newPriority(t, cfg) },
		func(cfg policy.TopologyConfig) poise.Policy { return newLocality(t, cfg) },
	} {
		a, b := open(t, with(cfg), samples), open(t, with(other), samples)
		counts := map[int]int{}
		for k := range keys {
			q := poise.Query{Key: poise.Uint64Key(uint64(k))}
			first := a.pick(t, q)
			counts[first]++
			if again, elsewhere := a.pick(t, q), b.pick(t, q); again != first || elsewhere != first {
				t.Fatalf("key %d goes to %d, %d and %d", k, first, again, elsewhere)
			}
			q.Tried = retried(samples, first)
			if once, again := a.pick(t, q), b.pick(t, q); once != again || once == first {
				t.Fatalf("the retry of key %d goes to %d and %d after %d", k, once, again, first)
			}
		}
		if counts[0] < keys*44/100 || counts[0] > keys*49/100 {
			t.Errorf("priority 0 keeps %d of %d keys, want 46.7 %%", counts[0], keys)
		}
	}
	drawn := open(t, newPriority(t, policy.TopologyConfig{Seed: 1, ByKey: true}), samples)
	zero := 0
	for range 1000 {
		if drawn.pick(t, poise.Query{}) == 0 {
			zero++
		}
	}
	if zero < 350 || zero > 600 {
		t.Errorf("without a key priority 0 gets %d of 1000", zero)
	}
}

// The member is not tied to the scope, even if the endpoint policy has the seed of
// the topology: the two would draw the same numbers.
func TestPriority_DrawsApartFromItsEndpointPolicies(t *testing.T) {
	const bias = 0.03
	samples := append(crowd("p", 0, 4, 2), crowd("q", 1, 4, 4)...)
	p := newPriority(t, policy.TopologyConfig{Seed: 5, Overprovisioning: 100, Endpoint: func(uint64) (poise.Policy, error) {
		return policy.NewRandom(policy.RandomConfig{Seed: 5}), nil
	}})
	counts := open(t, p, samples).counts(t, 2*sampleSize(1.0/4, bias)+100)
	if err := checkShares(counts[4:], bias); err != nil {
		t.Errorf("inside the second priority: %v", err)
	}
}

// A scope is all there is: neither what lies outside nor a panic of its own leads
// out of it.
func TestTopology_StaysInsideAScope(t *testing.T) {
	samples := append(crowd("a", 0, 4, 1), crowd("b", 1, 4, 4)...)
	base := viewOf(t, samples)
	scope, err := base.Scope([]int{0, 2}) // 2 is down, in a panic of whoever made the scope
	if err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []policy.TopologyConfig{{Seed: 1}, {Seed: 1, FailClosed: true}} {
		eachTopology(t, cfg, func(name string, p poise.Policy) {
			picker, err := p.Prepare(scope)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[int]int{}
			for range 400 {
				selection, err := picker.Pick(poise.Query{})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				index, err := base.Index(selection)
				if err != nil {
					t.Fatal(err)
				}
				seen[index]++
			}
			if len(seen) != 2 || seen[0] < 100 || seen[2] < 100 {
				t.Errorf("%s in a scope of 0 and 2 picked %v", name, seen)
			}
		})
	}
	// The outermost topology explains.
	inner := func(seed uint64) (poise.Policy, error) {
		return policy.NewLocality(policy.TopologyConfig{Seed: seed})
	}
	var why poise.Decision
	d := open(t, newPriority(t, policy.TopologyConfig{Endpoint: inner, PanicThreshold: 100}), crowd("a", 3, 4, 1))
	d.pick(t, poise.Query{Why: &why})
	if want := (poise.ScopeChoice{Policy: "Priority", Priority: 3, Panic: true}); why.Scope != want {
		t.Errorf("explained as %+v", why.Scope)
	}
}

// Prepare and picks at once, with the shares as they should be.
func TestPriority_SharesInParallel(t *testing.T) {
	p := newPriority(t, policy.TopologyConfig{Seed: 5, Endpoint: endpointPolicies["RoundRobin"]})
	samples := twoPriorities()
	samples[1].Status = poise.Unavailable
	var mu sync.Mutex
	var wg sync.WaitGroup
	counts := make([]int, len(samples))
	for range 4 {
		wg.Go(func() {
			d := open(t, p, samples)
			for k := range 3000 {
				if k%500 == 0 {
					d = open(t, p, samples)
				}
				index, err := d.try(poise.Query{})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				counts[index]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	// 466,666 of a million of 12,000, 55 a sigma.
	if counts[0] < 5230 || counts[0] > 5970 {
		t.Errorf("priority 0 got %d of 12000", counts[0])
	}
	if spread := slices.Max(counts[3:]) - slices.Min(counts[3:]); spread > 1 {
		t.Errorf("round robin in the second priority gave %v", counts[3:])
	}
}

// The choice of the locality is not tied to that of the priority.
func TestLocality_ByKeyDrawsTwice(t *testing.T) {
	samples := append(crowd("p", 0, 2, 1), crowd("q", 1, 2, 2)...) // 70 % and 30 %
	samples[2].Locality, samples[3].Locality = "east", "west"
	d := open(t, newLocality(t, policy.TopologyConfig{ByKey: true}), samples)
	counts := make([]int, 4)
	const keys = 20_000
	for k := range keys {
		counts[d.pick(t, poise.Query{Key: poise.Uint64Key(uint64(k))})]++
	}
	for i, want := range []int{keys * 70 / 100, 0, keys * 15 / 100, keys * 15 / 100} {
		if counts[i] < want-450 || counts[i] > want+450 { // 6.8 sigma of the largest
			t.Errorf("candidate %d got %d of %d keys, want %d", i, counts[i], keys, want)
		}
	}
}

// A retry without a key draws nothing, even where only a priority without traffic
// is left.
func TestTopology_RefusesAKeylessRetryWithoutADraw(t *testing.T) {
	samples := append(crowd("p", 0, 1, 1), crowd("q", 1, 2, 2)...)
	samples[1].Locality, samples[2].Locality = "east", "west"
	cfg := policy.TopologyConfig{Seed: 4, Endpoint: endpointPolicies["Rendezvous"]}
	tried := retried(samples, 0)
	undisturbed, disturbed := open(t, newLocality(t, cfg), samples), open(t, newLocality(t, cfg), samples)
	for k := range 100 {
		if _, err := disturbed.try(poise.Query{Tried: tried}); err != poise.ErrNoKey {
			t.Fatalf("without a key: %v", err)
		}
		if _, err := disturbed.try(poise.Query{Tried: retried(samples, 0, 1, 2)}); err != poise.ErrAllTried {
			t.Fatalf("without a key and with all tried: %v", err)
		}
		q := poise.Query{Key: poise.Uint64Key(uint64(k)), Tried: tried}
		if got, want := disturbed.pick(t, q), undisturbed.pick(t, q); got != want {
			t.Fatalf("pick %d is %d after a refusal, %d without one", k, got, want)
		}
	}
}
