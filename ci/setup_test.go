package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/ci/record"
)

// machine is a host on which everything is there except what a row breaks.
func machine(t *testing.T, broken ...reply) (*host, *[]string, *strings.Builder) {
	t.Helper()
	exec, ran := replies(t, append(broken,
		reply{has: "go env GOVERSION", out: "go1.26.3"}, reply{has: "go env CC", out: "gcc -m64"},
		reply{has: "gcc -m64 -o"}, reply{has: "git --version"}, reply{has: "make --version"},
		reply{has: "java -version"}, reply{has: "mvn --version"}, reply{has: "chrom", out: "Chromium 150"})...)
	out := new(strings.Builder)
	return &host{exec: exec, out: out, debian: true, root: true, mayInstall: true}, ran, out
}

func aptCalls(ran []string) []string {
	var all []string
	for _, r := range ran {
		if strings.Contains(r, "apt-get") {
			all = append(all, r)
		}
	}
	return all
}

func TestSetup_CompleteMachineInstallsNothing(t *testing.T) {
	h, ran, out := machine(t)
	missing, err := h.setup(t.Context(), true)
	if err != nil || len(missing) > 0 || len(aptCalls(*ran)) > 0 || !strings.Contains(out.String(), "everything is here") {
		t.Errorf("got %q, %v, %q and %q", missing, err, *ran, out)
	}
}

func TestSetup_DebianRootInstallsWhatIsMissingAndLooksAgain(t *testing.T) {
	headers := false
	h, ran, out := machine(t, reply{has: "apt-get update"}, reply{has: "apt-get install", do: func(command) { headers = true }})
	whole := h.exec
	h.exec = func(ctx context.Context, c command) (int, error) {
		exit, err := whole(ctx, c)
		if c.argv[0] == "gcc" && !headers {
			return 1, nil
		}
		return exit, err
	}
	missing, err := h.setup(t.Context(), true)
	if err != nil || len(missing) > 0 {
		t.Fatalf("got %q, %v, want nothing missing", missing, err)
	}
	calls := aptCalls(*ran)
	if len(calls) != 2 || !strings.Contains(calls[0], "apt-get update") || !strings.HasSuffix(calls[1], "gcc libc6-dev") {
		t.Errorf("ran %q, want an update, then gcc and libc6-dev", calls)
	}
	for _, c := range calls {
		if !strings.HasPrefix(c, "DEBIAN_FRONTEND=noninteractive ") {
			t.Errorf("%q may ask questions", c)
		}
	}
	if !strings.Contains(out.String(), "lacks a C compiler") {
		t.Errorf("it says %q, want what is missing", out)
	}
}

var (
	noCompiler = reply{has: "gcc -m64 -o", out: "gcc: not found", exit: 127}
	noMake     = reply{has: "make --version", exit: 127}
	oldGo      = reply{has: "go env GOVERSION", out: "go1.25.9"}
)

func TestSetup_WhatItMayNotInstallItAsksForInOneSentence(t *testing.T) {
	for _, c := range []struct {
		name   string
		broken []reply
		change func(*host)
		want   string
	}{
		{
			name: "INSTALL=0 forbids it", broken: []reply{noCompiler}, change: func(h *host) { h.mayInstall = false },
			want: "setup: INSTALL=0 forbids installing a C compiler with the C library's headers: run apt-get install -y gcc libc6-dev, then make verify again",
		},
		{
			name: "without root it names the command", broken: []reply{noMake, noCompiler}, change: func(h *host) { h.root = false },
			want: "setup: this machine lacks make and a C compiler with the C library's headers: run apt-get install -y make gcc libc6-dev as root, then make verify again",
		},
		{
			name: "another system gets no apt-get", broken: []reply{noCompiler}, change: func(h *host) { h.debian = false },
			want: "setup: install a C compiler with the C library's headers, then run make verify again",
		},
		{
			name: "an old Go cannot come from a package", broken: []reply{oldGo}, change: func(*host) {},
			want: "setup: install Go 1.26 or newer, then run make verify again",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, ran, _ := machine(t, c.broken...)
			c.change(h)
			missing, err := h.setup(t.Context(), true)
			if err == nil || err.Error() != c.want {
				t.Errorf("it says %v, want %q", err, c.want)
			}
			if len(missing) != len(c.broken) || len(aptCalls(*ran)) > 0 {
				t.Errorf("got %q missing after running %q, want %d and no apt-get", missing, *ran, len(c.broken))
			}
		})
	}
}

func TestSetup_TLCNeedsJavaAndWhatFetchesIt(t *testing.T) {
	noJava, noMaven := reply{has: "java -version", exit: 127}, reply{has: "mvn --version", exit: 127}
	for _, c := range []struct{ name, jar, want string }{
		{name: "nothing is there", want: "default-jre-headless maven"},
		{name: "a jar of one's own needs no Maven", jar: "tla2tools.jar", want: "default-jre-headless"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("TLA2TOOLS_JAR", c.jar)
			h, _, _ := machine(t, noJava, noMaven)
			h.root = false
			_, err := h.setup(t.Context(), true)
			if err == nil || !strings.Contains(err.Error(), "apt-get install -y "+c.want+" as root") {
				t.Errorf("it says %v, want %q installed", err, c.want)
			}
		})
	}
}

