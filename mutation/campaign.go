package mutation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Errors of a campaign that is not to be scored.
var (
	// ErrRed means tests that fail without a mutant.
	ErrRed = errors.New("mutation: the tests fail as they are")
	// ErrNoTests means a package without tests.
	ErrNoTests = errors.New("mutation: there is no test")
)

// Config are the settings of a campaign.
type Config struct {
	// Root is the folder of the module.
	Root string
	// Package is the folder of the package, such as ./pkg/health.
	Package string
	// Only lets those mutants through whose ID holds this text; empty lets all.
	Only string
	// Workers is how many processes run at once; 0 is the number of processors.
	Workers int
	// Progress is told how far the campaign is; nil is nobody.
	Progress io.Writer
	// Ledger holds the mutants that are known to be equivalent.
	Ledger *Ledger
}

// Campaign is what became of the mutants of one package.
type Campaign struct {
	Package string    `json:"package"`
	Mutants []*Mutant `json:"mutants"`
	// Tests is how many tests judged, and Unsound names those that could not, since they
	// fail in the instrumented binary without any mutant.
	Tests   int      `json:"tests"`
	Unsound []string `json:"unsound,omitempty"`
	// Build, Census and Judging are the times in seconds.
	Build   float64 `json:"buildSeconds"`
	Census  float64 `json:"censusSeconds"`
	Judging float64 `json:"judgingSeconds"`
	// Stale are lines of the ledger that name no surviving mutant of the package.
	Stale []string `json:"stale,omitempty"`
}

// Count returns how many mutants have the verdict.
func (c *Campaign) Count(v Verdict) (n int) {
	for _, m := range c.Mutants {
		if m.Verdict == v {
			n++
		}
	}
	return n
}

// Check returns an error if the verdicts do not add up to the mutants.
func (c *Campaign) Check() error {
	sum := 0
	for _, v := range Verdicts {
		sum += c.Count(v)
	}
	if sum != len(c.Mutants) {
		return fmt.Errorf("mutation: %d mutants were found and %d have a verdict", len(c.Mutants), sum)
	}
	return nil
}

// limits of one process: its start, and what a test may take with a mutant in it.
const (
	startTime = time.Second
	slower    = 5
	// together is how long tests may take, without a mutant, that run in one process.
	together = 300 * time.Millisecond
	// plainLimit is what all tests may take in a build of one mutant.
	plainLimit = time.Minute
)

// Run judges the mutants of one package.
func Run(ctx context.Context, cfg Config) (*Campaign, error) {
	if cfg.Workers == 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	root, err := filepath.Abs(cfg.Root)
	if err != nil {
		return nil, err
	}
	s, err := load(root, cfg.Package)
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	c := &Campaign{Package: s.pkg.PkgPath, Mutants: s.mutants}
	began := time.Now()
	b, err := s.build(ctx, work)
	if err != nil {
		return nil, err
	}
	c.Build = time.Since(began).Seconds()
	b.flags = profile(s.dir)
	began = time.Now()
	if err := b.takeCensus(ctx, work, cfg.Workers, cfg.Progress); err != nil {
		return nil, err
	}
	c.Census, c.Tests, c.Unsound = time.Since(began).Seconds(), len(b.tests), b.unsound
	began = time.Now()
	b.judgeAll(ctx, cfg, s.mutants)
	c.Judging = time.Since(began).Seconds()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if cfg.Only == "" {
		c.Stale = cfg.Ledger.apply(c)
	}
	c.Mutants = slices.DeleteFunc(c.Mutants, func(m *Mutant) bool { return !strings.Contains(m.ID, cfg.Only) })
	return c, c.Check()
}

// profile returns the flags under which the tests of the folder judge: fixed seeds and
// fewer generated cases than they run with otherwise.
func profile(dir string) (flags []string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
	for _, path := range files {
		if text, _ := os.ReadFile(path); bytes.Contains(text, []byte(`"pgregory.net/rapid"`)) {
			return []string{"-rapid.seed=1", "-rapid.checks=30", "-rapid.nofailfile"}
		}
	}
	return nil
}

// fixedSeeds is the environment of every run.
var fixedSeeds = []string{"GOPTER_SEED=1"}

