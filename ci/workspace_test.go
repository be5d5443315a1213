package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// realTree is a small module in a git repository, judged by the real tools.
func realTree(t *testing.T, files map[string]string) *workspace {
	t.Helper()
	root := t.TempDir()
	files["go.mod"] = "module m\n\ngo 1.26\n"
	for name, text := range files {
		if err := write(filepath.Join(root, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	w := &workspace{root: root, exec: runCommand}
	if _, err := w.git(t.Context(), "init", "-q"); err != nil {
		t.Fatal(err)
	}
	return w
}

// replies is an execFunc that answers a command by the first key that its words
// contain, and fails on a command that no key knows.
type reply struct {
	has  string
	out  string
	exit int
	do   func(command)
}

func replies(t *testing.T, known ...reply) (execFunc, *[]string) {
	t.Helper()
	var ran []string
	return func(_ context.Context, c command) (int, error) {
		words := strings.Join(c.argv, " ")
		ran = append(ran, strings.Join(append(slices.Clone(c.env), words), " "))
		for _, r := range known {
			if strings.Contains(words, r.has) {
				if r.do != nil {
					r.do(c)
				}
				fmt.Fprint(c.out, r.out)
				return r.exit, nil
			}
		}
		return 0, fmt.Errorf("%s: not found", words)
	}, &ran
}

func TestSettings_BadNumberIsRefusedByName(t *testing.T) {
	for _, c := range []struct{ name, value string }{
		{"SEED", "0"}, {"SEED", "-1"}, {"SEED", "18446744073709551615"}, {"CHECKS", "0"}, {"CHECKS", "many"}, {"FUZZ_EXECUTIONS", "-5"},
	} {
		_, err := settingsFrom(func(name string) string {
			return map[string]string{c.name: c.value}[name]
		})
		if err == nil || !strings.Contains(err.Error(), c.name) || !strings.Contains(err.Error(), c.value) {
			t.Errorf("%s=%s gives the error %v, want one that names both", c.name, c.value, err)
		}
	}
}

func TestSettings_EnvironmentReplacesDefaults(t *testing.T) {
	s, err := settingsFrom(func(name string) string {
		return map[string]string{"SEED": "7", "CHECKS": "50", "FUZZ_EXECUTIONS": "9", "POLICY": "random", "SEEDS": "3", "RANDOM": "4"}[name]
	})
	if want := (settings{seed: 7, checks: 50, fuzzExecs: 9, policy: "random", simSeeds: 3, simRandom: 4}); err != nil || s != want {
		t.Errorf("got %+v, %v, want %+v", s, err, want)
	}
}

func TestFormat_UntidyAndBrokenFilesFailAndFixturesDoNot(t *testing.T) {
	w := realTree(t, map[string]string{
		"tidy.go":            "package m\n",
		"untidy.go":          "package  m\n",
		"broken.go":          "package\n",
		"x/testdata/bad.go":  "package  fixture\n",
		"out/ignored.go":     "package  ignored\n",
		".gitignore":         "/out/\n",
		"space in name.go":   "package m\n",
		"deleted_by_hand.go": "package m\n",
	})
	if _, err := w.git(t.Context(), "add", "-A"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(w.root, "deleted_by_hand.go")); err != nil {
		t.Fatal(err)
	}
	r := formatted(t.Context(), w)
	if got, want := failureNames(r), []string{"broken.go", "untidy.go"}; !slices.Equal(got, want) || r.passed != 2 {
		t.Errorf("got %d passed and failures %q, want 2 and %q", r.passed, got, want)
	}
}

func TestVet_FaultBehindTheTagIsFound(t *testing.T) {
	const fault = "//go:build interleave\n\npackage m\n\nimport \"fmt\"\n\nfunc F() { fmt.Printf(\"%d\\n\", \"text\") }\n"
	w := realTree(t, map[string]string{"a.go": "package m\n", "hook.go": fault})
	r := vet(t.Context(), w)
	if got, want := failureNames(r), []string{"go vet -tags interleave ./..."}; !slices.Equal(got, want) || r.passed != 1 {
		t.Errorf("got %d passed and failures %q, want 1 and %q", r.passed, got, want)
	}
}

func TestVet_WithoutTaggedFilesOnlyTheNormalBuildIsJudged(t *testing.T) {
	w := realTree(t, map[string]string{"a.go": "//go:build !interleave\n\npackage m\n"})
	if r := vet(t.Context(), w); r.passed != 1 || len(r.failures) > 0 {
		t.Errorf("got %d passed and failures %q, want 1 and none", r.passed, failureNames(r))
	}
}

func TestStaticcheck_FindingFails(t *testing.T) {
	w := realTree(t, map[string]string{"a.go": "package m\n"})
	real := w.exec
	w.exec = func(ctx context.Context, c command) (int, error) {
		if slices.Contains(c.argv, "staticcheck") {
			fmt.Fprintln(c.out, "a.go:1:1: this value is never used (SA4006)")
			return 1, nil
		}
		return real(ctx, c)
	}
	r := staticcheck(t.Context(), w)
	if len(r.failures) != 1 || !strings.Contains(r.failures[0].Text, "SA4006") {
		t.Errorf("failures are %v, want the one finding", r.failures)
	}
}
