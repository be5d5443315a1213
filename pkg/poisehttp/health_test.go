package poisehttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// patient is an endpoint that is probed, and whose answers to calls and probes a
// test changes as it goes.
type patient struct {
	fake
	ill    atomic.Pointer[string] // what is wrong with it; nil: nothing
	probes atomic.Int64
	inside atomic.Int64 // probes that run
	during atomic.Int64 // probes that ran when it was closed
}

var errIll = errors.New("ill")

func newPatient() *patient {
	p := new(patient)
	p.answer = func(req *http.Request) (*http.Response, error) {
		switch p.illness() {
		case "fails":
			return nil, errBroken
		case "answers 500":
			return reply(500, "no"), nil
		case "hangs":
			<-req.Context().Done()
			return nil, context.Cause(req.Context())
		}
		return reply(200, "served"), nil
	}
	return p
}

func (p *patient) illness() string {
	if text := p.ill.Load(); text != nil {
		return *text
	}
	return ""
}

func (p *patient) falls(illness string) { p.ill.Store(&illness) }

func (p *patient) recovers() { p.ill.Store(nil) }

func (p *patient) Close() error {
	p.during.Store(p.inside.Load())
	return p.fake.Close()
}

func (p *patient) probe(ctx context.Context) error {
	p.probes.Add(1)
	p.inside.Add(1)
	defer p.inside.Add(-1)
	switch p.illness() {
	case "":
		return nil
	case "hangs":
		<-ctx.Done()
		return ctx.Err()
	case "panics":
		panic(errIll)
	}
	return errIll
}

// probing has a Balancer probe its patients each second.
func probing() *poisehttp.ProbesConfig {
	return &poisehttp.ProbesConfig{
		Probe: func(m poisehttp.Member) (func(context.Context) error, error) {
			if p, ok := m.Endpoint.(*patient); ok {
				return p.probe, nil
			}
			return nil, nil
		},
		Active:  health.ActiveHealthConfig{Interval: time.Second, HealthyThreshold: 2, UnhealthyThreshold: 2, Hold: time.Second},
		Timeout: 200 * time.Millisecond,
	}
}

var noQuarantine = poisehttp.QuarantineConfig{Off: true}

func state(t testing.TB, b *poisehttp.Balancer, id string) poisehttp.EndpointState {
	t.Helper()
	for _, s := range b.Endpoints() {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("there is no endpoint %s", id)
	return poisehttp.EndpointState{}
}

func requireReason(t testing.TB, b *poisehttp.Balancer, id string, want poise.Reason) {
	t.Helper()
	if got := state(t, b, id).Reason; got != want {
		t.Fatalf("%s is %s, want %s", id, got, want)
	}
}

// until lets time pass in steps until the endpoint has the reason.
func until(t testing.TB, b *poisehttp.Balancer, id string, want poise.Reason, step, most time.Duration) (took time.Duration) {
	t.Helper()
	for ; took <= most; took += step {
		synctest.Wait()
		if state(t, b, id).Reason == want {
			return took
		}
		pass(step)
	}
	t.Fatalf("after %v %s is %s, want %s", most, id, state(t, b, id).Reason, want)
	return took
}

// Claim: An endpoint that its probes find unhealthy is left out until they find it healthy.
func TestBalancer_LeavesOutWhomItsProbesFindUnhealthy(t *testing.T) {
	for _, illness := range []string{"fails", "hangs", "panics", "answers 500"} {
		t.Run(illness, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told []string
				p := newPatient()
				b := newBalancer(t, poisehttp.Config{
					Quarantine: noQuarantine, Health: poisehttp.HealthConfig{Probes: probing()},
					ObserveState: func(s poisehttp.EndpointState) {
						told = append(told, fmt.Sprintf("%s %s %s", s.ID, s.Reason, s.Condition))
					},
				}, p, answering(200))
				pass(5 * time.Second)
				if s := state(t, b, "a"); s.Condition != health.Healthy || s.ProbeErr != nil || s.Reason != poise.NotExcluded {
					t.Fatalf("well, it is %+v", s)
				}
				for range 2 {
					p.falls(illness)
					until(t, b, "a", poise.ExcludedUnhealthy, 100*time.Millisecond, 5*time.Second)
					if s := state(t, b, "a"); s.Condition != health.Unhealthy || s.ProbeErr == nil {
						t.Fatalf("ill, it is %+v", s)
					}
					calls := p.calls.Load()
					for range 20 {
						if status, err := get(t, b); status != 200 {
							t.Fatal(err)
						}
					}
					if p.calls.Load() != calls {
						t.Fatal("it gets calls")
					}
					p.recovers()
					until(t, b, "a", poise.NotExcluded, 100*time.Millisecond, 5*time.Second)
					for range 2 {
						_, _ = get(t, b)
					}
					if p.calls.Load() == calls {
						t.Fatal("it gets no calls")
					}
				}
				if got := strings.Join(told, ", "); got != "a unhealthy unhealthy, a eligible healthy, a unhealthy unhealthy, a eligible healthy" {
					t.Errorf("ObserveState was told %s", got)
				}
				if s := state(t, b, "b"); s.Condition != health.Unknown {
					t.Errorf("who is not probed is %+v", s)
				}
			})
		})
	}
}

