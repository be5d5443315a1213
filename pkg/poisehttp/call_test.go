package poisehttp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// The calls of this file go to real servers on loopback.

// downAddress is an address where nobody listens.
func downAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// resets returns an endpoint that leads to a listener which handles each
// connection with the function and then resets it. The counter is of connections
// that delivered something.
func resets(t testing.TB, handle func(net.Conn)) (e *poisehttp.HTTPEndpoint, asked *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked = new(atomic.Int64)
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			buffer := make([]byte, 1<<16)
			if n, _ := conn.Read(buffer); n > 0 {
				asked.Add(1)
			}
			handle(conn)
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		group.Wait()
	})
	return endpointTo(t, listener.Addr().String()), asked
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") }

// Claim: Every call returns a response or a CallError.
func TestTransport_AnswersFromAServer(t *testing.T) {
	var events record
	b := newTransport(t, poisehttp.Config{Observe: events.observe}, serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Sum")
		_, _ = io.WriteString(w, r.Host+r.URL.Path)
		w.Header().Set("Sum", "42")
	}))
	req := newRequest(t, http.MethodGet, nil)
	resp, err := b.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if n := inFlight(b, "a"); n != 1 {
		t.Errorf("%d slots are held before the body was read", n)
	}
	if len(events.all()) != 0 {
		t.Error("the observer was told before the end of the body")
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != "service.example.com/path" {
		t.Errorf("got %q, %v", body, err)
	}
	if resp.Trailer.Get("Sum") != "42" {
		t.Errorf("the trailer is %v", resp.Trailer)
	}
	if resp.Request != req {
		t.Error("the response names another request")
	}
	if n := inFlight(b, "a"); n != 0 {
		t.Errorf("%d slots are held after the end of the body", n)
	}
	for range 2 {
		_ = resp.Body.Close()
	}
	if _, err := resp.Body.Read(make([]byte, 1)); err == nil {
		t.Error("a read after Close succeeds")
	}
	e := events.last()
	if len(events.all()) != 1 || e.Result.Outcome != poise.Success || e.Status != 200 || e.Request != req || e.Endpoint != "a" ||
		e.Attempt != 1 || e.Result.Err != nil || e.Late.Err != nil || e.Header <= 0 || e.Total < e.Header || e.Decision != nil || e.Retried {
		t.Errorf("the observer was told %+v", e)
	}
}

// Claim: Every call returns a response or a CallError.
//
// Cases: B49.
func TestTransport_GoesOnWhenAServerIsDown(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		t.Run(method, func(t *testing.T) {
			var events record
			down := endpointTo(t, downAddress(t))
			b := newTransport(t, poisehttp.Config{Observe: events.observe}, down, serve(t, ok))
			if status, err := do(b, newRequest(t, method, strings.NewReader("x"))); status != 200 {
				t.Fatalf("got %d, %v", status, err)
			}
			if got := strings.Join(events.all(), "; "); got != "a#1 unreachable, retried; b#2 success" {
				t.Errorf("the observer was told %s", got)
			}
		})
	}
	b := newTransport(t, poisehttp.Config{}, endpointTo(t, downAddress(t)))
	_, err := get(t, b)
	failure := requireCallError(t, err)
	var refused *net.OpError
	if failure.Endpoint() != "a" || len(failure.Attempts) != 1 || !errors.As(err, &refused) || failure.Timeout() {
		t.Errorf("got %+v", failure)
	}
}

// Claim: A request that is not repeatable is sent again only if nothing of it was sent.
//
// Cases: B106.
func TestTransport_NeverRepeatsWhatMayNotBeRepeated(t *testing.T) {
	broken := func(conn net.Conn) {}
	for _, row := range []struct {
		name    string
		method  string
		header  http.Header
		repeats bool
	}{
		{name: "GET", method: http.MethodGet, repeats: true},
		{name: "PUT", method: http.MethodPut, repeats: true},
		{name: "DELETE", method: http.MethodDelete, repeats: true},
		{name: "POST", method: http.MethodPost},
		{name: "PATCH", method: http.MethodPatch},
		{name: "POST with key", method: http.MethodPost, header: http.Header{"Idempotency-Key": {"k"}}, repeats: true},
		{name: "POST with unsent key", method: http.MethodPost, header: http.Header{"X-Idempotency-Key": nil}},
		{name: "POST with empty key", method: http.MethodPost, header: http.Header{"Idempotency-Key": {""}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, asked := resets(t, broken)
			var served atomic.Int64
			b := newTransport(t, poisehttp.Config{}, e, serve(t, func(w http.ResponseWriter, r *http.Request) {
				served.Add(1)
				ok(w, r)
			}))
			req := newRequest(t, row.method, strings.NewReader("body"))
			for name, values := range row.header {
				req.Header[name] = values
			}
			_, err := do(b, req)
			if row.repeats != (err == nil) || row.repeats != (served.Load() == 1) || asked.Load() != 1 {
				t.Errorf("the first had it %d times, the second %d times: %v", asked.Load(), served.Load(), err)
			}
		})
	}
}

