package poisehttp_test

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

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

func newHTTPProbe(t testing.TB, cfg poisehttp.HTTPProbeConfig) *poisehttp.HTTPProbe {
	t.Helper()
	p, err := poisehttp.NewHTTPProbe(cfg)
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
		cfg  poisehttp.HTTPProbeConfig
		want error
	}{
		{"/200", poisehttp.HTTPProbeConfig{}, nil},
		{"/204", poisehttp.HTTPProbeConfig{}, nil},
		{"/299", poisehttp.HTTPProbeConfig{}, nil},
		{"/300", poisehttp.HTTPProbeConfig{}, poisehttp.ErrStatus},
		{"/404", poisehttp.HTTPProbeConfig{}, poisehttp.ErrStatus},
		{"/503", poisehttp.HTTPProbeConfig{}, poisehttp.ErrStatus},
		{"/404", poisehttp.HTTPProbeConfig{Expect: []poisehttp.StatusRange{{200, 200}, {404, 404}}}, nil},
		{"/204", poisehttp.HTTPProbeConfig{Expect: []poisehttp.StatusRange{{200, 200}, {404, 404}}}, poisehttp.ErrStatus},
		{"/says?what=ok", poisehttp.HTTPProbeConfig{Body: "ok"}, nil},
		{"/says?what=ok+and+more", poisehttp.HTTPProbeConfig{Body: "ok"}, nil},
		{"/says?what=not+ok", poisehttp.HTTPProbeConfig{Body: "ok"}, poisehttp.ErrBody},
		{"/says?what=o", poisehttp.HTTPProbeConfig{Body: "ok"}, poisehttp.ErrBody},
		{"/200", poisehttp.HTTPProbeConfig{Body: "ok"}, poisehttp.ErrBody},
		{"/200", poisehttp.HTTPProbeConfig{Method: http.MethodHead}, nil},
		{"/cut", poisehttp.HTTPProbeConfig{}, io.ErrUnexpectedEOF},
		{"/cut", poisehttp.HTTPProbeConfig{Body: "ok"}, io.ErrUnexpectedEOF},
		{"/cut", poisehttp.HTTPProbeConfig{Body: "okay"}, poisehttp.ErrBody},
		{"/cut", poisehttp.HTTPProbeConfig{MaxBody: 2}, nil},
	} {
		row.cfg.URL = s.URL + row.path
		if err := newHTTPProbe(t, row.cfg).Probe(t.Context()); !errors.Is(err, row.want) {
			t.Errorf("%s, %+v: %v, want %v", row.path, row.cfg, err, row.want)
		}
	}
	s.Close()
	var refused *net.OpError
	if err := newHTTPProbe(t, poisehttp.HTTPProbeConfig{URL: s.URL}).Probe(t.Context()); !errors.As(err, &refused) {
		t.Errorf("with nobody there: %v", err)
	}
}

// Claim: Probe follows no more redirects than Redirects, and judges the next one by its status.
func TestHTTPProbe_FollowsOnlyWhatItMay(t *testing.T) {
	s := site(t)
	for hops := range 4 {
		for may := range 4 {
			err := newHTTPProbe(t, poisehttp.HTTPProbeConfig{URL: fmt.Sprintf("%s/hop/%d", s.URL, hops), Redirects: may}).Probe(t.Context())
			if want := hops <= may; (err == nil) != want || !want && !errors.Is(err, poisehttp.ErrStatus) {
				t.Errorf("%d redirects of %d that may be followed: %v", hops, may, err)
			}
		}
	}
	p := newHTTPProbe(t, poisehttp.HTTPProbeConfig{URL: s.URL + "/hop/1", Expect: []poisehttp.StatusRange{{302, 302}}})
	if err := p.Probe(t.Context()); err != nil {
		t.Errorf("a redirect that is expected: %v", err)
	}
}

func TestHTTPProbe_SendsWhatItWasTold(t *testing.T) {
	requests := make(chan *http.Request, 2)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { requests <- r }))
	defer s.Close()
	header := http.Header{"X-Probe": {"yes"}}
	p := newHTTPProbe(t, poisehttp.HTTPProbeConfig{URL: s.URL + "/x?y=z", Method: http.MethodOptions, Host: "name.example", Header: header})
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
	p = newHTTPProbe(t, poisehttp.HTTPProbeConfig{URL: s.URL})
	if err := p.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := <-requests; r.Method != http.MethodGet || r.Host != strings.TrimPrefix(s.URL, "http://") {
		t.Fatalf("it sent %s to %s", r.Method, r.Host)
	}
}

// body counts what is read of it.
type body struct {
	fails  error // else it is endless
	read   atomic.Int64
	closed atomic.Bool
}

