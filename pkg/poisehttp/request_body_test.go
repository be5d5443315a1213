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
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// Claim: RoundTrip does not change the caller's request, and closes its body.
func TestTransport_ClosesTheRequestBodyOnEveryPath(t *testing.T) {
	reading := func(status int, err error) *fake {
		return &fake{answer: func(req *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, req.Body)
			_ = req.Body.Close()
			if err != nil {
				return nil, err
			}
			return reply(status, ""), nil
		}}
	}
	closing := func() *fake {
		return &fake{answer: func(req *http.Request) (*http.Response, error) {
			_ = req.Body.Close()
			return nil, errBroken
		}}
	}
	draining := poisehttp.Config{Members: []poisehttp.Member{{ID: "a", Endpoint: answering(200), Status: poise.Draining}}}
	for _, row := range []struct {
		name      string
		cfg       poisehttp.Config
		endpoints []poisehttp.Endpoint
		method    string
		url       string
		getBody   func() (io.ReadCloser, error)
	}{
		{name: "served", endpoints: []poisehttp.Endpoint{reading(200, nil)}},
		{name: "failed after reading", endpoints: []poisehttp.Endpoint{reading(0, errBroken)}},
		{name: "failed without reading or closing", endpoints: []poisehttp.Endpoint{failing(errBroken)}},
		{name: "failed without reading", endpoints: []poisehttp.Endpoint{closing()}},
		{name: "nothing sent anywhere", endpoints: []poisehttp.Endpoint{failing(notSent{}), failing(notSent{})}},
		{name: "repeated", endpoints: []poisehttp.Endpoint{closing(), reading(200, nil)}, method: http.MethodPut},
		{name: "no endpoint", endpoints: []poisehttp.Endpoint{}},
		{name: "nobody eligible", cfg: draining},
		{name: "malformed", endpoints: []poisehttp.Endpoint{answering(200)}, url: "ftp://x/"},
		{name: "GetBody fails", endpoints: []poisehttp.Endpoint{reading(503, nil), answering(200)}, method: http.MethodPut,
			getBody: func() (io.ReadCloser, error) { return nil, errBroken }},
		{name: "GetBody gives nothing", endpoints: []poisehttp.Endpoint{reading(503, nil), answering(200)}, method: http.MethodPut,
			getBody: func() (io.ReadCloser, error) { return nil, nil }},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.cfg.Members == nil {
				row.cfg.Members = members(row.endpoints...)
			}
			b := newTransport(t, row.cfg)
			body := &source{Reader: strings.NewReader("body")}
			if row.method == "" {
				row.method = http.MethodPost
			}
			req := newRequest(t, row.method, body)
			req.GetBody = row.getBody
			if row.url != "" {
				req.URL.Scheme = "ftp"
			}
			req.Header.Set("X", "1")
			before := *req
			_, err := do(b, req)
			if body.closes.Load() != 1 {
				t.Errorf("the body was closed %d times, after %v", body.closes.Load(), err)
			}
			if req.Body != before.Body || req.Context() != before.Context() || len(req.Header) != 1 || req.URL != before.URL ||
				(req.GetBody == nil) != (before.GetBody == nil) || req.ContentLength != before.ContentLength {
				t.Error("the request was changed")
			}
		})
	}
}

// notSent is the error of an endpoint that knows that nothing was sent.
type notSent struct{}

func (notSent) Error() string        { return "nothing was sent" }
func (notSent) Is(target error) bool { return target == poisehttp.ErrNotSent }

// Claim: RoundTrip does not change the caller's request, and closes its body.
func TestTransport_ClosesTheBodyItCouldNotSendAgain(t *testing.T) {
	e := &fake{answer: func(req *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, req.Body)
		_ = req.Body.Close()
		return reply(503, ""), nil
	}}
	b := newTransport(t, poisehttp.Config{
		Loop: loop(off, budget(1, 2)),
	}, e, &fake{answer: e.answer})
	var fresh []*source
	call := func() {
		t.Helper()
		req := newRequest(t, http.MethodPut, &source{Reader: strings.NewReader("x")})
		req.GetBody = func() (io.ReadCloser, error) {
			fresh = append(fresh, &source{Reader: strings.NewReader("x")})
			return fresh[len(fresh)-1], nil
		}
		if status, err := do(b, req); status != 503 || err != nil {
			t.Fatalf("got %d, %v", status, err)
		}
	}
	call() // repeats once, and then finds nobody for the body it has
	call() // repeats once, and then has no retry left in the budget
	call() // has none either
	for i, body := range fresh {
		if n := body.closes.Load(); n != 1 {
			t.Errorf("body %d of GetBody was closed %d times", i, n)
		}
	}
	if e.calls.Load() != 3 || len(fresh) != 2 {
		t.Errorf("%d calls with %d fresh bodies", e.calls.Load(), len(fresh))
	}
}

