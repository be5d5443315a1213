package health_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/health"
)

func newHTTPProbe(t testing.TB, cfg health.HTTPProbeConfig) *health.HTTPProbe {
	t.Helper()
	p, err := health.NewHTTPProbe(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// site answers at /200, /404 and so on with that status, at /hop/N with redirects
// to /hop/N-1 and so on, and at /slow not before the request has ended.
func site(t testing.TB) *httptest.Server {
	mux := http.NewServeMux()
	for _, status := range []int{200, 204, 299, 300, 404, 503} {
		mux.HandleFunc(fmt.Sprintf("/%d", status), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	}
	mux.HandleFunc("/hop/{n}", func(w http.ResponseWriter, r *http.Request) {
		if n := r.PathValue("n"); n != "0" {
			http.Redirect(w, r, fmt.Sprintf("/hop/%d", n[0]-'1'), http.StatusFound)
		}
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/says", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Query().Get("what")) })
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "ok")
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// Claim: Probe returns nil exactly if the status is expected, the body begins with Body, and MaxBody bytes of it or all of it arrive.
func TestHTTPProbe_JudgesStatusAndBody(t *testing.T) {
	s := site(t)
	for _, row := range []struct {
		path string
		cfg  health.HTTPProbeConfig
		want error
	}{
		{"/200", health.HTTPProbeConfig{}, nil},
		{"/204", health.HTTPProbeConfig{}, nil},
		{"/299", health.HTTPProbeConfig{}, nil},
		{"/300", health.HTTPProbeConfig{}, health.ErrStatus},
		{"/404", health.HTTPProbeConfig{}, health.ErrStatus},
		{"/503", health.HTTPProbeConfig{}, health.ErrStatus},
		{"/404", health.HTTPProbeConfig{Expect: []health.StatusRange{{200, 200}, {404, 404}}}, nil},
		{"/204", health.HTTPProbeConfig{Expect: []health.StatusRange{{200, 200}, {404, 404}}}, health.ErrStatus},
		{"/says?what=ok", health.HTTPProbeConfig{Body: "ok"}, nil},
		{"/says?what=ok+and+more", health.HTTPProbeConfig{Body: "ok"}, nil},
		{"/says?what=not+ok", health.HTTPProbeConfig{Body: "ok"}, health.ErrBody},
		{"/says?what=o", health.HTTPProbeConfig{Body: "ok"}, health.ErrBody},
		{"/200", health.HTTPProbeConfig{Body: "ok"}, health.ErrBody},
		{"/200", health.HTTPProbeConfig{Method: http.MethodHead}, nil},
		{"/cut", health.HTTPProbeConfig{}, io.ErrUnexpectedEOF},
		{"/cut", health.HTTPProbeConfig{Body: "ok"}, io.ErrUnexpectedEOF},
		{"/cut", health.HTTPProbeConfig{Body: "okay"}, health.ErrBody},
		{"/cut", health.HTTPProbeConfig{MaxBody: 2}, nil},
	} {
		row.cfg.URL = s.URL + row.path
		if err := newHTTPProbe(t, row.cfg).Probe(t.Context()); !errors.Is(err, row.want) {
			t.Errorf("%s, %+v: %v, want %v", row.path, row.cfg, err, row.want)
		}
	}
	s.Close()
	var refused *net.OpError
	if err := newHTTPProbe(t, health.HTTPProbeConfig{URL: s.URL}).Probe(t.Context()); !errors.As(err, &refused) {
		t.Errorf("with nobody there: %v", err)
	}
}

// Claim: Probe follows no more redirects than Redirects, and judges the next one by its status.
func TestHTTPProbe_FollowsOnlyWhatItMay(t *testing.T) {
	s := site(t)
	for hops := range 4 {
		for may := range 4 {
			err := newHTTPProbe(t, health.HTTPProbeConfig{URL: fmt.Sprintf("%s/hop/%d", s.URL, hops), Redirects: may}).Probe(t.Context())
			if want := hops <= may; (err == nil) != want || !want && !errors.Is(err, health.ErrStatus) {
				t.Errorf("%d redirects of %d that may be followed: %v", hops, may, err)
			}
		}
	}
	p := newHTTPProbe(t, health.HTTPProbeConfig{URL: s.URL + "/hop/1", Expect: []health.StatusRange{{302, 302}}})
	if err := p.Probe(t.Context()); err != nil {
		t.Errorf("a redirect that is expected: %v", err)
	}
}

func TestHTTPProbe_SendsWhatItWasTold(t *testing.T) {
	requests := make(chan *http.Request, 2)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { requests <- r }))
	defer s.Close()
	header := http.Header{"X-Probe": {"yes"}}
	p := newHTTPProbe(t, health.HTTPProbeConfig{URL: s.URL + "/x?y=z", Method: http.MethodOptions, Host: "name.example", Header: header})
	header.Set("X-Probe", "changed afterwards")
	for range 2 {
		if err := p.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := <-requests
		if r.Method != http.MethodOptions || r.Host != "name.example" || r.URL.String() != "/x?y=z" || r.Header.Get("X-Probe") != "yes" {
			t.Fatalf("it sent %s %s to %s with %v", r.Method, r.URL, r.Host, r.Header)
		}
	}
	p = newHTTPProbe(t, health.HTTPProbeConfig{URL: s.URL})
	if err := p.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := <-requests; r.Method != http.MethodGet || r.Host != strings.TrimPrefix(s.URL, "http://") {
		t.Fatalf("it sent %s to %s", r.Method, r.Host)
	}
}

// body counts what is read of it.
type body struct {
	endless bool
	read    atomic.Int64
	closed  atomic.Bool
}

func (b *body) Read(p []byte) (int, error) {
	if !b.endless {
		return 0, io.EOF
	}
	b.read.Add(int64(len(p)))
	return len(p), nil
}

func (b *body) Close() error {
	b.closed.Store(true)
	return nil
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Claim: Probe reads at most MaxBody bytes of the body, and closes it.
func TestHTTPProbe_ReadsABoundedBody(t *testing.T) {
	for _, row := range []struct {
		status  int
		maxBody int
		read    int64
	}{{200, 0, 4096}, {200, 10_000, 10_000}, {503, 0, 0}} {
		b := &body{endless: true}
		p := newHTTPProbe(t, health.HTTPProbeConfig{
			URL: "http://name.example", MaxBody: row.maxBody,
			Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: row.status, Body: b}, nil
			}),
		})
		_ = p.Probe(t.Context())
		if b.read.Load() != row.read || !b.closed.Load() {
			t.Errorf("status %d: it read %d bytes, want %d, and closed the body: %t", row.status, b.read.Load(), row.read, b.closed.Load())
		}
	}
}

// Claim: Probe returns soon after its context has ended.
func TestHTTPProbe_EndsWithItsContext(t *testing.T) {
	began := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan error)
	go func() { answer <- newHTTPProbe(t, health.HTTPProbeConfig{URL: s.URL}).Probe(ctx) }()
	<-began
	cancel()
	if err := <-answer; !errors.Is(err, context.Canceled) {
		t.Fatalf("it returns %v", err)
	}
}