// An endpoint that flaps between two probes is neither found healthy nor unhealthy
// anew, as long as no two in a row agree.
func TestBalancer_KeepsTheConditionOfWhoFlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient()
		changes := 0
		b := newBalancer(t, poisehttp.Config{
			Health:       poisehttp.HealthConfig{Probes: probing()},
			ObserveState: func(poisehttp.EndpointState) { changes++ },
		}, p, answering(200))
		pass(2500 * time.Millisecond)
		for range 20 {
			p.falls("fails")
			pass(time.Second)
			p.recovers()
			pass(time.Second)
		}
		if s := state(t, b, "a"); changes != 0 || s.Condition != health.Healthy {
			t.Errorf("%d changes; it is %+v", changes, s)
		}
	})
}

func TestBalancer_MayLeaveOutWhomNobodyKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		probes := probing()
		probes.Active.Unknown = health.DenyUnknown
		b := newBalancer(t, poisehttp.Config{Health: poisehttp.HealthConfig{Probes: probes}}, newPatient())
		requireReason(t, b, "a", poise.ExcludedUnhealthy)
		if _, err := get(t, b); !errors.Is(err, poise.ErrNoEligible) {
			t.Errorf("a call ended with %v", err)
		}
		until(t, b, "a", poise.NotExcluded, 100*time.Millisecond, 3*time.Second)
	})
}

// circuits gives each endpoint a circuit that two failures open for 8 to 10 s.
func circuits() *health.CircuitConfig {
	return &health.CircuitConfig{Failures: 2, OpenFor: 10 * time.Second, MaxOpenFor: 10 * time.Second, MaxHold: time.Minute}
}