// Claim: A caller who leaves, a request body that fails and a pause of this process say nothing about the endpoint.
//
// Cases: B14.
func TestTransport_BlamesNoEndpointForABodyThatFails(t *testing.T) {
	discard := func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }
	for _, row := range []struct {
		name   string
		read   func([]byte) (int, error)
		length int64
		want   error
	}{
		{"a read that fails", func([]byte) (int, error) { return 0, errBroken }, -1, errBroken},
		{"a read that panics", func([]byte) (int, error) { panic("oops") }, -1, poisehttp.ErrBodyPanic},
		{"a body shorter than promised", strings.NewReader("body").Read, 5, poisehttp.ErrBadRequest},
		{"a body longer than promised", strings.NewReader("body").Read, 3, poisehttp.ErrBadRequest},
	} {
		t.Run(row.name, func(t *testing.T) {
			var events record
			b := newTransport(t, poisehttp.Config{Observe: events.observe, Loop: loop()}, serve(t, discard))
			body := &source{Reader: readerFunc(row.read)}
			req := newRequest(t, http.MethodPut, body)
			req.ContentLength = row.length
			_, err := do(b, req)
			if err == nil {
				// The server may answer before the client finds out.
				return
			}
			if failure := requireCallError(t, err); !errors.Is(err, row.want) || len(failure.Attempts) != 1 {
				t.Errorf("got %+v", failure)
			}
			if got := strings.Join(events.all(), "; "); got != "a#1 invalid" || body.closes.Load() != 1 {
				t.Errorf("the observer was told %s, the body was closed %d times", got, body.closes.Load())
			}
			if b.Endpoints()[0].Passive.State != health.Serving {
				t.Error("the endpoint was ejected")
			}
		})
	}
}

func TestTransport_SendsABodyOfTheLengthItPromises(t *testing.T) {
	bodies := make(chan string, 1)
	b := newTransport(t, poisehttp.Config{}, serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
	}))
	for _, length := range []int64{4, -1, 0} {
		req := newRequest(t, http.MethodPost, &source{Reader: strings.NewReader("body")})
		req.ContentLength = length
		if status, err := do(b, req); status != 200 || err != nil {
			t.Errorf("length %d: got %d, %v", length, status, err)
		}
		if got := <-bodies; got != "body" {
			t.Errorf("length %d: the server got %q", length, got)
		}
	}
}

func TestTransport_ServesAlthoughTheBodyPanicsWhenClosed(t *testing.T) {
	b := newTransport(t, poisehttp.Config{}, serve(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	body := &source{Reader: strings.NewReader("body"), onClose: func() { panic("oops") }}
	if status, err := do(b, newRequest(t, http.MethodPost, body)); status != 200 || err != nil {
		t.Errorf("got %d, %v", status, err)
	}
}

// A response can come before the body has failed; the failure then breaks the
// connection under the response.
//
// Claim: A caller who leaves, a request body that fails and a pause of this process say nothing about the endpoint.
func TestTransport_BlamesNoEndpointForAResponseThatItsRequestBroke(t *testing.T) {
	var events record
	b := newTransport(t, poisehttp.Config{Observe: events.observe}, &fake{answer: func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: &source{Reader: readerFunc(func([]byte) (int, error) {
			_, err := io.Copy(io.Discard, req.Body)
			return 0, errors.Join(errors.New("connection broken"), err)
		})}}, nil
	}})
	body := readerFunc(func([]byte) (int, error) { return 0, errBroken })
	if _, err := do(b, newRequest(t, http.MethodPut, body)); err == nil {
		t.Error("want an error")
	}
	if got := strings.Join(events.all(), "; "); got != "a#1 success, later invalid" {
		t.Errorf("the observer was told %s", got)
	}
}

