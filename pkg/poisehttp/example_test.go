package poisehttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// A client of two addresses, of which one is down. It asks each for /healthz, and
// leaves out who does not answer.
func ExampleNewClient() {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "served for %s", r.Host)
	}))
	defer backend.Close()

	client, err := poisehttp.NewClient("static:localhost:1,"+backend.Listener.Addr().String(),
		poisehttp.WithProbe("/healthz"), poisehttp.WithHosts("orders.example"))
	if err != nil {
		panic(err)
	}
	defer client.Close()
	if err := client.WaitReady(context.Background()); err != nil {
		panic(err)
	}
	resp, err := client.Get("http://orders.example/")
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, string(body))
	// Output: 200 served for orders.example
}

// A Transport over endpoints of one's own, with the policy and the probes that one
// wants.
func ExampleNew() {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "served for %s", r.Host)
	}))
	defer backend.Close()

	var members []poisehttp.Member
	for _, address := range []string{backend.Listener.Addr().String(), "localhost:1"} { // one is down
		endpoint, err := poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{Address: address})
		if err != nil {
			panic(err)
		}
		members = append(members, poisehttp.Member{ID: address, Endpoint: endpoint})
	}
	transport, err := poisehttp.New(poisehttp.Config{
		Loop:    dispatch.LoopConfig{Policy: new(policy.RoundRobin)},
		Members: members,
		Probes: &dispatch.ProbesConfig[poisehttp.Endpoint]{
			Probe: func(m poisehttp.Member) (func(context.Context) error, error) {
				probe, err := poisehttp.NewHTTPProbe(poisehttp.HTTPProbeConfig{URL: "http://" + m.ID + "/healthz"})
				if err != nil {
					return nil, err
				}
				return probe.Probe, nil
			},
		},
	})
	if err != nil {
		panic(err)
	}
	defer transport.Close()

	client := &http.Client{Transport: transport}
	for range 4 { // a call goes on where nothing could be sent
		resp, err := client.Get("http://service.example.com/")
		if err != nil {
			panic(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		fmt.Println(resp.StatusCode, string(body))
	}
	// Output:
	// 200 served for service.example.com
	// 200 served for service.example.com
	// 200 served for service.example.com
	// 200 served for service.example.com
}
