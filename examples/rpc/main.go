// Command rpc shows a client with status codes of its own, as gRPC has them, over the
// loop. Its backends are in this process; one is not connected, and one fails:
//
//	go run ./examples/rpc
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// local is a conn to a backend in this process.
type local struct {
	answer  *status // nil: it serves
	offline bool
	calls   atomic.Int64
}

func (l *local) Invoke(_ context.Context, _ string, request, reply any) error {
	l.calls.Add(1)
	if l.answer != nil {
		return l.answer
	}
	*reply.(*string) = "hello " + request.(string)
	return nil
}

func (l *local) Ready() bool  { return !l.offline }
func (l *local) Close() error { return nil }

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	offline, failing, sound := &local{offline: true}, &local{answer: &status{unavailable, "going down"}}, new(local)
	c, err := newChannel(new(policy.RoundRobin), []dispatch.Member[conn]{
		{ID: "offline", Endpoint: offline}, {ID: "failing", Endpoint: failing}, {ID: "sound", Endpoint: sound},
	}, func(method string) bool { return method == "/greeter/Hello" })
	if err != nil {
		return err
	}
	defer c.Close()
	var reply string
	for range 100 {
		if err := c.Invoke(ctx, "/greeter/Hello", "world", &reply); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%s: 100 calls served, %d of them by the one that is sound\n", reply, sound.calls.Load())
	_, err = fmt.Fprintf(out, "the failing one was asked %d times\n", failing.calls.Load())
	return err
}
