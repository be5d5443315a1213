package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/pkg/discovery/target"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// source is where the user's own backends are found. The zero source is none: then
// the demo starts servers.
type source struct {
	kind      string   // static, file or dns
	addresses []string // of a static one, each host:port
	path      string   // of a file with one address a line
	name      string   // to resolve
	port      uint16   // of each address that the name has
}

// What can be wrong with a source.
var (
	errUnknownSource = errors.New("unknown source, the sources are static:HOST:PORT,HOST:PORT and file:PATH and dns:NAME:PORT")
	errNoPath        = errors.New("no path, want file:PATH")
)

// parseSource reads what -discover says. Its errors name the part that is wrong.
func parseSource(text string) (source, error) {
	kind, rest, _ := strings.Cut(text, ":")
	part := "-discover " + kind
	switch kind {
	case "static":
		return staticSource(part, rest)
	case "file":
		if rest == "" {
			return source{}, &poise.FieldError{Field: part, Value: rest, Err: errNoPath}
		}
		return source{kind: kind, path: rest}, nil
	case "dns":
		name, port, err := net.SplitHostPort(rest)
		if err != nil || !isAddress(rest) {
			return source{}, &poise.FieldError{Field: part, Value: rest, Err: poisehttp.ErrBadAddress}
		}
		number, _ := strconv.ParseUint(port, 10, 16) // isAddress has seen it
		return source{kind: kind, name: name, port: uint16(number)}, nil
	}
	return source{}, &poise.FieldError{Field: "-discover", Value: text, Err: errUnknownSource}
}

// staticSource reads addresses that a comma parts. The part of the command line is
// for its errors.
func staticSource(part, list string) (source, error) {
	s := source{kind: "static", addresses: strings.Split(list, ",")}
	for i, address := range s.addresses {
		field := fmt.Sprintf("%s[%d]", part, i)
		if !isAddress(address) {
			return source{}, &poise.FieldError{Field: field, Value: address, Err: poisehttp.ErrBadAddress}
		}
		if slices.Contains(s.addresses[:i], address) {
			return source{}, &poise.FieldError{Field: field, Value: address, Err: poise.ErrDuplicateIdentity}
		}
	}
	return s, nil
}

func isAddress(text string) bool {
	_, err := poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{Address: text})
	return err == nil
}

// interval is the time from one look at a source to the next.
func (s source) interval() time.Duration {
	if s.kind == "dns" {
		return 2 * time.Second // it is somebody else's server
	}
	return 300 * time.Millisecond
}

// fetch returns the function that asks the source.
func (s source) fetch(resolver target.Resolver) (discovery.Fetch[string], error) {
	text := "static:" + strings.Join(s.addresses, ",")
	switch s.kind {
	case "file":
		text = "file:" + s.path
	case "dns":
		text = "dns:" + net.JoinHostPort(s.name, strconv.Itoa(int(s.port)))
	}
	of, err := target.Parse(text)
	if err != nil {
		return nil, err
	}
	ask, err := of.Fetch(target.Config{Resolver: resolver})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (discovery.Listing[string], error) {
		found, err := ask(ctx)
		var list discovery.Listing[string]
		for _, e := range found.Entries {
			list.Entries = append(list.Entries, discovery.Entry[string]{ID: e.ID, Value: e.Value.HostPort})
		}
		return list, err
	}, nil
}

// host returns what requests name. The library connects to the backends whatever
// that is; a request names one logical service.
func (s source) host(members *discovery.Snapshot[string]) string {
	if s.kind == "dns" {
		return net.JoinHostPort(s.name, strconv.Itoa(int(s.port)))
	}
	first, _ := members.At(0) // the source was asked, and an empty list is a failure
	return first.Value
}

// finder keeps the directory in step with the user's source, on a goroutine of its
// own: the library starts none for that.
type finder struct {
	poller  *discovery.Poller[string]
	failing bool // the last note said so
}

// find asks the source for the first time, so that a mistake is found at once.
func find(s settings, session *discovery.Session[string], resolver target.Resolver) (*finder, error) {
	fetch, err := s.source.fetch(resolver)
	if err != nil {
		return nil, err
	}
	poller, err := discovery.NewPoller(discovery.PollerConfig[string]{
		Session: session, Fetch: fetch, Interval: s.source.interval(), Floor: s.source.interval(), Seed: s.seed,
	})
	if err != nil {
		return nil, err
	}
	f := &finder{poller: poller}
	if _, err := f.poll(context.Background(), s.patience.header); err != nil {
		return nil, fmt.Errorf("-discover: %w", err)
	}
	return f, nil
}

func (f *finder) poll(ctx context.Context, patience time.Duration) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return f.poller.Poll(ctx, time.Now())
}

// run asks the source whenever that is due, until the context ends.
func (f *finder) run(ctx context.Context, patience time.Duration) {
	for {
		due, _ := f.poll(ctx, patience) // an error is in the status
		if !wait(ctx, due) {
			return
		}
	}
}

// look tells of the source what has changed since the last look; empty for nothing.
func (f *finder) look() string {
	status := f.poller.Status()
	failing := status.Err != nil
	if failing == f.failing {
		return ""
	}
	f.failing = failing
	if failing {
		return fmt.Sprintf("the source fails, the members stay: %v", innermost(status.Err))
	}
	return "the source answers again"
}
