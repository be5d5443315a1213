package discovery

import (
	"context"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
)

// Static returns a Fetch whose answer is always the same.
func Static[V any](entries ...Entry[V]) func(context.Context) (Listing[V], error) {
	entries = slices.Clone(entries)
	return func(context.Context) (Listing[V], error) { return Listing[V]{Entries: entries}, nil }
}

// File returns a Fetch that reads a file and has it parsed. Whoever writes the file
// should rename it into place: half a list looks like a list. To read one of the
// operating system, use os.DirFS.
func File[V any](files fs.FS, name string, parse func([]byte) ([]Entry[V], error)) func(context.Context) (Listing[V], error) {
	return func(context.Context) (Listing[V], error) {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return Listing[V]{}, err
		}
		entries, err := parse(data)
		return Listing[V]{Entries: entries}, err
	}
}

// Lines returns a parser for File that parses each line by itself. Space around a
// line, empty lines and lines that begin with # are left out. A line that is
// refused is named by its number, and refuses the whole.
func Lines[V any](parse func(line string) (Entry[V], error)) func([]byte) ([]Entry[V], error) {
	return func(data []byte) (entries []Entry[V], err error) {
		number := 0
		for line := range strings.Lines(string(data)) {
			number++
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' {
				continue
			}
			e, err := parse(line)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			entries = append(entries, e)
		}
		return entries, nil
	}
}

// Resolver finds the addresses of a name. A *net.Resolver is one.
//
// # Contract
//
//   - A Resolver is asked once per Fetch, with the context of the Poll.
//
// # Cost
//
// As the resolver says.
//
// # Concurrency
//
// A Resolver is used by one Poll at a time.
type Resolver interface {
	// LookupNetIP returns the addresses of the name, in the network "ip", "ip4" or
	// "ip6".
	LookupNetIP(ctx context.Context, network, name string) ([]netip.Addr, error)
}

// DNS returns a Fetch that resolves a name and makes an entry of each address. An
// IPv4 address inside an IPv6 one is taken for itself, and an address that comes
// twice counts once. New members join in the order of their addresses, since
// resolvers shuffle theirs.
//
// net.Resolver does not tell for how long an answer is valid, so the Poller asks
// again by its Interval.
func DNS[V any](resolver Resolver, network, name string, entry func(netip.Addr) Entry[V]) func(context.Context) (Listing[V], error) {
	return func(ctx context.Context) (Listing[V], error) {
		addresses, err := resolver.LookupNetIP(ctx, network, name)
		if err != nil {
			return Listing[V]{}, err
		}
		addresses = slices.Clone(addresses)
		for i := range addresses {
			addresses[i] = addresses[i].Unmap()
		}
		slices.SortFunc(addresses, netip.Addr.Compare)
		var entries []Entry[V]
		for _, a := range slices.Compact(addresses) {
			entries = append(entries, entry(a))
		}
		return Listing[V]{Entries: entries}, nil
	}
}