// The transport waits for a read that blocks, whatever became of the context.
//
// Claim: A caller who leaves, a request body that fails and a pause of this process say nothing about the endpoint.
func TestTransport_EndsAnUploadThatStalls(t *testing.T) {
	for name, cancels := range map[string]bool{"by the attempt timeout": false, "by the caller": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var events record
			cfg := poisehttp.Config{Observe: events.observe, Loop: loop()}
			if !cancels {
				cfg.AttemptTimeout = 50 * time.Millisecond
			}
			b := newTransport(t, cfg, serve(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
			body, writer := io.Pipe()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var group sync.WaitGroup
			group.Go(func() {
				_, _ = io.WriteString(writer, "some of it") // returns when it is being read
				if cancels {
					cancel()
				}
			})
			_, err := do(b, newRequest(t, http.MethodPut, body).WithContext(ctx))
			group.Wait()
			want, told := error(poisehttp.ErrAttemptTimeout), "a#1 invalid"
			if cancels {
				want, told = context.Canceled, "a#1 cancelled"
			}
			if failure := requireCallError(t, err); !errors.Is(err, want) || len(failure.Attempts) != 1 {
				t.Errorf("got %+v", failure)
			}
			if got := strings.Join(events.all(), "; "); got != told {
				t.Errorf("the observer was told %s", got)
			}
			if _, err := io.WriteString(writer, "more"); err == nil {
				t.Error("the body was not closed")
			}
		})
	}
}

// An attempt that is given up before it read anything leaves the body for another.
//
// Claim: A request is sent again only with a body that can be replayed.
func TestTransport_KeepsAnUntouchedBodyThroughATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// As http.Transport does while it waits for a dial.
		dialling := &fake{answer: func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			synctest.Wait() // the watch of the context has run
			if n, err := req.Body.Read(make([]byte, 1)); n != 0 || err == nil {
				t.Errorf("a read after the timeout gave %d bytes", n)
			}
			_ = req.Body.Close()
			return nil, notSent{}
		}}
		var got string
		second := &fake{answer: func(req *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(req.Body)
			got = string(body)
			_ = req.Body.Close()
			return reply(200, ""), err
		}}
		var events record
		b := newTransport(t, poisehttp.Config{AttemptTimeout: time.Second, Observe: events.observe}, dialling, second)
		body := &source{Reader: strings.NewReader("body")}
		if _, err := do(b, newRequest(t, http.MethodPost, body)); err != nil || got != "body" {
			t.Errorf("the second got %q, %v", got, err)
		}
		if body.closes.Load() != 1 {
			t.Errorf("the body was closed %d times", body.closes.Load())
		}
		if got := strings.Join(events.all(), "; "); got != "a#1 silent, retried; b#2 success" {
			t.Errorf("the observer was told %s", got)
		}
		if err := events.events[0].Result.Err; !errors.Is(err, poisehttp.ErrAttemptTimeout) || !errors.Is(err, poisehttp.ErrNotSent) {
			t.Errorf("the first ended with %v", err)
		}
	})
}

// A read that Close interrupts fails, and that is the caller's doing. Here the read
// has failed, and been dealt with, before Close returns.
//
// Claim: A caller who leaves, a request body that fails and a pause of this process say nothing about the endpoint.
func TestTransport_BlamesNoEndpointForACloseThatInterruptsARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events record
		closed := make(chan struct{})
		body := &source{
			Reader: readerFunc(func([]byte) (int, error) {
				<-closed
				return 0, errBroken
			}),
			onClose: func() {
				close(closed)
				synctest.Wait()
			},
		}
		b := newTransport(t, poisehttp.Config{Observe: events.observe}, &fake{answer: func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: body}, nil
		}})
		resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		group.Go(func() { _, _ = resp.Body.Read(make([]byte, 1)) })
		synctest.Wait()
		_ = resp.Body.Close()
		group.Wait()
		if got := strings.Join(events.all(), "; "); got != "a#1 success" {
			t.Errorf("the observer was told %s", got)
		}
	})
}

// Claim: A caller who leaves, a request body that fails and a pause of this process say nothing about the endpoint.
func TestTransport_ReportsTheCallersCauseWhereSeveralThingsWentWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("cause")
		var events record
		b := newTransport(t, poisehttp.Config{Observe: events.observe, AttemptTimeout: time.Second}, &fake{answer: func(req *http.Request) (*http.Response, error) {
			_, err := io.Copy(io.Discard, req.Body) // as the transport, which waits for the read
			<-time.After(time.Second)               // so that the attempt is late, too
			return nil, err
		}})
		body, writer := io.Pipe()
		defer writer.Close()
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second/2, func() { cancel(cause) })
		_, err := do(b, newRequest(t, http.MethodPut, body).WithContext(ctx))
		if requireCallError(t, err); !errors.Is(err, cause) {
			t.Errorf("got %v", err)
		}
		if got := strings.Join(events.all(), "; "); got != "a#1 cancelled" {
			t.Errorf("the observer was told %s", got)
		}
	})
}

