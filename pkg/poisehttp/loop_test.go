package poisehttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// The tests of this file run in bubbles, whose clock goes on by itself when nobody
// has anything to do.

func contextWithCancel(t testing.TB) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}

// pass lets the time pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// Claim: An endpoint that is set aside gets no new call until its backoff is over, and then comes back by itself.
//
// Cases: B17, B31.
func TestBalancer_SetsAsideAndBringsBackByItself(t *testing.T) {
	for name, chosen := range policies(t) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bad := failing(errBroken)
				b := newBalancer(t, poisehttp.Config{
					Policy: chosen, Attempts: 1,
					Quarantine: poisehttp.QuarantineConfig{MaxAside: 100, Failures: 3, Backoff: time.Second, MaxBackoff: 4 * time.Second},
				}, bad, answering(200))
				for bad.calls.Load() < 3 {
					_, _ = get(t, b)
				}
				for _, backoff := range []time.Duration{1, 2, 4, 4} {
					backoff *= time.Second
					synctest.Wait()
					if got := b.Endpoints()[0].Reason; got != poise.ExcludedEjected {
						t.Fatalf("the endpoint that fails is %s", got)
					}
					calls := bad.calls.Load()
					pass(backoff/2 - 1)
					for range 20 {
						if _, err := get(t, b); err != nil {
							t.Fatal(err)
						}
					}
					if bad.calls.Load() != calls {
						t.Fatal("it got a call while it was set aside")
					}
					pass(backoff/2 + 1)
					if got := b.Endpoints()[0].Reason; got != poise.NotExcluded {
						t.Fatalf("after its backoff of %v it is %s", backoff, got)
					}
					for bad.calls.Load() == calls {
						_, _ = get(t, b)
					}
				}
				pass(4 * time.Second)
				bad.answer = answering(200).answer
				for range 20 {
					if status, err := get(t, b); status != 200 {
						t.Fatalf("it recovered, and a call ended with %v", err)
					}
				}
			})
		})
	}
}

// Claim: An endpoint that is set aside gets no new call until its backoff is over, and then comes back by itself.
func TestBalancer_RefusesAllWhileAllAreSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBalancer(t, poisehttp.Config{Quarantine: poisehttp.QuarantineConfig{MaxAside: 100, Failures: 1}, Attempts: 1}, failing(errBroken), failing(errBroken))
		for range 2 {
			_, _ = get(t, b)
		}
		for _, settle := range []func(){func() {}, synctest.Wait} { // with the picker of before, and with the new one
			settle()
			_, err := get(t, b)
			if failure := requireCallError(t, err); !errors.Is(err, poise.ErrNoEligible) || failure.Attempts != 0 {
				t.Errorf("got %+v", failure)
			}
		}
	})
}

// fastFailure returns the share of 4,000 calls that the one of four endpoints got
// which fails at once, while the others take 10 ms. Sixteen callers make them.
func fastFailure(t *testing.T, chosen poise.Policy, off bool) (share float64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		after := func(d time.Duration, err error) *fake {
			return &fake{answer: func(*http.Request) (*http.Response, error) {
				<-time.After(d)
				return reply(200, ""), err
			}}
		}
		bad := after(100*time.Microsecond, errBroken)
		good := func() *fake { return after(10*time.Millisecond, nil) }
		b := newBalancer(t, poisehttp.Config{
			Policy: chosen, Attempts: 1, Seed: 1, Quarantine: poisehttp.QuarantineConfig{Off: off},
		}, bad, good(), good(), good())
		const callers, calls = 16, 4000
		var left atomic.Int64
		left.Store(calls)
		var group sync.WaitGroup
		for range callers {
			group.Go(func() {
				for left.Add(-1) >= 0 {
					_, _ = get(t, b)
				}
			})
		}
		group.Wait()
		share = float64(bad.calls.Load()) / calls
	})
	return share
}

// Claim: An endpoint that is set aside gets no new call until its backoff is over, and then comes back by itself.
//
// Cases: B17.
func TestBalancer_WithoutQuarantineAFastFailureAttractsTheTraffic(t *testing.T) {
	for name, attracted := range map[string]float64{
		"PowerOfTwoChoices": 0.45, // drawn half of the time, and then found idle
		"LeastLoaded":       0.9,
	} {
		if share := fastFailure(t, policies(t)[name], true); share < attracted {
			t.Errorf("%s without quarantine gives the endpoint that fails %.1f %% of the calls; its part is 25 %%", name, 100*share)
		} else {
			t.Logf("%s without quarantine: %.1f %%", name, 100*share)
		}
		if share := fastFailure(t, policies(t)[name], false); share > 0.02 {
			t.Errorf("%s with quarantine gives the endpoint that fails %.1f %% of the calls", name, 100*share)
		} else {
			t.Logf("%s with quarantine: %.1f %%", name, 100*share)
		}
	}
}

