package poisehttp_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// policies are all policies that need no key, fresh for each test.
func policies(t testing.TB) map[string]poise.Policy {
	t.Helper()
	two := policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: 1})
	random := policy.NewRandom(policy.RandomConfig{Seed: 1})
	return map[string]poise.Policy{
		"RoundRobin": new(policy.RoundRobin), "LeastLoaded": new(policy.LeastLoaded),
		"Random": random, "PowerOfTwoChoices": two,
	}
}

// Claim: A retry goes to an endpoint that was not tried while an eligible one is left, and never to one that answered.
//
// Cases: B49.
func TestTransport_RetriesOnlyWhereItHasNotBeen(t *testing.T) {
	for name, chosen := range policies(t) {
		t.Run(name, func(t *testing.T) {
			var events record
			var endpoints []poisehttp.Endpoint
			for range 5 {
				endpoints = append(endpoints, failing(errBroken))
			}
			b := newTransport(t, poisehttp.Config{
				Loop: loop(by(chosen), off, attempts(5), budget(20, 1000)), Observe: events.observe,
			}, endpoints...)
			for call := range 50 {
				_, err := get(t, b)
				if failure := requireCallError(t, err); len(failure.Attempts) != 5 || !errors.Is(err, errBroken) {
					t.Fatalf("got %+v", failure)
				}
				seen := map[string]bool{}
				for i, e := range events.events[5*call:] {
					if seen[e.Endpoint] || e.Attempt != i+1 || e.Retried != (i < 4) {
						t.Fatalf("call %d went to %v", call, events.all()[5*call:])
					}
					seen[e.Endpoint] = true
				}
			}
		})
	}
}

// Claim: A retry goes to an endpoint that was not tried while an eligible one is left, and never to one that answered.
//
// Cases: B49.
func TestTransport_RetriesTheOnlyEndpointWhenThereIsNoOther(t *testing.T) {
	for name, limit := range map[string]uint64{"without a limit": 0, "with a limit of one": 1} {
		t.Run(name, func(t *testing.T) {
			e := &fake{}
			e.answer = func(*http.Request) (*http.Response, error) {
				if e.calls.Load() < 3 {
					return nil, errBroken
				}
				return reply(200, ""), nil
			}
			b := newTransport(t, poisehttp.Config{Members: []poisehttp.Member{{ID: "a", Endpoint: e, Limit: limit}}})
			if status, err := get(t, b); status != 200 || err != nil || e.calls.Load() != 3 {
				t.Errorf("got %d, %v after %d calls", status, err, e.calls.Load())
			}
		})
	}
}

// Claim: A retry goes to an endpoint that was not tried while an eligible one is left, and never to one that answered.
//
// Cases: B49.
func TestTransport_GoesBackOnlyAfterAnError(t *testing.T) {
	fails := func() (*http.Response, error) { return nil, errBroken }
	busy := func(status int) func() (*http.Response, error) {
		return func() (*http.Response, error) { return reply(status, ""), nil }
	}
	for _, row := range []struct {
		name      string
		endpoints []func() (*http.Response, error)
		went      string
		status    int // 0: an error
	}{
		{"an error of the only one", []func() (*http.Response, error){fails}, "aaaa", 0},
		{"502 of the only one", []func() (*http.Response, error){busy(502)}, "a", 502},
		{"503 of the only one", []func() (*http.Response, error){busy(503)}, "a", 503},
		{"504 of the only one", []func() (*http.Response, error){busy(504)}, "a", 504},
		{"503 of both", []func() (*http.Response, error){busy(503), busy(502)}, "ab", 502},
		{"an error, then 503", []func() (*http.Response, error){fails, busy(503)}, "abaa", 0},
		{"503, then errors", []func() (*http.Response, error){busy(503), fails}, "abbb", 0},
		{"errors of both", []func() (*http.Response, error){fails, fails}, "abab", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			var went strings.Builder
			var list []poisehttp.Endpoint
			for i, answer := range row.endpoints {
				list = append(list, &fake{answer: func(*http.Request) (*http.Response, error) {
					went.WriteByte('a' + byte(i))
					return answer()
				}})
			}
			b := newTransport(t, poisehttp.Config{Loop: loop(off, attempts(4))}, list...)
			status, err := get(t, b)
			if went.String() != row.went || status != row.status || (err == nil) != (status != 0) {
				t.Errorf("it went to %s and ended with %d, %v; want %s and %d", &went, status, err, row.went, row.status)
			}
			if err != nil && len(requireCallError(t, err).Attempts) != len(row.went) {
				t.Errorf("the error counts %d attempts", len(requireCallError(t, err).Attempts))
			}
		})
	}
}

