package policy_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

var update = flag.Bool("update", false, "rewrite the golden files: only if a stream is meant to change, which breaks every recorded seed")

// goldenSeeds are seeds of every size.
var goldenSeeds = []uint64{1, 2, 42, 1 << 32, 1<<64 - 1}

// checkGolden compares lines with a file that is not edited by hand.
func checkGolden(t *testing.T, name string, lines []string) {
	t.Helper()
	got := "# Written by go test -update. Do not edit.\n" + strings.Join(lines, "\n") + "\n"
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs from the frozen picks:\n%s", path, got)
	}
}

// goldenLines are the picks of a seeded policy over several sizes, one in three
// with a candidate tried.
func goldenLines(t *testing.T, make func(seed uint64) poise.Policy, samplesOf func(n int) []poise.Sample) []string {
	t.Helper()
	var lines []string
	for _, seed := range goldenSeeds {
		p := make(seed)
		for _, n := range []int{1, 2, 3, 7, 100} {
			samples := samplesOf(n)
			d := open(t, p, samples)
			picks := fmt.Sprintf("seed %d of %d:", seed, n)
			for k := range 24 {
				var q poise.Query
				if k%3 == 2 && n > 1 {
					q.Tried = retried(samples, k%n)
				}
				picks += fmt.Sprintf(" %d", d.pick(t, q))
			}
			lines = append(lines, picks)
		}
	}
	return lines
}