func TestBalancer_GivesEachAttemptItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events record
		b := newBalancer(t, poisehttp.Config{AttemptTimeout: time.Second, Observe: events.observe}, hanging(), hanging(), answering(200))
		began := time.Now()
		if status, err := get(t, b); status != 200 {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("two hangs took %v", took)
		}
		if got := strings.Join(events.all(), "; "); got != "a#1 failure, retried; b#2 failure, retried; c#3 success" {
			t.Errorf("the observer was told %s", got)
		}
		for _, e := range events.events[:2] {
			if e.Header != time.Second || e.Total != time.Second || !errors.Is(e.Err, poisehttp.ErrAttemptTimeout) || e.Status != 0 {
				t.Errorf("the observer was told %+v", e)
			}
		}
	})
}

func TestBalancer_DeliversAResponseThatComesWithTheCancellation(t *testing.T) {
	ctx, cancel := contextWithCancel(t)
	b := newBalancer(t, poisehttp.Config{}, &fake{answer: func(*http.Request) (*http.Response, error) {
		cancel()
		return reply(200, "served"), nil
	}})
	if status, err := do(b, newRequest(t, http.MethodGet, nil).WithContext(ctx)); status != 200 || err != nil {
		t.Errorf("got %d, %v", status, err)
	}
}

func TestBalancer_LetsTheBodyTakeLongerThanTheAttemptTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var during error
		b := newBalancer(t, poisehttp.Config{AttemptTimeout: time.Second}, &fake{answer: func(req *http.Request) (*http.Response, error) {
			<-time.After(time.Second - 1)
			return &http.Response{StatusCode: 200, Body: io.NopCloser(readerFunc(func(p []byte) (int, error) {
				<-time.After(time.Hour)
				during = req.Context().Err()
				return 0, io.EOF
			}))}, nil
		}})
		if status, err := get(t, b); status != 200 || err != nil || during != nil {
			t.Errorf("got %d, %v; the context of the attempt was %v", status, err, during)
		}
	})
}

// The context of an attempt ends with it, so that nothing of it stays behind.
func TestBalancer_EndsTheContextOfAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ctx context.Context
		b := newBalancer(t, poisehttp.Config{AttemptTimeout: time.Second}, &fake{answer: func(req *http.Request) (*http.Response, error) {
			ctx = req.Context()
			return reply(200, "served"), nil
		}})
		resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
		if err != nil || ctx.Err() != nil {
			t.Fatalf("%v; the context is %v before the end", err, ctx.Err())
		}
		_ = resp.Body.Close()
		if ctx.Err() == nil {
			t.Error("the context of the attempt lives on")
		}
	})
}

func TestBalancer_RefusesAResponseThatComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := &source{Reader: strings.NewReader("late")}
		b := newBalancer(t, poisehttp.Config{AttemptTimeout: time.Second, Attempts: 1}, &fake{answer: func(*http.Request) (*http.Response, error) {
			<-time.After(2 * time.Second)
			return &http.Response{StatusCode: 200, Body: body}, nil
		}})
		if _, err := get(t, b); !errors.Is(err, poisehttp.ErrAttemptTimeout) || body.closes.Load() != 1 {
			t.Errorf("got %v; the body was closed %d times", err, body.closes.Load())
		}
	})
}

// Claim: A caller's cancellation and a request body that fails say nothing about the endpoint.
//
// Cases: B21.
func TestBalancer_TakesACallersDeadlineForACancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events record
		b := newBalancer(t, poisehttp.Config{AttemptTimeout: time.Second, Observe: events.observe}, hanging())
		for _, deadline := range []time.Duration{time.Second / 2, time.Second - 1} {
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			_, err := do(b, newRequest(t, http.MethodGet, nil).WithContext(ctx))
			if failure := requireCallError(t, err); !errors.Is(err, context.DeadlineExceeded) || !failure.Timeout() || failure.Attempts != 1 {
				t.Errorf("got %v", err)
			}
			cancel()
		}
		if got := strings.Join(events.all(), "; "); got != "a#1 cancelled; a#1 cancelled" {
			t.Errorf("the observer was told %s", got)
		}
	})
}

