package main

import (
	"context"
	"errors"
	"net"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// pool keeps idle connections to one server.
type pool struct {
	address string
	idle    chan net.Conn
}

func newPool(address string) *pool { return &pool{address: address, idle: make(chan net.Conn, 8)} }

// errDial wraps an error before anything was sent.
var errDial = errors.New("cannot connect")

func (p *pool) get(ctx context.Context) (net.Conn, error) {
	select {
	case conn := <-p.idle:
		return conn, nil
	default:
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.address)
	if err != nil {
		return nil, errors.Join(errDial, err)
	}
	return conn, nil
}

func (p *pool) put(conn net.Conn) {
	select {
	case p.idle <- conn:
	default:
		_ = conn.Close()
	}
}

// drop closes a connection that has failed, and returns the error.
func (p *pool) drop(conn net.Conn, err error) error {
	_ = conn.Close()
	return err
}

// probe asks whether the server accepts connections.
func (p *pool) probe(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// Close closes the idle connections. The balancer calls it once, when the last call
// has ended.
func (p *pool) Close() error {
	for {
		select {
		case conn := <-p.idle:
			_ = conn.Close()
		default:
			return nil
		}
	}
}

// classify tells the loop what an error means: a server that cannot be reached took
// nothing, so that the call may go on to another one whatever it was.
func classify(err error) poise.Result {
	switch {
	case err == nil:
		return poise.Result{}
	case errors.Is(err, errDial):
		return poise.Result{Outcome: poise.Unreachable, Err: err}
	default:
		return poise.Result{Outcome: poise.Failure, Err: err}
	}
}
