package poisehttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// outliers ejects who fails five times in a row, for 10 s at first.
func outliers() *health.OutlierControllerConfig {
	return &health.OutlierControllerConfig{BaseTime: 10 * time.Second, Jitter: 1, Interval: time.Second}
}

// Claim: An endpoint that is an outlier is left out until its ejection is over.
func TestBalancer_EjectsOutliersForATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient()
		b := newBalancer(t, poisehttp.Config{
			Quarantine: noQuarantine, Health: poisehttp.HealthConfig{Outliers: outliers()}, Attempts: 1,
		}, p, answering(200), answering(200), answering(200))
		for round := range 2 {
			p.falls("fails")
			calls := p.calls.Load()
			for p.calls.Load() < calls+5 {
				_, _ = get(t, b)
			}
			synctest.Wait()
			requireReason(t, b, "a", poise.ExcludedOutlier)
			length := time.Duration(round+1) * 10 * time.Second
			s := state(t, b, "a").Ejection
			if s.Cause != health.LocalFailuresInRow || s.Left < length || s.Left > length+1 {
				t.Fatalf("round %d: %+v", round, s)
			}
			pass(length - 1)
			for range 20 {
				if status, err := get(t, b); status != 200 {
					t.Fatal(err)
				}
			}
			if p.calls.Load() != calls+5 {
				t.Fatal("it got a call while it was ejected")
			}
			p.recovers()
			pass(2)
			requireReason(t, b, "a", poise.NotExcluded)
			if s := state(t, b, "a").Ejection; s != (poisehttp.Ejection{}) {
				t.Fatalf("back, it is %+v", s)
			}
			for range 4 {
				if status, err := get(t, b); status != 200 {
					t.Fatal(err)
				}
			}
			if p.calls.Load() != calls+6 {
				t.Fatal("back, it gets no calls")
			}
		}
	})
}

// An endpoint that does worse than the others without failing in a row is found by
// the rates of an interval.
func TestBalancer_EjectsWhoFailsTooOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := outliers()
		cfg.Detector = health.OutlierConfig{MinimumSamples: 20}
		n := 0
		flapping := &fake{answer: func(*http.Request) (*http.Response, error) {
			if n++; n%2 == 0 {
				return reply(500, ""), nil
			}
			return reply(200, ""), nil
		}}
		b := newBalancer(t, poisehttp.Config{
			Quarantine: noQuarantine, Health: poisehttp.HealthConfig{Outliers: cfg}, Attempts: 1,
		}, flapping, answering(200), answering(200), answering(200), answering(200), answering(200))
		for range 600 {
			pass(5 * time.Millisecond)
			if _, err := get(t, b); err != nil {
				t.Fatal(err)
			}
		}
		requireReason(t, b, "a", poise.ExcludedOutlier)
		if s := state(t, b, "a").Ejection; s.Cause != health.SuccessRate || s.Rate < 0.4 || s.Rate > 0.6 {
			t.Errorf("it is %+v", s)
		}
	})
}

// Quarantine and outlier detection have a cap each, but MinimumHealthy looks at
// both: whoever is set aside does not serve, so that an ejection gives way.
//
// Cases: B31.
func TestBalancer_ReadmitsAnOutlierBeforeNobodyServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := []*patient{newPatient(), newPatient()}
		b := newBalancer(t, poisehttp.Config{
			Attempts: 1, Health: poisehttp.HealthConfig{Outliers: outliers()},
			Quarantine: poisehttp.QuarantineConfig{Failures: 100, Backoff: time.Hour, MaxBackoff: time.Hour},
		}, list[0], list[1])
		list[0].falls("fails")
		for list[0].calls.Load() < 5 {
			_, _ = get(t, b)
		}
		synctest.Wait()
		requireReason(t, b, "a", poise.ExcludedOutlier)
		list[1].falls("fails")
		for list[1].calls.Load() < 200 && state(t, b, "b").Reason == poise.NotExcluded {
			_, _ = get(t, b)
			synctest.Wait()
			if state(t, b, "a").Reason != poise.NotExcluded && state(t, b, "b").Reason != poise.NotExcluded {
				t.Fatal("nobody serves")
			}
		}
		if got := state(t, b, "b").Reason; got == poise.NotExcluded {
			t.Error("the other one was never left out")
		}
		requireReason(t, b, "a", poise.NotExcluded)
	})
}

