package poisehttp_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// A response that was judged and read from is a success, whatever becomes of its body:
// readers of a stream leave when they have seen enough.
//
// Claim: A caller who leaves, a request body that fails and a pause of this process say nothing about the endpoint.
//
// Cases: B87.
func TestTransport_JudgesAStreamAtItsBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events record
		stream := &fake{answer: func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(readerFunc(func(p []byte) (int, error) {
				if <-time.After(time.Second); req.Context().Err() != nil {
					return 0, req.Context().Err()
				}
				return copy(p, "tick"), nil
			}))}, nil
		}}
		b := newTransport(t, poisehttp.Config{Observe: events.observe}, stream)
		ctx, cancel := context.WithCancel(t.Context())
		resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil).WithContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		if n, err := resp.Body.Read(make([]byte, 10)); n != 4 || err != nil {
			t.Fatalf("read %d, %v", n, err)
		}
		cancel()
		_, err = io.ReadAll(resp.Body)
		if got := strings.Join(events.all(), "; "); !errors.Is(err, context.Canceled) || got != "a#1 success, later cancelled" {
			t.Errorf("got %v; the observer was told %s", err, got)
		}
		if run := b.Endpoints()[0].Passive.Run; run != 0 {
			t.Errorf("%d failures in a row", run)
		}
	})
}

// connections counts those of a server.
func connections(server *httptest.Server) *atomic.Int64 {
	opened := new(atomic.Int64)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	return opened
}

// Cases: B88.
func TestTransport_KeepsTheConnectionOfAShortAnswerThatNobodyWants(t *testing.T) {
	busy := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(503)
		_, _ = io.WriteString(w, "busy")
	}))
	opened := connections(busy)
	busy.Start()
	defer busy.Close()
	b := newTransport(t, poisehttp.Config{Loop: loop(off, budget(100, 1000))}, endpointTo(t, busy.Listener.Addr().String()), answering(200), answering(200))
	for range 100 {
		if status, err := get(t, b); status != 200 {
			t.Fatalf("got %d, %v", status, err)
		}
	}
	if n := opened.Load(); n > 5 {
		t.Errorf("%d connections for calls of which a third was answered 503", n)
	}
}

// An answer that nobody wants may be long, or not come to an end.
func TestTransport_WaitsForNoLongAnswerThatNobodyWants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := &source{Reader: strings.NewReader("long")}
		closed := make(chan struct{})
		var once sync.Once
		endless := &source{Reader: readerFunc(func([]byte) (int, error) {
			<-closed
			return 0, errBroken
		}), onClose: func() { once.Do(func() { close(closed) }) }}
		for _, resp := range []*http.Response{
			{StatusCode: 503, Body: long, ContentLength: 5000},
			{StatusCode: 503, Body: endless, ContentLength: -1},
		} {
			b := newTransport(t, poisehttp.Config{Loop: loop(off)}, &fake{answer: func(*http.Request) (*http.Response, error) { return resp, nil }}, answering(200))
			began := time.Now()
			if status, err := get(t, b); status != 200 || time.Since(began) != 0 {
				t.Errorf("got %d, %v after %v", status, err, time.Since(began))
			}
		}
		<-time.After(time.Second)
		if long.reads.Load() != 0 || long.closes.Load() != 1 || endless.closes.Load() == 0 {
			t.Errorf("the long one was read %d times, the endless one closed %d times", long.reads.Load(), endless.closes.Load())
		}
	})
}

// Claim: A request that expects 100 Continue has its body sent after the backend has agreed, or after a second.
//
// Cases: B91.
func TestHTTPEndpoint_WaitsForContinue(t *testing.T) {
	for name, template := range map[string]*http.Transport{"default": nil, "a template that waits for nothing": {}} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }))
			defer server.Close()
			e, err := poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{Address: server.Listener.Addr().String(), Transport: template})
			if err != nil {
				t.Fatal(err)
			}
			b := newTransport(t, poisehttp.Config{}, e)
			body := &source{Reader: io.LimitReader(readerFunc(func(p []byte) (int, error) { return len(p), nil }), 3<<20)}
			req := newRequest(t, http.MethodPost, body)
			req.Header.Set("Expect", "100-continue")
			if status, err := do(b, req); status != 401 || body.reads.Load() != 0 {
				t.Errorf("got %d, %v, and the body was read %d times", status, err, body.reads.Load())
			}
		})
	}
}