// takeCensus runs each test alone, without a mutant, and notes how long it takes and
// what it reaches.
func (b *binary) takeCensus(ctx context.Context, work string, workers int, progress io.Writer) error {
	names, err := b.list(ctx)
	switch {
	case err != nil:
		return err
	case len(names) == 0:
		return ErrNoTests
	}
	tests := make([]*test, len(names))
	failed := make([]string, len(names))
	each(ctx, workers, len(names), func(i int) {
		env := append(slices.Clone(fixedSeeds), "POISE_MUTANT_CENSUS="+filepath.Join(work, "census"+strconv.Itoa(i)))
		if o := b.run(ctx, names[i:i+1], time.Minute, env...); !o.passed {
			failed[i] = o.output
			return
		}
		o := b.run(ctx, names[i:i+1], time.Minute, fixedSeeds...)
		if !o.passed {
			failed[i] = o.output
			return
		}
		tests[i] = &test{name: names[i], took: o.took, reaches: readCensus(filepath.Join(work, "census"+strconv.Itoa(i)))}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, out := range failed {
		if out == "" {
			continue
		}
		if !strings.Contains(out, "alloc") {
			return fmt.Errorf("%w: %s\n%s", ErrRed, names[i], firstLines(out, 30))
		}
		b.unsound = append(b.unsound, names[i])
	}
	b.tests = slices.DeleteFunc(tests, func(t *test) bool { return t == nil })
	slices.SortStableFunc(b.tests, func(x, y *test) int { return int(x.took - y.took) })
	if progress != nil {
		fmt.Fprintf(progress, "%d tests; %d cannot judge\n", len(b.tests), len(b.unsound))
	}
	return nil
}

func readCensus(path string) map[int32]bool {
	reached := map[int32]bool{}
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 32); err == nil {
			reached[int32(n)] = true
		}
	}
	return reached
}

// judgeAll gives every mutant without a verdict one.
func (b *binary) judgeAll(ctx context.Context, cfg Config, all []*Mutant) {
	var todo []*Mutant
	for _, m := range all {
		if m.Verdict == "" && strings.Contains(m.ID, cfg.Only) {
			todo = append(todo, m)
		}
	}
	began := time.Now()
	var mu sync.Mutex
	done, alive := 0, 0
	each(ctx, cfg.Workers, len(todo), func(i int) {
		b.judge(ctx, todo[i])
		mu.Lock()
		defer mu.Unlock()
		done++
		if todo[i].Verdict == Survived {
			alive++
		}
		if cfg.Progress != nil && (done%100 == 0 || done == len(todo)) {
			left := time.Since(began) / time.Duration(done) * time.Duration(len(todo)-done)
			fmt.Fprintf(cfg.Progress, "%d of %d judged, %d survive, about %v to go\n", done, len(todo), alive, left.Round(time.Second))
		}
	})
}

// judge runs the tests that reach the mutant until one fails. A limit that is met is
// asked again with more time, so that a busy machine kills nothing.
func (b *binary) judge(ctx context.Context, m *Mutant) {
	var names []string
	var groups [][]string
	var times []time.Duration
	took := time.Duration(0)
	flush := func() {
		if len(names) > 0 {
			groups, times, names, took = append(groups, names), append(times, took), nil, 0
		}
	}
	for _, t := range b.tests {
		if !t.reaches[m.number] {
			continue
		}
		m.Reached++
		names, took = append(names, t.name), took+t.took
		if took > together {
			flush()
		}
	}
	flush()
	if m.Reached == 0 {
		m.Verdict = Uncovered
		return
	}
	env := append(slices.Clone(fixedSeeds), active(m))
	for i, group := range groups {
		limit := startTime + slower*times[i]
		o := b.run(ctx, group, limit, env...)
		if o.late && !strings.Contains(o.output, "--- FAIL") {
			o = b.run(ctx, group, 3*limit, env...)
		}
		switch {
		case o.passed:
			continue
		case o.late && !strings.Contains(o.output, "--- FAIL"):
			m.Verdict = TimedOut
		default:
			m.Verdict = Killed
		}
		m.Killer = o.failed
		return
	}
	m.Verdict = Survived
}

// each calls the function for 0 to n−1, by so many workers.
func each(ctx context.Context, workers, n int, do func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(workers, n) {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
}
