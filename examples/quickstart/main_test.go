package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/dispatch"
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

func TestGet_RefusesAnAddressWithoutAPort(t *testing.T) {
	err := get("http://service.example.com/", []string{"127.0.0.1"})
	if !errors.Is(err, dispatch.ErrBadAddress) {
		t.Errorf("got %v", err)
	}
}