// Claim: A request that is not repeatable is sent again only if nothing of it was sent.
//
// Claim: A request is sent again only with a body that can be replayed.
func TestTransport_RepeatsWithAWholeBodyOrNotAtAll(t *testing.T) {
	for _, row := range []struct {
		name string
		body func() io.Reader
		want string
	}{
		{"replayable", func() io.Reader { return strings.NewReader("body") }, "body"},
		{"not replayable", func() io.Reader { return io.MultiReader(strings.NewReader("body")) }, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, asked := resets(t, func(net.Conn) {})
			bodies := make(chan string, 1)
			b := newTransport(t, poisehttp.Config{}, e, serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				bodies <- string(body)
			}))
			_, err := do(b, newRequest(t, http.MethodPut, row.body()))
			if asked.Load() != 1 {
				t.Errorf("the first had it %d times", asked.Load())
			}
			if row.want == "" {
				if err == nil || len(bodies) != 0 {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if body := <-bodies; body != row.want {
				t.Errorf("the second got %q", body)
			}
		})
	}
}

// Claim: A request is sent again only with a body that can be replayed.
func TestTransport_SendsAnUntouchedBodyElsewhereWithoutGetBody(t *testing.T) {
	bodies := make(chan string, 1)
	b := newTransport(t, poisehttp.Config{}, endpointTo(t, downAddress(t)), serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
	}))
	body := &source{Reader: strings.NewReader("body")}
	if _, err := do(b, newRequest(t, http.MethodPost, body)); err != nil {
		t.Fatal(err)
	}
	if got := <-bodies; got != "body" || body.closes.Load() != 1 {
		t.Errorf("the second got %q, the body was closed %d times", got, body.closes.Load())
	}
}

// A kept connection that the server has closed is the commonest way to lose a
// request: the client finds out while it writes.
//
// Claim: A request that is not repeatable is sent again only if nothing of it was sent.
func TestTransport_SendsAPOSTOverAStaleConnectionAtMostOnce(t *testing.T) {
	for range 30 {
		var posts atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				_, _ = io.Copy(io.Discard, r.Body)
				posts.Add(1)
			}
			ok(w, r)
		}))
		e := endpointTo(t, server.Listener.Addr().String())
		b := newTransport(t, poisehttp.Config{Loop: loop(off)}, e)
		if _, err := get(t, b); err != nil {
			t.Fatal(err)
		}
		server.CloseClientConnections()
		_, err := do(b, newRequest(t, http.MethodPost, strings.NewReader("pay once")))
		if n := posts.Load(); n > 1 || err == nil && n != 1 {
			t.Fatalf("the server had the POST %d times: %v", n, err)
		}
		if err != nil {
			requireCallError(t, err)
		}
		server.Close()
	}
}

func TestTransport_TriesElsewhereWhatAServerCannotServeNow(t *testing.T) {
	for status, repeated := range map[int]bool{
		500: false, 501: false, 502: true, 503: true, 504: true, 429: false, 404: false, 304: false, 204: false,
	} {
		first := answering(status)
		b := newTransport(t, poisehttp.Config{}, first, serve(t, ok))
		got, err := get(t, b)
		want := status
		if repeated {
			want = 200
		}
		if err != nil || got != want {
			t.Errorf("status %d: got %d, %v", status, got, err)
		}
	}
	b := newTransport(t, poisehttp.Config{}, answering(503), answering(200))
	if got, err := do(b, newRequest(t, http.MethodPost, nil)); got != 503 || err != nil {
		t.Errorf("a POST that had 503 for an answer ended with %d, %v", got, err)
	}
	b = newTransport(t, poisehttp.Config{}, answering(503), answering(502))
	if got, err := get(t, b); got != 502 || err != nil {
		t.Errorf("where nobody serves, the call ended with %d, %v", got, err)
	}
}

