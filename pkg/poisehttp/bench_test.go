package poisehttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
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
		return newBalancer(b, poisehttp.Config{Policy: new(policy.PowerOfTwoChoices), AttemptTimeout: timeout}, endpoints...)
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
	balancer := newBalancer(b, poisehttp.Config{Policy: new(policy.PowerOfTwoChoices)},
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

func BenchmarkSlots(b *testing.B) {
	slots := poisehttp.NewSlots(10, nil)
	for b.Loop() {
		slot, err := slots.Begin()
		if err != nil {
			b.Fatal(err)
		}
		slot.Release()
	}
}

func BenchmarkQuarantine(b *testing.B) {
	quarantine := newQuarantine(b, poisehttp.QuarantineConfig{})
	for b.Loop() {
		permit, err := quarantine.Admit()
		if err != nil {
			b.Fatal(err)
		}
		quarantine.Report(permit, poise.Success, start, nil)
	}
}

// BenchmarkRoundTrip_Health shows what health adds to a call that costs nothing
// itself.
func BenchmarkRoundTrip_Health(b *testing.B) {
	for _, row := range []struct {
		name string
		cfg  poisehttp.HealthConfig
	}{
		{"off", poisehttp.HealthConfig{}},
		{"circuit", poisehttp.HealthConfig{Circuit: new(health.CircuitConfig)}},
		{"outliers", poisehttp.HealthConfig{Outliers: new(health.OutlierControllerConfig)}},
		{"window", poisehttp.HealthConfig{Window: new(health.OutcomeWindowConfig)}},
		{"all", poisehttp.HealthConfig{Circuit: new(health.CircuitConfig), Outliers: new(health.OutlierControllerConfig), Window: new(health.OutcomeWindowConfig), Probes: probing()}},
	} {
		b.Run("health="+row.name, func(b *testing.B) {
			resp := &http.Response{StatusCode: 200, Body: http.NoBody}
			var endpoints []poisehttp.Endpoint
			for range 8 {
				endpoints = append(endpoints, &constant{resp})
			}
			balancer := newBalancer(b, poisehttp.Config{Policy: new(policy.PowerOfTwoChoices), Health: row.cfg}, endpoints...)
			req := newRequest(b, http.MethodGet, nil).WithContext(context.Background())
			b.ReportAllocs()
			for b.Loop() {
				if _, err := balancer.RoundTrip(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