// Claim: No health signal brings back or hides an endpoint that is draining or unavailable.
//
// Cases: G6.
func TestBalancer_NamesOneReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient()
		b := newBalancer(t, poisehttp.Config{
			Attempts: 1, Quarantine: poisehttp.QuarantineConfig{Failures: 5, Backoff: time.Hour, MaxBackoff: time.Hour},
			Health: poisehttp.HealthConfig{Probes: probing(), Outliers: outliers(), Circuit: &health.CircuitConfig{Failures: 5, OpenFor: 2 * time.Hour, MaxOpenFor: 2 * time.Hour}},
		}, p, answering(200), answering(200))
		pass(2500 * time.Millisecond)
		p.falls("fails")
		for p.calls.Load() < 5 { // circuit, outlier and quarantine at once
			_, _ = get(t, b)
		}
		synctest.Wait()
		requireReason(t, b, "a", poise.ExcludedCircuitOpen)
		pass(2 * time.Second)
		requireReason(t, b, "a", poise.ExcludedUnhealthy)
		for _, said := range []struct {
			status poise.Status
			want   poise.Reason
		}{
			{poise.Draining, poise.ExcludedDraining},
			{poise.Unavailable, poise.ExcludedUnavailable},
		} {
			_ = b.SetStatus("a", said.status)
			_ = b.SetStatus("b", said.status)
			requireReason(t, b, "a", said.want) // not hidden
			requireReason(t, b, "b", said.want)
			_ = b.ForceCircuit("a", health.Closed)
			_ = b.ForceCondition("a", health.Healthy)
			requireReason(t, b, "a", said.want) // nor undone
			_ = b.ForceCondition("a", health.Unhealthy)
			_ = b.ForceCircuit("a", health.Open)
			requireReason(t, b, "a", said.want)
		}
		_ = b.SetStatus("a", poise.Ready)
		_ = b.SetStatus("b", poise.Ready)
		requireReason(t, b, "a", poise.ExcludedUnhealthy)
		_ = b.ForceCondition("a", health.Healthy)
		requireReason(t, b, "a", poise.ExcludedCircuitOpen)
		_ = b.ForceCircuit("a", health.Closed)
		if got := state(t, b, "a"); got.Reason != poise.ExcludedOutlier && got.Reason != poise.ExcludedEjected {
			t.Fatalf("it is %s", got.Reason)
		}
		if s := state(t, b, "a").Ejection; s.Cause == health.NoOutlier {
			// Whoever cannot serve for another reason is no outlier.
			requireReason(t, b, "a", poise.ExcludedEjected)
		}
	})
}

// Claim: An endpoint that stays in the list keeps its health, and a new incarnation starts without any.
//
// Cases: B47.
func TestBalancer_KeepsHealthWithTheIncarnation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, other := newPatient(), answering(200)
		asked := 0
		probes := probing()
		probe := probes.Probe
		probes.Probe = func(m poisehttp.Member) (func(context.Context) error, error) {
			asked++
			return probe(m)
		}
		b := newBalancer(t, poisehttp.Config{
			Quarantine: noQuarantine, Attempts: 1,
			Health: poisehttp.HealthConfig{Probes: probes, Circuit: circuits(), Outliers: outliers(), Window: &health.OutcomeWindowConfig{}},
		}, p, other)
		pass(1500 * time.Millisecond)
		for range 2 {
			_, _ = get(t, b)
		}
		resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil)) // stays open
		if err != nil {
			t.Fatal(err)
		}
		p.falls("fails")
		_ = b.ForceCircuit("a", health.Open)
		_ = b.ForceCondition("a", health.Unhealthy)
		before := state(t, b, "a")
		list := members(p, other)
		list[0].Priority, list[1].Weight = 1, poise.Weight{}
		if err := b.Update(list); err != nil {
			t.Fatal(err)
		}
		after := state(t, b, "a")
		if after != before || after.Circuit.Mode != health.Open || after.Condition != health.Unhealthy || after.Outcomes.Successes != 1 {
			t.Errorf("it was %+v, and is %+v", before, after)
		}
		if asked != 2 {
			t.Errorf("a probe was asked for %d times", asked)
		}
		fresh := newPatient()
		if err := b.Update(members(fresh, other)); err != nil {
			t.Fatal(err)
		}
		if s := state(t, b, "a"); s.Reason != poise.NotExcluded || s.Circuit != (health.CircuitState{}) || s.Condition != health.Unknown || s.Outcomes.Samples() != 0 {
			t.Errorf("the new one is %+v", s)
		}
		synctest.Wait()
		probed := p.probes.Load()
		_ = resp.Body.Close()
		pass(5 * time.Second)
		if p.probes.Load() != probed || fresh.probes.Load() < 5 || p.closed.Load() != 1 {
			t.Errorf("the old one was probed %d more times and closed %d times, the new one probed %d times",
				p.probes.Load()-probed, p.closed.Load(), fresh.probes.Load())
		}
		if s := state(t, b, "a"); s.Condition != health.Healthy || s.Outcomes.Samples() != 0 {
			t.Errorf("the new one is %+v", s)
		}
	})
}