// Claim: A call holds its slot until the end or close of the response body, an error or a panic, or a moment after its caller has left.
func TestTransport_CountsAResetInTheBodyAsAFailure(t *testing.T) {
	var events record
	e, _ := resets(t, func(conn net.Conn) {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
	})
	b := newTransport(t, poisehttp.Config{Observe: events.observe, Loop: loop(attempts(1))}, e)
	status, err := get(t, b)
	if err == nil {
		t.Fatalf("got %d and no error", status)
	}
	if status == 0 {
		return // the reset overtook the header
	}
	if got := events.last(); got.Result.Outcome != poise.Success || got.Late.Outcome != poise.Failure || got.Late.Err == nil || got.Status != 200 {
		t.Errorf("the observer was told %+v", got)
	}
	requireIdle(t, b)
}

// Claim: Every call returns a response or a CallError.
func TestTransport_ReportsAResetBeforeAnyResponse(t *testing.T) {
	e, asked := resets(t, func(net.Conn) {})
	b := newTransport(t, poisehttp.Config{}, e)
	_, err := do(b, newRequest(t, http.MethodPost, nil))
	if failure := requireCallError(t, err); len(failure.Attempts) != 1 || asked.Load() != 1 {
		t.Errorf("got %v after %d requests", failure, asked.Load())
	}
}

// Claim: A call holds its slot until the end or close of the response body, an error or a panic, or a moment after its caller has left.
func TestTransport_GivesTheSlotBackWhenTheBodyIsClosedEarly(t *testing.T) {
	var events record
	b := newTransport(t, poisehttp.Config{Observe: events.observe}, serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() { _, _ = io.Copy(io.Discard, resp.Body) }) // a read that Close interrupts
	if inFlight(b, "a") != 1 {
		t.Error("the slot is not held")
	}
	_ = resp.Body.Close()
	group.Wait()
	_ = resp.Body.Close()
	if got := strings.Join(events.all(), "; "); got != "a#1 success" || inFlight(b, "a") != 0 {
		t.Errorf("the observer was told %s", got)
	}
}

// What a call needs is used again by later ones, so a Close or a Read that comes late
// must not reach them.
func TestTransport_ALateCloseEndsNoOtherCall(t *testing.T) {
	b := newTransport(t, poisehttp.Config{}, answering(200))
	late := make([]*http.Response, 4)
	for i := range late {
		resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
		if err != nil {
			t.Fatal(err)
		}
		late[i] = resp
		if i%2 == 0 {
			_, _ = io.Copy(io.Discard, resp.Body)
		} else {
			_ = resp.Body.Close()
		}
	}
	held, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, resp := range late {
		_, _ = resp.Body.Read(make([]byte, 1))
		_ = resp.Body.Close()
	}
	if n := inFlight(b, "a"); n != 1 {
		t.Errorf("%d slots are held by one call", n)
	}
	if got, err := io.ReadAll(held.Body); string(got) != "served" || err != nil || inFlight(b, "a") != 0 {
		t.Errorf("the call that goes on gets %q, %v", got, err)
	}
}

// Whoever comes to the end of a body, all at once: one ends the call, and the others do
// not touch the next one, which uses the same memory.
func TestTransport_EndsEachBodyOnceWhoeverEndsIt(t *testing.T) {
	const callers, calls = 4, 300
	var told atomic.Int64
	b := newTransport(t, poisehttp.Config{Observe: func(poisehttp.Event) { told.Add(1) }}, answering(200), answering(200))
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for i := range calls {
				ctx, cancel := context.WithCancel(context.Background())
				resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil).WithContext(ctx))
				if err != nil {
					t.Error(err)
					cancel()
					return
				}
				var ends sync.WaitGroup
				ends.Go(func() { _, _ = io.Copy(io.Discard, resp.Body) })
				ends.Go(func() { _ = resp.Body.Close() })
				if i%3 == 0 {
					ends.Go(cancel)
				}
				if i%2 == 0 {
					ends.Wait()
				}
				cancel()
			}
		})
	}
	group.Wait()
	for told.Load() < callers*calls { // the last bodies may still be ended
		runtime.Gosched()
	}
	requireIdle(t, b)
	if n := told.Load(); n != callers*calls {
		t.Errorf("the observer was told of %d ends of %d calls", n, callers*calls)
	}
}

