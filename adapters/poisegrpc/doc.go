// Package poisegrpc puts the loop of Poise under a gRPC client: policies, passive
// health, limits and observers over the connections that gRPC keeps. Import it, and
// name it in the service config:
//
//	conn, err := grpc.NewClient("dns:///backend:50051", grpc.WithTransportCredentials(creds),
//		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"poise": {}}]}`))
//
// A balancer of settings that JSON cannot hold, such as a policy of one's own or an
// observer, is made by [NewBuilder] and registered under another name.
package poisegrpc