// A call that finds nobody to go to next spends no retry.
func TestTransport_SpendsARetryOnlyToMakeIt(t *testing.T) {
	busy, other := answering(503), answering(503)
	b := newTransport(t, poisehttp.Config{
		Loop: loop(off, budget(1, 3)),
	}, busy)
	for range 20 {
		_, _ = get(t, b)
	}
	if err := b.Update(members(busy, other)); err != nil {
		t.Fatal(err)
	}
	before := busy.calls.Load() + other.calls.Load()
	for range 5 {
		_, _ = get(t, b)
	}
	if n := busy.calls.Load() + other.calls.Load() - before; n != 5+3 {
		t.Errorf("%d attempts for five calls and three retries saved", n)
	}
}

func TestTransport_AttemptsNoMoreThanItMay(t *testing.T) {
	for n, want := range map[int]int64{0: 3, 1: 1, 2: 2, 7: 7} {
		e := failing(errBroken)
		b := newTransport(t, poisehttp.Config{Loop: loop(off, attempts(n))}, e)
		if _, err := get(t, b); err == nil || e.calls.Load() != want {
			t.Errorf("Attempts %d: %d calls", n, e.calls.Load())
		}
	}
}

// Cases: B13.
func TestTransport_PicksAgainWhereAdmissionRefuses(t *testing.T) {
	for name, chosen := range policies(t) {
		t.Run(name, func(t *testing.T) {
			list := members(answering(200), answering(200), answering(200))
			for i := range list {
				list[i].Limit = 2
			}
			b := newTransport(t, poisehttp.Config{Loop: loop(by(chosen)), Members: list})
			var held []*http.Response
			for range 6 {
				resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
				if err != nil {
					t.Fatal(err)
				}
				held = append(held, resp)
			}
			for _, state := range b.Endpoints() {
				if state.InFlight != 2 || state.Limit != 2 {
					t.Errorf("%+v", state)
				}
			}
			_, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
			if failure := requireCallError(t, err); !errors.Is(err, poise.ErrAtCapacity) || len(failure.Attempts) != 0 {
				t.Errorf("all at capacity: got %+v", failure)
			}
			for _, resp := range held {
				_ = resp.Body.Close()
			}
			if status, err := get(t, b); status != 200 {
				t.Errorf("afterwards: got %d, %v", status, err)
			}
		})
	}
}

// A retry that finds everybody tried passes over who refused it in this call.
//
// Claim: A retry goes to an endpoint that was not tried while an eligible one is left, and never to one that answered.
func TestTransport_FallsBackToWhoDidNotRefuse(t *testing.T) {
	first := fixed{func(v *poise.View) (poise.Picker, error) {
		return pickerFunc(func(q poise.Query) (poise.Selection, error) {
			rest := v.Untried(q.Tried)
			if rest.Len() == 0 {
				return poise.Selection{}, poise.ErrAllTried
			}
			return v.Select(rest.At(0))
		}), nil
	}}
	full, other := answering(200), &fake{}
	other.answer = func(*http.Request) (*http.Response, error) {
		if other.calls.Load() == 1 {
			return nil, errBroken
		}
		return reply(200, ""), nil
	}
	b := newTransport(t, poisehttp.Config{
		Loop: loop(by(first)), Members: []poisehttp.Member{{ID: "full", Endpoint: full, Limit: 1}, {ID: "other", Endpoint: other}},
	})
	held, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
	if err != nil {
		t.Fatal(err)
	}
	if status, err := get(t, b); status != 200 || other.calls.Load() != 2 {
		t.Errorf("got %d, %v after %d calls", status, err, other.calls.Load())
	}
	_ = held.Body.Close()
}

