package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// short is a run of a second or so, in which all of the script happens.
func short(t *testing.T, args ...string) settings {
	t.Helper()
	s, err := parse(append([]string{"-requests", "400", "-duration", "400ms"}, args...), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	s.patience.header = 200 * time.Millisecond
	return s
}

func quiet() *screen { return newScreen(io.Discard, func(string) string { return "" }) }

// perform makes a run, planting a fault first. These tests count goroutines: none
// runs beside another.
func perform(t *testing.T, s settings, plant func(*check)) report {
	t.Helper()
	run, err := newCheck(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	plant(run)
	r, err := run.perform(t.Context(), quiet())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sound(*check) {}

func TestRun_EveryPolicyKeepsEveryPromise(t *testing.T) {
	for _, p := range policies {
		t.Run(p.name, func(t *testing.T) {
			r := perform(t, short(t, "-policy", p.name), sound)
			for _, broken := range r.broken() {
				t.Errorf("%s: %s", broken.Name, broken.Detail)
			}
			if len(r.Promises)+len(r.untried) != 8 {
				t.Errorf("%d promises held, %d were not tried", len(r.Promises), len(r.untried))
			}
			if len(r.Backends) < 6 || r.Requests == 0 || uint64(r.Responses+r.Errors) != r.Requests {
				t.Errorf("%d backends, %d requests, %d responses, %d errors", len(r.Backends), r.Requests, r.Responses, r.Errors)
			}
		})
	}
}

// tripper makes a RoundTripper of a function.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// through puts a fault between the traffic and the balancer.
func through(fault func(t *check, r *http.Request) (*http.Response, error)) func(*check) {
	return func(t *check) {
		t.traffic.client.Transport = tripper(func(r *http.Request) (*http.Response, error) { return fault(t, r) })
	}
}

// direct sends a request to a server behind the library's back.
func direct(r *http.Request, address string) {
	behind := r.Clone(context.Background())
	behind.URL.Host, behind.RequestURI = address, ""
	if r.GetBody != nil {
		behind.Body, _ = r.GetBody()
	}
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	if response, err := transport.RoundTrip(behind); err == nil {
		_ = response.Body.Close()
	}
}

func drained(b *poisehttp.Transport) bool {
	return slices.ContainsFunc(b.Endpoints(), func(s poisehttp.EndpointState) bool { return s.Reason == poise.ExcludedDraining })
}

func member(b *poisehttp.Transport, name string) bool {
	return slices.ContainsFunc(b.Endpoints(), func(s poisehttp.EndpointState) bool { return s.ID == name })
}

func TestRun_EveryPlantedFaultIsFound(t *testing.T) {
	leak := make(chan struct{})
	var mu sync.Mutex
	var forgotten []io.Closer // guarded by mu
	for _, fault := range []struct {
		name, broken, detail string
		plant                func(*check)
	}{
		{"an error without a type", "every request ended", "some other error", through(func(t *check, r *http.Request) (*http.Response, error) {
			if numberOf(r.Header) == 10 {
				return nil, errors.New("some other error")
			}
			return t.transport.RoundTrip(r)
		})},
		{"neither response nor error", "every request ended", "request 10", through(func(t *check, r *http.Request) (*http.Response, error) {
			if numberOf(r.Header) == 10 {
				return nil, nil
			}
			return t.transport.RoundTrip(r)
		})},
		{"a POST sent twice", "sent twice", "began 2 times", through(func(t *check, r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost {
				direct(r, t.server("fast-1").address)
			}
			return t.transport.RoundTrip(r)
		})},
		{"a request to the drained backend", "a drained backend", "which was draining since request", through(func(t *check, r *http.Request) (*http.Response, error) {
			// At most 64 requests wait here when the backend is drained, and the
			// last one comes after them.
			if number := numberOf(r.Header); number >= 200 {
				settled(time.Minute, func() bool { return drained(t.transport) })
				if number == 400 {
					direct(r, t.server("drained").address)
				}
			}
			return t.transport.RoundTrip(r)
		})},
		{"a request to the backend that has left", "a drained backend", "leaving, which was draining", through(func(t *check, r *http.Request) (*http.Response, error) {
			if number := numberOf(r.Header); number >= 300 {
				settled(time.Minute, func() bool { return !member(t.transport, "leaving") })
				if number == 400 {
					settled(time.Second, func() bool { return false }) // several looks
					direct(r, t.server("leaving").address)
				}
			}
			return t.transport.RoundTrip(r)
		})},
		{"an endpoint that is closed twice", "every endpoint", "closed 2 times", through(func(t *check, r *http.Request) (*http.Response, error) {
			if numberOf(r.Header) == 10 {
				_ = t.endpoints.all()[0].Close()
			}
			return t.transport.RoundTrip(r)
		})},
		{"a body that is never read", "every slot", "still holds", through(func(t *check, r *http.Request) (*http.Response, error) {
			if numberOf(r.Header) < 10 {
				// Without the caller's context nothing frees what the caller forgets.
				r = r.WithContext(context.Background())
			}
			response, err := t.transport.RoundTrip(r)
			if err == nil && numberOf(r.Header) < 10 {
				mu.Lock()
				forgotten = append(forgotten, response.Body)
				mu.Unlock()
				response.Body = http.NoBody
			}
			return response, err
		})},
		{"a goroutine that is never ended", "no goroutine", "demo.", through(func(t *check, r *http.Request) (*http.Response, error) {
			if numberOf(r.Header) == 10 {
				planted := leak
				for range 20 { // more than may still be ending from the run before
					go func() { <-planted }()
				}
			}
			return t.transport.RoundTrip(r)
		})},
	} {
		t.Run(fault.name, func(t *testing.T) {
			goroutines := runtime.NumGoroutine()
			s := short(t, "-duration", "0")           // so that every request is sent, however long it takes
			s.patience.after = 200 * time.Millisecond // a fault is waited for in vain
			r := perform(t, s, fault.plant)
			broken := r.broken()
			at := slices.IndexFunc(broken, func(p promise) bool { return strings.Contains(p.Name, fault.broken) })
			if at < 0 || !strings.Contains(broken[at].Detail, fault.detail) {
				t.Errorf("broken: %+v", broken)
			}
			if text := r.text(style{width: 80}); !strings.Contains(text, "BROKEN  ") || !strings.Contains(text, "promises broken.") {
				t.Errorf("the summary hides it:\n%s", text)
			}
			// The next run shall not count what this one left.
			for _, body := range forgotten {
				_ = body.Close()
			}
			close(leak)
			leak = make(chan struct{})
			if !settled(10*time.Second, func() bool { return runtime.NumGoroutine() <= goroutines }) {
				t.Error("what was planted did not go away")
			}
		})
	}
}

func TestDemo_AgainstOnesOwnBackends(t *testing.T) {
	var methods, paths = map[string]bool{}, map[string]bool{}
	seen := make(chan *http.Request, 1000)
	serve := func(w http.ResponseWriter, r *http.Request) {
		seen <- r
		_, _ = io.WriteString(w, "hello")
	}
	a, b := httptest.NewServer(http.HandlerFunc(serve)), httptest.NewServer(http.HandlerFunc(serve))
	defer a.Close()
	defer b.Close()
	address := func(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }
	file := filepath.Join(t.TempDir(), "summary.json")

	var out, problems strings.Builder
	code := demo([]string{
		"-backends", address(a) + "," + address(b), "-path", "/x", "-requests", "100", "-duration", "0", "-json", file, "-policy", "round-robin",
	}, &out, &problems)
	if code != exitHeld || problems.Len() > 0 {
		t.Fatalf("exit code %d: %s\n%s", code, problems.String(), out.String())
	}
	close(seen)
	for r := range seen {
		methods[r.Method], paths[r.URL.Path] = true, true
	}
	if !maps.Equal(methods, map[string]bool{"GET": true}) || !maps.Equal(paths, map[string]bool{"/x": true}) {
		t.Errorf("the backends saw %v of %v", methods, paths)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("control characters without a terminal")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var summary map[string]any
	if err := json.Unmarshal(text, &summary); err != nil {
		t.Fatal(err)
	}
	if keys := slices.Sorted(maps.Keys(summary)); !slices.Equal(keys, []string{
		"backends", "decisions", "errors", "policy", "promises", "requests", "responses", "retries", "seconds",
	}) {
		t.Errorf("keys %v", keys)
	}
	if summary["requests"] != 100.0 || summary["responses"] != 100.0 || len(summary["backends"].([]any)) != 2 {
		t.Errorf("%s", text)
	}
}

func TestDemo_ASummaryThatCannotBeWrittenIsSaid(t *testing.T) {
	var problems strings.Builder
	code := demo([]string{"-backends", "127.0.0.1:1", "-requests", "1", "-duration", "0", "-json", t.TempDir()}, io.Discard, &problems)
	if code != exitBroken || !strings.Contains(problems.String(), "could not be written") {
		t.Errorf("exit code %d: %s", code, problems.String())
	}
}

func TestRun_AnInterruptEndsItWithTheSummarySoFar(t *testing.T) {
	s := short(t, "-duration", "1h")
	run, err := newCheck(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	run.traffic.client.Transport = tripper(func(r *http.Request) (*http.Response, error) {
		interrupt() // at the first request
		return run.transport.RoundTrip(r)
	})
	r, err := run.perform(ctx, quiet())
	if err != nil || !r.interrupted || len(r.broken()) > 0 || r.Requests != 1 {
		t.Errorf("%d requests, interrupted %v, broken %v, error %v", r.Requests, r.interrupted, r.broken(), err)
	}
	if text := r.text(style{width: 80}); !strings.Contains(text, "Interrupted.") {
		t.Error(text)
	}
}

func TestRun_AStepThatFailsIsSaid(t *testing.T) {
	run, err := newCheck(short(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	planted := errors.New("planted")
	run.script = []step{{0, func(context.Context, *check) (string, error) { return "", planted }}}
	if _, err := run.perform(t.Context(), quiet()); !errors.Is(err, planted) {
		t.Error(err)
	}
}

func TestServer_ComesBackOnItsPortAndKeepsItsLog(t *testing.T) {
	s, err := startServer(fails)
	if err != nil {
		t.Fatal(err)
	}
	get := func() error {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
		request, err := http.NewRequest(http.MethodGet, "http://"+s.address, nil)
		if err != nil {
			return err
		}
		request.Header.Set(numberHeader, "7")
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
	if err := get(); err != nil {
		t.Error(err)
	}
	s.kill()
	if err := get(); err == nil {
		t.Error("a killed server answers")
	}
	if err := s.restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.kill()
	if err := get(); err != nil {
		t.Error(err)
	}
	if began := s.began(); !slices.Equal(began, []arrival{{7, "GET"}, {7, "GET"}}) {
		t.Errorf("log %v", began)
	}
}
