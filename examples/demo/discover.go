package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/pkg/discovery/target"
)

// parseTarget reads where the user's own backends are found: what the flag says, after
// the scheme if that goes without saying. Its errors name the flag and the part that is
// wrong.
func parseTarget(flag, scheme, text string) (target.Target, error) {
	found, err := target.Parse(scheme + text)
	if refused, ok := errors.AsType[*poise.FieldError](err); ok {
		part, value := strings.TrimPrefix(strings.TrimPrefix(refused.Field, "target"), ".static"), refused.Value
		if part == "" {
			value = text
		}
		err = &poise.FieldError{Field: flag + part, Value: value, Err: refused.Err}
	}
	return found, err
}

// interval is the time from one look at a target to the next.
func interval(of target.Target) time.Duration {
	if scheme := of.Scheme(); scheme == target.DNS || scheme == target.SRV {
		return 2 * time.Second // it is somebody else's server
	}
	return 300 * time.Millisecond
}

// hostOf returns what requests name. The library connects to the backends whatever
// that is; a request names one logical service.
func hostOf(of target.Target, members *discovery.Snapshot[target.Address]) string {
	switch of.Scheme() {
	case target.DNS:
		return strings.TrimPrefix(of.String(), "dns:")
	case target.SRV:
		return of.Hosts()[0]
	}
	first, _ := members.At(0) // the target was asked, and an empty list is a failure
	return first.Value.HostPort
}

// finder keeps the directory in step with the user's target, on a goroutine of its
// own: the library starts none for that.
type finder struct {
	poller  *discovery.Poller[target.Address]
	failing bool // the last note said so
}

// find asks the target for the first time, so that a mistake is found at once.
func find(s settings, session *discovery.Session[target.Address], resolver target.Resolver) (*finder, error) {
	every := interval(s.target)
	poller, err := s.target.NewPoller(session, target.Config{Resolver: resolver, Interval: every, Floor: every, Seed: s.seed})
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

// run asks the target whenever that is due, until the context ends.
func (f *finder) run(ctx context.Context, patience time.Duration) {
	for {
		due, _ := f.poll(ctx, patience) // an error is in the status
		if !wait(ctx, due) {
			return
		}
	}
}

// look tells of the target what has changed since the last look; empty for nothing.
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