// Claim: A health change that cannot be published leaves the last good picker serving, and is tried again.
//
// Cases: B48.
func TestBalancer_ServesAndTriesAgainWhenHealthCannotBePublished(t *testing.T) {
	for name, fail := range map[string]func() error{
		"refusal": func() error { return errBroken },
		"panic":   func() error { panic("oops") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var refuses atomic.Bool
				var prepared atomic.Int64
				bad := failing(errBroken)
				b := newBalancer(t, poisehttp.Config{
					Quarantine: poisehttp.QuarantineConfig{MaxAside: 100, Failures: 1, Backoff: time.Minute, MaxBackoff: time.Minute},
					Policy: fixed{func(v *poise.View) (poise.Picker, error) {
						prepared.Add(1)
						if refuses.Load() {
							return nil, fail()
						}
						return new(policy.RoundRobin).Prepare(v)
					}},
				}, bad, answering(200))
				refuses.Store(true)
				for range 10 {
					if status, err := get(t, b); status != 200 {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				if bad.calls.Load() != 1 {
					t.Errorf("the endpoint that was set aside got %d calls through the last good picker", bad.calls.Load())
				}
				if b.PublishError() == nil {
					t.Error("nothing tells that the change was not published")
				}
				before := prepared.Load()
				pass(3*time.Second + time.Millisecond)
				if tries := prepared.Load() - before; tries != 3 {
					t.Errorf("it was tried again %d times in three seconds", tries)
				}
				refuses.Store(false)
				pass(time.Second)
				if err := b.PublishError(); err != nil || b.Endpoints()[0].Reason != poise.ExcludedEjected {
					t.Errorf("it was not published: %v, %+v", err, b.Endpoints()[0])
				}
				pass(time.Minute)
				if b.Endpoints()[0].Reason != poise.NotExcluded {
					t.Error("it did not come back")
				}
			})
		})
	}
}

// Claim: An endpoint that is set aside gets no new call until its backoff is over, and then comes back by itself.
func TestBalancer_BringsBackOnTimeThoughNothingCanBePublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := failing(errBroken)
		b := newBalancer(t, poisehttp.Config{
			Policy: once(new(policy.RoundRobin)), Attempts: 1,
			Quarantine: poisehttp.QuarantineConfig{MaxAside: 100, Failures: 1, Backoff: 100 * time.Millisecond},
		}, bad)
		_, _ = get(t, b)
		pass(100 * time.Millisecond)
		if _, err := get(t, b); !errors.Is(err, errBroken) || bad.calls.Load() != 2 {
			t.Errorf("got %v after %d calls", err, bad.calls.Load())
		}
	})
}

// Claim: An endpoint that is set aside gets no new call until its backoff is over, and then comes back by itself.
func TestBalancer_BringsEachBackInItsOwnTime(t *testing.T) {
	for _, order := range []string{"short first", "long first"} {
		t.Run(order, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				list := []poisehttp.Member{{ID: "short", Endpoint: failing(errBroken)}, {ID: "long", Endpoint: failing(errBroken)}}
				if order == "long first" {
					list[0], list[1] = list[1], list[0]
				}
				b := newBalancer(t, poisehttp.Config{
					Members: list, Attempts: 1,
					Quarantine: poisehttp.QuarantineConfig{MaxAside: 100, Failures: 1, Backoff: time.Second, MaxBackoff: time.Hour},
				})
				reason := func(id string) poise.Reason {
					for _, state := range b.Endpoints() {
						if state.ID == id {
							return state.Reason
						}
					}
					return poise.ExcludedByUser
				}
				_ = b.SetStatus("short", poise.Unavailable)
				for backoff := time.Second; backoff < 30*time.Second; backoff *= 2 {
					_, _ = get(t, b)
					pass(backoff)
				}
				_, _ = get(t, b) // sets long aside for 16 s or more
				_ = b.SetStatus("short", poise.Ready)
				_, _ = get(t, b)
				synctest.Wait()
				if reason("short") != poise.ExcludedEjected || reason("long") != poise.ExcludedEjected {
					t.Fatalf("%+v", b.Endpoints())
				}
				pass(time.Second)
				if reason("short") != poise.NotExcluded || reason("long") != poise.ExcludedEjected {
					t.Errorf("after one second: %+v", b.Endpoints())
				}
			})
		})
	}
}

