package poisehttp_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// Claim: Every connection of an HTTPEndpoint goes to its address, and the request keeps its host.
func TestHTTPEndpoint_KeepsTheLogicalName(t *testing.T) {
	type seen struct{ host, sni, proto string }
	got := make(chan seen, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		s := seen{host: r.Host, proto: r.Proto}
		if r.TLS != nil {
			s.sni = r.TLS.ServerName
		}
		got <- s
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	// A template that was in use, speaks HTTP/2 and has ways of its own to connect.
	template := server.Client().Transport.(*http.Transport)
	if resp, err := server.Client().Get(server.URL); err != nil {
		t.Fatal(err)
	} else if _ = resp.Body.Close(); (<-got).proto != "HTTP/2.0" {
		t.Fatal("the template does not speak HTTP/2")
	}
	elsewhere := func(context.Context, string, string) (net.Conn, error) {
		t.Error("the template connected elsewhere")
		return nil, errBroken
	}
	template = template.Clone()
	template.DialContext = elsewhere
	template.DialTLSContext = elsewhere
	//lint:ignore SA1019 a template may still set them
	template.Dial, template.DialTLS = func(n, a string) (net.Conn, error) { return elsewhere(t.Context(), n, a) },
		func(n, a string) (net.Conn, error) { return elsewhere(t.Context(), n, a) }
	template.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.example.com"})
	e, err := poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{Address: server.Listener.Addr().String(), Transport: template})
	if err != nil {
		t.Fatal(err)
	}
	b := newTransport(t, poisehttp.Config{}, e)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		req := newRequest(t, method, nil)
		req.URL.Scheme, req.URL.Host = "https", "example.com" // a name of the certificate
		req.Host = "other.example.com"
		if _, err := do(b, req); err != nil {
			t.Fatal(err)
		}
		if s := <-got; s.host != "other.example.com" || s.sni != "example.com" || s.proto != "HTTP/1.1" {
			t.Errorf("%s: the server saw %+v", method, s)
		}
	}
	req := newRequest(t, http.MethodGet, nil)
	req.URL.Scheme, req.URL.Host = "https", "service.example.org"
	if _, err := do(b, req); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a name that is not the certificate's gave %v", err)
	}
}

// wire is a connection that fails its n-th write, counted from 1, after it took the
// given number of bytes.
type wire struct {
	net.Conn
	fail, takes int
}

func (w *wire) Write(p []byte) (int, error) {
	if w.fail--; w.fail == 0 {
		_, _ = w.Conn.Write(p[:min(w.takes, len(p))])
		return min(w.takes, len(p)), errBroken
	}
	return w.Conn.Write(p)
}

// Claim: An error of an HTTPEndpoint matches ErrNotSent only if its connection took no byte of the request.
func TestHTTPEndpoint_TellsWhetherAnythingWasSent(t *testing.T) {
	var group sync.WaitGroup
	dialled := func(conn net.Conn, err error) func(context.Context, string, string) (net.Conn, error) {
		return func(context.Context, string, string) (net.Conn, error) { return conn, err }
	}
	pipe := func(fail int) net.Conn {
		client, server := net.Pipe()
		group.Go(func() { _, _ = io.Copy(io.Discard, server) })
		t.Cleanup(func() { _ = server.Close() })
		return &wire{Conn: client, fail: fail, takes: 3}
	}
	defer group.Wait()
	for _, row := range []struct {
		name    string
		conn    net.Conn
		err     error
		body    io.Reader
		notSent bool
	}{
		{name: "the dial fails", err: errBroken, notSent: true},
		{name: "the first write fails", conn: pipe(1)},
		{name: "the second write fails", conn: pipe(2), body: io.MultiReader(strings.NewReader("x"))},
		{name: "the body fails before the header is flushed", conn: pipe(0), body: readerFunc(func([]byte) (int, error) { return 0, errBroken })},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, err := poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{Address: "192.0.2.1:80", Dial: dialled(row.conn, row.err)})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			_, err = e.RoundTrip(newRequest(t, http.MethodPost, row.body))
			if err == nil || errors.Is(err, poisehttp.ErrNotSent) != row.notSent {
				t.Errorf("got %v, which matches ErrNotSent: %t", err, errors.Is(err, poisehttp.ErrNotSent))
			}
			if row.err != nil && (!errors.Is(err, errBroken) || err.Error() != errBroken.Error()) {
				t.Errorf("the cause is lost: %v", err)
			}
		})
	}
}