// Claim: A call holds its slot until the end or close of the response body, an error or a panic, or a moment after its caller has left.
//
// Claim: A caller who leaves, a request body that fails and a pause of this process say nothing about the endpoint.
//
// Cases: B21, E14.
func TestTransport_FreesWhatACancelledCallHeld(t *testing.T) {
	hang := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	stall := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	for _, row := range []struct {
		name    string
		handler http.HandlerFunc
		read    bool // the caller reads the body; else it never comes back
	}{
		{"before the header", hang, true},
		{"while reading the body", stall, true},
		{"with the body forgotten", stall, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			told := make(chan poisehttp.Event, 10)
			b := newTransport(t, poisehttp.Config{
				Observe: func(e poisehttp.Event) { told <- e },
				Loop:    loop(),
			}, serve(t, row.handler))
			for range 3 {
				ctx, cancel := context.WithCancel(t.Context())
				began := make(chan struct{})
				var group sync.WaitGroup
				group.Go(func() {
					<-began
					cancel()
				})
				if row.name == "before the header" {
					close(began)
				}
				resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil).WithContext(ctx))
				if row.name != "before the header" {
					if err != nil {
						t.Fatal(err)
					}
					close(began)
				}
				if resp != nil && row.read {
					_, err = io.Copy(io.Discard, resp.Body)
				}
				if row.read && !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
				group.Wait()
				if resp == nil && len(requireCallError(t, err).Attempts) == 0 {
					continue // it was cancelled before it was sent
				}
				e := <-told
				of := e.Result
				if resp != nil {
					of = e.Late
				}
				if of.Outcome != poise.Cancelled || !errors.Is(of.Err, context.Canceled) {
					t.Errorf("the observer was told %+v", e)
				}
				if inFlight(b, "a") != 0 {
					t.Error("the slot is still held")
				}
			}
			if b.Endpoints()[0].Passive.State != health.Serving {
				t.Error("cancelled calls set the endpoint aside")
			}
		})
	}
}