// Claim: Informational responses of an attempt that is repeated do not reach the caller.
//
// Cases: B92.
func TestTransport_PassesOnOnlyTheInformationalResponsesOfItsAnswer(t *testing.T) {
	hinting := func(name string, status int) *poisehttp.HTTPEndpoint {
		return serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", name)
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(status)
		})
	}
	b := newTransport(t, poisehttp.Config{Loop: loop(off)}, hinting("first", 503), hinting("second", 200))
	var got []string
	other := false
	trace := &httptrace.ClientTrace{
		Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
			got = append(got, header.Get("Link"))
			return nil
		},
		GotFirstResponseByte: func() { other = true },
	}
	ctx := httptrace.WithClientTrace(t.Context(), trace)
	if status, err := do(b, newRequest(t, http.MethodGet, nil).WithContext(ctx)); status != 200 {
		t.Fatalf("got %d, %v", status, err)
	}
	if !slices.Equal(got, []string{"second"}) || !other {
		t.Errorf("the caller was told of %q; the rest of its trace works: %t", got, other)
	}
	got = nil
	trace.Got1xxResponse = func(int, textproto.MIMEHeader) error { return errBroken }
	ctx = httptrace.WithClientTrace(t.Context(), trace)
	b = newTransport(t, poisehttp.Config{Loop: loop(off)}, hinting("only", 200))
	if _, err := do(b, newRequest(t, http.MethodGet, nil).WithContext(ctx)); !errors.Is(err, errBroken) {
		t.Errorf("a caller that refuses it got %v", err)
	}
}

// writes counts the writes to a connection.
type writes struct {
	net.Conn
	n *atomic.Int64
}

func (w *writes) Write(p []byte) (int, error) {
	w.n.Add(1)
	return w.Conn.Write(p)
}

// Cases: B93.
func TestTransport_SendsAShortBodyTogetherWithItsHeader(t *testing.T) {
	bodies := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
	}))
	defer server.Close()
	var n atomic.Int64
	e, err := poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{
		Address: server.Listener.Addr().String(),
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return &writes{conn, &n}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	b := newTransport(t, poisehttp.Config{}, e)
	for name, body := range map[string]io.Reader{
		"strings.Reader": strings.NewReader("hello"), "bytes.Reader": bytes.NewReader([]byte("hello")), "bytes.Buffer": bytes.NewBufferString("hello"),
	} {
		n.Store(0)
		if status, err := do(b, newRequest(t, http.MethodPost, body)); status != 200 || n.Load() != 1 || <-bodies != "hello" {
			t.Errorf("%s: got %d, %v after %d writes", name, status, err, n.Load())
		}
	}
	req := newRequest(t, http.MethodPost, strings.NewReader("hello"))
	req.ContentLength = 6
	_, err = do(b, req)
	requireField(t, err, "Request.ContentLength", poisehttp.ErrBadRequest)
}

// A request that must be sent once is not sent again by http.Transport, which goes by
// headers that a client may have made up.
//
// Claim: An HTTPEndpoint sends a request whose method is not idempotent at most once, whatever headers it has.
//
// Cases: B106.
func TestHTTPEndpoint_SendsAPOSTOnce(t *testing.T) {
	for _, header := range []http.Header{{}, {"Idempotency-Key": {""}}, {"Idempotency-Key": nil}, {"X-Idempotency-Key": {"k"}}} {
		var posts atomic.Int64
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		group.Go(func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				group.Go(func() {
					defer conn.Close()
					buffer := make([]byte, 4096)
					for served := false; ; served = true {
						n, err := conn.Read(buffer)
						if n > 0 && bytes.HasPrefix(buffer, []byte("POST")) {
							posts.Add(1)
						}
						if err != nil || served {
							return // the second request on a connection finds it closed
						}
						_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
					}
				})
			}
		})
		e := endpointTo(t, listener.Addr().String())
		if resp, err := e.RoundTrip(newRequest(t, http.MethodGet, nil)); err != nil {
			t.Fatal(err)
		} else {
			_ = resp.Body.Close()
		}
		req := newRequest(t, http.MethodPost, nil)
		for name, values := range header {
			req.Header[name] = values
		}
		if resp, err := e.RoundTrip(req); err == nil {
			_ = resp.Body.Close()
		} else if errors.Is(err, poisehttp.ErrNotSent) {
			t.Errorf("%v: %v says that nothing was sent", header, err)
		}
		_ = listener.Close()
		_ = e.Close()
		group.Wait()
		if n := posts.Load(); n != 1 {
			t.Errorf("%v: the server had the POST %d times", header, n)
		}
	}
}

