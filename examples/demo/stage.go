package main

import (
	"context"
	"net/http"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
)

// backend is one backend of a run.
type backend struct {
	name    string // its identity in the library
	role    string // what it does; empty for the user's own
	address string
	server  *server // nil for the user's own
}

// When the script drains, kills and restarts, as parts of the requests.
const (
	drainAt   = 0.30
	killAt    = 0.40
	restartAt = 0.60
)

// startBackends starts the demo's own servers.
func startBackends() ([]backend, error) {
	var backends []backend
	for _, b := range []struct {
		name, role string
		behave     http.HandlerFunc
	}{
		{"fast-1", "3 ms", answersIn(3 * time.Millisecond)},
		{"fast-2", "3 ms", answersIn(3 * time.Millisecond)},
		{"medium", "12 ms", answersIn(12 * time.Millisecond)},
		{"slow", "60 ms", answersIn(60 * time.Millisecond)},
		{"torn", "4 ms, resets", resets(4*time.Millisecond, 12)},
		{"drained", "4 ms, drained", answersIn(4 * time.Millisecond)},
		{"killed", "4 ms, killed", answersIn(4 * time.Millisecond)},
		{"failing", "503 at once", fails},
		{"hanging", "never answers", hangs},
	} {
		s, err := startServer(b.behave)
		if err != nil {
			killServers(backends)
			return nil, err
		}
		backends = append(backends, backend{b.name, b.role, s.address, s})
	}
	return backends, nil
}

func killServers(backends []backend) {
	for _, b := range backends {
		if b.server != nil {
			b.server.kill()
		}
	}
}

// ownBackends are the user's own.
func ownBackends(addresses []string) []backend {
	var backends []backend
	for _, address := range addresses {
		backends = append(backends, backend{name: address, address: address})
	}
	return backends
}

// How long a backend is set aside the first time; after each return that fails
// again it is twice as long, up to the longest.
const (
	backoff    = 500 * time.Millisecond
	maxBackoff = 4 * time.Second
)

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

// newBalancer sets the library up. This is all it takes.
func newBalancer(s settings, backends []backend, t *tally) (*dispatch.Balancer, error) {
	chosen, err := s.policy.make(s.seed)
	if err != nil {
		return nil, err
	}
	var members []dispatch.Member
	for _, b := range backends {
		endpoint, err := dispatch.NewHTTPEndpoint(dispatch.HTTPEndpointConfig{Address: b.address})
		if err != nil {
			return nil, err
		}
		members = append(members, dispatch.Member{ID: b.name, Endpoint: endpoint})
	}
	return dispatch.New(dispatch.Config{
		Policy:         chosen,
		Members:        members,
		Key:            userOf,
		AttemptTimeout: s.patience.header,
		Quarantine:     dispatch.QuarantineConfig{Backoff: backoff, MaxBackoff: maxBackoff},
		Observe:        t.observe,
		Explain:        explained,
		Seed:           s.seed,
	})
}

// userOf is the key of a request, for the policies that want one.
func userOf(r *http.Request) poise.Key { return poise.StringKey(r.Header.Get(userHeader)) }

// explained asks for the reasons of every eighth request: a sample that shows
// them and leaves the others on the fast path.
func explained(r *http.Request) bool { return numberOf(r.Header)%8 == 0 }

// step is one line of the script.
type step struct {
	at float64 // part of the requests that have begun
	do func(context.Context, *trial) (note string, err error)
}

// script is what happens to the demo's own servers while traffic flows.
var script = []step{
	{drainAt, func(_ context.Context, t *trial) (string, error) { return t.drain("drained") }},
	{killAt, func(_ context.Context, t *trial) (string, error) {
		t.backend("killed").server.kill()
		return "killed is killed: its listener and its connections close", nil
	}},
	{restartAt, func(ctx context.Context, t *trial) (string, error) {
		return "killed is restarted on its port", t.backend("killed").server.restart(ctx)
	}},
}

// drain sets a backend to draining, and notes which requests must not reach it any
// more.
func (t *trial) drain(name string) (string, error) {
	if err := t.balancer.SetStatus(name, poise.Draining); err != nil {
		return "", err
	}
	t.drainage = &drainage{backend: name, lastBefore: t.traffic.begun.Load(), quiet: -1}
	return name + " is draining: its calls may end, it gets no new ones", nil
}
