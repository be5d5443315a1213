package poisehttp_test

import (
	"context"
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

// BenchmarkRoundTripOverhead is what a call costs beside an endpoint that costs
// nothing.
func BenchmarkRoundTripOverhead(b *testing.B) {
	within, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, row := range []struct {
		name string
		ctx  context.Context
		body io.ReadCloser
	}{
		{"context=background/body=none", context.Background(), http.NoBody},
		{"context=background/body=empty", context.Background(), constantBody{}},
		{"context=cancellable/body=none", within, http.NoBody},
		{"context=cancellable/body=empty", within, constantBody{}},
	} {
		b.Run(row.name, func(b *testing.B) {
			resp := &http.Response{StatusCode: 200}
			var endpoints []poisehttp.Endpoint
			for range 10 {
				endpoints = append(endpoints, &constant{resp})
			}
			t := newTransport(b, poisehttp.Config{Loop: loop(by(new(policy.PowerOfTwoChoices)))}, endpoints...)
			req := newRequest(b, http.MethodGet, nil).WithContext(row.ctx)
			b.ReportAllocs()
			for b.Loop() {
				resp.Body = row.body
				got, err := t.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = got.Body.Read(nil)
				_ = got.Body.Close()
			}
		})
	}
}
