package poisehttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

func newPriority(t testing.TB, cfg policy.TopologyConfig) *policy.Priority {
	t.Helper()
	p, err := policy.NewPriority(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A priority whose circuits are open gets no traffic, and nobody would try it. When
// the time of a circuit is over the priority counts as capacity again: it gets its
// share, of which the circuit lets the trials through, and the others are picked
// again in the priority below.
//
// Claim: An endpoint whose circuit is open is left out until its time is over, and then gets as many calls at once as there are Trials.
//
// Cases: B17.
func TestBalancer_TriesAPriorityWithoutTrafficAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := []*patient{newPatient(), newPatient()}, answering(200)
		list := members(first[0], first[1], second)
		list[2].Priority = 1
		b := newBalancer(t, poisehttp.Config{
			Policy: newPriority(t, policy.TopologyConfig{Seed: 1}), Members: list,
			Quarantine: noQuarantine, Health: poisehttp.HealthConfig{Circuit: circuits()},
		})
		calls := func() int64 { return first[0].calls.Load() + first[1].calls.Load() }
		serve := func(n int) (tried, spilled int64) {
			t.Helper()
			atFirst, atSecond := calls(), second.calls.Load()
			for range n {
				if status, err := get(t, b); status != 200 {
					t.Fatal(status, err)
				}
				synctest.Wait()
			}
			return calls() - atFirst, second.calls.Load() - atSecond
		}
		first[0].falls("fails")
		first[1].falls("fails")
		serve(10)
		for round := range 3 {
			requireReason(t, b, "a", poise.ExcludedCircuitOpen)
			requireReason(t, b, "b", poise.ExcludedCircuitOpen)
			if tried, spilled := serve(20); tried != 0 || spilled != 20 {
				t.Fatalf("round %d: while they are open, %d and %d calls", round, tried, spilled)
			}
			pass(10 * time.Second)
			requireReason(t, b, "a", poise.NotExcluded) // though nobody has called
			requireReason(t, b, "b", poise.NotExcluded)
			if tried, _ := serve(10); tried != 2 {
				t.Fatalf("round %d: they were tried %d times", round, tried)
			}
		}
		first[0].recovers()
		first[1].recovers()
		pass(10 * time.Second)
		if tried, spilled := serve(50); tried != 50 || spilled != 0 {
			t.Errorf("after they have recovered, %d and %d calls", tried, spilled)
		}
	})
}

// A circuit that opened in a priority which has no traffic now is tried by the first
// calls that fail over to it, and by no more of them than there are trials.
func TestBalancer_FailsOverToAPriorityThatWasNeverTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		above, spare, last := answering(200), newGate(), answering(200)
		list := members(above, spare, last)
		list[1].Priority, list[2].Priority = 1, 2
		b := newBalancer(t, poisehttp.Config{
			Policy: newPriority(t, policy.TopologyConfig{Seed: 1}), Members: list,
			Quarantine: noQuarantine, Health: poisehttp.HealthConfig{Circuit: circuits()},
		})
		_ = b.ForceCircuit("b", health.Open)
		for range 30 { // much longer than its time: nobody calls, and nothing happens
			pass(10 * time.Second)
			if _, err := get(t, b); err != nil {
				t.Fatal(err)
			}
		}
		if s := state(t, b, "b"); s.Reason != poise.NotExcluded || s.Circuit.Mode != health.Open || s.Circuit.RetryAfter != 0 || spare.calls.Load() != 0 {
			t.Fatalf("the spare one is %+v after %d calls", s, spare.calls.Load())
		}
		_ = b.SetStatus("a", poise.Unavailable)
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				if status, err := get(t, b); status != 200 {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if spare.inside.Load() != 1 || last.calls.Load() != 19 {
			t.Errorf("%d calls try the spare one, %d went below it", spare.inside.Load(), last.calls.Load())
		}
		close(spare.open)
		group.Wait()
		synctest.Wait()
		for range 10 {
			if _, err := get(t, b); err != nil {
				t.Fatal(err)
			}
		}
		if spare.calls.Load() != 11 {
			t.Errorf("the spare one got %d calls", spare.calls.Load())
		}
	})
}

// A panic uses whom probes find unhealthy: then no endpoint is out for good, however
// many probes fail. Circuits refuse even so, and say until when.
func TestBalancer_PanicsWithUnhealthyEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := []*patient{newPatient(), newPatient()}
		b := newBalancer(t, poisehttp.Config{
			Policy: newPriority(t, policy.TopologyConfig{Seed: 1}), Quarantine: noQuarantine,
			Health: poisehttp.HealthConfig{Probes: probing(), Circuit: circuits()},
		}, list[0], list[1])
		for i, p := range list {
			p.falls("")
			_ = b.ForceCondition(string(rune('a'+i)), health.Unhealthy)
		}
		requireReason(t, b, "a", poise.ExcludedUnhealthy)
		if status, err := get(t, b); status != 200 {
			t.Errorf("in a panic a call ended with %v", err)
		}
		_, _ = b.ForceCircuit("a", health.Open), b.ForceCircuit("b", health.Open)
		_, err := get(t, b)
		requireCallError(t, err)
		if list[0].calls.Load()+list[1].calls.Load() != 1 {
			t.Error("an open circuit let a call through")
		}
	})
}