func TestSetup_InstallationThatFailsOrDoesNotHelpIsAnError(t *testing.T) {
	for _, c := range []struct {
		name string
		apt  reply
		want string
	}{
		{name: "apt-get fails", apt: reply{has: "apt-get", out: "E: Unable to locate package gcc", exit: 100}, want: "Unable to locate package"},
		{name: "apt-get is content and the compiler still broken", apt: reply{has: "apt-get"}, want: "still lacks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, _, _ := machine(t, noCompiler, c.apt)
			missing, err := h.setup(t.Context(), true)
			if err == nil || !strings.Contains(err.Error(), c.want) || len(missing) != 1 {
				t.Errorf("got %q, %v, want the compiler missing and %q", missing, err, c.want)
			}
		})
	}
}

func TestSetup_AnyBrowserWillDoAndOneThatCannotBeHadKeepsNothingElseAway(t *testing.T) {
	h, _, _ := machine(t, reply{has: "chromium-headless-shell --version", exit: 127}, reply{has: "chromium --version", exit: 127})
	if err := hasBrowser(t.Context(), h); err != nil {
		t.Errorf("with another browser: %v", err)
	}
	installed := false
	h, ran, _ := machine(t, reply{has: "apt-get update"},
		reply{has: "install -y -q --no-install-recommends gcc", do: func(command) { installed = true }},
		reply{has: "chromium-headless-shell", out: "E: Unable to locate package", exit: 100}, reply{has: "chrom", exit: 127}, reply{has: "google-chrome", exit: 127})
	whole := h.exec
	h.exec = func(ctx context.Context, c command) (int, error) {
		exit, err := whole(ctx, c)
		if c.argv[0] == "gcc" && !installed {
			return 1, nil
		}
		return exit, err
	}
	missing, err := h.setup(t.Context(), true)
	if len(missing) != 1 || missing[0] != "browser" || err == nil || !strings.Contains(err.Error(), "install Chromium or Chrome") {
		t.Errorf("got %q, %v after %q, want the browser alone missing", missing, err, aptCalls(*ran))
	}
}

func TestSetup_GoVersionsAreOrdered(t *testing.T) {
	for v, enough := range map[string]bool{
		"go1.26": true, "go1.26.8": true, "go1.27rc1": true, "devel go1.28-abcdef0123 Mon": true,
		"go1.25.12": false, "go1.9": false, "": false, "gccgo": false,
	} {
		h, _, _ := machine(t, reply{has: "go env GOVERSION", out: v})
		if err := hasGo(t.Context(), h); (err == nil) != enough {
			t.Errorf("version %q gives %v, want enough: %t", v, err, enough)
		}
	}
}

func TestSetup_DebianIsKnownByItsRelease(t *testing.T) {
	for release, want := range map[string]bool{
		"NAME=x\nID=debian\n": true, "ID=ubuntu\nID_LIKE=debian\n": true, "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n": true,
		"ID=fedora\n": false, "": false, "ID=alpine\nNAME=\"not debian\"\n": false,
	} {
		if got := debianRelease.MatchString(release); got != want {
			t.Errorf("release %q: got %t, want %t", release, got, want)
		}
	}
}

// What is optional is neither installed by verify nor missed by its verdict.
func TestSetup_VerifySparesWhatIsOptional(t *testing.T) {
	h, ran, out := machine(t, reply{has: "chrom", exit: 127})
	missing, err := h.setup(t.Context(), false)
	if err != nil || !slices.Equal(missing, []string{"browser"}) || len(aptCalls(*ran)) > 0 {
		t.Fatalf("missing %v: %v\n%s", missing, err, out.String())
	}
	passes := layer{name: "a", limit: time.Minute, run: func(context.Context, *workspace) result { return result{passed: 1} }}
	spared := layer{name: "pages", limit: time.Minute, needs: []string{"browser"}, run: passes.run}
	r := runLayers(t.Context(), &workspace{}, []layer{passes, spared}, missing, io.Discard)
	if !r.AllPassed() || len(r.With(record.NotRun)) != 1 {
		t.Errorf("the run is %+v", r.Layers)
	}
	if alone := runLayers(t.Context(), &workspace{}, []layer{spared}, missing, io.Discard); alone.AllPassed() {
		t.Error("a run in which nothing ran has passed")
	}
	needed := layer{name: "tla", limit: time.Minute, needs: []string{"Java"}, run: passes.run}
	if r := runLayers(t.Context(), &workspace{}, []layer{passes, needed}, []string{"Java"}, io.Discard); r.AllPassed() {
		t.Error("a layer that lacks what is not optional was spared")
	}
}
