package poisehttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// A Balancer that probes its endpoints, gives them circuits and ejects outliers. An
// operator opens a circuit by hand.
func ExampleHealthConfig() {
	backend := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer backend.Close()
	endpoint, err := poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{Address: backend.Listener.Addr().String()})
	if err != nil {
		panic(err)
	}

	balancer, err := poisehttp.New(poisehttp.Config{
		Policy:  new(policy.PowerOfTwoChoices),
		Members: []poisehttp.Member{{ID: backend.Listener.Addr().String(), Endpoint: endpoint}},
		Health: poisehttp.HealthConfig{
			Probes: &poisehttp.ProbesConfig{
				Probe: func(m poisehttp.Member) (func(context.Context) error, error) {
					probe, err := health.NewHTTPProbe(health.HTTPProbeConfig{URL: "http://" + m.ID + "/healthz"})
					if err != nil {
						return nil, err
					}
					return probe.Probe, nil
				},
			},
			Circuit:  &health.CircuitConfig{Failures: 5, OpenFor: 10 * time.Second},
			Outliers: &health.OutlierControllerConfig{},
		},
	})
	if err != nil {
		panic(err)
	}
	defer balancer.Close()

	id := balancer.Endpoints()[0].ID
	show := func() {
		state := balancer.Endpoints()[0]
		fmt.Println(state.Reason, state.Circuit.Mode, state.Reason == poise.NotExcluded)
	}
	show()
	_ = balancer.ForceCircuit(id, health.Open)
	show()
	_ = balancer.ForceCircuit(id, health.Closed)
	show()
	// Output:
	// eligible closed true
	// circuit open open false
	// eligible closed true
}