// Claim: Probes of an endpoint end when it leaves and when the Balancer is closed.
//
// Claim: An Endpoint is not closed while a probe of it runs that honours its context.
//
// Cases: B30.
func TestBalancer_EndsItsProbes(t *testing.T) {
	for name, end := range map[string]func(*poisehttp.Balancer) error{
		"Close":  (*poisehttp.Balancer).Close,
		"Update": func(b *poisehttp.Balancer) error { return b.Update(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPatient()
				p.falls("hangs")
				b := newBalancer(t, poisehttp.Config{Health: poisehttp.HealthConfig{Probes: probing()}}, p)
				synctest.Wait()
				if p.inside.Load() != 1 {
					t.Fatal("no probe runs")
				}
				if err := end(b); err != nil {
					t.Fatal(err)
				}
				if name == "Close" && p.inside.Load() != 0 {
					t.Error("Close has not waited")
				}
				synctest.Wait()
				if p.inside.Load() != 0 || p.closed.Load() != 1 || p.during.Load() != 0 {
					t.Errorf("%d probes run; it was closed %d times, during %d", p.inside.Load(), p.closed.Load(), p.during.Load())
				}
				probes := p.probes.Load()
				pass(time.Minute)
				if p.probes.Load() != probes {
					t.Error("it is probed on")
				}
			})
		})
	}
}

// A probe may call the Balancer, and an endpoint that is closed after its last probe
// may close it: neither waits for itself.
//
// Cases: B24.
func TestBalancer_LetsProbesCallIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a deadlock fails the bubble
		var b *poisehttp.Balancer
		probes := probing()
		ready := make(chan struct{})
		probes.Probe = func(poisehttp.Member) (func(context.Context) error, error) {
			return func(context.Context) error {
				<-ready
				_ = b.Endpoints()
				_ = b.ForceCondition("a", health.Healthy)
				return b.Close()
			}, nil
		}
		b = newBalancer(t, poisehttp.Config{Health: poisehttp.HealthConfig{Probes: probes}}, answering(200), answering(200))
		close(ready)
		pass(time.Second)
		if err := b.Update(nil); err != poisehttp.ErrClosed {
			t.Errorf("got %v", err)
		}
	})
}

// A probe that ignores its context holds Close up for no longer than its Timeout.
func TestBalancer_ClosesInSpiteOfAProbeThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := make(chan struct{})
		defer close(never)
		probes := probing()
		probes.Probe = func(poisehttp.Member) (func(context.Context) error, error) {
			return func(context.Context) error { <-never; return nil }, nil
		}
		b := newBalancer(t, poisehttp.Config{Health: poisehttp.HealthConfig{Probes: probes}}, answering(200))
		synctest.Wait()
		began := time.Now()
		_ = b.Close()
		if took := time.Since(began); took > probes.Timeout {
			t.Errorf("Close took %v", took)
		}
	})
}

