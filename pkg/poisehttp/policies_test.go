package poisehttp_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// What a directory says has to arrive at the calls whatever the policy keeps
// between two lists: cursors, credits, tables, rows. Here each of them picks for a
// whole Balancer that follows one.

// everyPolicy returns one of each, with no call behind it.
func everyPolicy(t *testing.T) map[string]poise.Policy {
	t.Helper()
	all := map[string]poise.Policy{
		"RoundRobin":               new(policy.RoundRobin),
		"SmoothWeightedRoundRobin": new(policy.SmoothWeightedRoundRobin),
		"LeastLoaded":              new(policy.LeastLoaded),
	}
	add := func(name string, p poise.Policy, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(name, err)
		}
		all[name] = p
	}
	random, err := policy.NewRandom(policy.RandomConfig{Seed: 1})
	add("Random", random, err)
	weightedRandom, err := policy.NewWeightedRandom(policy.WeightedRandomConfig{Seed: 1})
	add("WeightedRandom", weightedRandom, err)
	choices, err := policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: 1})
	add("PowerOfTwoChoices", choices, err)
	request, err := policy.NewWeightedLeastRequest(policy.WeightedLeastRequestConfig{Seed: 1})
	add("WeightedLeastRequest", request, err)
	priority, err := policy.NewPriority(policy.TopologyConfig{Seed: 1})
	add("Priority", priority, err)
	locality, err := policy.NewLocality(policy.TopologyConfig{Seed: 1})
	add("Locality", locality, err)
	rendezvous, err := policy.NewRendezvous(policy.RendezvousConfig{})
	add("Rendezvous", rendezvous, err)
	weighted, err := policy.NewWeightedRendezvous(policy.WeightedRendezvousConfig{})
	add("WeightedRendezvous", weighted, err)
	bounded, err := policy.NewBoundedLoadRendezvous(policy.BoundedLoadRendezvousConfig{})
	add("BoundedLoadRendezvous", bounded, err)
	ring, err := policy.NewRingHash(policy.RingHashConfig{})
	add("RingHash", ring, err)
	maglev, err := policy.NewMaglev(policy.MaglevConfig{})
	add("Maglev", maglev, err)
	return all
}

var keyedNames = []string{"Rendezvous", "WeightedRendezvous", "BoundedLoadRendezvous", "RingHash", "Maglev"}

func TestEveryPolicy_IsEveryPolicy(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "policy", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var declared []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if name, found := strings.CutPrefix(line, "var _ poise.Policy = (*"); found {
				declared = append(declared, strings.TrimSuffix(strings.TrimSpace(name), ")(nil)"))
			}
		}
	}
	slices.Sort(declared)
	if tested := slices.Sorted(maps.Keys(everyPolicy(t))); !slices.Equal(declared, tested) {
		t.Errorf("declared are %v, tested here %v", declared, tested)
	}
}

// keyed returns a request whose key is the number.
func keyed(t testing.TB, number uint64) *http.Request {
	t.Helper()
	req := newRequest(t, http.MethodGet, nil)
	req.Header.Set("Key", fmt.Sprint(number))
	return req
}

func keyOf(req *http.Request) poise.Key { return poise.StringKey(req.Header.Get("Key")) }

// inEvery runs the test in a bubble for each of the policies.
func inEvery(t *testing.T, cfg poisehttp.Config, test func(t *testing.T, name string, f *followed)) {
	for name, p := range everyPolicy(t) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg.Policy, cfg.Key = p, keyOf
				test(t, name, follow(t, cfg, discovery.Config[spec]{}, false))
			})
		})
	}
}

// named returns a change for each of the first n members.
func named(n int) (list []discovery.Change[spec]) {
	for i := range n {
		list = append(list, upsert(fmt.Sprintf("m%02d", i), spec{}))
	}
	return list
}

// Ten become twenty under traffic, and nothing else happens. Each key is a whole
// call here, so that there are a fifth as many as in the case.
//
// Claim: A Balancer that follows a Directory has the members and incarnations of its newest snapshot, and one Endpoint for each incarnation.
//
// Cases: B52.
func TestEveryPolicy_SendsNewMembersTheirShare(t *testing.T) {
	const picks, keys = 2000, 20_000
	inEvery(t, poisehttp.Config{}, func(t *testing.T, name string, f *followed) {
		f.apply(named(10)...)
		for k := range 100 {
			if _, err := do(f.b, keyed(t, uint64(k))); err != nil {
				t.Fatal(err)
			}
		}
		var before [20]int64
		for i, e := range f.net.all() {
			before[i] = e.calls.Load()
		}
		f.apply(named(20)...)
		total, low, high := picks, int64(60), int64(140)
		switch name {
		case "RoundRobin", "SmoothWeightedRoundRobin", "LeastLoaded":
			low, high = 100, 100
		case "RingHash": // 128 points spread by a tenth
			total, low, high = keys, keys/20*6/10, keys/20*14/10
		case "Rendezvous", "WeightedRendezvous", "BoundedLoadRendezvous", "Maglev":
			// 1/20 of the keys within 6.8 sigma of a binomial share.
			total, low, high = keys, keys/20-210, keys/20+210
		}
		for k := range total {
			if _, err := do(f.b, keyed(t, uint64(k))); err != nil {
				t.Fatal(err)
			}
		}
		for i, e := range f.net.all() {
			if n := e.calls.Load() - before[i]; n < low || n > high {
				t.Errorf("member %d got %d of %d calls, want %d to %d", i, n, total, low, high)
			}
		}
	})
}

