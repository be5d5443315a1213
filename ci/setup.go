package main

import (
	"context"
	"errors"
	"fmt"
	"go/version"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/copyleftdev/poise-go/ci/report/browser"
)

// need is something that a layer cannot do without.
type need struct {
	name   string   // what layers call it
	wanted string   // what to install where nothing here can
	debian []string // the packages that bring it; none: the distribution's own is too old
	// optional: verify does not install it, and a layer that lacks it reads "not run" and
	// fails nothing.
	optional bool
	check    func(context.Context, *host) error
}

var needs = []need{
	{name: "Go", wanted: "Go 1.26 or newer", check: hasGo},
	{name: "git", wanted: "git", debian: []string{"git"}, check: hasProgram("git", "--version")},
	{name: "make", wanted: "make", debian: []string{"make"}, check: hasProgram("make", "--version")},
	{name: "C compiler", wanted: "a C compiler with the C library's headers", debian: []string{"gcc", "libc6-dev"}, check: hasCompiler},
	{name: "Java", wanted: "Java", debian: []string{"default-jre-headless"}, check: hasProgram("java", "-version")},
	{name: "Maven", wanted: "Maven", debian: []string{"maven"}, check: hasMaven},
	{name: "browser", wanted: "Chromium or Chrome", debian: []string{"chromium-headless-shell", "fonts-dejavu-core"}, check: hasBrowser, optional: true},
}

// host is the machine to set up. Tests put fakes here.
type host struct {
	exec       execFunc
	out        io.Writer
	debian     bool
	root       bool
	mayInstall bool
}

var debianRelease = regexp.MustCompile(`(?m)^ID(_LIKE)?=.*\b(debian|ubuntu)\b`)

func thisHost(out io.Writer) *host {
	release, _ := os.ReadFile("/etc/os-release") // absent elsewhere
	return &host{
		exec: runCommand, out: out,
		debian: debianRelease.Match(release), root: os.Geteuid() == 0, mayInstall: os.Getenv("INSTALL") != "0",
	}
}

// setup says what is missing, installs it where it may, and returns the names of
// what is missing still. Whatever it cannot install it asks for in one sentence,
// which is the error. What is optional is installed and asked for only where all is
// wanted.
func (h *host) setup(ctx context.Context, all bool) (missing []string, err error) {
	lacking := h.lacking(ctx)
	var spared []string
	if !all {
		lacking = slices.DeleteFunc(lacking, func(n need) bool {
			if n.optional {
				spared = append(spared, n.name)
			}
			return n.optional
		})
	}
	switch {
	case len(lacking) == 0 && len(spared) > 0:
		fmt.Fprintf(h.out, "setup: everything is here but for %s, which is optional: make setup installs it\n", strings.Join(spared, ", "))
		return spared, nil
	case len(lacking) == 0:
		fmt.Fprintln(h.out, "setup: everything is here")
		return nil, nil
	}
	defer func() { missing = append(missing, spared...) }()
	packages, installable := debianPackages(lacking)
	command := "apt-get install -y " + strings.Join(packages, " ")
	wanted := wantedOf(lacking)
	switch {
	case !h.debian || !installable:
		return names(lacking), fmt.Errorf("setup: install %s, then run make verify again", wanted)
	case !h.mayInstall:
		return names(lacking), fmt.Errorf("setup: INSTALL=0 forbids installing %s: run %s, then make verify again", wanted, command)
	case !h.root:
		return names(lacking), fmt.Errorf("setup: this machine lacks %s: run %s as root, then make verify again", wanted, command)
	}
	fmt.Fprintf(h.out, "setup: this machine lacks %s: installing %s\n", wanted, strings.Join(packages, " "))
	failed := h.install(ctx, lacking)
	if lacking = h.lacking(ctx); failed != nil && len(lacking) > 0 {
		return names(lacking), fmt.Errorf("setup: install %s, then run make verify again: %w", wantedOf(lacking), failed)
	}
	if len(lacking) > 0 {
		return names(lacking), fmt.Errorf("setup: this machine still lacks %s after %s", wantedOf(lacking), command)
	}
	return nil, nil
}