func (b *body) Read(p []byte) (int, error) {
	if b.fails != nil {
		return 0, b.fails
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
		start   string
		read    int64
	}{{200, 0, "", 4096}, {200, 10_000, "", 10_000}, {200, 100, "\x00\x00\x00", 100}, {200, 3, "\x00\x00\x00", 3}, {503, 0, "", 0}} {
		b := new(body)
		p := newHTTPProbe(t, poisehttp.HTTPProbeConfig{
			URL: "http://name.example", MaxBody: row.maxBody, Body: row.start,
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

// What a transport does to a request, or a caller to a config, does not last.
func TestHTTPProbe_KeepsItsOwnCopies(t *testing.T) {
	seen := ""
	expect := []poisehttp.StatusRange{{200, 200}}
	p := newHTTPProbe(t, poisehttp.HTTPProbeConfig{
		URL: "http://name.example", Expect: expect, Header: http.Header{"X-Probe": {"yes"}},
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			seen += r.Header.Get("X-Probe") + " "
			r.Header.Set("X-Probe", "changed")
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		}),
	})
	expect[0] = poisehttp.StatusRange{First: 500, Last: 599}
	for range 2 {
		if err := p.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if seen != "yes yes " {
		t.Fatalf("the probes sent %q", seen)
	}
}

func TestHTTPProbe_ReturnsWhyABodyBrokeOff(t *testing.T) {
	for _, start := range []string{"", "ok"} {
		b := &body{fails: errBroken}
		p := newHTTPProbe(t, poisehttp.HTTPProbeConfig{
			URL: "http://name.example", Body: start,
			Transport: roundTrip(func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 200, Body: b}, nil }),
		})
		if err := p.Probe(t.Context()); !errors.Is(err, errBroken) || !b.closed.Load() {
			t.Errorf("with %q: %v, and the body is closed: %t", start, err, b.closed.Load())
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
	go func() { answer <- newHTTPProbe(t, poisehttp.HTTPProbeConfig{URL: s.URL}).Probe(ctx) }()
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
	p := newHTTPProbe(t, poisehttp.HTTPProbeConfig{URL: s.URL})
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
	p := newHTTPProbe(t, poisehttp.HTTPProbeConfig{URL: s.URL, Transport: transport, Body: "a long"})
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
		cfg   poisehttp.HTTPProbeConfig
		want  error
		field string
		value any
	}{
		{poisehttp.HTTPProbeConfig{}, poisehttp.ErrMissing, "URL", nil},
		{poisehttp.HTTPProbeConfig{URL: "name.example"}, poisehttp.ErrOutOfRange, "URL", "name.example"},
		{poisehttp.HTTPProbeConfig{URL: "ftp://name.example"}, poisehttp.ErrOutOfRange, "URL", "ftp://name.example"},
		{poisehttp.HTTPProbeConfig{URL: "http:///path"}, poisehttp.ErrOutOfRange, "URL", "http:///path"},
		{poisehttp.HTTPProbeConfig{URL: good, Expect: []poisehttp.StatusRange{{200, 299}, {99, 200}}}, poisehttp.ErrOutOfRange, "Expect", poisehttp.StatusRange{First: 99, Last: 200}},
		{poisehttp.HTTPProbeConfig{URL: good, Expect: []poisehttp.StatusRange{{200, 600}}}, poisehttp.ErrOutOfRange, "Expect", poisehttp.StatusRange{First: 200, Last: 600}},
		{poisehttp.HTTPProbeConfig{URL: good, Expect: []poisehttp.StatusRange{{300, 200}}}, poisehttp.ErrOutOfRange, "Expect", poisehttp.StatusRange{First: 300, Last: 200}},
		{poisehttp.HTTPProbeConfig{URL: good, MaxBody: -1}, poisehttp.ErrOutOfRange, "MaxBody", -1},
		{poisehttp.HTTPProbeConfig{URL: good, MaxBody: 2, Body: "long"}, poisehttp.ErrOutOfRange, "MaxBody", 2},
		{poisehttp.HTTPProbeConfig{URL: good, Redirects: -1}, poisehttp.ErrOutOfRange, "Redirects", -1},
	} {
		p, err := poisehttp.NewHTTPProbe(row.cfg)
		requireField(t, err, row.field, row.want)
		if refused, ok := errors.AsType[*poise.FieldError](err); !ok || refused.Value != row.value {
			t.Errorf("the value is in none of %v", err)
		}
		if p != nil {
			t.Errorf("%s: an error and an HTTPProbe", row.field)
		}
	}
	_, err := poisehttp.NewHTTPProbe(poisehttp.HTTPProbeConfig{URL: "http://[::1"})
	var parse *url.Error
	if !errors.As(err, &parse) {
		t.Errorf("an address without its end: %v", err)
	}
	if _, err = poisehttp.NewHTTPProbe(poisehttp.HTTPProbeConfig{URL: good, Method: "GE T"}); err == nil || !strings.Contains(err.Error(), "Method") {
		t.Errorf("a method with a space: %v", err)
	}
	newHTTPProbe(t, poisehttp.HTTPProbeConfig{URL: good, Body: strings.Repeat("x", 5000), Expect: []poisehttp.StatusRange{{100, 599}}})
}

// Claim: Without a Transport of the user a Probe reads at most about MaxHeader bytes of headers.
//
// Cases: B107.
func TestHTTPProbe_ReadsABoundedHeader(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := range 1000 {
			w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 200))
		}
	}))
	defer site.Close()
	for _, row := range []struct {
		most  int
		sound bool
	}{{0, false}, {1000, false}, {1 << 20, true}} {
		err := newHTTPProbe(t, poisehttp.HTTPProbeConfig{URL: site.URL, MaxHeader: row.most}).Probe(t.Context())
		if (err == nil) != row.sound {
			t.Errorf("MaxHeader %d: %v", row.most, err)
		}
	}
}

func TestHTTPProbe_ConnectsWhereItIsTold(t *testing.T) {
	hosts := make(chan string, 1)
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { hosts <- r.Host }))
	defer site.Close()
	p := newHTTPProbe(t, poisehttp.HTTPProbeConfig{URL: "http://service.example/", Address: site.Listener.Addr().String()})
	if err := p.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if host := <-hosts; host != "service.example" {
		t.Errorf("it asked for %s", host)
	}
	for _, cfg := range []poisehttp.HTTPProbeConfig{{URL: "http://a/", Address: "a"}, {URL: "http://a/", MaxHeader: -1}} {
		if _, err := poisehttp.NewHTTPProbe(cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
}
