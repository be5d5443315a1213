// Command quickstart is the code of the README. With a URL and addresses it sends
// one request through a balancer over them; without, it makes one decision and
// says why:
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart http://service.example.com/ 127.0.0.1:8080 127.0.0.1:8081
package main

import (
	"fmt"
	"net/http"
	"os"

	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 1:
		err = pick(os.Stdout)
	case len(os.Args) > 2:
		err = get(os.Args[1], os.Args[2:])
	default:
		fmt.Fprintln(os.Stderr, "usage: quickstart [URL host:port...]")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func get(url string, addresses []string) error {
	var members []poisehttp.Member
	for _, address := range addresses {
		endpoint, err := poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{Address: address})
		if err != nil {
			return err
		}
		members = append(members, poisehttp.Member{ID: address, Endpoint: endpoint})
	}
	balancer, err := poisehttp.New(poisehttp.Config{Policy: new(policy.PowerOfTwoChoices), Members: members})
	if err != nil {
		return err
	}
	defer balancer.Close()
	client := &http.Client{Transport: balancer}
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	return nil
}
