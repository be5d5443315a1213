package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/discovery/target"
)

func TestGet_FindsABackendByDNSAndProbesIt(t *testing.T) {
	asked := make(chan string, 100)
	backend := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.Host + r.URL.Path }))
	defer backend.Close()
	_, port, err := net.SplitHostPort(backend.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := get(t.Context(), "dns:localhost:"+port, "http://localhost/orders"); err != nil {
		t.Fatal(err)
	}
	close(asked)
	seen := map[string]bool{}
	for what := range asked {
		seen[what] = true
	}
	if !seen["localhost/orders"] || !seen["localhost:"+port+"/healthz"] {
		t.Errorf("the backend was asked for %v", seen)
	}
}

func TestGet_RefusesAnAddressWithoutAPort(t *testing.T) {
	if err := get(t.Context(), "static:127.0.0.1", "http://127.0.0.1/"); !errors.Is(err, target.ErrBadPort) {
		t.Errorf("got %v", err)
	}
}

func TestGet_WaitsNoLongerThanItMay(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := get(ctx, "dns:localhost:1", "http://localhost/"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestPick_SaysWhy(t *testing.T) {
	var out strings.Builder
	if err := pick(&out); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"RoundRobin chose worker-a", "left out worker-c: draining"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is not in:\n%s", part, out.String())
		}
	}
}
