// Demo sends real requests through the library to real HTTP servers that are
// slow, broken, hanging, drained, killed and restarted, that join and leave. It
// shows live what the library makes of them, and checks the library's promises
// on the way.
//
//	go run ./examples/demo
//	go run ./examples/demo -policy round-robin
//	go run ./examples/demo -backends 10.0.0.1:8080,10.0.0.2:8080 -path /health
//	go run ./examples/demo -discover file:backends.txt
//	go run ./examples/demo -discover dns:service.example.com:8080
//	go run ./examples/demo -discover dns+srv:_http._tcp.service.example.com
//
// It exits with 0 when every promise held, 1 when one was broken, the run could not
// be made or none of your own backends answered anything, 2 when the command line is wrong, and 130 when it was interrupted.
//
// Read fleet.go for how the library is set up, discover.go for how backends are
// found, traffic.go for how it is used, and promises.go for what is checked.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

const (
	exitHeld        = 0
	exitBroken      = 1
	exitUsage       = 2
	exitInterrupted = 130 // as a shell reports an interrupt
)

func main() { os.Exit(demo(os.Args[1:], os.Stdout, os.Stderr)) }

// demo is main with everything it touches handed in.
func demo(args []string, out, problems io.Writer) int {
	s, err := parse(args, out)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitHeld
	case err != nil:
		fmt.Fprintf(problems, "demo: %v\nTry -help.\n", err)
		return exitUsage
	}

	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt)
	defer restore()
	context.AfterFunc(ctx, restore) // a second interrupt ends the program at once

	screen := newScreen(out, os.Getenv)
	r, err := run(ctx, s, screen)
	screen.close()
	if err != nil {
		fmt.Fprintf(problems, "demo: %v\n", err)
		return exitBroken
	}
	io.WriteString(out, r.text(screen.style))
	if s.json != "" {
		if err := os.WriteFile(s.json, r.json(), 0o644); err != nil {
			fmt.Fprintf(problems, "demo: the summary could not be written: %v\n", err)
			return exitBroken
		}
	}
	switch {
	case len(r.broken()) > 0:
		return exitBroken
	case r.interrupted:
		return exitInterrupted
	case s.own() && r.Responses == 0:
		fmt.Fprintln(problems, "demo: no backend answered a single request, so the promises show little; are the addresses right?")
		return exitBroken
	}
	return exitHeld
}