// Claim: An endpoint whose circuit is open is left out until its time is over, and then gets as many calls at once as there are Trials.
//
// Cases: B18, G19.
func TestBalancer_LeavesOutWhoseCircuitIsOpen(t *testing.T) {
	for _, illness := range []string{"fails", "answers 500", "hangs"} {
		t.Run(illness, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPatient()
				b := newBalancer(t, poisehttp.Config{
					Quarantine: noQuarantine, Health: poisehttp.HealthConfig{Circuit: circuits()}, Attempts: 1, AttemptTimeout: time.Second,
				}, p, answering(200))
				p.falls(illness)
				for p.calls.Load() < 2 {
					_, _ = get(t, b)
				}
				synctest.Wait()
				for round := range 3 {
					requireReason(t, b, "a", poise.ExcludedCircuitOpen)
					s := state(t, b, "a")
					if s.Circuit.Mode != health.Open || s.Circuit.RetryAfter < 5*time.Second || s.Circuit.RetryAfter > 10*time.Second {
						t.Fatalf("round %d: %+v", round, s.Circuit)
					}
					calls := p.calls.Load()
					pass(s.Circuit.RetryAfter - 1)
					for range 10 {
						if status, err := get(t, b); status != 200 {
							t.Fatal(err)
						}
					}
					if p.calls.Load() != calls {
						t.Fatal("it got a call while its circuit was open")
					}
					pass(1)
					requireReason(t, b, "a", poise.NotExcluded) // without anybody asking
					if round == 2 {
						p.recovers()
					}
					for range 2 {
						_, _ = get(t, b)
					}
					synctest.Wait()
					if p.calls.Load() != calls+1 {
						t.Fatalf("it was tried %d times", p.calls.Load()-calls)
					}
				}
				requireReason(t, b, "a", poise.NotExcluded)
				if s := state(t, b, "a"); s.Circuit.Mode != health.Closed {
					t.Errorf("after a trial that succeeded it is %+v", s.Circuit)
				}
			})
		})
	}
}

// gate is an endpoint whose calls wait until it is opened.
type gate struct {
	fake
	open   chan struct{}
	inside atomic.Int64
	most   atomic.Int64
}

func newGate() *gate {
	g := &gate{open: make(chan struct{})}
	g.answer = func(req *http.Request) (*http.Response, error) {
		n := g.inside.Add(1)
		defer g.inside.Add(-1)
		for most := g.most.Load(); n > most && !g.most.CompareAndSwap(most, n); most = g.most.Load() {
		}
		select {
		case <-g.open:
			return reply(200, "served"), nil
		case <-req.Context().Done():
			return nil, context.Cause(req.Context())
		}
	}
	return g
}

// Claim: An endpoint whose circuit is open is left out until its time is over, and then gets as many calls at once as there are Trials.
//
// Claim: A call that a circuit refuses is picked again without that endpoint.
func TestBalancer_TriesAHalfOpenCircuitWithFewCalls(t *testing.T) {
	for _, trials := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			g, other := newGate(), answering(200)
			cfg := circuits()
			cfg.Trials, cfg.Successes = trials, trials
			b := newBalancer(t, poisehttp.Config{Quarantine: noQuarantine, Health: poisehttp.HealthConfig{Circuit: cfg}}, g, other)
			if err := b.ForceCircuit("a", health.Open); err != nil {
				t.Fatal(err)
			}
			requireReason(t, b, "a", poise.ExcludedCircuitOpen)
			pass(10 * time.Second)
			requireReason(t, b, "a", poise.NotExcluded)
			var group sync.WaitGroup
			for range 40 { // all of them at once, on the picker of before
				group.Go(func() {
					if status, err := get(t, b); status != 200 {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
			if inside := g.inside.Load(); inside != int64(trials) || other.calls.Load() != int64(40-trials) {
				t.Errorf("%d trials: %d calls are at it, and %d elsewhere", trials, inside, other.calls.Load())
			}
			requireReason(t, b, "a", poise.ExcludedCircuitOpen) // all trials are out
			close(g.open)
			group.Wait()
			synctest.Wait()
			requireReason(t, b, "a", poise.NotExcluded)
			if s := state(t, b, "a"); s.Circuit.Mode != health.Closed || g.most.Load() != int64(trials) {
				t.Errorf("it is %+v, and had %d at once", s.Circuit, g.most.Load())
			}
		})
	}
}

// A trial that is cancelled causes no transition, and yet the View must follow: room
// for another one is there again.
func TestBalancer_TriesAgainAfterACancelledTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		b := newBalancer(t, poisehttp.Config{Quarantine: noQuarantine, Health: poisehttp.HealthConfig{Circuit: circuits()}}, g)
		_ = b.ForceCircuit("a", health.Open)
		pass(10 * time.Second)
		for range 3 {
			ctx, cancel := contextWithCancel(t)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = do(b, newRequest(t, http.MethodGet, nil).WithContext(ctx))
			}()
			synctest.Wait()
			if _, err := get(t, b); !errors.Is(err, poise.ErrNoEligible) {
				t.Errorf("another call ended with %v", err)
			}
			synctest.Wait() // a call that was refused has the View follow
			requireReason(t, b, "a", poise.ExcludedCircuitOpen)
			cancel()
			<-ended
			synctest.Wait()
			requireReason(t, b, "a", poise.NotExcluded)
			if s := state(t, b, "a"); s.Circuit.Mode != health.HalfOpen || s.Circuit.Trials != 0 {
				t.Fatalf("it is %+v", s.Circuit)
			}
		}
	})
}

