// Command tla judges the specifications in this folder with the model checker
// TLC. README.md says how to read what it prints.
//
//	go run ./spec/tla check    every configuration against manifest.json
//	go run ./spec/tla graphs   write the state graphs that spec/replay walks
//	go run ./spec/tla configs  write each module with all its configurations to out/tla
//	go run ./spec/tla table    write the table of specifications in README.md
//	go run ./spec/tla mutate   change the specifications, and see who notices
//
// It needs Java, and Maven once, so it is a command and no test: go test ./...
// works without them, and a machine that lacks them gets an error here and not a
// skipped test there.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/copyleftdev/poise-go/spec/replay"
	"github.com/copyleftdev/poise-go/spec/tla/tlc"
)

func main() {
	if err := command(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "tla:", err)
		os.Exit(1)
	}
}

// settings are what the flags say.
type settings struct {
	spec    string // "" for all
	summary string // where the summary goes; "" for nowhere
	update  bool
	root    string // of the repository
	out     io.Writer
}

// errFailed means that the problems have been printed already.
var errFailed = errors.New("failed")

func command(ctx context.Context, args []string, out io.Writer) error {
	commands := map[string]func(context.Context, settings) error{"check": check, "graphs": graphs, "configs": configs, "table": tabulate, "mutate": mutate}
	if len(args) == 0 || commands[args[0]] == nil {
		return errors.New("say what to do: check, graphs, configs, table or mutate")
	}
	s := settings{out: out}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&s.spec, "spec", "", "judge this specification only")
	flags.StringVar(&s.summary, "json", "", "write a summary to this file")
	flags.BoolVar(&s.update, "update", false, "check: write the counts that were found to the manifest")
	flags.StringVar(&s.root, "root", ".", "the folder of the repository")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	return commands[args[0]](ctx, s)
}

// open reads the specifications and returns the rows to judge. It prints every
// breach of form and refuses it, unless it is asked to be lenient.
func (s settings) open(lenient bool) (*tree, []row, error) {
	t, err := load(os.DirFS(filepath.Join(s.root, "spec", "tla")))
	if err != nil {
		return nil, nil, err
	}
	rows := t.rows
	if s.spec != "" {
		if rows = t.of(s.spec); len(rows) == 0 {
			return nil, nil, fmt.Errorf("there is no specification %s; there are %v", s.spec, t.names())
		}
	}
	problems := form(t, os.DirFS(s.root))
	for _, p := range problems {
		fmt.Fprintln(s.out, p)
	}
	if len(problems) > 0 && !lenient {
		return nil, nil, errFailed
	}
	return t, rows, nil
}

// width is how many runs of TLC go side by side: more than two gain nothing on
// runs this short.
func width() int { return min(2, runtime.GOMAXPROCS(0)) }

// with returns a runner that uses the TLC of this machine.
func with(ctx context.Context) (runner, error) {
	jar, err := tlc.Find(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, job tlc.Job) (tlc.Result, error) {
		job.Jar = jar
		return tlc.Run(ctx, job)
	}, nil
}

func check(ctx context.Context, s settings) error {
	t, rows, err := s.open(s.update)
	if err != nil {
		return err
	}
	run, err := with(ctx)
	if err != nil {
		return err
	}
	verdicts := t.gate(ctx, rows, run, width(), s.out)
	if s.update {
		return t.update(s.root, verdicts)
	}
	sum := t.summarise(verdicts)
	fmt.Fprintf(s.out, "%d configurations of %d specifications, %d distinct states, %d generated; %d failed; %s\n",
		sum.Passed+len(sum.Failures), sum.Counts["specifications"], sum.Counts["distinct states"],
		sum.Counts["states"], len(sum.Failures), sum.Version)
	if err := s.write(sum); err != nil {
		return err
	}
	if len(sum.Failures) > 0 {
		return errFailed
	}
	return nil
}

