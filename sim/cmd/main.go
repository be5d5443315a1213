// Command cmd runs scenarios: those of the files that are named, and random ones.
// It is what make sim runs.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/copyleftdev/poise-go/sim"
)

// run is what the flags ask for, and what was found so far.
type run struct {
	seeds   int
	first   uint64
	subject sim.NewSubject
	only    string
	series  bool
	verbose bool

	calls, held, failed int
}

func main() {
	var r run
	flag.IntVar(&r.seeds, "seeds", 0, "runs of each scenario and policy; 0 is what the scenario says")
	flag.Uint64Var(&r.first, "seed", 1, "the first seed, and that of the first random scenario")
	subject := flag.String("subject", "loop", "what is judged: "+strings.Join(sim.SubjectNames(), ", "))
	flag.StringVar(&r.only, "only", "", "run scenarios whose name contains this")
	flag.BoolVar(&r.series, "series", false, "print each second of the runs: failed percent / ejections per run")
	flag.BoolVar(&r.verbose, "v", false, "print what holds as well")
	random := flag.Int("random", 0, "how many random scenarios to run")
	flag.Parse()
	if r.subject = sim.SubjectNamed(*subject); r.subject == nil {
		fail(2, fmt.Errorf("%w: %s", sim.ErrUnknownSubject, *subject))
	}
	begin := time.Now()
	for _, file := range flag.Args() {
		r.file(file)
	}
	for i := range *random {
		r.random(r.first + uint64(i))
	}
	took := time.Since(begin)
	fmt.Printf("%d bounds held, %d failed; %d calls in %v\n", r.held, r.failed, r.calls, took.Round(time.Millisecond))
	if r.failed > 0 {
		os.Exit(1)
	}
}

func fail(code int, err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(code)
}

// file judges the scenarios of a file.
func (r *run) file(file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		fail(2, err)
	}
	all, err := sim.Parse(strings.TrimSuffix(filepath.Base(file), ".txt"), string(text))
	if err != nil {
		fail(2, err)
	}
	for _, s := range all {
		if strings.Contains(s.Name, r.only) {
			r.judge(s, sim.JudgeConfig{Seeds: r.seeds, Seed: r.first, Subject: r.subject})
		}
	}
}

// judge prints what does not hold and returns how much that is.
func (r *run) judge(s *sim.Scenario, cfg sim.JudgeConfig) (failed int) {
	results, calls, err := sim.Judge(s, cfg)
	r.calls += calls
	if err != nil {
		fail(1, err)
	}
	for _, result := range results {
		if r.series {
			fmt.Println(result.Series())
		}
		for _, v := range result.Verdicts {
			if !v.Holds {
				failed++
			}
			if !v.Holds || r.verbose {
				fmt.Println(v)
			}
		}
		r.held += len(result.Verdicts)
	}
	r.held -= failed
	r.failed += failed
	return failed
}

// random judges a random scenario, and writes the smallest text that still fails.
func (r *run) random(seed uint64) {
	s := sim.Random(seed)
	cfg := sim.JudgeConfig{Seed: seed, Subject: r.subject}
	if r.judge(s, cfg) == 0 {
		return
	}
	smallest := sim.Minimise(s, cfg)
	fmt.Printf("# the smallest text that fails, with seed %d:\n%v\n", seed, smallest)
}
