package poisehttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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

// The first probe after a force may undo it, and the View follows that too.
func TestBalancer_LetsProbesUndoAForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		probes := probing()
		probes.Active.HealthyThreshold = 1
		b := newBalancer(t, poisehttp.Config{Health: poisehttp.HealthConfig{Probes: probes}}, newPatient())
		pass(1500 * time.Millisecond)
		for range 3 {
			if err := b.ForceCondition("a", health.Unhealthy); err != nil {
				t.Fatal(err)
			}
			requireReason(t, b, "a", poise.ExcludedUnhealthy) // at once
			pass(time.Second)
			requireReason(t, b, "a", poise.NotExcluded)
		}
	})
}

// A result that arrives after its incarnation has left is nobody's: no observer is
// told of what it would do.
//
// Cases: B47.
func TestBalancer_HearsNothingOfWhoHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := 0
		cfg := circuits()
		cfg.Failures = 1
		cfg.Observer = func(health.CircuitEvent) { events++ }
		g := newGate()
		b := newBalancer(t, poisehttp.Config{Quarantine: noQuarantine, Attempts: 1, AttemptTimeout: time.Second, Health: poisehttp.HealthConfig{Circuit: cfg}}, g)
		ended := make(chan struct{})
		go func() { defer close(ended); _, _ = get(t, b) }()
		synctest.Wait()
		if err := b.Update(members(answering(200))); err != nil {
			t.Fatal(err)
		}
		<-ended // by its timeout, which is a failure
		if events != 0 {
			t.Errorf("%d events", events)
		}
		requireReason(t, b, "a", poise.NotExcluded)
	})
}

// Calls of a circuit that is closed change no View: the Balancer must not compile
// one for each.
func TestBalancer_CompilesNothingWhileNothingChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var prepared atomic.Int64
		p := newPatient()
		b := newBalancer(t, poisehttp.Config{
			Quarantine: noQuarantine, Attempts: 1,
			Health: poisehttp.HealthConfig{Circuit: circuits(), Probes: probing(), Window: new(health.OutcomeWindowConfig)},
			Policy: fixed{func(v *poise.View) (poise.Picker, error) {
				prepared.Add(1)
				return new(policy.RoundRobin).Prepare(v)
			}},
		}, p, answering(200))
		_ = b.ForceCircuit("b", health.Open)
		pass(10 * time.Second) // and it is available again
		_, _ = get(t, b)
		_, _ = get(t, b)
		synctest.Wait()
		before := prepared.Load()
		for i := range 200 {
			if _, err := get(t, b); err != nil {
				t.Fatal(err)
			}
			if i%10 == 0 {
				pass(100 * time.Millisecond) // and probes, which find what is known
			}
		}
		if after := prepared.Load(); after != before {
			t.Errorf("%d views for 200 calls", after-before)
		}
	})
}

// Where a failure came from is told apart by its status.
func TestBalancer_TellsWhereAFailureCameFrom(t *testing.T) {
	for _, row := range []struct {
		answer *fake
		want   health.OutlierCause
	}{
		{answering(502), health.GatewayFailuresInRow},
		{answering(500), health.FailuresInRow},
		{failing(errBroken), health.LocalFailuresInRow},
		{&fake{answer: func(*http.Request) (*http.Response, error) { // which has begun to answer
			return &http.Response{StatusCode: 200, Body: readerBody{readerFunc(func([]byte) (int, error) { return 0, errBroken })}}, nil
		}}, health.FailuresInRow},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBalancer(t, poisehttp.Config{
				Quarantine: noQuarantine, Attempts: 1, Health: poisehttp.HealthConfig{Outliers: outliers()},
			}, row.answer, answering(200), answering(200))
			for row.answer.calls.Load() < 5 {
				_, _ = get(t, b)
			}
			synctest.Wait()
			if got := state(t, b, "a").Ejection.Cause; got != row.want {
				t.Errorf("it is ejected by %s, want %s", got, row.want)
			}
		})
	}
}

type readerBody struct{ readerFunc }

func (readerBody) Close() error { return nil }

// A seed replays when circuits are tried and when probes are sent.
func TestBalancer_ReplaysTheChanceOfHealth(t *testing.T) {
	trace := func(seed uint64) (text string) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			probes := probing()
			probes.Active.Jitter = 99
			probes.Probe = func(m poisehttp.Member) (func(context.Context) error, error) {
				if m.ID != "a" {
					return nil, nil
				}
				return func(context.Context) error {
					text += fmt.Sprintf("%v ", time.Since(began))
					return nil
				}, nil
			}
			b := newBalancer(t, poisehttp.Config{Seed: seed, Health: poisehttp.HealthConfig{Circuit: circuits(), Probes: probes}}, answering(200), answering(200))
			pass(3 * time.Second)
			_ = b.ForceCircuit("a", health.Open)
			text += fmt.Sprint(state(t, b, "a").Circuit.RetryAfter)
		})
		return text
	}
	if a, b := trace(7), trace(7); a != b {
		t.Errorf("one seed gives %s and %s", a, b)
	}
	if a, b := trace(7), trace(8); a == b {
		t.Errorf("two seeds give %s", a)
	}
}

// A member of a directory whose probe cannot be made is refused with its snapshot,
// and what was connected for it is closed.
//
// Claim: What was connected for a snapshot that cannot be taken is closed.
func TestBalancer_ClosesWhoCannotBeProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		probes := probing()
		var refuses atomic.Bool
		refuses.Store(true)
		probes.Probe = func(poisehttp.Member) (func(context.Context) error, error) {
			if refuses.Load() {
				return nil, errBroken
			}
			return nil, nil
		}
		f := follow(t, poisehttp.Config{Health: poisehttp.HealthConfig{Probes: probes}}, discovery.Config[spec]{}, false)
		f.apply(upsert("x", spec{}))
		var refused *poisehttp.MemberError
		if err := f.b.PublishError(); !errors.As(err, &refused) || refused.ID != "x" || !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
		for _, e := range f.net.all() {
			if e.closed.Load() != 1 {
				t.Errorf("who was connected was closed %d times", e.closed.Load())
			}
		}
		refuses.Store(false)
		pass(time.Second)
		f.require("once it can be made", fmt.Sprintf("x/%d eligible; ", f.b.Endpoints()[0].Incarnation), 1)
	})
}