// lying is a connection whose writes arrive, and are answered as if they did not.
type lying struct{ net.Conn }

func (l lying) Write(p []byte) (int, error) {
	_, _ = l.Conn.Write(p)
	return 0, errBroken
}

// Claim: An error of an HTTPEndpoint matches ErrNotSent only if its connection took no byte of the request.
func TestHTTPEndpoint_CountsWhatItHandsOver(t *testing.T) {
	var posts atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		posts.Add(1)
	}))
	e, err := poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{
		Address: server.Listener.Addr().String(),
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return lying{conn}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	other := answering(200)
	b := newTransport(t, poisehttp.Config{}, e, other)
	if _, err := do(b, newRequest(t, http.MethodPost, strings.NewReader("pay once"))); err == nil || errors.Is(err, poisehttp.ErrNotSent) || other.calls.Load() != 0 {
		t.Errorf("got %v, and the other one had %d calls", err, other.calls.Load())
	}
	server.Close()
	if posts.Load() > 1 {
		t.Errorf("it arrived %d times", posts.Load())
	}
}

// What this process lacks is no fault of an endpoint.
//
// Claim: A caller who leaves, a request body that fails and a pause of this process say nothing about the endpoint.
func TestTransport_BlamesNoEndpointForWhatThisProcessLacks(t *testing.T) {
	for _, number := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL} {
		var events record
		e, err := poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{Address: "192.0.2.1:80", Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &wrapped{number}}
		}})
		if err != nil {
			t.Fatal(err)
		}
		b := newTransport(t, poisehttp.Config{Observe: events.observe}, e, answering(200))
		if status, err := do(b, newRequest(t, http.MethodPost, nil)); status != 200 {
			t.Errorf("%v: got %d, %v", number, status, err)
		}
		if got := strings.Join(events.all(), "; "); got != "a#1 invalid, retried; b#2 success" || b.Endpoints()[0].Passive.State != health.Serving {
			t.Errorf("%v: the observer was told %s", number, got)
		}
	}
}

type wrapped struct{ cause error }

func (w *wrapped) Error() string { return "wrapped" }
func (w *wrapped) Unwrap() error { return w.cause }

// Cases: B98.
func TestTransport_EndsABodyThatStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events record
		closed := make(chan struct{})
		reads := 0
		body := &source{Reader: readerFunc(func(p []byte) (int, error) {
			if reads++; reads < 4 {
				<-time.After(900 * time.Millisecond) // slow, and that is all
				return copy(p, "x"), nil
			}
			<-closed
			return 0, errBroken
		}), onClose: func() { close(closed) }}
		b := newTransport(t, poisehttp.Config{BodyIdleTimeout: time.Second, Observe: events.observe}, &fake{answer: func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: body}, nil
		}})
		resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute) // a caller who reads nothing is no stall
		began := time.Now()
		data, err := io.ReadAll(resp.Body)
		took := time.Since(began) - 2700*time.Millisecond
		if string(data) != "xxx" || !errors.Is(err, poisehttp.ErrBodyStalled) || took < time.Second || took > 1250*time.Millisecond {
			t.Errorf("read %q, %v, after %v of stalling", data, err, took)
		}
		if got := strings.Join(events.all(), "; "); got != "a#1 success, later silent" || inFlight(b, "a") != 0 {
			t.Errorf("the observer was told %s", got)
		}
	})
}

