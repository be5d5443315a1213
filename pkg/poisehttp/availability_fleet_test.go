package poisehttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// piped is an http.Server that is reached by pipes in place of a network, so that in
// a bubble of testing/synctest the time of its tests is free.
type piped struct {
	arrived chan net.Conn
	// down refuses connections.
	down atomic.Bool
	// does is how it answers.
	does atomic.Pointer[http.HandlerFunc]

	dialed, served atomic.Int64

	mu     sync.Mutex
	server *http.Server      // guarded by mu, as is closed
	closed chan struct{}     // closed when the listener is
	conns  map[net.Conn]bool // guarded by mu
}

// newPiped starts a server that answers as the handler does.
func newPiped(t testing.TB, handler http.HandlerFunc) *piped {
	t.Helper()
	b := &piped{arrived: make(chan net.Conn), conns: map[net.Conn]bool{}}
	b.answer(handler)
	b.start()
	t.Cleanup(b.close)
	return b
}

// start begins to serve.
func (b *piped) start() {
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.served.Add(1)
		(*b.does.Load())(w, r)
	})}
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if state == http.StateNew {
			b.conns[conn] = true
		} else if state == http.StateClosed || state == http.StateHijacked {
			delete(b.conns, conn)
		}
	}
	b.mu.Lock()
	b.server, b.closed = server, make(chan struct{})
	listener := pipes{b.arrived, b.closed}
	b.mu.Unlock()
	b.down.Store(false)
	go func() { _ = server.Serve(listener) }()
}

func (b *piped) running() *http.Server {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.server
}

// close ends the server and its calls.
func (b *piped) close() { _ = b.running().Close() }

