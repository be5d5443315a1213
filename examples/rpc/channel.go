package main

import (
	"context"
	"errors"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
)

// conn is a connection to one backend, as clients of gRPC have it: *grpc.ClientConn fits
// but for its options, and for Ready, which is its GetState.
type conn interface {
	// Invoke makes one call and fills in the reply.
	Invoke(ctx context.Context, method string, request, reply any) error
	// Ready reports whether there is a connection to send on.
	Ready() bool
	Close() error
}

// errNotConnected is the error of a call of which nothing was sent.
var errNotConnected = errors.New("no connection")

// channel is one service on several backends. It has the methods of a conn, so code
// that is generated for one works with it.
type channel struct {
	balancer *dispatch.Balancer[conn]
	// repeatable reports whether a method may run twice.
	repeatable func(method string) bool
}

func newChannel(policy poise.Policy, members []dispatch.Member[conn], repeatable func(method string) bool) (*channel, error) {
	balancer, err := dispatch.New(dispatch.Config[conn]{
		Loop: dispatch.LoopConfig{Policy: policy}, Members: members,
		Classify: resultOf, Close: conn.Close,
	})
	if err != nil {
		return nil, err
	}
	return &channel{balancer, repeatable}, nil
}

// Invoke makes a call at one backend, and at others while it may.
func (c *channel) Invoke(ctx context.Context, method string, request, reply any) error {
	query := dispatch.Query{Repeatable: c.repeatable(method)}
	return c.balancer.Do(ctx, query, func(ctx context.Context, to conn) error {
		if !to.Ready() {
			return errNotConnected
		}
		return to.Invoke(ctx, method, request, reply)
	})
}

// Close ends the channel. Calls under way go on.
func (c *channel) Close() error { return c.balancer.Close() }
