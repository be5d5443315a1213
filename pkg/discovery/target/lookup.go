package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
)

// lookupHost returns a Fetch that makes a member of each address of a host, in the
// order of the addresses, since resolvers shuffle theirs.
func lookupHost(resolver Resolver, network, hostPort string, most int) discovery.Fetch[Address] {
	host, port, _ := net.SplitHostPort(hostPort)
	number, _ := portNumber(port)
	return func(ctx context.Context) (discovery.Listing[Address], error) {
		answer, err := resolver.LookupNetIP(ctx, network, host)
		if err := refused(len(answer), most, err); err != nil {
			return discovery.Listing[Address]{}, err
		}
		addresses := make([]netip.Addr, len(answer))
		for i, a := range answer {
			addresses[i] = a.Unmap()
		}
		slices.SortFunc(addresses, netip.Addr.Compare)
		var entries []discovery.Entry[Address]
		for i, a := range slices.Compact(addresses) {
			hostPort, err := ParseAddress(netip.AddrPortFrom(a, uint16(number)).String())
			if err != nil {
				return discovery.Listing[Address]{}, in(fmt.Sprintf("addresses[%d]", i), err)
			}
			entries = append(entries, entry(Address{HostPort: hostPort}))
		}
		return discovery.Listing[Address]{Entries: entries}, nil
	}
}

// lookupSRV returns a Fetch that makes a member of each SRV record of a name, in the
// order of priorities and then of addresses.
func lookupSRV(resolver Resolver, name string, most int) discovery.Fetch[Address] {
	return func(ctx context.Context) (discovery.Listing[Address], error) {
		_, records, err := resolver.LookupSRV(ctx, "", "", name)
		if err := refused(len(records), most, err); err != nil {
			return discovery.Listing[Address]{}, err
		}
		if len(records) == 1 && records[0].Target == "." {
			return discovery.Listing[Address]{}, fmt.Errorf("%w: %q offers no service", discovery.ErrNotFound, name)
		}
		addresses := make([]Address, len(records))
		for i, r := range records {
			if addresses[i], err = ofRecord(r); err != nil {
				return discovery.Listing[Address]{}, in(fmt.Sprintf("records[%d]", i), err)
			}
		}
		slices.SortFunc(addresses, func(a, b Address) int {
			return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.HostPort, b.HostPort), cmp.Compare(a.Weight.Value(), b.Weight.Value()))
		})
		listed := make(map[string]bool, len(addresses))
		var entries []discovery.Entry[Address]
		for _, a := range addresses {
			if !listed[a.HostPort] { // a record of a later priority adds nothing
				listed[a.HostPort] = true
				entries = append(entries, entry(a))
			}
		}
		return discovery.Listing[Address]{Entries: entries}, nil
	}
}

// ofRecord returns the address of a record. The weight 0 is 1: a small share beside
// others, and an equal one among its like.
func ofRecord(r *net.SRV) (Address, error) {
	hostPort, err := ParseAddress(net.JoinHostPort(strings.TrimSuffix(r.Target, "."), strconv.Itoa(int(r.Port))))
	weight, _ := poise.NewWeight(max(1, uint32(r.Weight)))
	return Address{HostPort: hostPort, Weight: weight, Priority: uint32(r.Priority)}, err
}

// refused returns what is wrong with an answer of a resolver. That a name does not
// exist matches discovery.ErrNotFound.
func refused(n, most int, err error) error {
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return fmt.Errorf("%w: %w", discovery.ErrNotFound, err)
	}
	if err == nil && n > most {
		return &discovery.LimitError{Found: int64(n), Limit: int64(most), Err: discovery.ErrTooManyMembers}
	}
	return err
}
