// Command cmd runs scenarios: those of the files that are named, and random ones.
// It is what make sim runs.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/copyleftdev/poise-go/sim"
)

// settings is what the flags ask for.
type settings struct {
	seeds   int
	first   uint64
	subject sim.NewSubject
	only    string
	random  int
	series  bool
	verbose bool
	out     string // a folder, empty for none
	book    string // a file, empty for none
	open    *sim.OpenList
	files   []string
}

func main() {
	var s settings
	flag.IntVar(&s.seeds, "seeds", 0, "runs of each scenario and policy; 0 is what the scenario says")
	flag.Uint64Var(&s.first, "seed", 1, "the first seed, and that of the first random scenario")
	subject := flag.String("subject", "loop", "what is judged: "+strings.Join(sim.SubjectNames(), ", "))
	flag.StringVar(&s.only, "only", "", "run scenarios whose name contains this")
	flag.IntVar(&s.random, "random", 0, "how many random scenarios to run")
	flag.BoolVar(&s.series, "series", false, "print each second of the runs: failed percent / ejections per run")
	flag.BoolVar(&s.verbose, "v", false, "print what holds as well")
	flag.StringVar(&s.out, "out", "", "a folder for result.json, pictures, and the texts of what failed")
	flag.StringVar(&s.book, "book", "", "the chapter whose tables are written anew")
	open := flag.String("open", "", "the list of bounds that are not reached yet")
	flag.Parse()
	s.files = flag.Args()
	s.subject = sim.SubjectNamed(*subject)
	err := fmt.Errorf("%w: %s", sim.ErrUnknownSubject, *subject)
	if s.subject != nil {
		if s.open, err = openList(*open); err == nil {
			err = s.run(os.Stdout)
		}
	}
	switch {
	case errors.Is(err, errFailed):
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// openList reads a list of open bounds; no file is an empty one.
func openList(file string) (*sim.OpenList, error) {
	if file == "" {
		return new(sim.OpenList), nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return sim.ParseOpen(string(text))
}

// errFailed says that something that must hold does not; what it is was printed.
var errFailed = errors.New("something that must hold does not")

func (s *settings) run(out io.Writer) error {
	begin := time.Now()
	r := &result{FirstSeed: s.first, ran: map[string]bool{}}
	for _, file := range s.files {
		if err := s.file(out, r, file); err != nil {
			return err
		}
	}
	for i := range s.random {
		if err := s.randomOne(out, r, s.first+uint64(i)); err != nil {
			return err
		}
	}
	if s.open.Seed == s.first && s.seeds == 0 { // other runs may hold by chance
		for _, o := range s.open.Needless(r.ran) {
			r.fail(out, o.Scenario+" "+o.Policy+": open, and it holds",
				fmt.Sprintf("line %d of the open bounds: %s %s holds; take the line out", o.Line, o.Scenario, o.Policy))
		}
	}
	if s.out != "" {
		if err := r.write(s.out); err != nil {
			return err
		}
	}
	if s.book != "" {
		if err := r.writeBook(s.book); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%d scenarios and %d random ones: %d bounds held, %d are open, %d failed; %d calls in %v\n",
		r.Scenarios, r.Random, r.Held, r.Open, len(r.Failures), r.Calls, time.Since(begin).Round(time.Millisecond))
	if len(r.Failures) > 0 {
		return errFailed
	}
	return nil
}

// file judges the scenarios of a file.
func (s *settings) file(out io.Writer, r *result, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(file), ".txt")
	all, err := sim.Parse(name, string(text))
	if err != nil {
		return err
	}
	of := chapter{Name: name, Title: titleOf(string(text))}
	for _, scenario := range all {
		if !strings.Contains(scenario.Name, s.only) {
			continue
		}
		r.Scenarios++
		cfg := sim.JudgeConfig{Seeds: s.seeds, Seed: s.first, Subject: s.subject, Beside: []string{"rotation"}}
		results, calls, err := sim.Judge(scenario, cfg)
		r.Calls += calls
		if err != nil {
			return err
		}
		s.count(out, r, scenario, cfg, results)
		of.add(scenario, results)
		if name == "matrix" {
			r.matrix = append(r.matrix, results...)
		}
	}
	r.Chapters = append(r.Chapters, of)
	return nil
}

// titleOf returns the title as it stands in the text, before its cases are filled in.
func titleOf(text string) string {
	for line := range strings.Lines(text) {
		if title, found := strings.CutPrefix(strings.TrimSpace(line), "title "); found {
			return strings.TrimSpace(title)
		}
	}
	return ""
}

// count counts what held of a scenario and prints what did not.
func (s *settings) count(out io.Writer, r *result, of *sim.Scenario, cfg sim.JudgeConfig, results []sim.Result) {
	r.ran[of.Name] = true
	for _, one := range results {
		r.Runs += cmp.Or(cfg.Seeds, of.Seeds)
		if s.series {
			fmt.Fprintln(out, one.Series())
		}
		for _, v := range one.Verdicts {
			switch {
			case v.Holds:
				r.Held++
				if s.verbose {
					fmt.Fprintln(out, v)
				}
			case s.open.Excuses(v):
				r.Open++
				fmt.Fprintln(out, "open:", v)
			default:
				r.fail(out, v.Scenario+" "+v.Policy+": "+v.Must.Text, v.String())
			}
		}
	}
}

// manySeeds is with how many seeds a random scenario is judged that fails with its own
// few, which may be chance.
const manySeeds = 60

// randomOne judges a random scenario, and prints and keeps the smallest text that
// still fails.
func (s *settings) randomOne(out io.Writer, r *result, seed uint64) error {
	of := sim.Random(seed)
	cfg := sim.JudgeConfig{Seed: seed, Subject: s.subject}
	r.Random++
	results, calls, err := sim.Judge(of, cfg)
	r.Calls += calls
	if err == nil && sim.Fails(results) {
		cfg.Seeds = manySeeds
		results, calls, err = sim.Judge(of, cfg)
		r.Calls += calls
	}
	if err != nil {
		return err
	}
	failed := len(r.Failures)
	if s.count(out, r, of, cfg, results); len(r.Failures) == failed {
		return nil
	}
	smallest := fmt.Sprintf("# seed %d\n%v", seed, sim.Minimise(of, cfg))
	r.Failures[len(r.Failures)-1].Text += "\n" + smallest
	fmt.Fprintf(out, "# the smallest text that fails:\n%s\n", smallest)
	if s.out == "" {
		return nil
	}
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.out, of.Name+".txt"), []byte(smallest), 0o644)
}
