package poisehttp_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

func ExampleBalancer() {
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
	balancer, err := poisehttp.New(poisehttp.Config{Policy: new(policy.PowerOfTwoChoices), Members: members})
	if err != nil {
		panic(err)
	}
	defer balancer.Close()

	client := &http.Client{Transport: balancer}
	resp, err := client.Get("http://service.example.com/")
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, string(body))
	// Output: 200 served for service.example.com
}

// A Balancer that follows a directory of addresses. Here the source is one call; a
// Poller over a file or a name makes the same changes.
func ExampleNewMembership() {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "served")
	}))
	defer backend.Close()

	directory, err := discovery.New(discovery.Config[string]{Equal: func(a, b string) bool { return a == b }})
	if err != nil {
		panic(err)
	}
	source, err := directory.Open("by hand")
	if err != nil {
		panic(err)
	}
	follow := func() (*poisehttp.Balancer, error) {
		membership, err := poisehttp.NewMembership(poisehttp.MembershipConfig[string]{
			Directory: directory,
			Connect: func(m discovery.Member[string]) (poisehttp.Endpoint, error) {
				return poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{Address: m.Value})
			},
		})
		if err != nil {
			return nil, err
		}
		return poisehttp.New(poisehttp.Config{Policy: new(policy.PowerOfTwoChoices), Membership: membership})
	}
	balancer, err := follow()
	if err != nil {
		panic(err)
	}
	defer balancer.Close()
	client := &http.Client{Transport: balancer}
	_, err = client.Get("http://service.example.com/")
	fmt.Println(errors.Is(err, poise.ErrEmpty))

	if _, err := source.Upsert("backend-1", backend.Listener.Addr().String()); err != nil {
		panic(err)
	}
	for { // the Balancer takes the change a moment later
		resp, err := client.Get("http://service.example.com/")
		if errors.Is(err, poise.ErrEmpty) {
			continue
		} else if err != nil {
			panic(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		fmt.Println(resp.StatusCode, string(body))
		break
	}
	// Output:
	// true
	// 200 served
}
