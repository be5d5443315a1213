package poisehttp_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// scripted is an endpoint whose calls run a function.
type scripted struct {
	calls int
	run   func(*http.Request) (*http.Response, error)
}

func (s *scripted) RoundTrip(req *http.Request) (*http.Response, error) {
	s.calls++
	return s.run(req)
}

func (s *scripted) Close() error { return nil }

// An endpoint that refused one attempt for want of a slot was not tried: once the
// slot is free, a retry goes there rather than back to the one that failed.
//
// Claim: A retry goes to an endpoint that was not tried while an eligible one is left, and never to one that answered.
func TestRetry_GoesToWhoRefusedAnEarlierAttempt(t *testing.T) {
	served := func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("body"))}, nil
	}
	full := &scripted{run: served}
	var holding *http.Response
	failing := &scripted{run: func(*http.Request) (*http.Response, error) {
		if holding != nil {
			_ = holding.Body.Close() // now the other one has a slot again
			holding = nil
		}
		return nil, errors.New("refused")
	}}
	b, err := poisehttp.New(poisehttp.Config{
		// This key prefers "full" to "failing".
		Key:  func(*http.Request) poise.Key { return poise.StringKey("k") },
		Loop: loop(off, by(new(policy.Rendezvous))),
		Members: []poisehttp.Member{
			{ID: "full", Endpoint: full, Limit: 1},
			{ID: "failing", Endpoint: failing},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	get := func() (*http.Response, error) {
		req, err := http.NewRequest(http.MethodGet, "http://service.test/", nil)
		if err != nil {
			t.Fatal(err)
		}
		return b.RoundTrip(req)
	}
	if holding, err = get(); err != nil || full.calls != 1 { // takes the only slot of "full"
		t.Fatalf("full was called %d times: %v", full.calls, err)
	}
	resp, err := get() // "full" refuses, "failing" fails and frees the slot
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if full.calls != 2 || failing.calls != 1 {
		t.Errorf("full was called %d times, failing %d; want 2 and 1", full.calls, failing.calls)
	}
}