func TestBalancer_PreparesOnlyForChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var prepared atomic.Int64
		b := newBalancer(t, poisehttp.Config{Policy: fixed{func(v *poise.View) (poise.Picker, error) {
			prepared.Add(1)
			return new(policy.RoundRobin).Prepare(v)
		}}}, answering(200))
		for range 100 {
			_, _ = get(t, b)
		}
		pass(time.Hour)
		if n := prepared.Load(); n != 1 {
			t.Errorf("prepared %d times, and nothing has changed", n)
		}
	})
}

// Many calls, changes and cancellations at once, on endpoints that fail now and
// then.
//
// Claim: A Balancer closes an Endpoint once, after it was removed and its last call has ended.
//
// Claim: A call holds its slot until the end or close of the response body, an error, a panic, or the caller's cancellation.
//
// Cases: B14, B15, B30, B44.
func TestBalancer_HoldsUnderStress(t *testing.T) {
	const callers, calls = 8, 400
	var everMu sync.Mutex
	var ever []*fake
	newEndpoint := func() *fake {
		e := &fake{}
		e.answer = func(req *http.Request) (*http.Response, error) {
			if e.closed.Load() != 0 {
				t.Error("a closed endpoint got a call")
			}
			switch n := e.calls.Load(); n % 30 {
			case 0, 1:
				return nil, errBroken
			case 2:
				return reply(503, "busy"), nil
			case 3:
				panic(errBroken)
			case 4:
				<-req.Context().Done()
				return nil, req.Context().Err()
			}
			return reply(200, "served"), nil
		}
		everMu.Lock()
		ever = append(ever, e)
		everMu.Unlock()
		return e
	}
	list := make([]poisehttp.Member, 6)
	for i := range list {
		list[i] = poisehttp.Member{ID: string(rune('a' + i)), Endpoint: newEndpoint(), Limit: uint64(i % 3 * 2)}
	}
	var began, told atomic.Int64
	b := newBalancer(t, poisehttp.Config{
		Policy: new(policy.LeastLoaded), Members: list, AttemptTimeout: 2 * time.Millisecond,
		Quarantine:  poisehttp.QuarantineConfig{MaxAside: 100, Failures: 2, Backoff: time.Millisecond, MaxBackoff: 4 * time.Millisecond},
		RetryBudget: poisehttp.RetryBudgetConfig{Percent: 1000, Burst: 1000},
		Observe:     func(poisehttp.Event) { told.Add(1) },
	})
	stop := make(chan struct{})
	var changers, group sync.WaitGroup
	changers.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			slot := i % len(list)
			switch i % 4 {
			case 0:
				list[slot].Endpoint = newEndpoint()
				_ = b.Update(list)
			case 1:
				_ = b.Update(append([]poisehttp.Member(nil), list[1:]...))
				_ = b.Endpoints()
				list[0].Endpoint = newEndpoint()
				_ = b.Update(list)
			case 2:
				_ = b.SetStatus(list[slot].ID, poise.Draining)
				_ = b.SetStatus(list[slot].ID, poise.Ready)
			default:
				<-time.After(100 * time.Microsecond)
			}
		}
	})
	for caller := range callers {
		group.Go(func() {
			for call := range calls {
				func() {
					defer func() { _ = recover() }()
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					req := newRequest(t, http.MethodPut, strings.NewReader("body")).WithContext(ctx)
					began.Add(1)
					resp, err := b.RoundTrip(req)
					if err != nil {
						requireCallError(t, err)
						<-time.After(300 * time.Microsecond) // somebody has to come back
						return
					}
					switch (caller + call) % 3 {
					case 0:
						_, _ = io.Copy(io.Discard, resp.Body)
					case 1:
						cancel() // and forget the body
						return
					}
					_ = resp.Body.Close()
				}()
			}
		})
	}
	group.Wait()
	close(stop)
	changers.Wait()
	// A forgotten body ends on a goroutine of its own.
	for _, state := range b.Endpoints() {
		for inFlight(b, state.ID) != 0 {
			<-time.After(time.Millisecond)
		}
	}
	if err := b.Update(nil); err != nil {
		t.Fatal(err)
	}
	for _, e := range ever {
		for e.closed.Load() == 0 {
			<-time.After(time.Millisecond)
		}
		if n := e.closed.Load(); n != 1 {
			t.Errorf("an endpoint was closed %d times", n)
		}
	}
	if told.Load() < began.Load()/2 {
		t.Errorf("the stress is none: %d attempts for %d calls", told.Load(), began.Load())
	}
	t.Logf("%d calls, %d attempts told, %d endpoints", began.Load(), told.Load(), len(ever))
}
