package poisehttp_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/observe"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// A user reads over HTTP what became of calls.
//
// Claim: A MetricsHandler answers GET and HEAD, and 405 to any other method.
func TestMetricsHandler_TellsWhatBecameOfCalls(t *testing.T) {
	var metrics observe.Metrics
	b := newTransport(t, poisehttp.Config{Loop: loop(func(cfg *dispatch.LoopConfig) { cfg.Observer = &metrics })}, failing(errBroken), answering(200))
	resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil)) // it goes to both
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	for _, id := range []string{"a", "b"} {
		if err := b.SetStatus(id, poise.Draining); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.RoundTrip(newRequest(t, http.MethodGet, nil)); !errors.Is(err, poise.ErrNoEligible) {
		t.Fatalf("nobody is left, and the call gets %v", err)
	}
	h := poisehttp.MetricsHandler(map[string]*observe.Metrics{"front": &metrics})
	get := func(method string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "/metrics", nil))
		return w
	}
	w := get(http.MethodGet)
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("it answers %d, %s", w.Code, w.Header())
	}
	for _, line := range []string{
		`poise_attempts_total{balancer="front",kind="success"} 1`,
		`poise_attempts_total{balancer="front",kind="failure"} 1`,
		`poise_retries_total{balancer="front"} 1`,
		`poise_refusals_total{balancer="front",cause="no_eligible"} 1`,
		`poise_decisions_total{balancer="front",kind="selected"} 2`,
		`poise_changes_total{balancer="front",reason="draining"} 2`,
		`poise_eligible{balancer="front"} 0`,
		`poise_attempt_duration_seconds_count{balancer="front"} 2`,
	} {
		if !strings.Contains(w.Body.String(), "\n"+line+"\n") {
			t.Errorf("it does not say %s", line)
		}
	}
	if w := get(http.MethodHead); w.Code != 200 {
		t.Errorf("HEAD is answered with %d", w.Code)
	}
	if w := get(http.MethodPost); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST is answered with %d, %s", w.Code, w.Header())
	}
}
