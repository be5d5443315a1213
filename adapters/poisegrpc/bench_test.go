package poisegrpc_test

import (
	"context"
	"testing"

	"github.com/copyleftdev/poise-go/adapters/poisegrpc"
)

// BenchmarkUnary compares a call over ours with one over gRPC's own round robin, on
// three real servers in one run.
func BenchmarkUnary(b *testing.B) {
	servers := []*server{serve(b, &server{}), serve(b, &server{}), serve(b, &server{})}
	for _, row := range []struct{ name, balancer, settings string }{
		{"balancer=grpc", "round_robin", `{}`},
		{"balancer=poise", poisegrpc.Name, `{"policy": "round_robin"}`},
	} {
		b.Run(row.name, func(b *testing.B) {
			for _, s := range servers {
				s.calls.Store(0)
			}
			c := dial(b, row.balancer, row.settings, endpoints(servers...)...)
			c.connect(b, servers...)
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				if err := c.call(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