// A source that is fetched anew each time, restarts, and changes what it says of the
// members. Nothing of that is a reason to forgive.
//
// Claim: A Balancer that follows a Directory has the members and incarnations of its newest snapshot, and one Endpoint for each incarnation.
//
// Cases: B47.
func TestEveryPolicy_RemembersFailuresThroughEveryList(t *testing.T) {
	const backoff = time.Minute
	inEvery(t, poisehttp.Config{
		Attempts: 1, Quarantine: poisehttp.QuarantineConfig{Failures: 3, Backoff: backoff, MaxBackoff: time.Hour},
	}, func(t *testing.T, name string, f *followed) {
		weight := uint32(0)
		call := func(times int) {
			for range times {
				weight = weight%50 + 1
				if weight%10 == 0 {
					var err error
					if f.session, err = f.d.Open("test"); err != nil {
						t.Fatal(err)
					}
				}
				list := []discovery.Entry[spec]{{ID: "b", Value: spec{weight: weight}}, {ID: "a", Value: spec{weight: weight, bad: "call"}}}
				if weight%2 == 0 {
					slices.Reverse(list)
				}
				if _, err := f.session.Reconcile(list); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				_, _ = do(f.b, keyed(t, uint64(weight)))
				synctest.Wait()
			}
		}
		call(60)
		a, b := f.net.last("a"), f.net.last("b")
		if a.calls.Load() != 3 || b.calls.Load() != 57 {
			t.Errorf("a failed at %d calls, b served %d; want 3 and 57", a.calls.Load(), b.calls.Load())
		}
		pass(backoff)
		call(60)
		if a.calls.Load() != 4 {
			t.Errorf("back from its backoff, a failed at %d more calls, want 1", a.calls.Load()-3)
		}
		f.require("in the end", "b/1 eligible; a/2 set aside; ", 2)
		if len(f.net.all()) != 2 {
			t.Errorf("connected were %s", f.net)
		}
	})
}

// Claim: A member that drains in the Directory gets no new call, whatever SetStatus and Describe say of it.
//
// Claim: A draining member leaves the Directory when its last call has ended or DrainFor is over, and no call is cut short.
//
// Cases: B44.
func TestEveryPolicy_UsesNoRemovedMemberThoughItIsHealthy(t *testing.T) {
	inEvery(t, poisehttp.Config{}, func(t *testing.T, name string, f *followed) {
		f.apply(upsert("a", spec{}), upsert("b", spec{}), upsert("c", spec{}))
		b := f.net.last("b")
		var key atomic.Uint64
		var held *http.Response
		for held == nil { // until a call is at b
			resp, err := f.b.RoundTrip(keyed(t, key.Add(1)))
			if err != nil {
				t.Fatal(err)
			}
			if inFlight(f.b, "b") == 1 {
				held = resp
				continue
			}
			finish(t, resp)
		}
		after := func(when string) {
			t.Helper()
			calls := b.calls.Load()
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for range 100 {
						if _, err := do(f.b, keyed(t, key.Add(1))); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if n := b.calls.Load() - calls; n != 0 {
				t.Errorf("%s: b got %d calls", when, n)
			}
		}
		f.apply(drop("b"))
		f.require("b drains", "a/1 eligible; b/2 draining; c/3 eligible; ", 3)
		after("b drains")
		finish(t, held)
		f.require("b has left", "a/1 eligible; c/3 eligible; ", 2)
		after("b has left")
	})
}

// What a policy keeps for a key must not outlive who it stands for: neither at once
// nor after any time, while the member drains, has left, or is back.
//
// Cases: B40.
func TestKeyedPolicies_SendNoKeyToARemovedMember(t *testing.T) {
	const keys = 300
	inEvery(t, poisehttp.Config{}, func(t *testing.T, name string, f *followed) {
		if !slices.Contains(keyedNames, name) {
			return
		}
		f.apply(upsert("A", spec{}), upsert("B", spec{}), upsert("C", spec{}))
		owners := func() (owners [keys]string) {
			for k := range owners {
				resp, err := f.b.RoundTrip(keyed(t, uint64(k)))
				if err != nil {
					t.Fatal(err)
				}
				for _, id := range []string{"A", "B", "C"} {
					if inFlight(f.b, id) > 0 {
						owners[k] += id
					}
				}
				_ = resp.Body.Close()
			}
			return owners
		}
		before := owners()
		require := func(when string, after [keys]string) {
			t.Helper()
			moved := 0
			for k := range after {
				switch {
				case after[k] != "A" && after[k] != "C":
					t.Fatalf("%s: key %d is at %q", when, k, after[k])
				case before[k] != "B" && before[k] != after[k]:
					moved++
				}
			}
			// Maglev moves some of the others, by design.
			if moved > 0 && name != "Maglev" || moved > keys/4 {
				t.Errorf("%s: %d keys moved that were not at B", when, moved)
			}
		}
		if !slices.Contains(before[:], "B") {
			t.Fatal("no key is at B")
		}
		pass(121 * time.Second)
		f.apply(drop("B"))
		require("once it is removed", owners())
		for range 2 {
			pass(30 * time.Second)
			require("later", owners())
		}
		f.apply(upsert("B", spec{}))
		f.require("it is back", "A/1 eligible; C/3 eligible; B/4 eligible; ", 3)
		if owners() != before {
			t.Error("with B back the keys are elsewhere than before")
		}
	})
}
