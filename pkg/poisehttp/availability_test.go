package poisehttp_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// The fleets of this file are real servers on loopback, and addresses where nobody
// listens. Calls are counted, not timed.

// fleet returns endpoints of which the first ones refuse connections.
func fleet(t *testing.T, refuse, serve int, handler http.HandlerFunc) (endpoints []poisehttp.Endpoint) {
	t.Helper()
	for range refuse {
		endpoints = append(endpoints, endpointTo(t, downAddress(t)))
	}
	for range serve {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		endpoints = append(endpoints, endpointTo(t, server.Listener.Addr().String()))
	}
	return endpoints
}

// failures makes calls and counts those that end in an error or a status from 500 on.
func failures(t *testing.T, b *poisehttp.Transport, method string, calls int) (failed int) {
	t.Helper()
	for range calls {
		status, err := do(b, newRequest(t, method, nil))
		if err != nil || status >= 500 {
			failed++
		}
	}
	return failed
}

func balancing(t *testing.T) map[string]poise.Policy {
	t.Helper()
	two := policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: 1})
	return map[string]poise.Policy{"round robin": new(policy.RoundRobin), "two choices": two, "rendezvous": new(policy.Rendezvous)}
}

// What refuses a connection has taken nothing: the call goes on to whoever is left,
// whatever its method.
//
// Cases: B85.
func TestTransport_FailsNoCallWhileOneServes(t *testing.T) {
	for _, row := range []struct{ refuse, serve int }{{1, 1}, {1, 2}, {2, 1}, {4, 1}, {9, 1}, {99, 1}} {
		for name, p := range balancing(t) {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				t.Run(fmt.Sprintf("%d of %d refuse/%s/%s", row.refuse, row.refuse+row.serve, name, method), func(t *testing.T) {
					n := 0
					b := newTransport(t, poisehttp.Config{Loop: loop(by(p)), Key: func(*http.Request) poise.Key {
						n++
						return poise.Uint64Key(uint64(n))
					}}, fleet(t, row.refuse, row.serve, ok)...)
					if failed := failures(t, b, method, 200); failed > 2 {
						t.Errorf("%d of the first 200 calls failed", failed)
					}
					if failed := failures(t, b, method, 1000); failed > 1 {
						t.Errorf("%d of the next thousand calls failed", failed)
					}
				})
			}
		}
	}
}

// Who answers every call 500, or closes every connection, is left out after a few calls.
// The share of the last thousand calls that reach it is counted, too.
//
// Cases: B85.
func TestTransport_LeavesOutWhoFailsEveryCall(t *testing.T) {
	for _, row := range []struct{ fail, serve int }{{1, 1}, {2, 1}, {1, 4}, {9, 1}} {
		for how, handler := range map[string]http.HandlerFunc{"500": says(500), "reset": hangsUp} {
			for name, p := range balancing(t) {
				t.Run(fmt.Sprintf("%d of %d/%s/%s", row.fail, row.fail+row.serve, how, name), func(t *testing.T) {
					var reached atomic.Int64
					var endpoints []poisehttp.Endpoint
					for range row.fail {
						endpoints = append(endpoints, serve(t, func(w http.ResponseWriter, r *http.Request) {
							reached.Add(1)
							handler(w, r)
						}))
					}
					endpoints = append(endpoints, fleet(t, 0, row.serve, ok)...)
					n := 0
					b := newTransport(t, poisehttp.Config{Loop: loop(by(p)), Key: func(*http.Request) poise.Key {
						n++
						return poise.Uint64Key(uint64(n))
					}}, endpoints...)
					_ = failures(t, b, http.MethodPost, 200)
					before := reached.Load()
					if failed := failures(t, b, http.MethodGet, 500); failed > 3 {
						t.Errorf("%d of 500 GETs failed", failed)
					}
					if failed := failures(t, b, http.MethodPost, 500); failed > 5 {
						t.Errorf("%d of 500 POSTs failed", failed)
					}
					if share := reached.Load() - before; share > 10 {
						t.Errorf("%d of 1,000 calls reached them", share)
					}
				})
			}
		}
	}
}

// One URL is answered 500 by all, and the calls of others between lose nothing.
//
// Cases: B85.
func TestTransport_OneBadURLCostsNobodyElse(t *testing.T) {
	for name, p := range balancing(t) {
		b := newTransport(t, poisehttp.Config{Loop: loop(by(p)), Key: func(r *http.Request) poise.Key {
			return poise.StringKey(r.URL.Path)
		}}, fleet(t, 0, 3, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/bad" {
				w.WriteHeader(500)
			}
		})...)
		for i := range 1000 {
			req := newRequest(t, http.MethodGet, nil)
			req.URL.Path = fmt.Sprintf("/%d", i)
			if status, err := do(b, req); err != nil || status != 200 {
				t.Fatalf("%s: call %d came to %d, %v", name, i, status, err)
			}
			req = newRequest(t, http.MethodGet, nil)
			req.URL.Path = "/bad"
			if status, err := do(b, req); err != nil || status != 500 {
				t.Fatalf("%s: bad call %d came to %d, %v", name, i, status, err)
			}
		}
		if n := ejections(b); n > 0 {
			t.Errorf("%s: %d were ejected", name, n)
		}
	}
}

// A rolling restart: one of three is down at a time.
//
// Cases: B85.
func TestTransport_FailsNoGETInARollingRestart(t *testing.T) {
	var servers []*httptest.Server
	var endpoints []poisehttp.Endpoint
	start := func(address string) *httptest.Server {
		server := httptest.NewUnstartedServer(http.HandlerFunc(ok))
		if address != "" {
			listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			_ = server.Listener.Close()
			server.Listener = listener
		}
		server.Start()
		t.Cleanup(server.Close)
		return server
	}
	for range 3 {
		servers = append(servers, start(""))
		endpoints = append(endpoints, endpointTo(t, servers[len(servers)-1].Listener.Addr().String()))
	}
	b := newTransport(t, poisehttp.Config{}, endpoints...)
	failed := failures(t, b, http.MethodGet, 50)
	for i, server := range servers {
		address := server.Listener.Addr().String()
		server.CloseClientConnections()
		server.Close()
		failed += failures(t, b, http.MethodGet, 200)
		servers[i] = start(address)
		failed += failures(t, b, http.MethodGet, 200)
	}
	if failed > 0 {
		t.Errorf("%d GETs failed", failed)
	}
}

// Cases: B86.
func TestTransport_GoesToTheBackupWhenThePrimariesAreDead(t *testing.T) {
	topology, err := policy.NewPriority(policy.TopologyConfig{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var list []poisehttp.Member
	for i, e := range fleet(t, 3, 1, ok) {
		list = append(list, poisehttp.Member{ID: string(rune('a' + i)), Endpoint: e, Priority: uint32(i / 3)})
	}
	b := newTransport(t, poisehttp.Config{Loop: dispatch.LoopConfig{Policy: topology}, Members: list})
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if failed := failures(t, b, method, 300); failed > 0 {
			t.Errorf("%d of 300 %ss failed", failed, method)
		}
	}
}