func (h *host) lacking(ctx context.Context) []need {
	var lacking []need
	for _, n := range needs {
		if n.check(ctx, h) != nil {
			lacking = append(lacking, n)
		}
	}
	return lacking
}

func debianPackages(lacking []need) (packages []string, all bool) {
	all = true
	for _, n := range lacking {
		packages = append(packages, n.debian...)
		all = all && len(n.debian) > 0
	}
	return packages, all
}

func names(needs []need) []string {
	var all []string
	for _, n := range needs {
		all = append(all, n.name)
	}
	return all
}

// wantedOf joins what to install as a sentence does.
func wantedOf(needs []need) string {
	var all []string
	for _, n := range needs {
		all = append(all, n.wanted)
	}
	if last := len(all) - 1; last > 0 {
		return strings.Join(all[:last], ", ") + " and " + all[last]
	}
	return all[0]
}

// install asks for each need by itself: a distribution that lacks one of the packages
// has the others.
func (h *host) install(ctx context.Context, lacking []need) error {
	commands := [][]string{{"apt-get", "update", "-q"}}
	for _, n := range lacking {
		commands = append(commands, append([]string{"apt-get", "install", "-y", "-q", "--no-install-recommends"}, n.debian...))
	}
	var all []error
	for _, argv := range commands {
		var said strings.Builder
		exit, err := h.exec(ctx, command{argv: argv, env: []string{"DEBIAN_FRONTEND=noninteractive"}, out: &said, err: &said})
		if err == nil && exit != 0 {
			err = errors.New(strings.TrimSpace(said.String()))
		}
		if err != nil {
			all = append(all, fmt.Errorf("%s: %w", strings.Join(argv, " "), err))
		}
	}
	return errors.Join(all...)
}

func hasProgram(argv ...string) func(context.Context, *host) error {
	return func(ctx context.Context, h *host) error {
		_, err := h.exec.output(ctx, "", argv...)
		return err
	}
}

func hasGo(ctx context.Context, h *host) error {
	v, err := h.exec.output(ctx, "", "go", "env", "GOVERSION")
	if err != nil {
		return err
	}
	for _, f := range strings.Fields(v) { // "go1.26.1", or "devel go1.27-abcdef …"
		if version.Compare(f, "go1.26") >= 0 {
			return nil
		}
	}
	return fmt.Errorf("go is %s", v)
}

// hasCompiler links a program: a compiler without the headers of the C library is
// a common half of what cgo, and so the race detector, needs.
func hasCompiler(ctx context.Context, h *host) error {
	cc, err := h.exec.output(ctx, "", "go", "env", "CC")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "setup")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "try.c")
	const text = "#include <stdlib.h>\n#include <pthread.h>\nint main(void) { return EXIT_SUCCESS; }\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		return err
	}
	argv := append(strings.Fields(cc), "-o", filepath.Join(dir, "try"), source, "-lpthread")
	if len(argv) < 5 {
		return errors.New("go env CC is empty")
	}
	_, err = h.exec.output(ctx, dir, argv...)
	return err
}

// hasBrowser asks for any of the programs that can render the report.
func hasBrowser(ctx context.Context, h *host) (err error) {
	for _, name := range browser.Names {
		if err = hasProgram(name, "--version")(ctx, h); err == nil {
			return nil
		}
	}
	return err
}

// hasMaven asks for the program that fetches TLC, unless there is nothing to fetch.
func hasMaven(ctx context.Context, h *host) error {
	if os.Getenv("TLA2TOOLS_JAR") != "" {
		return nil
	}
	return hasProgram("mvn", "--version")(ctx, h)
}

// mayBeLeftOut reports whether the need is optional.
func mayBeLeftOut(name string) bool {
	return slices.ContainsFunc(needs, func(n need) bool { return n.name == name && n.optional })
}

// lacks returns the first of a layer's needs that is missing.
func (l layer) lacks(missing []string) string {
	for _, n := range l.needs {
		if slices.Contains(missing, n) {
			return n
		}
	}
	return ""
}