// Cases: B98.
func TestTransport_CutsWhatStaysAtAnEndpointThatHasLeft(t *testing.T) {
	for name, leave := range map[string]func(*poisehttp.Transport) error{
		"drains":  func(b *poisehttp.Transport) error { return b.SetStatus("a", poise.Draining) },
		"removed": func(b *poisehttp.Transport) error { return b.Update(nil) },
	} {
		for _, status := range []int{101, 200} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var events record
					client, server := net.Pipe()
					defer server.Close()
					b := newTransport(t, poisehttp.Config{CutAfter: 10 * time.Second, Observe: events.observe}, &fake{answer: func(*http.Request) (*http.Response, error) {
						return &http.Response{StatusCode: status, Body: client}, nil
					}})
					resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
					if err != nil {
						t.Fatal(err)
					}
					<-time.After(time.Hour)
					if len(events.all()) != 0 {
						t.Fatal("it was cut while its endpoint served")
					}
					if err := leave(b); err != nil {
						t.Fatal(err)
					}
					began := time.Now()
					_, err = resp.Body.Read(make([]byte, 1))
					if took := time.Since(began); !errors.Is(err, poisehttp.ErrCut) || took < 10*time.Second || took > 11*time.Second {
						t.Errorf("got %v after %v", err, took)
					}
					synctest.Wait()
					_ = resp.Body.Close()
					if got := strings.Join(events.all(), "; "); got != "a#1 success, later cancelled" {
						t.Errorf("the observer was told %s", got)
					}
				})
			})
		}
	}
}

// Cases: B106.
func TestTransport_TakesTheWordOfWhomItIsToldTo(t *testing.T) {
	for _, row := range []struct {
		name   string
		repeat func(*http.Request) bool
		ctx    poisehttp.Override
		header string
		calls  int64
	}{
		{name: "a key", header: "k", calls: 3},
		{name: "an empty key", calls: 1},
		{name: "a key that a proxy does not trust", repeat: poisehttp.RepeatableMethod, header: "k", calls: 1},
		{name: "never", ctx: poisehttp.Override{Repeat: poisehttp.RepeatNever}, header: "k", calls: 1},
		{name: "always", ctx: poisehttp.Override{Repeat: poisehttp.RepeatAlways}, calls: 3},
		{name: "fewer", ctx: poisehttp.Override{Repeat: poisehttp.RepeatAlways, Attempts: 2}, calls: 2},
	} {
		e := failing(errBroken)
		b := newTransport(t, poisehttp.Config{Loop: loop(off), Repeat: poisehttp.RepeatConfig{Repeatable: row.repeat}}, e)
		req := newRequest(t, http.MethodPost, nil)
		req.Header.Set("Idempotency-Key", row.header)
		if _, err := do(b, req.WithContext(poisehttp.WithOverride(req.Context(), row.ctx))); err == nil || e.calls.Load() != row.calls {
			t.Errorf("%s: %d calls, %v", row.name, e.calls.Load(), err)
		}
	}
}

// Instants keep the reading of the clock that does not step: without it a step of the
// wall clock would be a time that has passed.
//
// Cases: B22, B108.
func TestTransport_KeepsTheClockThatDoesNotStep(t *testing.T) {
	var events record
	seen := make(chan time.Time, 10)
	picks := fixed{func(v *poise.View) (poise.Picker, error) {
		return pickerFunc(func(q poise.Query) (poise.Selection, error) {
			seen <- q.Now
			return v.Select(0)
		}), nil
	}}
	b := newTransport(t, poisehttp.Config{Loop: loop(by(picks)), Observe: events.observe}, answering(200))
	if _, err := get(t, b); err != nil {
		t.Fatal(err)
	}
	e := events.last()
	for name, instant := range map[string]time.Time{"a query": <-seen, "an event": e.Began} {
		if !strings.Contains(instant.String(), " m=") {
			t.Errorf("the instant of %s is %v", name, instant)
		}
	}
	if e.Total <= 0 || e.Header <= 0 {
		t.Errorf("the times are %v and %v", e.Header, e.Total)
	}
}

