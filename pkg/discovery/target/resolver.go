package target

import (
	"context"
	"net"
	"net/netip"
)

// Resolver answers for names. A *net.Resolver is one.
//
// # Contract
//
//   - A Resolver is asked once for each poll, with the context of the poll.
//
// # Cost
//
// As the resolver says.
//
// # Concurrency
//
// A Resolver that several pollers share must be safe for concurrent use.
type Resolver interface {
	// LookupNetIP returns the addresses of the name, in the network "ip", "ip4" or
	// "ip6".
	LookupNetIP(ctx context.Context, network, name string) ([]netip.Addr, error)
	// LookupSRV returns the SRV records of the name; service and proto are empty.
	LookupSRV(ctx context.Context, service, proto, name string) (cname string, records []*net.SRV, err error)
}
