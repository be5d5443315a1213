package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// events builds a go test -json stream from compact lines such as
// "pass m/a TestX" and "output m/a TestX some text".
func events(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		f := strings.SplitN(l, " ", 4)
		f = append(f, "", "")
		text := ""
		if len(f) > 5 {
			text = f[3]
		}
		fmt.Fprintf(&b, `{"Action":%q,"Package":%q,"Test":%q,"Output":%q}`+"\n", f[0], f[1], f[2], text+"\n")
	}
	return b.String()
}

func finish(t *testing.T, stdout string, exit int) result {
	t.Helper()
	s := newStream("m")
	// One byte at a time: a pipe cuts anywhere.
	if _, err := io.Copy(s, iotest.OneByteReader(strings.NewReader(stdout))); err != nil {
		t.Fatal(err)
	}
	return s.finish(exit, nil, "")
}

func failureNames(r result) []string {
	var all []string
	for _, f := range r.failures {
		all = append(all, f.Name)
	}
	return all
}

func TestStream_PassingRunIsCountedByKind(t *testing.T) {
	r := finish(t, events(
		"start m/a", "run m/a TestX", "run m/a TestX/row", "pass m/a TestX/row", "pass m/a TestX",
		"run m/a ExampleX", "pass m/a ExampleX", "run m/a FuzzX", "run m/a FuzzX/seed#0", "pass m/a FuzzX/seed#0",
		"run m/a FuzzX/seed#1", "skip m/a FuzzX/seed#1", "pass m/a FuzzX", "run m/a BenchmarkX", "pass m/a",
		"start m/b", "skip m/b",
	), 0)
	if len(r.failures) > 0 || r.passed != 5 {
		t.Errorf("got %d passed and failures %q, want 5 and none", r.passed, failureNames(r))
	}
	want := "map[corpus entries:1 corpus entries refused:1 examples:1 fuzz targets:1 packages:1 packages without tests:1 subtests:1 tests:1]"
	if got := fmt.Sprint(r.counts); got != want {
		t.Errorf("counts are\n%s, want\n%s", got, want)
	}
}

// Each row is a fault planted in the stream, and the name under which it must be
// reported.
func TestStream_EveryKindOfFailureIsTold(t *testing.T) {
	for _, c := range []struct {
		name, stdout string
		exit         int
		want         string
		text         string
	}{
		{
			name: "a failing subtest is named, its parent is not",
			stdout: events("start m/a", "run m/a TestX", "run m/a TestX/row", "output m/a TestX/row boom",
				"fail m/a TestX/row", "fail m/a TestX", "fail m/a"),
			exit: 1, want: "a TestX/row", text: "boom",
		},
		{
			name: "a build failure is not a test failure",
			stdout: `{"ImportPath":"m/a [m/a.test]","Action":"build-output","Output":"a_test.go:3: undefined: f\n"}` + "\n" +
				`{"ImportPath":"m/a [m/a.test]","Action":"build-fail"}` + "\n" + events("start m/a") +
				`{"Action":"fail","Package":"m/a","FailedBuild":"m/a [m/a.test]"}` + "\n",
			exit: 1, want: "a: build failed", text: "undefined: f",
		},
		{
			name:   "a test that exits the process did not finish",
			stdout: events("start m/a", "run m/a TestX", "output m/a TestX last words", "fail m/a"),
			exit:   1, want: "a TestX: did not finish", text: "last words",
		},
		{
			name:   "a package that fails without a test is named itself",
			stdout: events("start m/a", "run m/a TestX", "pass m/a TestX", `output m/a  TestMain gave up`, "fail m/a"),
			exit:   1, want: "a: failed without a failing test", text: "TestMain gave up",
		},
		{
			name:   "a skipped test did not run",
			stdout: events("start m/a", "run m/a TestX", "output m/a TestX not today", "skip m/a TestX", "pass m/a"),
			want:   "a TestX: skipped, so it did not run", text: "not today",
		},
		{
			name:   "a stream that is cut short leaves its package unfinished",
			stdout: events("start m", "run m TestX", "pass m TestX"),
			want:   ".: did not finish",
		},
		{
			name:   "a bad exit without a failure keeps what was said",
			stdout: "go: cannot find main module\n",
			exit:   1, want: "go test ended with exit code 1 and named no failure", text: "cannot find main module",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := finish(t, c.stdout, c.exit)
			if got := failureNames(r); !slices.Equal(got, []string{c.want}) {
				t.Fatalf("failures are %q, want %q alone", got, c.want)
			}
			if !strings.Contains(r.failures[0].Text, c.text) {
				t.Errorf("the failure says %q, want it to contain %q", r.failures[0].Text, c.text)
			}
		})
	}
}

// The canned streams above are only as good as their likeness to the real thing.
func TestGoTest_RealFaultsAreTold(t *testing.T) {
	w := realTree(t, map[string]string{
		"good/a_test.go":   "package good\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) { t.Run(\"row\", func(*testing.T) {}) }\n",
		"bad/a_test.go":    "package bad\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { t.Error(\"boom\") }\n",
		"broken/a_test.go": "package broken\n\nimport \"testing\"\n\nfunc TestBroken(t *testing.T) { undefined() }\n",
		"exits/a_test.go":  "package exits\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestExits(t *testing.T) { os.Exit(3) }\n",
	})
	r := unit(t.Context(), w)
	got := failureNames(r)
	slices.Sort(got)
	want := []string{"bad TestBad", "broken: build failed", "exits TestExits: did not finish"}
	if !slices.Equal(got, want) || r.passed != 2 {
		t.Errorf("got %d passed and failures %q, want 2 and %q", r.passed, got, want)
	}
}

// The go command cuts a line of some thousand bytes into several events.
func TestStream_HandsOnWholeLines(t *testing.T) {
	var got []string
	s := newStream("m")
	s.onText = func(pkg, output string) { got = append(got, pkg+": "+output) }
	for _, e := range []event{
		{Action: "output", Package: "m/a", Output: "one "}, {Action: "output", Package: "m/b", Output: "other\n"},
		{Action: "output", Package: "m/a", Output: "line\nand "}, {Action: "output", Package: "m/a", Output: "no end"},
	} {
		s.take(e)
	}
	s.finish(0, nil, "")
	if want := []string{"m/b: other\n", "m/a: one line\n", "m/a: and no end"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