// Claim: An endpoint that is silent when a deadline of the caller's ends has that held against it.
//
// Cases: B109.
func TestTransport_LeavesOutWhoIsSilentAtCallersDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTransport(t, poisehttp.Config{}, hanging(), answering(200), answering(200), answering(200))
		client := &http.Client{Transport: b, Timeout: time.Second}
		failed := func(calls int) (n int) {
			for range calls {
				resp, err := client.Get("http://service.example.com/")
				if err != nil {
					n++
				} else {
					_ = resp.Body.Close()
				}
				<-time.After(10 * time.Millisecond)
			}
			return n
		}
		_ = failed(100)
		if n := failed(1000); n > 10 {
			t.Errorf("%d of a thousand calls failed", n)
		}
	})
}

// Claim: A caller who leaves, a request body that fails and a pause of this process say nothing about the endpoint.
//
// Cases: B101.
func TestTransport_BlamesNobodyForAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Whoever sees a timer a second late was not running meanwhile.
		paused := &fake{answer: func(*http.Request) (*http.Response, error) {
			<-time.After(2 * time.Second)
			return nil, errBroken
		}}
		var events record
		b := newTransport(t, poisehttp.Config{AttemptTimeout: time.Second, Observe: events.observe}, paused, answering(200))
		if status, err := get(t, b); status != 200 {
			t.Errorf("got %d, %v", status, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		b = newTransport(t, poisehttp.Config{Observe: events.observe}, paused)
		if _, err := do(b, newRequest(t, http.MethodGet, nil).WithContext(ctx)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if got := strings.Join(events.all(), "; "); got != "a#1 invalid, retried; b#2 success; a#1 invalid" {
			t.Errorf("the observer was told %s", got)
		}
	})
}

// Claim: Each HTTPEndpoint resumes its own TLS sessions and nobody else's.
//
// Cases: B113.
func TestHTTPEndpoint_ResumesItsOwnSessions(t *testing.T) {
	template := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(10)}}
	var endpoints []poisehttp.Endpoint
	var resumed, handshakes atomic.Int64
	for range 2 {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			handshakes.Add(1)
			if r.TLS.DidResume {
				resumed.Add(1)
			}
		}))
		server.StartTLS()
		defer server.Close()
		template.TLSClientConfig.RootCAs = server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
		e, err := poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{Address: server.Listener.Addr().String(), Transport: template})
		if err != nil {
			t.Fatal(err)
		}
		endpoints = append(endpoints, e)
	}
	b := newTransport(t, poisehttp.Config{}, endpoints...)
	for range 20 {
		req := newRequest(t, http.MethodGet, nil)
		req.URL.Scheme, req.URL.Host = "https", "example.com"
		if _, err := do(b, req); err != nil {
			t.Fatal(err)
		}
	}
	if handshakes.Load() != 20 || resumed.Load() < 16 {
		t.Errorf("%d of %d handshakes were resumed", resumed.Load(), handshakes.Load())
	}
}

// An endpoint may close a request body while it is read. What the read then fails with
// is the endpoint's doing.
func TestTransport_BlamesTheEndpointThatClosesABodyUnderItsOwnRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events record
		reading, closed := make(chan struct{}), make(chan struct{})
		body := &source{Reader: readerFunc(func([]byte) (int, error) {
			close(reading)
			<-closed
			return 0, errors.New("closed under the read")
		}), onClose: func() { close(closed) }}
		b := newTransport(t, poisehttp.Config{Loop: loop(off), Observe: events.observe}, &fake{answer: func(req *http.Request) (*http.Response, error) {
			var group sync.WaitGroup
			group.Go(func() { _, _ = req.Body.Read(make([]byte, 1)) })
			<-reading
			_ = req.Body.Close()
			group.Wait()
			return nil, errBroken
		}})
		if _, err := do(b, newRequest(t, http.MethodPost, body)); !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
		if got := strings.Join(events.all(), "; "); got != "a#1 failure" {
			t.Errorf("the observer was told %s", got)
		}
	})
}