// Claim: An error of an HTTPEndpoint matches ErrNotSent only if its connection took no byte of the request.
func TestHTTPEndpoint_TellsThatNothingWasSentOverTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	template := server.Client().Transport.(*http.Transport)
	for _, row := range []struct {
		host    string
		notSent bool
	}{
		{"example.com", false},      // the server had it all
		{"wrong.example.org", true}, // the handshake fails
	} {
		e, err := poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{Address: server.Listener.Addr().String(), Transport: template})
		if err != nil {
			t.Fatal(err)
		}
		req := newRequest(t, http.MethodPost, strings.NewReader("body"))
		req.URL.Scheme, req.URL.Host = "https", row.host
		if _, err := e.RoundTrip(req); err == nil || errors.Is(err, poisehttp.ErrNotSent) != row.notSent {
			t.Errorf("%s: got %v, which matches ErrNotSent: %t", row.host, err, errors.Is(err, poisehttp.ErrNotSent))
		}
		_ = e.Close()
	}
}

// A connection that served before has written before; what counts is what it wrote
// of this request.
//
// Claim: An error of an HTTPEndpoint matches ErrNotSent only if its connection took no byte of the request.
func TestHTTPEndpoint_TellsThatAKeptConnectionTookNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		go func() {
			buffer := make([]byte, 4096)
			_, _ = server.Read(buffer)
			_, _ = io.WriteString(server, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}()
		e, err := poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{
			Address: "192.0.2.1:80",
			Dial:    func(context.Context, string, string) (net.Conn, error) { return client, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		req := newRequest(t, http.MethodPost, nil)
		resp, err := e.RoundTrip(req)
		if err != nil || resp.Request != req {
			t.Fatalf("got %v, %v", resp, err)
		}
		trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
			_ = server.Close()
			synctest.Wait() // the transport has noticed
		}}
		ctx := httptrace.WithClientTrace(t.Context(), trace)
		if _, err := e.RoundTrip(newRequest(t, http.MethodPost, nil).WithContext(ctx)); !errors.Is(err, poisehttp.ErrNotSent) {
			t.Errorf("got %v, which does not match ErrNotSent", err)
		}
	})
}

func TestNewHTTPEndpoint_TakesEveryAddress(t *testing.T) {
	for _, address := range []string{"a:1", "a.example:65535", "127.0.0.1:80", "[::1]:80", "[fe80::1%eth0]:80", "a_b-c:80"} {
		endpointTo(t, address)
	}
}

// Claim: Every call returns a response or a CallError.
func TestHTTPEndpoint_OfZeroValueLeadsNowhere(t *testing.T) {
	var e poisehttp.HTTPEndpoint
	e.CloseIdleConnections()
	body := &source{Reader: strings.NewReader("x")}
	_, err := e.RoundTrip(newRequest(t, http.MethodPost, body))
	requireField(t, err, "Address", poisehttp.ErrMissing)
	if body.closes.Load() != 1 {
		t.Errorf("the body was closed %d times", body.closes.Load())
	}
	b := newTransport(t, poisehttp.Config{}, &e, answering(200))
	if status, err := do(b, newRequest(t, http.MethodPost, nil)); status != 200 {
		t.Errorf("got %d, %v; nothing was sent before", status, err)
	}
	if err := b.Update(members(&e)); err != nil {
		t.Fatal(err)
	}
	_, err = get(t, b)
	requireCallError(t, err)
	requireField(t, err, "Address", poisehttp.ErrMissing)
}

// Cases: B105.
func TestNewHTTPEndpoint_NamesTheFieldThatIsWrong(t *testing.T) {
	for _, address := range []string{"", "127.0.0.1", ":80", "127.0.0.1:", "::1:80", "http://x",
		"a:0", "a:65536", "a:http", "a:-1", "a:+1", "a: 80", "a b:80", " a:80", "a\t:80", "a\x00:80", "a\u00a0:80", "a\x7f:80",
		"\ufeffa:80", "a,b:80", "\"a\":80", "a..b:80", "bücher.example:80", "user@a:80", "a/b:80", "a?b:80", "a#b:80", "[a:80", "http://a:80",
	} {
		_, err := poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{Address: address})
		requireField(t, err, "Address", poisehttp.ErrBadAddress)
	}
	_, err := poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{Address: "x:80", Transport: &http.Transport{MaxConnsPerHost: 1}})
	requireField(t, err, "Transport.MaxConnsPerHost", poisehttp.ErrHiddenQueue)
}

// Claim: A Transport closes an Endpoint once, after it was removed and its last call has ended.
// Code: New
//
// Cases: B30, B45.
func TestTransport_ClosesARemovedEndpointOnceAfterItsLastCall(t *testing.T) {
	for name, remove := range map[string]func(*poisehttp.Transport) error{
		"by Update": func(b *poisehttp.Transport) error { return b.Update(nil) },
		"by Close":  (*poisehttp.Transport).Close,
	} {
		t.Run(name, func(t *testing.T) {
			e := answering(200)
			b := newTransport(t, poisehttp.Config{}, e)
			one, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
			if err != nil {
				t.Fatal(err)
			}
			two, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := remove(b); err != nil {
					t.Fatal(err)
				}
			}
			_ = one.Body.Close()
			if e.closed.Load() != 0 {
				t.Fatal("it was closed while a call was in flight")
			}
			if body, err := io.ReadAll(two.Body); string(body) != "served" || err != nil {
				t.Errorf("the call in flight got %q, %v", body, err)
			}
			_ = two.Body.Close()
			_ = b.Close()
			eventually(t, func() bool { return e.closed.Load() == 1 })
		})
	}
}

