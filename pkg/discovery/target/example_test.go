package target_test

import (
	"context"
	"fmt"
	"time"

	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/pkg/discovery/target"
)

func ExampleTarget_NewPoller() {
	directory, err := discovery.New(discovery.Config[target.Address]{Equal: target.Equal})
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := directory.Open("orders")
	if err != nil {
		fmt.Println(err)
		return
	}
	names := &answers{addresses: ips("10.0.0.2 10.0.0.1")} // without it, net.DefaultResolver
	orders, err := target.Parse("dns:orders.internal:8080")
	if err != nil {
		fmt.Println(err)
		return
	}
	poller, err := orders.NewPoller(session, target.Config{Resolver: names, Interval: 10 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = poller.Poll(context.Background(), time.Unix(0, 0)) // in a program, a discovery.PollerRunner
	for _, member := range directory.Load().All() {
		fmt.Println(member.ID)
	}
	fmt.Println(err)

	// Output:
	// 10.0.0.1:8080
	// 10.0.0.2:8080
	// <nil>
}
