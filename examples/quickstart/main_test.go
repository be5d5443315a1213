package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

func TestGet_ReachesABackendUnderTheNameOfTheService(t *testing.T) {
	hosts := make(chan string, 1)
	backend := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { hosts <- r.Host }))
	defer backend.Close()
	if err := get("http://service.example.com/", []string{backend.Listener.Addr().String()}); err != nil {
		t.Fatal(err)
	}
	if host := <-hosts; host != "service.example.com" {
		t.Errorf("the backend saw host %q", host)
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

func TestGet_RefusesAnAddressWithoutAPort(t *testing.T) {
	err := get("http://service.example.com/", []string{"127.0.0.1"})
	if !errors.Is(err, poisehttp.ErrBadAddress) {
		t.Errorf("got %v", err)
	}
}
