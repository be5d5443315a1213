package mutation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/copyleftdev/poise-go/internal/mutant"
)

// binary is an instrumented test binary, and what is known of its tests.
type binary struct {
	path  string
	dir   string
	flags []string
	tests []*test
	// unsound are tests that fail in the instrumented binary although no mutant is
	// active: those that count allocations may.
	unsound []string
}

// test is one test, example or fuzz target with its seeds.
type test struct {
	name    string
	took    time.Duration
	reaches map[int32]bool
}

var compileError = regexp.MustCompile(`^([^:\s]+\.go):(\d+):\d+: (.*)$`)

// build compiles the tests with all mutants. Those that do not compile are dropped and
// say so.
func (s *source) build(ctx context.Context, to string) (*binary, error) {
	b := &binary{path: filepath.Join(to, "tests"), dir: s.dir}
	dropped := map[*Mutant]bool{}
	for range 50 {
		overlay, err := s.overlay(to, dropped)
		if err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay", overlay, "-o", b.path, ".")
		cmd.Dir = s.dir
		out, err := cmd.CombinedOutput()
		if err == nil {
			return b, nil
		}
		if n := s.drop(string(out), dropped); n == 0 {
			return nil, fmt.Errorf("mutation: the instrumented tests do not compile: %w\n%s", err, firstLines(string(out), 20))
		}
	}
	return nil, errors.New("mutation: the instrumented tests do not compile, whatever is left out")
}

// drop drops the mutants in lines that do not compile, and returns how many.
func (s *source) drop(out string, dropped map[*Mutant]bool) (n int) {
	for line := range strings.SplitSeq(out, "\n") {
		found := compileError.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		number, _ := strconv.Atoi(found[2])
		for _, w := range s.files {
			if filepath.Base(w.path) != filepath.Base(found[1]) {
				continue
			}
			for _, e := range w.edits {
				from, to := w.lineOf(e.from), w.lineOf(e.to)
				if number < from || number > to {
					continue
				}
				for _, m := range e.mutants {
					if !dropped[m] && (from == number || to == number) {
						dropped[m], m.Verdict, m.Why = true, NotCompiled, found[3]
						n++
					}
				}
			}
		}
	}
	return n
}

func (w *walker) lineOf(offset int) int { return 1 + bytes.Count(w.source[:offset], []byte("\n")) }

func firstLines(s string, n int) string {
	lines := strings.SplitN(s, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n")
}

// list finds the tests.
func (b *binary) list(ctx context.Context) ([]string, error) {
	cmd := exec.CommandContext(ctx, b.path, "-test.list", ".")
	cmd.Dir = b.dir
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	names := strings.Fields(string(out))
	return slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, "Benchmark") }), nil
}

// outcome is what a run of some tests came to.
type outcome struct {
	passed, late bool
	failed       string // the first test that failed, or that ran when the process ended
	took         time.Duration
	output       string
}

// run runs the tests of these names with the environment.
func (b *binary) run(ctx context.Context, names []string, limit time.Duration, env ...string) outcome {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	pattern := "^(" + strings.Join(names, "|") + ")$"
	args := append([]string{"-test.run", pattern, "-test.v", "-test.failfast", "-test.count=1", "-test.timeout", "0"}, b.flags...)
	cmd := exec.CommandContext(ctx, b.path, args...)
	cmd.Dir, cmd.Env = b.dir, append(os.Environ(), env...)
	cmd.WaitDelay = time.Second
	began := time.Now()
	out, err := cmd.CombinedOutput()
	o := outcome{passed: err == nil, late: ctx.Err() == context.DeadlineExceeded, took: time.Since(began), output: string(out)}
	if !o.passed {
		o.failed = culprit(o.output)
	}
	return o
}

var (
	failLine = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	runLine  = regexp.MustCompile(`(?m)^=== RUN   (\S+)`)
)

// culprit is the test that a run failed by: the one that says so, or the last one that
// began.
func culprit(out string) string {
	if found := failLine.FindStringSubmatch(out); found != nil {
		return found[1]
	}
	if all := runLine.FindAllStringSubmatch(out, -1); len(all) > 0 {
		name, _, _ := strings.Cut(all[len(all)-1][1], "/")
		return name
	}
	return ""
}

// active is the environment of a mutant.
func active(m *Mutant) string { return mutant.Active + "=" + strconv.Itoa(int(m.number)) }
