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

func TestTransport_GivesEachAttemptItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events record
		// Where more than a third of the endpoints are silent, nothing is repeated after silence.
		b := newTransport(t, poisehttp.Config{AttemptTimeout: time.Second, Observe: events.observe},
			hanging(), hanging(), answering(200), answering(200), answering(200), answering(200), answering(200))
		began := time.Now()
		if status, err := get(t, b); status != 200 {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("two hangs took %v", took)
		}
		if got := strings.Join(events.all(), "; "); got != "a#1 silent, retried; b#2 silent, retried; c#3 success" {
			t.Errorf("the observer was told %s", got)
		}
		for _, e := range events.events[:2] {
			if e.Header != time.Second || e.Total != time.Second || !errors.Is(e.Result.Err, poisehttp.ErrAttemptTimeout) || e.Status != 0 {
				t.Errorf("the observer was told %+v", e)
			}
		}
	})
}

func TestTransport_DeliversAResponseThatComesWithTheCancellation(t *testing.T) {
	ctx, cancel := contextWithCancel(t)
	b := newTransport(t, poisehttp.Config{}, &fake{answer: func(*http.Request) (*http.Response, error) {
		cancel()
		return reply(200, "served"), nil
	}})
	if status, err := do(b, newRequest(t, http.MethodGet, nil).WithContext(ctx)); status != 200 || err != nil {
		t.Errorf("got %d, %v", status, err)
	}
}

func TestTransport_LetsTheBodyTakeLongerThanTheAttemptTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var during error
		b := newTransport(t, poisehttp.Config{AttemptTimeout: time.Second}, &fake{answer: func(req *http.Request) (*http.Response, error) {
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
func TestTransport_EndsTheContextOfAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ctx context.Context
		b := newTransport(t, poisehttp.Config{AttemptTimeout: time.Second}, &fake{answer: func(req *http.Request) (*http.Response, error) {
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

func TestTransport_RefusesAResponseThatComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := &source{Reader: strings.NewReader("late")}
		b := newTransport(t, poisehttp.Config{AttemptTimeout: time.Second, Loop: loop(attempts(1))}, &fake{answer: func(*http.Request) (*http.Response, error) {
			<-time.After(2 * time.Second)
			return &http.Response{StatusCode: 200, Body: body}, nil
		}})
		if _, err := get(t, b); !errors.Is(err, poisehttp.ErrAttemptTimeout) || body.closes.Load() != 1 {
			t.Errorf("got %v; the body was closed %d times", err, body.closes.Load())
		}
	})
}

// Claim: An endpoint that is silent when a deadline of the caller's ends has that held against it.
//
// Cases: B21, B109.
func TestTransport_TakesACallersDeadlineForSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events record
		b := newTransport(t, poisehttp.Config{AttemptTimeout: time.Second, Observe: events.observe}, hanging())
		for _, deadline := range []time.Duration{time.Second / 2, time.Second - 1} {
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			_, err := do(b, newRequest(t, http.MethodGet, nil).WithContext(ctx))
			if failure := requireCallError(t, err); !errors.Is(err, context.DeadlineExceeded) || !failure.Timeout() || len(failure.Attempts) != 1 {
				t.Errorf("got %v", err)
			}
			cancel()
		}
		if got := strings.Join(events.all(), "; "); got != "a#1 silent; a#1 silent" {
			t.Errorf("the observer was told %s", got)
		}
	})
}

// Many calls, changes and cancellations at once, on endpoints that fail now and
// then.
//
// Claim: A Transport closes an Endpoint once, after it was removed and its last call has ended.
//
// Claim: A call holds its slot until the end or close of the response body, an error or a panic, or a moment after its caller has left.
//
// Cases: B14, B15, B30, B44.
func TestTransport_HoldsUnderStress(t *testing.T) {
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
	b := newTransport(t, poisehttp.Config{
		Loop: loop(by(new(policy.LeastLoaded)), budget(1000, 1000)), Members: list, AttemptTimeout: 2 * time.Millisecond,
		Observe: func(poisehttp.Event) { told.Add(1) },
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
