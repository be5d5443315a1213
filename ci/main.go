// Command ci runs the layers of verification, records what they showed and
// renders the record. The Makefile is its only user but for "performance", which
// renews tables of a document; see README.md.
//
// It has no opinion of its own about the code: a layer asks the go command or a
// tool, and this program reads the answer, counts it and refuses to call nothing
// a success.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		if !errors.Is(err, errNotAllPassed) { // that one has been said in a table
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: go run ./ci setup | verify | report | performance | layer NAME…, in the root of the module")

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 || (len(args) > 1) != (args[0] == "layer") {
		return errUsage
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	s, err := settingsFrom(os.Getenv)
	if err != nil {
		return err
	}
	w := &workspace{root: root, settings: s, exec: runCommand}
	for _, l := range layers {
		w.owned = append(w.owned, l.owns...)
	}
	switch args[0] {
	case "setup":
		_, err := thisHost(out).setup(ctx, true)
		return err
	case "verify":
		if s.spec != "" {
			return errors.New("SPEC is for make tla: verify judges every specification")
		}
		if s.claim != "" {
			return errors.New("CLAIM is for make claims and make kills: verify judges every claim")
		}
		w.fresh = true
		return verify(ctx, w, thisHost(out), layers, out)
	case "report":
		return writeReport(root)
	case "performance":
		return renewPerformance(ctx, w, out)
	case "layer":
		return some(ctx, w, args[1:], out)
	default:
		return errUsage
	}
}

// some runs a few layers by name and records nothing: what one layer shows is
// less than what the record promises.
func some(ctx context.Context, w *workspace, names []string, out io.Writer) error {
	var rows []layer
	for _, name := range names {
		i := slices.IndexFunc(layers, func(l layer) bool { return l.name == name })
		if i < 0 {
			return fmt.Errorf("there is no layer %q", name)
		}
		rows = append(rows, layers[i])
	}
	r := runLayers(ctx, w, rows, nil, out)
	printEnd(out, r)
	if !r.AllPassed() {
		return errNotAllPassed
	}
	return nil
}