// Where a retry finds nobody, what came of the last attempt stands.
func TestTransport_LetsTheLastAnswerStandWhereNobodyElseCan(t *testing.T) {
	b := newTransport(t, poisehttp.Config{Members: []poisehttp.Member{{ID: "a", Endpoint: answering(503), Limit: 1}}})
	resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); resp.StatusCode != 503 || string(body) != "served" || err != nil {
		t.Errorf("got %d %q, %v", resp.StatusCode, body, err)
	}
	_ = resp.Body.Close()
	e := failing(errBroken)
	b = newTransport(t, poisehttp.Config{}, e)
	e.answer = func(*http.Request) (*http.Response, error) {
		_ = b.Close()
		return nil, errBroken
	}
	if _, err := get(t, b); !errors.Is(err, errBroken) || requireCallError(t, err).Endpoint() != "a" {
		t.Errorf("got %v", err)
	}
	if _, err := get(t, b); !errors.Is(err, dispatch.ErrClosed) {
		t.Errorf("after Close: got %v", err)
	}
}

func TestTransport_GoesByTheKey(t *testing.T) {
	rendezvous := policy.NewRendezvous(policy.RendezvousConfig{})
	var events record
	b := newTransport(t, poisehttp.Config{
		Loop: loop(by(rendezvous)), Observe: events.observe,
		Key: func(r *http.Request) poise.Key { return poise.StringKey(r.URL.Path) },
	}, answering(200), answering(200), answering(200), answering(200))
	went := map[string]bool{}
	for range 10 {
		_, _ = get(t, b)
		went[events.last().Endpoint] = true
	}
	if len(went) != 1 {
		t.Errorf("one key went to %v", went)
	}
}

func TestTransport_ExplainsTheCallsThatAreAskedFor(t *testing.T) {
	var events record
	asked := 0
	b := newTransport(t, poisehttp.Config{
		Observe: events.observe,
		Explain: func(*http.Request) bool { asked++; return asked%2 == 1 },
	}, failing(errBroken), answering(200))
	for range 2 {
		_, _ = get(t, b)
	}
	if asked != 2 {
		t.Errorf("Explain was asked %d times for two calls", asked)
	}
	for i, e := range events.events {
		if explained := e.Decision != nil; explained != (i < 2) {
			t.Errorf("event %d is explained: %t", i, explained)
		}
	}
	if text := events.events[1].Decision.String(); !strings.Contains(text, "chose b") || !strings.Contains(text, "1 tried before") {
		t.Errorf("the explanation is %s", text)
	}
}

func TestCallError_BearsTheLastDecision(t *testing.T) {
	explain := false
	cfg := poisehttp.Config{
		Explain: func(*http.Request) bool { return explain },
		Loop:    loop(off),
	}
	b := newTransport(t, cfg, answering(200))
	if err := b.SetStatus("a", poise.Draining); err != nil {
		t.Fatal(err)
	}
	failed := newTransport(t, cfg, failing(errBroken), failing(errBroken))
	malformed := newRequest(t, http.MethodGet, nil)
	malformed.Header = nil
	for _, row := range []struct {
		name     string
		b        *poisehttp.Transport
		req      *http.Request
		contains string // empty: no decision
	}{
		{"refused before it is sent", b, newRequest(t, http.MethodGet, nil), "no eligible candidate"},
		{"failed everywhere", failed, newRequest(t, http.MethodGet, nil), "tried before"},
		{"nothing was picked", b, malformed, ""},
	} {
		for _, explain = range []bool{false, true} {
			_, err := do(row.b, row.req)
			decision := requireCallError(t, err).Decision
			if wanted := explain && row.contains != ""; (decision != nil) != wanted {
				t.Errorf("%s: explained %t, want %t", row.name, !wanted, wanted)
			}
			if decision != nil && !strings.Contains(decision.String(), row.contains) {
				t.Errorf("%s: the explanation is %s", row.name, decision)
			}
		}
	}
}