// shutDown ends the server as net/http does in good order: the calls that it has end.
func (b *piped) shutDown(t testing.TB) {
	t.Helper()
	b.down.Store(true)
	if err := b.running().Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func (b *piped) answer(handler http.HandlerFunc) { b.does.Store(&handler) }

// stop refuses connections from now on, and closes those that there are.
func (b *piped) stop() {
	b.down.Store(true)
	b.mu.Lock()
	defer b.mu.Unlock()
	for conn := range b.conns {
		_ = conn.Close()
	}
}

// endpoint returns an endpoint that leads to the server.
func (b *piped) endpoint(t testing.TB) poisehttp.Endpoint {
	t.Helper()
	e, err := poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{Address: "backend.invalid:80", Dial: b.dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func (b *piped) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	b.dialed.Add(1)
	if b.down.Load() {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	b.mu.Lock()
	closed := b.closed
	b.mu.Unlock()
	near, far := net.Pipe()
	select {
	case b.arrived <- far:
		return near, nil
	case <-closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pipes is the listener of a piped server.
type pipes struct {
	arrived chan net.Conn
	closed  chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.arrived:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	close(p.closed)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "pipe"} }

// What a backend does.

// serves answers after a time.
func serves(after time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if lasts(r, after) {
			_, _ = io.WriteString(w, "served")
		}
	}
}

// lasts passes the time of a request, and reports whether somebody waits for it.
func lasts(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// says answers with the status at once.
func says(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// hangs takes requests and answers nothing.
func hangs(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// hangsUp closes the connection when it has read the request.
func hangsUp(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

// bounded answers after the cost as many requests at once as there are places. With a
// queue the others wait, else they get 503.
func bounded(places int, cost time.Duration, queue bool) http.HandlerFunc {
	place := make(chan struct{}, places)
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if queue {
			select {
			case place <- struct{}{}:
			case <-r.Context().Done():
				return
			}
		} else {
			select {
			case place <- struct{}{}:
			default:
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
		}
		defer func() { <-place }()
		if lasts(r, cost) {
			_, _ = io.WriteString(w, "served")
		}
	}
}

// fails makes the first k backends fail in the way that is named, and the others serve.
func fails(backends []*piped, k int, how string) {
	for _, b := range backends[:k] {
		switch how {
		case "refuse":
			b.stop()
		case "hang":
			b.answer(hangs)
		case "reset":
			b.answer(hangsUp)
		case "half 500":
			b.answer(func(w http.ResponseWriter, r *http.Request) {
				number, _ := strconv.ParseUint(strings.TrimPrefix(r.URL.Path, "/"), 10, 64)
				if poise.Mix64(number)%2 == 0 {
					w.WriteHeader(500)
				}
			})
		default:
			var status int
			_, _ = fmt.Sscan(how, &status)
			b.answer(says(status))
		}
	}
}

// recovers has all backends serve again.
func recovers(backends []*piped) {
	for _, b := range backends {
		b.answer(serves(5 * time.Millisecond))
		b.down.Store(false)
	}
}

// newFleet starts backends that serve.
func newFleet(t testing.TB, n int) (backends []*piped, endpoints []poisehttp.Endpoint) {
	t.Helper()
	for range n {
		b := newPiped(t, serves(5*time.Millisecond))
		backends, endpoints = append(backends, b), append(endpoints, b.endpoint(t))
	}
	return backends, endpoints
}

func servedBy(backends []*piped) (n int64) {
	for _, b := range backends {
		n += b.served.Load()
	}
	return n
}

func dialedAt(backends []*piped) (n int64) {
	for _, b := range backends {
		n += b.dialed.Load()
	}
	return n
}

// rotation takes the endpoints in turn by hand: up to three attempts for what may be
// repeated, no budget, and nobody is left out. It is what the bounds are compared with.
type rotation struct {
	endpoints []poisehttp.Endpoint
	attempts  int
	next      atomic.Int64
}

func (r *rotation) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	for n := 1; ; n++ {
		e := r.endpoints[int(r.next.Add(1))%len(r.endpoints)]
		resp, err = e.RoundTrip(req)
		bad := err != nil || resp.StatusCode >= 502 && resp.StatusCode <= 504
		if !bad || n >= r.attempts || !poisehttp.RepeatableMethod(req) || req.Context().Err() != nil {
			return resp, err
		}
		if err == nil {
			_ = resp.Body.Close()
		}
	}
}

// traffic is calls on an open loop: each begins when it is due, whatever became of
// those before.
type traffic struct {
	through http.RoundTripper
	rate    int // calls a second
	// limit is the deadline of each call, and client that of an http.Client; 0: none.
	limit, client time.Duration
	// bad is of how many of a hundred calls the URL is one that every backend answers 500.
	bad    int
	chance *poise.Generator
	made   int

	mu    sync.Mutex
	calls []outcome // guarded by mu, in the order of their ends
	wait  sync.WaitGroup
}

// outcome is what became of a call.
type outcome struct {
	number int
	began  time.Duration // since the bubble began
	post   bool
	bad    bool
	failed bool
	err    error
}

func newTraffic(through http.RoundTripper) *traffic {
	return &traffic{through: through, rate: 100, chance: poise.NewGenerator(1)}
}

// run makes calls for the time, and then waits for none of them. Half of them are
// POSTs, by chance.
func (l *traffic) run(t testing.TB, d time.Duration) {
	t.Helper()
	gap := int64(time.Second) / int64(l.rate)
	for end := time.Now().Add(d); time.Now().Before(end); {
		l.made++
		o := outcome{number: l.made, began: time.Since(bubbleBegan), post: l.chance.Below(2) == 0, bad: l.chance.Below(100) < uint64(l.bad)}
		l.wait.Go(func() { l.call(t, o) })
		<-time.After(time.Duration(float64(gap) * -math.Log(float64(1+l.chance.Below(1<<40))/float64(1<<40))))
	}
}

// bubbleBegan is the instant at which the time of a bubble begins.
var bubbleBegan = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func (l *traffic) call(t testing.TB, o outcome) {
	ctx, cancel := t.Context(), context.CancelFunc(func() {})
	if l.limit > 0 {
		ctx, cancel = context.WithTimeout(ctx, l.limit)
	}
	defer cancel()
	method, body := http.MethodGet, io.Reader(nil)
	if o.post {
		method, body = http.MethodPost, strings.NewReader("order")
	}
	url := fmt.Sprintf("http://service.example.com/%d", o.number)
	if o.bad {
		url = "http://service.example.com/bad"
	}
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		t.Error(err)
		return
	}
	var resp *http.Response
	if l.client > 0 {
		resp, err = (&http.Client{Transport: l.through, Timeout: l.client}).Do(req)
	} else {
		resp, err = l.through.RoundTrip(req)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		o.failed = resp.StatusCode >= 500
	}
	o.err, o.failed = err, o.failed || err != nil
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, o)
}

// done waits for the calls that are under way.
func (l *traffic) done() *traffic {
	l.wait.Wait()
	return l
}

// count is how many calls there were, and how many of them failed.
type count struct{ failed, calls int }

func (c *count) add(o count) { c.failed, c.calls = c.failed+o.failed, c.calls+o.calls }

func (c count) percent() float64 { return 100 * float64(c.failed) / float64(max(c.calls, 1)) }

func (c count) String() string {
	return fmt.Sprintf("%d of %d (%.2f %%)", c.failed, c.calls, c.percent())
}

// between counts the calls that began in the time and that the function lets through.
func (l *traffic) between(from, to time.Duration, which func(outcome) bool) (c count) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.calls {
		if o.began >= from && o.began < to && which(o) {
			c.calls++
			if o.failed {
				c.failed++
			}
		}
	}
	return c
}

func anyCall(outcome) bool { return true }
func gets(o outcome) bool  { return !o.post }
func posts(o outcome) bool { return o.post }

// first returns what became of the first call that began at the instant or later.
func (l *traffic) first(from time.Duration) (first outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first.number = l.made + 1
	for _, o := range l.calls {
		if o.began >= from && o.number < first.number {
			first = o
		}
	}
	return first
}

// ejections returns how often passive health has ejected an endpoint.
func ejections(b *poisehttp.Transport) (n uint64) {
	for _, state := range b.Endpoints() {
		n += state.Passive.Ejections
	}
	return n
}

// shown are those of which the bounds are shown: one that takes turns, one that
// looks at load, and one that hashes a key, here a new one for each call.
var shown = []string{"round robin", "two choices", "rendezvous"}

// policyOf returns a new policy of the name.
func policyOf(t testing.TB, name string) poise.Policy {
	t.Helper()
	switch name {
	case "round robin":
		return new(policy.RoundRobin)
	case "rendezvous":
		return new(policy.Rendezvous)
	case "least loaded":
		return new(policy.LeastLoaded)
	case "two choices":
		return policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: 1})
	}
	t.Fatal(errors.New("no policy " + name))
	return nil
}

// balanced returns a Transport over the endpoints with default settings. The key of a
// call is its path.
func balanced(t testing.TB, name string, cfg poisehttp.Config, endpoints []poisehttp.Endpoint) *poisehttp.Transport {
	t.Helper()
	cfg.Loop.Policy, cfg.Loop.Seed = policyOf(t, name), 1
	cfg.Key = func(r *http.Request) poise.Key { return poise.StringKey(r.URL.Path) }
	for i, e := range endpoints {
		cfg.Members = append(cfg.Members, poisehttp.Member{ID: fmt.Sprintf("b%02d", i), Endpoint: e})
	}
	b, err := poisehttp.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}