// summary is the outcome in the shape that ci counts.
type summary struct {
	Version  string             `json:"version"` // of TLC
	Passed   int                `json:"passed"`
	Counts   map[string]int     `json:"counts"`
	Figures  map[string]float64 `json:"figures"` // seconds by configuration
	Failures []failure          `json:"failures"`
	Specs    []described        `json:"specs"`
}

// described is one specification: what TLC found, and the committed graph.
type described struct {
	Name        string `json:"name"`
	States      int    `json:"states"`
	Depth       int    `json:"depth"`
	Bugs        int    `json:"bugs"`
	Witnesses   int    `json:"witnesses"`
	GraphStates int    `json:"graph_states"`
	GraphEdges  int    `json:"graph_edges"`
	// Drawing is nil where the header says nothing of one.
	Drawing *drawing `json:"drawing,omitempty"`
}

type failure struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

func (t *tree) summarise(verdicts []verdict) summary {
	sum := summary{Counts: map[string]int{}, Figures: map[string]float64{}, Failures: []failure{}}
	at := map[string]int{} // in sum.Specs
	kinds := map[kind]string{
		safety: "safety configurations", live: "liveness configurations", dump: "dumped graphs",
		bug: "bugs rejected", witness: "witnesses reached",
	}
	for _, v := range verdicts {
		of, k, _, ok := spell(v.Config)
		if !ok { // traces
			of, _, _ = strings.Cut(v.Config, " ")
		}
		if _, known := at[of]; !known {
			at[of] = len(sum.Specs)
			sum.Specs = append(sum.Specs, t.describe(of))
		}
		sum.Figures[v.Config+" seconds"] = v.result.Took.Seconds()
		if len(v.problems) > 0 {
			sum.Failures = append(sum.Failures, failure{v.Config, v.String()})
			continue
		}
		sum.Passed++
		sum.Version = v.result.Version
		if sum.Counts["traces followed"] += v.traces; !ok {
			continue
		}
		sum.Counts[kinds[k]]++
		switch spec := &sum.Specs[at[of]]; k {
		case safety:
			spec.States, spec.Depth = v.result.Distinct, v.result.Depth
		case bug:
			spec.Bugs++
		case witness:
			spec.Witnesses++
		}
		if k == safety || k == live {
			sum.Counts["distinct states"] += v.result.Distinct
			sum.Counts["states"] += v.result.Generated
		}
	}
	sum.Counts["configurations"] = len(slices.DeleteFunc(slices.Clone(verdicts), func(v verdict) bool { return v.traces > 0 }))
	sum.Counts["specifications"] = len(sum.Specs)
	return sum
}

// describe says what is known of a specification without TLC.
func (t *tree) describe(name string) described {
	d := described{Name: name}
	if g, err := replay.Parse(t.graphs[t.graphFile(name)]); err == nil {
		d.GraphStates, d.GraphEdges = len(g.States), len(g.Edges)
		d.Drawing, _ = t.modules[name].draw(g) // its form was checked
	}
	return d
}

func (s settings) write(sum any) error {
	if s.summary == "" {
		return nil
	}
	text, err := json.MarshalIndent(sum, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.summary), 0o755); err != nil {
		return err
	}
	return os.WriteFile(s.summary, append(text, '\n'), 0o644)
}

// update writes the counts of the runs that succeeded to the manifest. What must
// be violated is never changed by a machine.
func (t *tree) update(root string, verdicts []verdict) error {
	found := map[string]tlc.Result{}
	for _, v := range verdicts {
		if v.Violates == "" && v.result.Verdict == tlc.Success {
			found[v.Config] = v.result
		}
	}
	for i := range t.rows {
		if r, ok := found[t.rows[i].Config]; ok {
			t.rows[i].Distinct, t.rows[i].Depth = r.Distinct, r.Depth
		}
	}
	return os.WriteFile(filepath.Join(root, "spec", "tla", manifestFile), write(t.rows), 0o644)
}