// http.Client ends a call of a foreign RoundTripper by a channel of the request
// beside the context, and either may be the first to be seen.
//
// Claim: An endpoint that is silent when a deadline of the caller's ends has that held against it.
//
// Cases: B21, B109.
func TestTransport_TakesTheTimeoutOfAClientForSilence(t *testing.T) {
	var events record
	b := newTransport(t, poisehttp.Config{Observe: events.observe, Loop: loop(off)},
		serve(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	client := &http.Client{Transport: b, Timeout: 20 * time.Millisecond}
	for range 20 {
		_, err := client.Get("http://service.example.com/")
		if timeout, _ := errors.AsType[net.Error](err); timeout == nil || !timeout.Timeout() {
			t.Fatalf("got %v", err)
		}
	}
	silent := 0
	for _, got := range events.all() {
		switch got {
		case "a#1 silent":
			silent++
		case "a#1 invalid": // this process was held up
		default:
			t.Errorf("the observer was told %s", got)
		}
	}
	if silent == 0 {
		t.Error("nothing was held against the endpoint")
	}
}

// Claim: A caller who leaves, a request body that fails and a pause of this process say nothing about the endpoint.
func TestTransport_TakesTheOlderCancelChannelForACancellation(t *testing.T) {
	var events record
	cancel := make(chan struct{})
	req := newRequest(t, http.MethodGet, nil)
	//lint:ignore SA1019 callers may still use it
	req.Cancel = cancel
	b := newTransport(t, poisehttp.Config{Observe: events.observe}, &fake{answer: func(*http.Request) (*http.Response, error) {
		close(cancel)
		return nil, errBroken
	}})
	if _, err := do(b, req); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	if got := strings.Join(events.all(), "; "); got != "a#1 cancelled" {
		t.Errorf("the observer was told %s", got)
	}
}

// Claim: A request that net/http would refuse to send, and one that was cancelled before, is sent nowhere.
func TestTransport_SendsNothingOfACancelledRequest(t *testing.T) {
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	e := answering(200)
	b := newTransport(t, poisehttp.Config{}, e)
	body := &source{Reader: strings.NewReader("x")}
	_, err := do(b, newRequest(t, http.MethodPost, body).WithContext(ctx))
	if failure := requireCallError(t, err); len(failure.Attempts) != 0 || failure.Endpoint() != "" || !errors.Is(err, cause) {
		t.Errorf("got %+v", failure)
	}
	if e.calls.Load() != 0 || body.closes.Load() != 1 {
		t.Errorf("%d calls, the body was closed %d times", e.calls.Load(), body.closes.Load())
	}
}

func TestTransport_EndsAHangByTheAttemptTimeout(t *testing.T) {
	t.Parallel()
	var events record
	b := newTransport(t, poisehttp.Config{AttemptTimeout: 300 * time.Millisecond, Observe: events.observe},
		serve(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	_, err := do(b, newRequest(t, http.MethodPost, nil))
	failure := requireCallError(t, err)
	if !errors.Is(err, poisehttp.ErrAttemptTimeout) || !failure.Timeout() || len(failure.Attempts) != 1 {
		t.Errorf("got %+v", failure)
	}
	if got := strings.Join(events.all(), "; "); got != "a#1 silent" {
		t.Errorf("the observer was told %s", got)
	}
}

// Claim: An upgraded connection holds its slot until it is closed.
func TestTransport_HoldsTheSlotOfAnUpgradedConnection(t *testing.T) {
	var events record
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "echo")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_ = rw.Flush()
		_, _ = io.Copy(conn, rw) // until the client ends its direction
	})
	b := newTransport(t, poisehttp.Config{Observe: events.observe, AttemptTimeout: time.Minute}, e)
	req := newRequest(t, http.MethodGet, nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := b.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	conn, isConn := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode != http.StatusSwitchingProtocols || !isConn {
		t.Fatalf("status %d with a body of %T", resp.StatusCode, resp.Body)
	}
	if _, err := io.WriteString(conn, "hello"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Errorf("CloseWrite: %v", err)
	}
	if echo, err := io.ReadAll(conn); string(echo) != "hello" || err != nil {
		t.Errorf("got %q, %v", echo, err)
	}
	if inFlight(b, "a") != 1 || len(events.all()) != 0 {
		t.Error("the end of one direction gave the slot back")
	}
	for range 2 {
		_ = conn.Close()
	}
	if got := strings.Join(events.all(), "; "); got != "a#1 success" || inFlight(b, "a") != 0 {
		t.Errorf("the observer was told %s", got)
	}
}

func TestTransport_EndsResponsesWithoutABodyAtOnce(t *testing.T) {
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.Header().Set("Content-Length", "1000")
			return
		}
		w.WriteHeader(map[string]int{"/204": 204, "/304": 304, "/empty": 200}[r.URL.Path])
	})
	b := newTransport(t, poisehttp.Config{AttemptTimeout: time.Minute}, e)
	for _, row := range []struct{ method, path string }{
		{http.MethodHead, "/"}, {http.MethodGet, "/204"}, {http.MethodGet, "/304"}, {http.MethodGet, "/empty"},
	} {
		req := newRequest(t, row.method, nil)
		req.URL.Path = row.path
		resp, err := b.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if inFlight(b, "a") != 0 {
			t.Errorf("%s %s: the slot is held although there is nothing to read", row.method, row.path)
		}
		if body, err := io.ReadAll(resp.Body); len(body) != 0 || err != nil {
			t.Errorf("%s %s: read %q, %v", row.method, row.path, body, err)
		}
		_ = resp.Body.Close()
	}
}

func TestTransport_PassesOnExpectContinue(t *testing.T) {
	template := &http.Transport{ExpectContinueTimeout: time.Minute}
	for _, status := range []int{200, 417} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if status == 200 {
				_, _ = io.Copy(io.Discard, r.Body) // sends 100 Continue
			}
			w.WriteHeader(status)
		}))
		defer server.Close()
		e, err := poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{Address: server.Listener.Addr().String(), Transport: template})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		b := newTransport(t, poisehttp.Config{}, e)
		body := &source{Reader: strings.NewReader("body")}
		req := newRequest(t, http.MethodPost, body)
		req.Header.Set("Expect", "100-continue")
		if got, err := do(b, req); got != status || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		if read := body.reads.Load() > 0; read != (status == 200) {
			t.Errorf("status %d: the body was read: %t", status, read)
		}
	}
}
