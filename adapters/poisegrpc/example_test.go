package poisegrpc_test

import (
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	_ "github.com/copyleftdev/poise-go/adapters/poisegrpc"
)

// A client whose calls the loop balances.
func Example() {
	settings := `{"loadBalancingConfig": [{"poise": {"policy": "power_of_two_choices", "limit": 100}}]}`
	conn, err := grpc.NewClient("dns:///backend.internal:50051",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(settings))
	if err != nil {
		panic(err)
	}
	defer func() { _ = conn.Close() }()
	fmt.Println(conn.Target())
	// Output: dns:///backend.internal:50051
}