// Cases: B88.
func TestTransport_HonoursRetryAfterWithinBounds(t *testing.T) {
	date := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		text, date string
		want       time.Duration
	}{
		{"", "", 0}, {"7", "", 7 * time.Second}, {"100000", "", time.Minute}, {"-1", "", 0}, {"soon", "", 0},
		{date.Add(9 * time.Second).Format(http.TimeFormat), date.Format(http.TimeFormat), 9 * time.Second},
		{date.Format(http.TimeFormat), date.Add(time.Hour).Format(http.TimeFormat), 0},
	} {
		var events record
		b := newTransport(t, poisehttp.Config{Observe: events.observe, Repeat: poisehttp.RepeatConfig{MaxRetryAfter: time.Minute}}, &fake{answer: func(*http.Request) (*http.Response, error) {
			resp := reply(503, "")
			resp.Header.Set("Retry-After", row.text)
			resp.Header.Set("Date", row.date)
			return resp, nil
		}})
		_, _ = get(t, b)
		if got := events.last().Result; got.Outcome != poise.Overloaded || got.RetryAfter != row.want {
			t.Errorf("%q: %+v", row.text, got)
		}
	}
}

// A reverse proxy is the oldest user of a RoundTripper: it passes on bodies, trailers,
// upgrades and informational responses.
func TestTransport_ServesAReverseProxy(t *testing.T) {
	backend := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "echo")
			w.WriteHeader(http.StatusSwitchingProtocols)
			conn, rw, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			_ = rw.Flush()
			_, _ = io.CopyN(conn, rw, 5)
			return
		}
		w.Header().Set("Link", "hint")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Trailer", "Sum")
		_, _ = io.Copy(w, r.Body)
		w.Header().Set("Sum", "42")
	})
	b := newTransport(t, poisehttp.Config{Hosts: []string{"*"}}, endpointTo(t, downAddress(t)), backend)
	proxy := &httputil.ReverseProxy{Transport: b, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: "backend.example"})
	}}
	front := httptest.NewServer(proxy)
	defer front.Close()
	for range 4 {
		hints := 0
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error { hints++; return nil }})
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, front.URL+"/x", strings.NewReader("posted"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := front.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != 200 || string(body) != "posted" || err != nil || resp.Trailer.Get("Sum") != "42" || hints != 1 {
			t.Errorf("got %d %q, %v, trailer %v, %d hints", resp.StatusCode, body, err, resp.Trailer, hints)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := front.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	conn := resp.Body.(io.ReadWriteCloser)
	_, _ = io.WriteString(conn, "hello")
	if echo, err := io.ReadAll(conn); string(echo) != "hello" || err != nil {
		t.Errorf("the upgraded connection answers %q, %v", echo, err)
	}
	_ = conn.Close()
	eventually(t, func() bool { return inFlight(b, "b") == 0 })
}

// Claim: A panic of a callback, a policy or an endpoint during a call leaves no slot held.
//
// Cases: B14.
func TestTransport_HoldsNothingAfterAPanic(t *testing.T) {
	panicking := fixed{func(*poise.View) (poise.Picker, error) {
		return pickerFunc(func(poise.Query) (poise.Selection, error) { panic("policy") }), nil
	}}
	for name, cfg := range map[string]poisehttp.Config{
		"Key":        {Key: func(*http.Request) poise.Key { panic("Key") }},
		"Explain":    {Explain: func(*http.Request) bool { panic("Explain") }},
		"Observe":    {Observe: func(poisehttp.Event) { panic("Observe") }},
		"Repeatable": {Repeat: poisehttp.RepeatConfig{Repeatable: func(*http.Request) bool { panic("Repeatable") }}},
		"Classify":   {Classify: func(*http.Response, error) poise.Result { panic("Classify") }},
		"policy":     {Loop: loop(by(panicking))},
	} {
		for _, status := range []int{200, 503} {
			body := &source{Reader: strings.NewReader("body")}
			b := newTransport(t, cfg, &fake{answer: func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: status, Body: http.NoBody}, nil
			}}, answering(200))
			requirePanic(t, func() { _, _ = b.RoundTrip(newRequest(t, http.MethodPut, body)) })
			if body.closes.Load() > 1 {
				t.Errorf("%s: the body was closed %d times", name, body.closes.Load())
			}
			requireIdle(t, b)
		}
	}
	b := newTransport(t, poisehttp.Config{}, &fake{answer: func(*http.Request) (*http.Response, error) { panic("endpoint") }})
	requirePanic(t, func() { _, _ = b.RoundTrip(newRequest(t, http.MethodGet, nil)) })
	requireIdle(t, b)
}