// Priorities and localities stay what they are under every health signal, over
// members that come from a directory.
//
// Claim: No health signal brings back or hides an endpoint that is draining or unavailable.
//
// Cases: G6, B47.
func TestBalancer_ChecksADiscoveredPoolOfPrioritiesAndLocalities(t *testing.T) {
	locality, err := policy.NewLocality(policy.TopologyConfig{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]poise.Policy{"Priority": newPriority(t, policy.TopologyConfig{Seed: 1}), "Locality": locality} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { discoveredPool(t, p) })
		})
	}
}

func discoveredPool(t *testing.T, p poise.Policy) {
	d, err := discovery.New(discovery.Config[uint32]{Equal: func(a, b uint32) bool { return a == b }})
	if err != nil {
		t.Fatal(err)
	}
	session, err := d.Open("test")
	if err != nil {
		t.Fatal(err)
	}
	pool := map[string]*patient{}
	members, err := poisehttp.NewMembership(poisehttp.MembershipConfig[uint32]{
		Directory: d,
		Connect: func(m discovery.Member[uint32]) (poisehttp.Endpoint, error) {
			pool[m.ID] = newPatient()
			return pool[m.ID], nil
		},
		Describe: func(m discovery.Member[uint32]) (poisehttp.Member, error) {
			return poisehttp.Member{Priority: m.Value, Locality: m.ID[:4]}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	b := newBalancer(t, poisehttp.Config{
		Policy: p, Membership: members, Quarantine: noQuarantine, Members: nil,
		Health: poisehttp.HealthConfig{Probes: probing(), Circuit: circuits(), Outliers: outliers()},
	})
	apply := func(changes ...discovery.Change[uint32]) {
		t.Helper()
		if _, err := session.Apply(changes...); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
	}
	apply(discovery.Change[uint32]{ID: "east1", Value: 0}, discovery.Change[uint32]{ID: "west1", Value: 0},
		discovery.Change[uint32]{ID: "east2", Value: 1})
	went := func() map[string]int64 {
		t.Helper()
		before := map[string]int64{}
		for id, p := range pool {
			before[id] = p.calls.Load()
		}
		for range 40 {
			if status, err := get(t, b); status != 200 {
				t.Fatal(err)
			}
		}
		for id, p := range pool {
			before[id] = p.calls.Load() - before[id]
		}
		return before
	}
	if got := went(); got["east1"] == 0 || got["west1"] == 0 || got["east2"] != 0 {
		t.Errorf("all well, the calls went to %v", got)
	}
	pool["east1"].falls("hangs")
	pool["west1"].falls("fails")
	pass(5 * time.Second) // probes time out, and fail
	requireReason(t, b, "east1", poise.ExcludedUnhealthy)
	requireReason(t, b, "west1", poise.ExcludedUnhealthy)
	if got := went(); got["east2"] != 40 {
		t.Errorf("with an unhealthy priority the calls went to %v", got)
	}
	sick := pool["east1"]
	_ = b.SetStatus("west1", poise.Draining)
	requireReason(t, b, "west1", poise.ExcludedDraining)
	apply(discovery.Change[uint32]{ID: "east1", Value: 0})
	requireReason(t, b, "east1", poise.ExcludedUnhealthy) // a source that says the same changes nothing
	apply(discovery.Change[uint32]{Op: discovery.Replace, ID: "east1", Value: 0})
	requireReason(t, b, "east1", poise.NotExcluded)
	if pool["east1"] == sick || sick.closed.Load() != 1 || sick.inside.Load() != 0 {
		t.Error("who was replaced is probed or open still")
	}
	if got := went(); got["east1"] != 40 || got["west1"] != 0 {
		t.Errorf("after a replacement the calls went to %v", got)
	}
}

// The whole over real servers: the failing and the hanging one are left out, and come
// back when they recover.
//
// Claim: An endpoint that its probes find unhealthy is left out until they find it healthy.
func TestBalancer_ProbesRealServers(t *testing.T) {
	var ill atomic.Pointer[string]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch illness := ill.Load(); {
		case illness == nil:
			_, _ = w.Write([]byte("served"))
		case *illness == "fails":
			http.Error(w, "no", http.StatusServiceUnavailable)
		default:
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	changes := make(chan poisehttp.EndpointState, 100)
	b := newBalancer(t, poisehttp.Config{
		ObserveState: func(s poisehttp.EndpointState) { changes <- s },
		Health: poisehttp.HealthConfig{Probes: &poisehttp.ProbesConfig{
			Probe: func(m poisehttp.Member) (func(context.Context) error, error) {
				if m.ID != "a" {
					return nil, nil
				}
				p, err := health.NewHTTPProbe(health.HTTPProbeConfig{URL: "http://service.example.com/healthz", Transport: m.Endpoint})
				if err != nil {
					return nil, err
				}
				return p.Probe, nil
			},
			Active:  health.ActiveHealthConfig{Interval: 10 * time.Millisecond, HealthyThreshold: 1, UnhealthyThreshold: 2},
			Timeout: 200 * time.Millisecond,
		}},
	}, endpointTo(t, server.Listener.Addr().String()), serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("served")) }))
	for _, illness := range []string{"fails", "hangs"} {
		ill.Store(&illness)
		if s := <-changes; s.ID != "a" || s.Reason != poise.ExcludedUnhealthy || s.ProbeErr == nil {
			t.Fatalf("%s: %+v", illness, s)
		}
		for range 10 {
			if status, err := get(t, b); status != 200 {
				t.Fatal(err)
			}
		}
		ill.Store(nil)
		if s := <-changes; s.ID != "a" || s.Reason != poise.NotExcluded || s.Condition != health.Healthy {
			t.Fatalf("%s: %+v", illness, s)
		}
	}
}