// Claim: A panic of an Endpoint's RoundTrip passes through to the caller, and leaves nothing held.
//
// Cases: B14.
func TestTransport_PassesOnAPanicOfAnEndpoint(t *testing.T) {
	var events record
	b := newTransport(t, poisehttp.Config{Observe: events.observe, AttemptTimeout: 1 << 40},
		&fake{answer: func(*http.Request) (*http.Response, error) { panic(errBroken) }})
	body := &source{Reader: strings.NewReader("x")}
	func() {
		defer func() {
			if v := recover(); v != errBroken {
				t.Errorf("recovered %v", v)
			}
		}()
		_, _ = do(b, newRequest(t, http.MethodPost, body))
	}()
	if inFlight(b, "a") != 0 || body.closes.Load() != 1 {
		t.Errorf("%d slots are held, the body was closed %d times", inFlight(b, "a"), body.closes.Load())
	}
	if got := strings.Join(events.all(), "; "); got != "a#1 failure" {
		t.Errorf("the observer was told %s", got)
	}
}

// An endpoint that breaks the rules must not break the Balancer.
func TestTransport_SurvivesEndpointsThatBreakTheRules(t *testing.T) {
	t.Run("neither response nor error", func(t *testing.T) {
		b := newTransport(t, poisehttp.Config{}, &fake{answer: func(*http.Request) (*http.Response, error) { return nil, nil }})
		if _, err := get(t, b); len(requireCallError(t, err).Attempts) != 3 {
			t.Errorf("got %v", err)
		}
	})
	t.Run("response and error", func(t *testing.T) {
		body := &source{Reader: strings.NewReader("x")}
		b := newTransport(t, poisehttp.Config{
			Loop: loop(attempts(1)),
			Classify: func(resp *http.Response, err error) poise.Result {
				if (resp == nil) == (err == nil) {
					t.Errorf("Classify was given %v and %v", resp, err)
				}
				return poise.Result{Outcome: poise.Failure}
			},
		}, &fake{answer: func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: body}, errBroken
		}})
		if _, err := get(t, b); !errors.Is(err, errBroken) || body.closes.Load() != 1 {
			t.Errorf("got %v, the body was closed %d times", err, body.closes.Load())
		}
	})
	t.Run("no body", func(t *testing.T) {
		b := newTransport(t, poisehttp.Config{}, &fake{answer: func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200}, nil
		}})
		if status, err := get(t, b); status != 200 || err != nil {
			t.Errorf("got %d, %v", status, err)
		}
	})
	t.Run("upgrade without a connection", func(t *testing.T) {
		b := newTransport(t, poisehttp.Config{}, answering(101))
		resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
		if err != nil {
			t.Fatal(err)
		}
		if _, writable := resp.Body.(io.Writer); writable {
			t.Error("the body says that it can be written to")
		}
		_, _ = io.ReadAll(resp.Body)
		requireIdle(t, b)
	})
	t.Run("a body that can be written to, without an upgrade", func(t *testing.T) {
		b := newTransport(t, poisehttp.Config{}, &fake{answer: func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: struct {
				io.ReadCloser
				io.Writer
			}{reply(200, "").Body, io.Discard}}, nil
		}})
		resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(resp.Body)
		requireIdle(t, b)
	})
	t.Run("body whose Close panics", func(t *testing.T) {
		body := &source{Reader: strings.NewReader("x"), onClose: func() { panic(errBroken) }}
		b := newTransport(t, poisehttp.Config{}, &fake{answer: func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: body}, nil
		}})
		resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
		if err != nil {
			t.Fatal(err)
		}
		requirePanic(t, func() { _ = resp.Body.Close() })
	})
	t.Run("Close that panics", func(t *testing.T) {
		e := answering(200)
		bad := &closing{fake: answering(200), onClose: func() { panic(errBroken) }}
		b := newTransport(t, poisehttp.Config{}, bad, e)
		if err := b.Update(nil); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { return e.closed.Load() == 1 })
	})
}

// closing is an endpoint with a Close of its own.
type closing struct {
	*fake
	onClose func()
}

func (c *closing) Close() error {
	c.onClose()
	return c.fake.Close()
}

func requirePanic(t testing.TB, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("want a panic")
		}
	}()
	f()
}

func TestTransport_ClosesIdleConnections(t *testing.T) {
	e := &idling{fake: answering(200)}
	b := newTransport(t, poisehttp.Config{}, e, answering(200), serve(t, ok))
	(&http.Client{Transport: b}).CloseIdleConnections()
	if e.idle != 1 {
		t.Errorf("called %d times", e.idle)
	}
}

type idling struct {
	*fake
	idle int
}

func (i *idling) CloseIdleConnections() { i.idle++ }