// Claim: A caller who leaves, a request body that fails and a pause of this process say nothing about the endpoint.
func TestTransport_ReportsWhatTheBodyFailedWithWhateverTheEndpointSays(t *testing.T) {
	errBody := errors.New("body")
	b := newTransport(t, poisehttp.Config{}, &fake{answer: func(req *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, req.Body)
		return nil, errBroken
	}})
	_, err := do(b, newRequest(t, http.MethodPut, readerFunc(func([]byte) (int, error) { return 0, errBody })))
	if requireCallError(t, err); !errors.Is(err, errBody) {
		t.Errorf("got %v", err)
	}
}

// A body that was read to its end is no reason for a hang after it.
func TestTransport_BlamesTheEndpointThatHangsAfterTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events record
		b := newTransport(t, poisehttp.Config{AttemptTimeout: time.Second, Observe: events.observe}, &fake{answer: func(req *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, req.Body)
			<-req.Context().Done()
			synctest.Wait() // the watch of the context has run
			return nil, req.Context().Err()
		}}, answering(200))
		if status, err := do(b, newRequest(t, http.MethodPut, strings.NewReader("body"))); status != 200 {
			t.Errorf("got %d, %v", status, err)
		}
		if got := strings.Join(events.all(), "; "); got != "a#1 silent, retried; b#2 success" {
			t.Errorf("the observer was told %s", got)
		}
	})
}

func TestTransport_SendsNoBodyAsNone(t *testing.T) {
	var sent *http.Request
	b := newTransport(t, poisehttp.Config{}, &fake{answer: func(req *http.Request) (*http.Response, error) {
		sent = req
		return reply(200, ""), nil
	}})
	req := newRequest(t, http.MethodPost, http.NoBody)
	if _, err := do(b, req); err != nil || sent != req {
		t.Errorf("got %v; the request was copied: %t", err, sent != req)
	}
}

// Claim: RoundTrip does not change the caller's request, and closes its body.
func TestTransport_LetsAnEndpointCloseTheBodyAfterItsResponse(t *testing.T) {
	var sent *http.Request
	b := newTransport(t, poisehttp.Config{}, &fake{answer: func(req *http.Request) (*http.Response, error) {
		sent = req
		return reply(200, ""), nil
	}})
	body := &source{Reader: strings.NewReader("body")}
	req := newRequest(t, http.MethodPut, body)
	req.GetBody = func() (io.ReadCloser, error) { return nil, errBroken }
	resp, err := b.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Request != req {
		t.Error("the response names another request")
	}
	if sent.GetBody != nil {
		t.Error("the endpoint could replay the body by itself")
	}
	_ = resp.Body.Close()
	for range 2 {
		_ = sent.Body.Close()
	}
	if n := body.closes.Load(); n != 1 {
		t.Errorf("the body was closed %d times", n)
	}
}

// watched is a context that never ends, and counts the watches on it.
type watched struct {
	context.Context
	watches *atomic.Int64
}

var never = make(chan struct{})

func (watched) Done() <-chan struct{} { return never }

// AfterFunc is what package context calls if a context has it.
func (w watched) AfterFunc(func()) func() bool {
	w.watches.Add(1)
	return func() bool {
		w.watches.Add(-1)
		return true
	}
}

// A caller's context may live as long as the process.
func TestTransport_LeavesNothingWithTheCallersContext(t *testing.T) {
	ctx := watched{context.Background(), new(atomic.Int64)}
	most := int64(0)
	answer := func(resp func() *http.Response, err error) *fake {
		return &fake{answer: func(req *http.Request) (*http.Response, error) {
			most = max(most, ctx.watches.Load())
			_, _ = io.Copy(io.Discard, req.Body)
			_ = req.Body.Close()
			if err != nil {
				return nil, err
			}
			return resp(), nil
		}}
	}
	for _, timeout := range []time.Duration{0, time.Hour} {
		for _, e := range []*fake{
			answer(func() *http.Response { return reply(200, "served") }, nil),
			answer(func() *http.Response { return reply(503, "busy") }, nil),
			answer(func() *http.Response { return &http.Response{StatusCode: 200, Body: http.NoBody} }, nil),
			answer(nil, errBroken),
		} {
			b := newTransport(t, poisehttp.Config{AttemptTimeout: timeout}, e)
			_, _ = do(b, newRequest(t, http.MethodPut, strings.NewReader("body")).WithContext(ctx))
			if n := ctx.watches.Load(); n != 0 {
				t.Errorf("timeout %v: %d watches are left", timeout, n)
			}
		}
	}
	if most == 0 {
		t.Error("nothing watched the context during a call")
	}
}
