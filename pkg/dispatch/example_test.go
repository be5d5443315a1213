package dispatch_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

func ExampleBalancer() {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "served for %s", r.Host)
	}))
	defer backend.Close()

	var members []dispatch.Member
	for _, address := range []string{backend.Listener.Addr().String(), "localhost:1"} { // one is down
		endpoint, err := dispatch.NewHTTPEndpoint(dispatch.HTTPEndpointConfig{Address: address})
		if err != nil {
			panic(err)
		}
		members = append(members, dispatch.Member{ID: address, Endpoint: endpoint})
	}
	balancer, err := dispatch.New(dispatch.Config{Policy: new(policy.PowerOfTwoChoices), Members: members})
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
