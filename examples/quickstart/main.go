// Command quickstart is the code of the README. With a target and a URL it sends one
// request through a client of the target; without, it makes one decision and says
// why:
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart dns:orders.internal:8080 http://orders.internal:8080/
//	go run ./examples/quickstart static:127.0.0.1:8080,127.0.0.1:8081 http://127.0.0.1/
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 1:
		err = pick(os.Stdout)
	case len(os.Args) == 3:
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = get(ctx, os.Args[1], os.Args[2])
	default:
		fmt.Fprintln(os.Stderr, "usage: quickstart [target URL]")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func get(ctx context.Context, target, url string) error {
	client, err := poisehttp.NewClient(target, poisehttp.WithProbe("/healthz"))
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.WaitReady(ctx); err != nil {
		return err
	}
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	return nil
}