// Claim: A request that net/http would refuse to send, and one that was cancelled before, is sent nowhere.
func TestTransport_RefusesMalformedRequests(t *testing.T) {
	e := answering(200)
	b := newTransport(t, poisehttp.Config{}, e)
	for _, row := range []struct {
		field string
		spoil func(*http.Request)
	}{
		{"Request.URL", func(r *http.Request) { r.URL = nil }},
		{"Request.URL.Scheme", func(r *http.Request) { r.URL.Scheme = "ftp" }},
		{"Request.URL.Host", func(r *http.Request) { r.URL.Host = "" }},
		{"Request.URL", func(r *http.Request) { r.URL.RawQuery = "secret=\t1" }},
		{"Request.URL", func(r *http.Request) { r.URL.Opaque = "//x/\x7f" }},
		{"Request.Header", func(r *http.Request) { r.Header = nil }},
		{"Request.Header", func(r *http.Request) { r.Header["a b"] = []string{"x"} }},
		{"Request.Header", func(r *http.Request) { r.Header[""] = []string{"x"} }},
		{"Request.Header[Authorization]", func(r *http.Request) { r.Header["authorization"] = []string{"ok", "secret\n"} }},
		{"Request.Header[X]", func(r *http.Request) { r.Trailer = http.Header{"X": {"\x00"}} }},
		{"Request.Trailer", func(r *http.Request) { r.Trailer = http.Header{"content-length": nil} }},
		{"Request.Method", func(r *http.Request) { r.Method = "GET /" }},
		{"Request.ContentLength", func(r *http.Request) { r.ContentLength = 4 }},
	} {
		req := newRequest(t, http.MethodGet, nil)
		row.spoil(req)
		_, err := b.RoundTrip(req)
		requireField(t, err, row.field, poisehttp.ErrBadRequest)
		if failure := requireCallError(t, err); len(failure.Attempts) != 0 || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v", err)
		}
	}
	if e.calls.Load() != 0 {
		t.Errorf("%d calls were made", e.calls.Load())
	}
	sound := newRequest(t, "", nil)
	sound.Header["X-!#$%&'*+.^_`|~09azAZ"] = []string{"tabs\tand ümläuts, \"too\""}
	sound.Trailer = http.Header{"Sum": nil}
	sound.URL.RawQuery = "q=ü"
	if status, err := do(b, sound); status != 200 {
		t.Errorf("a sound request: got %d, %v", status, err)
	}
}

// Claim: Every call returns a response or a CallError.
func TestTransport_RefusesNoRequest(t *testing.T) {
	b := newTransport(t, poisehttp.Config{}, answering(200))
	_, err := b.RoundTrip(nil)
	requireCallError(t, err)
	requireField(t, err, "Request", poisehttp.ErrBadRequest)
}

// What net/http refuses by itself must be refused before an endpoint is blamed.
func TestTransport_AgreesWithTheTransportOnWhatIsMalformed(t *testing.T) {
	e := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	for c := range rune(0x180) {
		for _, row := range []struct {
			name  string
			spoil func(*http.Request)
		}{
			{"method", func(r *http.Request) { r.Method = "M" + string(c) }},
			{"header name", func(r *http.Request) { r.Header["N"+string(c)] = []string{"v"} }},
			{"header value", func(r *http.Request) { r.Header["N"] = []string{"v" + string(c) + "v"} }},
			{"query", func(r *http.Request) { r.URL.RawQuery = "q" + string(c) }},
			{"path", func(r *http.Request) { r.URL.Path = "/p" + string(c) }},
		} {
			if (row.name == "path" || row.name == "query") && c > 0x80 {
				continue // one is like the other
			}
			spoiled := newRequest(t, http.MethodGet, nil)
			row.spoil(spoiled)
			refusing := newTransport(t, poisehttp.Config{}, answering(200))
			_, err := do(refusing, spoiled)
			resp, errTransport := e.RoundTrip(spoiled)
			if errTransport == nil {
				_ = resp.Body.Close()
			}
			_ = refusing.Close()
			if (err == nil) != (errTransport == nil) {
				t.Errorf("%s with %q: the Balancer says %v, the transport %v", row.name, c, err, errTransport)
			}
		}
	}
}