// Probes are asked for under no lock: who changes the members meanwhile is heard,
// and whoever is new by that is asked for as well.
func TestBalancer_AsksForProbesUnderNoLock(t *testing.T) {
	var b *poisehttp.Balancer
	a, c := newPatient(), newPatient()
	var asked []string
	probes := probing()
	probe := probes.Probe
	probes.Probe = func(m poisehttp.Member) (func(context.Context) error, error) {
		asked = append(asked, m.ID)
		if m.ID == "c" && len(asked) == 2 {
			if err := b.Update(nil); err != nil { // so that a is new as well
				return nil, err
			}
			return probe(m)
		}
		return probe(m)
	}
	b = newBalancer(t, poisehttp.Config{Health: poisehttp.HealthConfig{Probes: probes}}, a)
	first := state(t, b, "a").Incarnation
	next := newPatient()
	if err := b.Update([]poisehttp.Member{{ID: "a", Endpoint: next}}); err != nil {
		t.Fatal(err)
	}
	if second := state(t, b, "a").Incarnation; second == first {
		t.Fatal("a new endpoint is the old incarnation")
	}
	asked = []string{"a"}
	err := b.Update([]poisehttp.Member{{ID: "a", Endpoint: next}, {ID: "c", Endpoint: c}})
	// What Update has taken out may not have been closed yet: both answers are right.
	if err != nil && !errors.Is(err, poisehttp.ErrSharedEndpoint) {
		t.Fatal(err)
	}
	if err == nil {
		if got := strings.Join(asked, ""); got != "acac" && got != "aca" {
			t.Errorf("it was asked about %s", got)
		}
	}
}

// A probe that cannot be made refuses its list, or its snapshot, and names itself.
func TestBalancer_RefusesAMemberWithoutAProbe(t *testing.T) {
	for name, probe := range map[string]func(poisehttp.Member) (func(context.Context) error, error){
		"error": func(poisehttp.Member) (func(context.Context) error, error) { return nil, errBroken },
		"panic": func(poisehttp.Member) (func(context.Context) error, error) { panic(errBroken) },
	} {
		probes := probing()
		good := probes.Probe
		probes.Probe = func(m poisehttp.Member) (func(context.Context) error, error) {
			if m.ID == "b" {
				return probe(m)
			}
			return good(m)
		}
		b := newBalancer(t, poisehttp.Config{Health: poisehttp.HealthConfig{Probes: probes}}, newPatient())
		err := b.Update(members(newPatient(), newPatient()))
		var refused *poise.FieldError
		if !errors.As(err, &refused) || refused.Field != "Health.Probes.Probe" || refused.Value != "b" {
			t.Errorf("%s: got %v", name, err)
		}
		if want := map[string]error{"error": errBroken, "panic": poisehttp.ErrMemberPanic}[name]; !errors.Is(err, want) {
			t.Errorf("%s: got %v", name, err)
		}
		if len(b.Endpoints()) != 1 {
			t.Errorf("%s: something has changed", name)
		}
	}
}

// Cases: B31.
func TestNew_NamesTheFieldOfHealthThatIsWrong(t *testing.T) {
	probe := probing().Probe
	for _, row := range []struct {
		field string
		cfg   poisehttp.HealthConfig
	}{
		{"Health.Probes.Probe", poisehttp.HealthConfig{Probes: &poisehttp.ProbesConfig{}}},
		{"Health.Probes.Active.Interval", poisehttp.HealthConfig{Probes: &poisehttp.ProbesConfig{Probe: probe, Active: health.ActiveHealthConfig{Interval: -1}}}},
		{"Health.Probes.Timeout", poisehttp.HealthConfig{Probes: &poisehttp.ProbesConfig{Probe: probe, Timeout: time.Minute}}},
		{"Health.Probes.OnTimeout", poisehttp.HealthConfig{Probes: &poisehttp.ProbesConfig{Probe: probe, OnTimeout: 9}}},
		{"Health.Circuit.OpenFor", poisehttp.HealthConfig{Circuit: &health.CircuitConfig{OpenFor: -1}}},
		{"Health.Outliers.Interval", poisehttp.HealthConfig{Outliers: &health.OutlierControllerConfig{Interval: -1}}},
		{"Health.Outliers.Detector.Factor", poisehttp.HealthConfig{Outliers: &health.OutlierControllerConfig{Detector: health.OutlierConfig{Factor: -1}}}},
		{"Health.Window.Capacity", poisehttp.HealthConfig{Window: &health.OutcomeWindowConfig{Capacity: -1}}},
	} {
		_, err := poisehttp.New(poisehttp.Config{Policy: fixed{}, Health: row.cfg})
		var refused *poise.FieldError
		if !errors.As(err, &refused) || refused.Field != row.field {
			t.Errorf("want %s to be refused, got %v", row.field, err)
		}
	}
}

