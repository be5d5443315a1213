package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/copyleftdev/poise-go/ci/record"
)

// settings are the numbers that a run can be repeated with.
type settings struct {
	seed      uint64 // of every property test; never 0, which rapid reads as "any"
	checks    int    // generated cases per law, in the props layer
	fuzzExecs int    // mutated inputs per fuzz target
	policy    string // of the demo
	spec      string // the only specification of the tla layer; "" for all
	claim     string // the layers claims and kills judge claims whose id holds it; "" for all
	simSeeds  int    // runs of each scenario; 0 for what the scenario says
	simRandom int    // random scenarios
}

// settingsFrom reads SEED, CHECKS, FUZZ_EXECUTIONS, POLICY, SPEC, CLAIM, SEEDS and RANDOM.
func settingsFrom(getenv func(string) string) (settings, error) {
	s := settings{seed: 1, checks: 1000, fuzzExecs: 20_000, simRandom: 3000, policy: "power-of-two-choices", spec: getenv("SPEC"), claim: getenv("CLAIM")}
	if v := getenv("POLICY"); v != "" {
		s.policy = v
	}
	if v := getenv("SEED"); v != "" {
		n, err := strconv.ParseUint(v, 10, 63) // gopter's seed is signed
		if err != nil || n == 0 {
			return s, fmt.Errorf("SEED is %q: want a whole number from 1 to 2⁶³−1", v)
		}
		s.seed = n
	}
	for name, to := range map[string]*int{"CHECKS": &s.checks, "FUZZ_EXECUTIONS": &s.fuzzExecs, "SEEDS": &s.simSeeds, "RANDOM": &s.simRandom} {
		if v := getenv(name); v != "" {
			n, err := strconv.Atoi(v)
			if err != nil || n <= 0 {
				return s, fmt.Errorf("%s is %q: want a whole number above 0", name, v)
			}
			*to = n
		}
	}
	return s, nil
}

// env fixes the seed of every property test, in every layer: rapid reads RAPID_*
// itself, gopter's tests read GOPTER_*. With a fixed seed rapid's fail files add
// nothing to a failure but a dirty tree.
func (s settings) env() []string {
	return []string{
		fmt.Sprintf("RAPID_SEED=%d", s.seed), "RAPID_NOFAILFILE=true",
		fmt.Sprintf("GOPTER_SEED=%d", s.seed),
	}
}

// workspace is the tree that layers judge, and how they reach the world.
type workspace struct {
	root     string
	fresh    bool     // cached test results do not count as run
	owned    []string // folders that unit leaves to other layers
	settings settings
	exec     execFunc
}

// result is what one layer found.
type result struct {
	passed   int
	counts   map[string]int // further counts; the same for every run of one commit
	failures []record.Failure
	notRun   string             // why, if it did not run; all else but optional is then ignored
	optional bool               // it did not run for want of something optional
	figures  map[string]float64 // what varies, by name
	models   []record.Model     // a table of its own in the report
	specs    []record.Spec      // so have these
	// simulations have one, too.
	simulations []record.Simulation
	evidence    []record.Evidence // this as well
	tlc         string            // the version of TLC, if it ran
	shown       record.Timing     // what varies and has a table of its own in the report
}

func (r *result) fail(name, text string) {
	r.failures = append(r.failures, record.Failure{Name: name, Text: text})
}

// files lists the tree's own files: what git tracks or would.
func (w *workspace) files(ctx context.Context) ([]string, error) {
	out, err := w.git(ctx, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	var files []string
	for f := range strings.SplitSeq(strings.TrimRight(out, "\x00"), "\x00") {
		if info, err := os.Stat(filepath.Join(w.root, f)); err == nil && info.Mode().IsRegular() {
			files = append(files, f)
		}
	}
	return files, nil
}

// git reads the repository, whoever owns the folder: a checkout made by one user
// and verified by another is still the tree to judge.
func (w *workspace) git(ctx context.Context, args ...string) (string, error) {
	return w.exec.output(ctx, w.root, append([]string{"git", "-c", "safe.directory=" + w.root}, args...)...)
}

// goPackage is one package of the module.
type goPackage struct {
	path        string // import path
	dir         string // below the root, with slashes
	testImports string
}

// packages lists the module's packages under the given folders, or all.
func (w *workspace) packages(ctx context.Context, folders ...string) (module string, found []goPackage, err error) {
	out, err := w.exec.output(ctx, w.root, "go", "list", "-buildvcs=false", "-f",
		"{{.Module.Path}}\t{{.ImportPath}}\t{{.TestImports}}{{.XTestImports}}", "./...")
	if err != nil {
		return "", nil, fmt.Errorf("go list: %w", err)
	}
	for line := range strings.Lines(out) {
		fields := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		if len(fields) != 3 {
			continue // a warning
		}
		module = fields[0]
		p := goPackage{path: fields[1], dir: ".", testImports: fields[2]}
		if p.path != module {
			p.dir = strings.TrimPrefix(p.path, module+"/")
		}
		if len(folders) == 0 || under(p.dir, folders) {
			found = append(found, p)
		}
	}
	return module, found, nil
}

func under(dir string, folders []string) bool {
	for _, f := range folders {
		if dir == f || strings.HasPrefix(dir, f+"/") {
			return true
		}
	}
	return false
}

// variants are the builds that are judged statically: the normal one and, once a
// file asks for it, the explorer's.
func (w *workspace) variants(ctx context.Context) ([][]string, error) {
	files, err := w.files(ctx)
	if err != nil {
		return nil, err
	}
	all := [][]string{nil}
	for _, f := range files {
		if path.Ext(f) != ".go" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(w.root, f))
		if err != nil {
			return nil, err
		}
		if interleaveTag.Match(b) {
			return append(all, []string{"-tags", "interleave"}), nil
		}
	}
	return all, nil
}

var interleaveTag = regexp.MustCompile(`(?m)^//go:build interleave\b`)
