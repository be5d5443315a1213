package poisehttp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// BenchmarkRoundTrip compares a bare transport with a Balancer over eight
// endpoints, both to one server in one run.
func BenchmarkRoundTrip(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") }))
	defer server.Close()
	address := server.Listener.Addr().String()
	bare := &http.Transport{MaxIdleConnsPerHost: 64}
	defer bare.CloseIdleConnections()
	balanced := func(timeout time.Duration) http.RoundTripper {
		var endpoints []poisehttp.Endpoint
		for range 8 {
			endpoints = append(endpoints, endpointTo(b, address))
		}
		return newTransport(b, poisehttp.Config{Loop: loop(by(new(policy.PowerOfTwoChoices))), AttemptTimeout: timeout}, endpoints...)
	}
	for _, row := range []struct {
		via       string
		transport http.RoundTripper
	}{
		{"bare", bare},
		{"balancer", balanced(0)},
		{"balancer-timeout", balanced(time.Minute)},
	} {
		b.Run("via="+row.via, func(b *testing.B) {
			req, err := http.NewRequest(http.MethodGet, "http://"+address+"/", nil)
			if err != nil {
				b.Fatal(err)
			}
			call := func() {
				resp, err := row.transport.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			for range 64 { // connections to all endpoints
				call()
			}
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}

// BenchmarkAdmit is what a call costs beside the endpoint: pick, admission,
// judgement, and giving everything back.
func BenchmarkAdmit(b *testing.B) {
	balancer := newTransport(b, poisehttp.Config{Loop: loop(by(new(policy.PowerOfTwoChoices)))},
		&constant{&http.Response{StatusCode: 200, Body: http.NoBody}}, &constant{&http.Response{StatusCode: 200, Body: http.NoBody}})
	req, err := http.NewRequest(http.MethodGet, "http://service.example.com/", nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := balancer.RoundTrip(req); err != nil {
			b.Fatal(err)
		}
	}
}

