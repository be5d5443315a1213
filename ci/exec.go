package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// command is one program to run.
type command struct {
	dir      string
	env      []string // added to this process's own
	argv     []string
	out, err io.Writer
}

// execFunc runs a command and returns its exit code. An error means that there
// is none: the program was not found, or was stopped. Tests put a fake here; the
// real one is runCommand.
type execFunc func(context.Context, command) (exit int, err error)

func runCommand(ctx context.Context, c command) (int, error) {
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stdout, cmd.Stderr = c.out, c.err
	cmd.WaitDelay = 5 * time.Second // a grandchild may keep the pipes open
	err := cmd.Run()
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// output runs a program for what it prints, and joins both its streams into the
// error when it fails.
func (f execFunc) output(ctx context.Context, dir string, argv ...string) (string, error) {
	var out, errs strings.Builder
	exit, err := f(ctx, command{dir: dir, argv: argv, out: &out, err: &errs})
	if err == nil && exit != 0 {
		err = errors.New(strings.TrimSpace(out.String() + errs.String()))
	}
	return strings.TrimSpace(out.String()), err
}
