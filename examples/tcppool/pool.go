package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
)

// errUnsent means that nothing of a line was sent, so that it may be sent elsewhere.
var errUnsent = errors.New("not sent")

// pool is the connections to one server.
type pool struct {
	address string
	kept    chan *connection
}

type connection struct {
	net.Conn
	answers *bufio.Reader
}

func newPool(address string) *pool { return &pool{address, make(chan *connection, 4)} }

// connect returns a kept connection, or a new one.
func (p *pool) connect(ctx context.Context) (*connection, error) {
	select {
	case kept := <-p.kept:
		return kept, nil
	default:
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnsent, err)
	}
	return &connection{conn, bufio.NewReader(conn)}, nil
}

// ask sends a line and returns the answer.
func (p *pool) ask(ctx context.Context, line string) (answer string, err error) {
	conn, err := p.connect(ctx)
	if err != nil {
		return "", err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if _, err = io.WriteString(conn, line+"\n"); err == nil {
		answer, err = conn.answers.ReadString('\n')
	}
	if err != nil {
		_ = conn.Close()
		return "", err
	}
	_ = conn.SetDeadline(time.Time{})
	p.keep(conn)
	return answer[:len(answer)-1], nil
}

// keep keeps a connection for the next line, if there is room for it.
func (p *pool) keep(conn *connection) {
	select {
	case p.kept <- conn:
	default:
		_ = conn.Close()
	}
}

// Close closes the connections that are kept. The balancer calls it when the last call
// of the pool has ended.
func (p *pool) Close() error {
	for {
		select {
		case kept := <-p.kept:
			_ = kept.Close()
		default:
			return nil
		}
	}
}

// probe asks a server how it is: whether it takes a connection.
func probe(m dispatch.Member[*pool]) (func(context.Context) error, error) {
	return func(ctx context.Context) error {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.ID)
		if err != nil {
			return err
		}
		return conn.Close()
	}, nil
}

// classify judges the error of a call.
func classify(err error) poise.Result {
	switch {
	case err == nil:
		return poise.Result{}
	case errors.Is(err, errUnsent):
		return poise.Result{Outcome: poise.Unreachable, Err: err}
	}
	return poise.Result{Outcome: poise.Failure, Err: err}
}
