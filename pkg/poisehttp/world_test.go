package poisehttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// fake is an endpoint whose answers a test gives.
type fake struct {
	answer func(*http.Request) (*http.Response, error)
	calls  atomic.Int64
	closed atomic.Int64
}

func (f *fake) RoundTrip(req *http.Request) (*http.Response, error) {
	f.calls.Add(1)
	return f.answer(req)
}

func (f *fake) Close() error {
	f.closed.Add(1)
	return nil
}

// answering returns an endpoint that always answers with the status and a body.
func answering(status int) *fake {
	return &fake{answer: func(*http.Request) (*http.Response, error) { return reply(status, "served"), nil }}
}

// failing returns an endpoint that always fails with the error.
func failing(err error) *fake {
	return &fake{answer: func(*http.Request) (*http.Response, error) { return nil, err }}
}

// hanging returns an endpoint that answers nothing before the context ends.
func hanging() *fake {
	return &fake{answer: func(req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, context.Cause(req.Context())
	}}
}

func reply(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}}
}

var errBroken = errors.New("broken")

// members names the endpoints a, b, c and so on.
func members(endpoints ...poisehttp.Endpoint) []poisehttp.Member {
	list := make([]poisehttp.Member, len(endpoints))
	for i, e := range endpoints {
		list[i] = poisehttp.Member{ID: string(rune('a' + i)), Endpoint: e}
	}
	return list
}

// loop returns the settings of a loop.
func loop(set ...func(*dispatch.LoopConfig)) (cfg dispatch.LoopConfig) {
	for _, f := range set {
		f(&cfg)
	}
	return cfg
}

// off switches passive health off.
func off(cfg *dispatch.LoopConfig) { cfg.Passive.Off = true }

// attempts is how often a call may be sent.
func attempts(n int) func(*dispatch.LoopConfig) {
	return func(cfg *dispatch.LoopConfig) { cfg.Retry.Attempts = n }
}

// by sets the policy.
func by(p poise.Policy) func(*dispatch.LoopConfig) {
	return func(cfg *dispatch.LoopConfig) { cfg.Policy = p }
}

// budget sets the retry budget, without a floor in time.
func budget(percent, burst int) func(*dispatch.LoopConfig) {
	return func(cfg *dispatch.LoopConfig) {
		cfg.Retry.Budget = dispatch.RetryBudgetConfig{Percent: percent, Burst: burst, NoFloor: true}
	}
}

// newTransport returns a Transport that at the end of the test holds no slot. Without
// a policy in the config the endpoints take turns.
func newTransport(t testing.TB, cfg poisehttp.Config, endpoints ...poisehttp.Endpoint) *poisehttp.Transport {
	t.Helper()
	if cfg.Loop.Policy == nil {
		cfg.Loop.Policy = new(policy.RoundRobin)
	}
	if cfg.Members == nil && cfg.Source == nil {
		cfg.Members = members(endpoints...)
	}
	b, err := poisehttp.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		requireIdle(t, b)
		_ = b.Close()
	})
	return b
}

func requireIdle(t testing.TB, b *poisehttp.Transport) {
	t.Helper()
	for _, state := range b.Endpoints() {
		if state.InFlight != 0 {
			t.Errorf("endpoint %s still holds %d slots", state.ID, state.InFlight)
		}
	}
}

func inFlight(b *poisehttp.Transport, id string) uint64 {
	for _, state := range b.Endpoints() {
		if state.ID == id {
			return state.InFlight
		}
	}
	return 0
}

func newRequest(t testing.TB, method string, body io.Reader) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://service.example.com/path", body)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// get makes a GET call and reads it to the end.
func get(t testing.TB, b *poisehttp.Transport) (status int, err error) {
	t.Helper()
	return do(b, newRequest(t, http.MethodGet, nil))
}

// do makes the call and reads the response to the end.
func do(b *poisehttp.Transport, req *http.Request) (status int, err error) {
	resp, err := b.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode, err
}

// requireCallError returns err as the CallError that it must be.
func requireCallError(t testing.TB, err error) *poisehttp.CallError {
	t.Helper()
	var failure *poisehttp.CallError
	if !errors.As(err, &failure) {
		t.Fatalf("want a CallError, got %v", err)
	}
	return failure
}

// serve starts a server on loopback and returns an endpoint that leads to it.
func serve(t testing.TB, handler http.HandlerFunc) *poisehttp.HTTPEndpoint {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return endpointTo(t, server.Listener.Addr().String())
}

func endpointTo(t testing.TB, address string) *poisehttp.HTTPEndpoint {
	t.Helper()
	e, err := poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// record collects events.
type record struct {
	mu     sync.Mutex
	events []poisehttp.Event
}

func (r *record) observe(e poisehttp.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// all returns the events so far, in short.
func (r *record) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var short []string
	for _, e := range r.events {
		text := fmt.Sprintf("%s#%d %s", e.Endpoint, e.Attempt, e.Result.Outcome)
		if e.Late.Outcome != poise.Success {
			text += ", later " + e.Late.Outcome.String()
		}
		if e.Retried {
			text += ", retried"
		}
		short = append(short, text)
	}
	return short
}

func (r *record) last() poisehttp.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events[len(r.events)-1]
}

// source is a request body that counts how it is used.
type source struct {
	io.Reader
	reads, closes atomic.Int64
	onClose       func()
}

func (s *source) Read(p []byte) (int, error) {
	s.reads.Add(1)
	return s.Reader.Read(p)
}

func (s *source) Close() error {
	s.closes.Add(1)
	if s.onClose != nil {
		s.onClose()
	}
	return nil
}

// readerFunc is a reader made of a function.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// fixed is a policy whose picks are given by a function over the View.
type fixed struct {
	prepare func(*poise.View) (poise.Picker, error)
}

func (f fixed) Prepare(v *poise.View) (poise.Picker, error) { return f.prepare(v) }

// pickerFunc is a picker made of a function.
type pickerFunc func(poise.Query) (poise.Selection, error)

func (f pickerFunc) Pick(q poise.Query) (poise.Selection, error) { return f(q) }

// eventually waits until it holds.
func eventually(t testing.TB, holds func() bool) {
	t.Helper()
	for range 10_000 {
		if holds() {
			return
		}
		<-time.After(time.Millisecond)
	}
	t.Fatal("it never came true")
}

// requireField requires an error about the field, because of the cause.
func requireField(t testing.TB, err error, field string, cause error) {
	t.Helper()
	refused, ok := errors.AsType[*poise.FieldError](err)
	if !ok || refused.Field != field || !errors.Is(err, cause) {
		t.Errorf("want %v of %s, got %v", cause, field, err)
	}
}