// A trial that nobody ends is lost after MaxHold, and the endpoint is tried again.
//
// Cases: G19, B19.
func TestBalancer_TriesAgainAfterALostTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBalancer(t, poisehttp.Config{Quarantine: noQuarantine, Health: poisehttp.HealthConfig{Circuit: circuits()}}, answering(200))
		_ = b.ForceCircuit("a", health.Open)
		pass(10 * time.Second)
		resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil)) // whose body stays open
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		requireReason(t, b, "a", poise.ExcludedCircuitOpen)
		pass(time.Minute - 1)
		requireReason(t, b, "a", poise.ExcludedCircuitOpen)
		pass(1)
		requireReason(t, b, "a", poise.NotExcluded)
		if status, err := get(t, b); status != 200 {
			t.Error(err)
		}
		synctest.Wait()
		if s := state(t, b, "a"); s.Circuit.Mode != health.Closed {
			t.Errorf("it is %+v", s.Circuit)
		}
		_ = resp.Body.Close() // too late: it counts for nothing
	})
}

// Claim: A permit of a circuit is given back on every path on which its call ends.
//
// Cases: G19, B18, B19.
func TestBalancer_GivesEveryPermitBack(t *testing.T) {
	cancelled := func(t *testing.T) *http.Request {
		ctx, cancel := contextWithCancel(t)
		time.AfterFunc(time.Second, cancel)
		return newRequest(t, http.MethodGet, nil).WithContext(ctx)
	}
	for name, path := range map[string]struct {
		answer func(*http.Request) (*http.Response, error)
		call   func(*testing.T, *poisehttp.Balancer)
		mode   health.CircuitMode
	}{
		"success": {mode: health.Closed},
		"error":   {answer: failing(errBroken).answer, mode: health.Open},
		"status":  {answer: answering(500).answer, mode: health.Open},
		"retry":   {answer: answering(502).answer, mode: health.Open},
		"no body": {answer: func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		}, mode: health.Closed},
		"timeout": {answer: hanging().answer, mode: health.Open},
		"panic": {answer: func(*http.Request) (*http.Response, error) { panic(errBroken) }, call: func(t *testing.T, b *poisehttp.Balancer) {
			defer func() { _ = recover() }()
			_, _ = get(t, b)
			t.Error("the panic did not pass through")
		}, mode: health.Open},
		"cancelled before the header": {answer: hanging().answer, call: func(t *testing.T, b *poisehttp.Balancer) {
			_, _ = do(b, cancelled(t))
		}, mode: health.HalfOpen},
		"cancelled in the body": {call: func(t *testing.T, b *poisehttp.Balancer) {
			if _, err := b.RoundTrip(cancelled(t)); err != nil {
				t.Error(err)
			}
			pass(time.Second)
		}, mode: health.HalfOpen},
		"body closed early": {call: func(t *testing.T, b *poisehttp.Balancer) {
			resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			_ = resp.Body.Close()
		}, mode: health.Closed},
		"torn body": {answer: func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(readerFunc(func([]byte) (int, error) { return 0, errBroken }))}, nil
		}, mode: health.Open},
		"upgraded": {answer: func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 101, Body: struct {
				io.Writer
				io.ReadCloser
			}{io.Discard, http.NoBody}}, nil
		}, mode: health.Closed},
		"body that fails": {answer: func(req *http.Request) (*http.Response, error) {
			_, err := io.Copy(io.Discard, req.Body)
			return nil, err
		}, call: func(t *testing.T, b *poisehttp.Balancer) {
			_, _ = do(b, newRequest(t, http.MethodPost, readerFunc(func([]byte) (int, error) { return 0, errBroken })))
		}, mode: health.HalfOpen},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := answering(200)
				if path.answer != nil {
					e.answer = path.answer
				}
				b := newBalancer(t, poisehttp.Config{
					Quarantine: noQuarantine, Health: poisehttp.HealthConfig{Circuit: circuits()}, AttemptTimeout: 5 * time.Second,
				}, e)
				_ = b.ForceCircuit("a", health.Open)
				pass(10 * time.Second)
				if path.call == nil {
					_, _ = get(t, b)
				} else {
					path.call(t, b)
				}
				synctest.Wait()
				if e.calls.Load() != 1 {
					t.Errorf("it was tried %d times", e.calls.Load())
				}
				if s := state(t, b, "a").Circuit; s.Trials != 0 || s.Mode != path.mode {
					t.Errorf("it is %+v, want %s", s, path.mode)
				}
			})
		})
	}
}

