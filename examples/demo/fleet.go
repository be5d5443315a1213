package main

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/pkg/discovery/target"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// backend is one of the demo's own backends.
type backend struct {
	name   string // its identity in the library
	role   string // what it does
	late   bool   // it joins later
	server *server
}

// When the script lets members join and leave, drains, kills and restarts, as parts
// of the requests.
const (
	joinAt    = 0.15
	drainAt   = 0.30
	killAt    = 0.40
	leaveAt   = 0.50
	restartAt = 0.60
	recoverAt = 0.50
)

// startBackends starts the demo's own servers.
func startBackends() ([]backend, error) {
	var backends []backend
	well := answersIn(4 * time.Millisecond)
	for _, b := range []struct {
		name, role string
		behave     http.HandlerFunc
		late       bool
		faulty     *faulty
	}{
		{"fast-1", "3 ms", answersIn(3 * time.Millisecond), false, nil},
		{"fast-2", "3 ms", answersIn(3 * time.Millisecond), false, nil},
		{"medium", "12 ms", answersIn(12 * time.Millisecond), false, nil},
		{"slow", "60 ms", answersIn(60 * time.Millisecond), false, nil},
		{"torn", "4 ms, resets", resets(4*time.Millisecond, 12), false, nil},
		{"drained", "4 ms, drained", answersIn(4 * time.Millisecond), false, nil},
		{"killed", "4 ms, killed", answersIn(4 * time.Millisecond), false, nil},
		{"leaving", "4 ms, leaves", answersIn(4 * time.Millisecond), false, nil},
		{"failing", "503, recovers", nil, false, &faulty{bad: fails, good: well, gentle: true}},
		{"flapping", "500, recovers", nil, false, &faulty{bad: flaps(), good: well, gentle: true}},
		{"hanging", "hangs, recovers", nil, false, &faulty{bad: hangs, good: well}},
		{"stalling", "700 ms, recovers", nil, false, &faulty{bad: answersIn(700 * time.Millisecond), good: well}},
		{"joining", "4 ms, joins", answersIn(4 * time.Millisecond), true, nil},
	} {
		if b.faulty != nil {
			b.behave = b.faulty.behave
		}
		s, err := startServer(b.behave)
		if err != nil {
			killServers(backends)
			return nil, err
		}
		s.faulty = b.faulty
		backends = append(backends, backend{b.name, b.role, b.late, s})
	}
	return backends, nil
}

func killServers(backends []backend) {
	for _, b := range backends {
		b.server.kill()
	}
}

// patience is how long the demo waits before it gives up.
type patience struct {
	header time.Duration // for one backend to begin its answer
	whole  time.Duration // for an answer, with all retries and the body
	after  time.Duration // for slots and goroutines, after all has ended
}

func patienceWith(own bool) patience {
	if own {
		return patience{header: 5 * time.Second, whole: 15 * time.Second, after: 2 * time.Second}
	}
	return patience{header: 500 * time.Millisecond, whole: 3 * time.Second, after: 2 * time.Second}
}

// newDirectory returns a directory of addresses: who exists.
func newDirectory() (*discovery.Directory[target.Address], error) {
	return discovery.New(discovery.Config[target.Address]{Equal: target.Equal})
}

// newTransport sets the library up to follow the directory. This is all it takes.
func newTransport(s settings, directory *discovery.Directory[target.Address], made *endpoints, t *tally) (*poisehttp.Transport, error) {
	chosen, err := s.policy.make(s.seed)
	if err != nil {
		return nil, err
	}
	members, err := dispatch.DirectorySource(dispatch.DirectoryConfig[target.Address, poisehttp.Endpoint]{
		Directory: directory, Connect: made.connect,
		Describe: func(m discovery.Member[target.Address]) (poisehttp.Member, error) {
			return poisehttp.Member{Weight: m.Value.Weight, Priority: m.Value.Priority}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	var probes *dispatch.ProbesConfig[poisehttp.Endpoint] // none: nobody knows what the user's own answer to probes
	if !s.own() {
		probes = probesOf()
	}
	return poisehttp.New(poisehttp.Config{
		Loop:           dispatch.LoopConfig{Policy: chosen, Seed: s.seed},
		Source:         members,
		Probes:         probes,
		Key:            userOf,
		AttemptTimeout: s.patience.header,
		Observe:        t.observe,
		Explain:        explained,
	})
}

// endpoints are those that were connected in a run.
type endpoints struct {
	mu   sync.Mutex
	made []*endpoint // guarded by mu
}

// endpoint counts how often it was closed, beside what it is.
type endpoint struct {
	*poisehttp.HTTPEndpoint
	name   string
	closed atomic.Int64
}

func (e *endpoint) Close() error {
	e.closed.Add(1)
	return e.HTTPEndpoint.Close()
}

// connect makes the endpoint of a member that joins.
func (l *endpoints) connect(m discovery.Member[target.Address]) (poisehttp.Endpoint, error) {
	to, err := poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{Address: m.Value.HostPort})
	if err != nil {
		return nil, err
	}
	e := &endpoint{HTTPEndpoint: to, name: m.ID}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made = append(l.made, e)
	return e, nil
}

// all returns those that were connected so far.
func (l *endpoints) all() []*endpoint {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.made[:len(l.made):len(l.made)]
}

// userOf is the key of a request, for the policies that want one.
func userOf(r *http.Request) poise.Key { return poise.StringKey(r.Header.Get(userHeader)) }

// explained asks for the reasons of every eighth request: a sample that shows
// them and leaves the others on the fast path.
func explained(r *http.Request) bool { return numberOf(r.Header)%8 == 0 }

// step is one line of the script.
type step struct {
	at float64 // part of the requests that have begun
	do func(context.Context, *check) (note string, err error)
}

// script is what happens to the demo's own servers while traffic flows.
var script = []step{
	{joinAt, func(_ context.Context, t *check) (string, error) {
		_, err := t.session.Upsert("joining", target.Address{HostPort: t.server("joining").address})
		return "joining is added to the directory", err
	}},
	{drainAt, func(_ context.Context, t *check) (string, error) { return t.drain("drained") }},
	{killAt, func(_ context.Context, t *check) (string, error) {
		t.server("killed").kill()
		return "killed is killed: its listener and its connections close", nil
	}},
	{recoverAt, func(_ context.Context, t *check) (string, error) { return t.recover(), nil }},
	{leaveAt, func(_ context.Context, t *check) (string, error) {
		_, err := t.session.Remove("leaving")
		return "leaving is removed from the directory", err
	}},
	{restartAt, func(ctx context.Context, t *check) (string, error) {
		return "killed is restarted on its port", t.server("killed").restart(ctx)
	}},
}

// drain sets a backend to draining, and notes which requests must not reach it any
// more.
func (t *check) drain(name string) (string, error) {
	if err := t.transport.SetStatus(name, poise.Draining); err != nil {
		return "", err
	}
	t.drained(name)
	return name + " is draining: its calls may end, it gets no new ones", nil
}
