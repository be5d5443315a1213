// Command tcppool sends the lines of its input to TCP servers that answer a line with
// a line, over connections that are kept, and says for each where it went and why:
//
//	go run ./examples/tcppool 127.0.0.1:7001 127.0.0.1:7002
//
// Nothing of it is HTTP: the loop of package dispatch picks a server, watches over its
// health, and goes on to another one when nothing could be sent.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(addresses []string, in io.Reader, out io.Writer) error {
	cfg := dispatch.Config[*pool]{
		Loop:     dispatch.LoopConfig{Policy: new(policy.PowerOfTwoChoices)},
		Probes:   &dispatch.ProbesConfig[*pool]{Probe: probe},
		Classify: classify,
		Close:    (*pool).Close,
	}
	for _, address := range addresses {
		cfg.Members = append(cfg.Members, dispatch.Member[*pool]{ID: address, Endpoint: newPool(address)})
	}
	balancer, err := dispatch.New(cfg)
	if err != nil {
		return err
	}
	defer balancer.Close()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var why poise.Decision
		var answer string
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		err := balancer.Do(ctx, dispatch.Query{Why: &why}, func(ctx context.Context, to *pool) (err error) {
			answer, err = to.ask(ctx, lines.Text())
			return err
		})
		cancel()
		fmt.Fprintf(out, "%q, %v\n%s\n", answer, err, why)
	}
	for _, state := range balancer.Endpoints() {
		fmt.Fprintln(out, state.ID, state.Reason, state.Passive.State, state.Passive.LastError)
	}
	return nil
}