// Claim: A permit of a circuit is given back on every path on which its call ends.
func TestBalancer_TakesNoPermitWithoutASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		list := members(g)
		list[0].Limit = 1
		b := newBalancer(t, poisehttp.Config{Members: list, Quarantine: noQuarantine, Health: poisehttp.HealthConfig{Circuit: circuits()}})
		var group sync.WaitGroup
		group.Go(func() { _, _ = get(t, b) })
		synctest.Wait()
		_ = b.ForceCircuit("a", health.Open)
		pass(10 * time.Second)
		if _, err := get(t, b); !errors.Is(err, poise.ErrAtCapacity) {
			t.Errorf("the call ended with %v", err)
		}
		if s := state(t, b, "a"); s.Circuit.Mode != health.Open || s.Circuit.Trials != 0 || s.InFlight != 1 {
			t.Errorf("it is %+v", s)
		}
		close(g.open)
		group.Wait()
	})
}

// A call that everybody refuses says why, and when to come again.
//
// Claim: A call that a circuit refuses is picked again without that endpoint.
func TestBalancer_SaysThatCircuitsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, h := newGate(), newGate()
		var frozen atomic.Bool // the picker that serves learns of no trial
		b := newBalancer(t, poisehttp.Config{
			Quarantine: noQuarantine, Health: poisehttp.HealthConfig{Circuit: circuits()},
			Policy: fixed{func(v *poise.View) (poise.Picker, error) {
				if frozen.Load() {
					return nil, errBroken
				}
				return new(policy.RoundRobin).Prepare(v)
			}},
		}, g, h)
		_, _ = b.ForceCircuit("a", health.Open), b.ForceCircuit("b", health.Open)
		if _, err := get(t, b); !errors.Is(err, poise.ErrNoEligible) {
			t.Errorf("with all circuits open a call ended with %v", err)
		}
		pass(10 * time.Second)
		frozen.Store(true)
		var refused atomic.Int64
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() {
				_, err := get(t, b)
				if err == nil {
					return
				}
				var failure *health.CircuitError
				if !errors.Is(err, poise.ErrNoEligible) {
					t.Error(err)
				}
				if errors.As(err, &failure) && errors.Is(failure, health.ErrTrialsTaken) {
					refused.Add(1)
				}
			})
		}
		synctest.Wait()
		close(g.open)
		close(h.open)
		group.Wait()
		if refused.Load() != 8 {
			t.Errorf("%d were refused by a circuit", refused.Load())
		}
		if g.most.Load() != 1 || h.most.Load() != 1 {
			t.Errorf("%d and %d calls at once", g.most.Load(), h.most.Load())
		}
	})
}
