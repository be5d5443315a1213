// Command tcppool sends one line to one of several TCP servers, prints what it
// answers, and says why that server was chosen. It speaks no HTTP:
//
//	go run ./examples/tcppool 127.0.0.1:7001,127.0.0.1:7002 "hello"
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: tcppool address,address line")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := ask(ctx, os.Stdout, strings.Split(os.Args[1], ","), os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ask(ctx context.Context, out io.Writer, addresses []string, line string) error {
	var members []dispatch.Member[*pool]
	for _, address := range addresses {
		members = append(members, dispatch.Member[*pool]{ID: address, Endpoint: newPool(address), Limit: 100})
	}
	balancer, err := dispatch.New(dispatch.Config[*pool]{
		Loop:     dispatch.LoopConfig{Policy: new(policy.PowerOfTwoChoices)},
		Members:  members,
		Probes:   &dispatch.ProbesConfig[*pool]{Probe: func(m dispatch.Member[*pool]) (func(context.Context) error, error) { return m.Endpoint.probe, nil }},
		Classify: classify,
		Close:    (*pool).Close,
	})
	if err != nil {
		return err
	}
	defer balancer.Close()
	if err := balancer.WaitReady(ctx); err != nil {
		return err
	}
	var why poise.Decision
	return balancer.Do(ctx, dispatch.Query{Why: &why}, func(ctx context.Context, p *pool) error {
		conn, err := p.get(ctx)
		if err != nil {
			return err
		}
		// A read of a connection knows no context.
		defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
		if _, err = fmt.Fprintln(conn, line); err != nil {
			return p.drop(conn, err)
		}
		answer, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil {
			return p.drop(conn, err)
		}
		p.put(conn)
		_, err = fmt.Fprintf(out, "%s%s\n", answer, why)
		return err
	})
}