// Claim: Without a Transport of the user each Probe opens a connection of its own and keeps none.
func TestHTTPProbe_KeepsNoConnection(t *testing.T) {
	opened, closed := make(chan struct{}, 10), make(chan struct{}, 10)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			opened <- struct{}{}
		case http.StateClosed:
			closed <- struct{}{}
		}
	}
	s.Start()
	p := newHTTPProbe(t, health.HTTPProbeConfig{URL: s.URL})
	for range 3 {
		if err := p.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-opened
		<-closed
	}
	s.Close()
}

// A Transport of the user keeps its connection, since the body was read.
func TestHTTPProbe_LetsATransportKeepItsConnection(t *testing.T) {
	var opened atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("a long answer ", 200))
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	p := newHTTPProbe(t, health.HTTPProbeConfig{URL: s.URL, Transport: transport, Body: "a long"})
	for range 5 {
		if err := p.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if opened.Load() != 1 {
		t.Fatalf("five probes opened %d connections", opened.Load())
	}
}

func TestNewHTTPProbe_RefusesWhatCannotWork(t *testing.T) {
	const good = "http://name.example/"
	for _, row := range []struct {
		cfg   health.HTTPProbeConfig
		want  error
		field string
		value any
	}{
		{health.HTTPProbeConfig{}, health.ErrMissing, "URL", nil},
		{health.HTTPProbeConfig{URL: "name.example"}, health.ErrOutOfRange, "URL", "name.example"},
		{health.HTTPProbeConfig{URL: "ftp://name.example"}, health.ErrOutOfRange, "URL", "ftp://name.example"},
		{health.HTTPProbeConfig{URL: "http:///path"}, health.ErrOutOfRange, "URL", "http:///path"},
		{health.HTTPProbeConfig{URL: good, Expect: []health.StatusRange{{200, 299}, {99, 200}}}, health.ErrOutOfRange, "Expect", health.StatusRange{First: 99, Last: 200}},
		{health.HTTPProbeConfig{URL: good, Expect: []health.StatusRange{{200, 600}}}, health.ErrOutOfRange, "Expect", health.StatusRange{First: 200, Last: 600}},
		{health.HTTPProbeConfig{URL: good, Expect: []health.StatusRange{{300, 200}}}, health.ErrOutOfRange, "Expect", health.StatusRange{First: 300, Last: 200}},
		{health.HTTPProbeConfig{URL: good, MaxBody: -1}, health.ErrOutOfRange, "MaxBody", -1},
		{health.HTTPProbeConfig{URL: good, MaxBody: 2, Body: "long"}, health.ErrOutOfRange, "MaxBody", 2},
		{health.HTTPProbeConfig{URL: good, Redirects: -1}, health.ErrOutOfRange, "Redirects", -1},
	} {
		p, err := health.NewHTTPProbe(row.cfg)
		requireField(t, err, row.want, row.field, row.value)
		if p != nil {
			t.Errorf("%s: an error and an HTTPProbe", row.field)
		}
	}
	_, err := health.NewHTTPProbe(health.HTTPProbeConfig{URL: "http://[::1"})
	var parse *url.Error
	if !errors.As(err, &parse) {
		t.Errorf("an address without its end: %v", err)
	}
	if _, err = health.NewHTTPProbe(health.HTTPProbeConfig{URL: good, Method: "GE T"}); err == nil || !strings.Contains(err.Error(), "Method") {
		t.Errorf("a method with a space: %v", err)
	}
	newHTTPProbe(t, health.HTTPProbeConfig{URL: good, Body: strings.Repeat("x", 5000), Expect: []health.StatusRange{{100, 599}}})
}