// What the caller changes in its settings afterwards changes nothing.
func TestNew_KeepsACopyOfTheHealthSettings(t *testing.T) {
	cfg := poisehttp.HealthConfig{Probes: probing(), Circuit: circuits(), Window: &health.OutcomeWindowConfig{}, Outliers: outliers()}
	b := newBalancer(t, poisehttp.Config{Health: cfg}, newPatient())
	*cfg.Probes, *cfg.Circuit, *cfg.Window, *cfg.Outliers = poisehttp.ProbesConfig{}, health.CircuitConfig{Failures: -1}, health.OutcomeWindowConfig{Capacity: -1}, health.OutlierControllerConfig{Interval: -1}
	if err := b.Update(members(newPatient())); err != nil {
		t.Fatal(err)
	}
	if status, err := get(t, b); status != 200 {
		t.Fatal(err)
	}
}

func TestBalancer_RefusesToForceWhatIsNotThere(t *testing.T) {
	off := newBalancer(t, poisehttp.Config{}, answering(200))
	on := newBalancer(t, poisehttp.Config{Health: poisehttp.HealthConfig{Circuit: circuits(), Probes: probing()}}, answering(200), newPatient())
	closed := newBalancer(t, poisehttp.Config{}, answering(200))
	_ = closed.Close()
	for _, row := range []struct {
		what string
		got  error
		want error
	}{
		{"no circuit", off.ForceCircuit("a", health.Open), poisehttp.ErrNoCircuit},
		{"no probes", off.ForceCondition("a", health.Healthy), poisehttp.ErrNotProbed},
		{"not this one", on.ForceCondition("a", health.Healthy), poisehttp.ErrNotProbed},
		{"nobody", on.ForceCondition("nobody", health.Healthy), poisehttp.ErrUnknownEndpoint},
		{"nobody's circuit", on.ForceCircuit("nobody", health.Open), poisehttp.ErrUnknownEndpoint},
		{"half-open", on.ForceCircuit("a", health.HalfOpen), poisehttp.ErrOutOfRange},
		{"no condition", on.ForceCondition("b", 9), health.ErrOutOfRange},
		{"closed", closed.ForceCircuit("a", health.Open), poisehttp.ErrClosed},
		{"zero", new(poisehttp.Balancer).ForceCircuit("a", health.Open), poisehttp.ErrClosed},
	} {
		if !errors.Is(row.got, row.want) {
			t.Errorf("%s: %v, want %v", row.what, row.got, row.want)
		}
	}
}

// The observer of the circuits may call the Balancer, and a panic of it is nobody's.
//
// Cases: B24.
func TestBalancer_TellsTheObserverOfItsCircuits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b *poisehttp.Balancer
		var told []string
		cfg := circuits()
		cfg.Observer = func(e health.CircuitEvent) {
			told = append(told, fmt.Sprintf("%s by %s", e.To, e.Cause))
			_ = b.Endpoints()
			_ = b.SetStatus("b", poise.Ready)
			panic(errBroken)
		}
		p := newPatient()
		b = newBalancer(t, poisehttp.Config{Quarantine: noQuarantine, Attempts: 1, Health: poisehttp.HealthConfig{Circuit: cfg}}, p, answering(200))
		p.falls("fails")
		for p.calls.Load() < 2 {
			_, _ = get(t, b)
		}
		p.recovers()
		pass(10 * time.Second)
		for p.calls.Load() < 3 {
			_, _ = get(t, b)
		}
		if got := strings.Join(told, ", "); got != "open by failures in a row, half-open by time open is over, closed by trials succeeded" {
			t.Errorf("it was told %s", got)
		}
	})
}

// Claim: A call that its caller cancels says nothing to circuit, outlier detection and window.
//
// Cases: B21.
func TestBalancer_HearsNothingOfACancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient()
		p.falls("hangs")
		b := newBalancer(t, poisehttp.Config{
			Quarantine: noQuarantine, AttemptTimeout: time.Minute,
			Health: poisehttp.HealthConfig{Circuit: circuits(), Outliers: outliers(), Window: &health.OutcomeWindowConfig{}},
		}, p, answering(200), answering(200))
		for range 30 {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_, _ = do(b, newRequest(t, http.MethodGet, nil).WithContext(ctx))
			cancel()
		}
		pass(5 * time.Second)
		s := state(t, b, "a")
		if p.calls.Load() != 10 || s.Reason != poise.NotExcluded || s.Circuit.Failures != 0 || s.Outcomes.Samples() != 0 {
			t.Errorf("after %d cancelled calls it is %+v", p.calls.Load(), s)
		}
		if s := state(t, b, "b").Outcomes; s.Successes != 10 {
			t.Errorf("the window of another one holds %+v", s)
		}
	})
}
