// Package record is the shape of out/verification.json.
//
// The record says what one commit showed; whatever differs between two runs of
// one commit sits under its timing. Everything else is byte for byte the same,
// so two records can be compared with cmp after dropping one key. The schema
// beside this file is the promise to readers; nothing is written that breaks it.
package record

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema names this version of the shape. A reader that knows it may rely on
// every required key; a change that breaks such a reader gets a new number.
const Schema = "poise-verification/2"

//go:embed verification.schema.json
var schemaJSON []byte

// Status is what became of a layer.
type Status string

// A layer that was not reached, or whose needs were missing, is NotRun and
// never Passed: what did not run is not shown as green.
const (
	Passed Status = "passed"
	Failed Status = "failed"
	NotRun Status = "not run"
)

// Record is the whole file.
type Record struct {
	Schema    string    `json:"schema"`
	Commit    string    `json:"commit"`
	Dirty     bool      `json:"dirty"` // the tree held changes that the commit does not
	Toolchain Toolchain `json:"toolchain"`
	Seeds     Seeds     `json:"seeds"`
	Layers    []Layer   `json:"layers"`
	Models    []Model   `json:"models,omitempty"`
	Specs     []Spec    `json:"specs,omitempty"`
	// Simulations are the scenarios of the simulator, a file of them each.
	Simulations []Simulation `json:"simulations,omitempty"`
	// Evidence says of each type which kinds of evidence quote its promises.
	Evidence []Evidence `json:"evidence,omitempty"`
	// Mutation is what became of the mutants; nil if none were made.
	Mutation *Mutation `json:"mutation,omitempty"`
	Timing   Timing    `json:"timing"`
}

// Toolchain is what compiled and judged the code.
type Toolchain struct {
	Go          string `json:"go"`
	GOOS        string `json:"goos"`
	GOARCH      string `json:"goarch"`
	Staticcheck string `json:"staticcheck"`
	TLC         string `json:"tlc,omitempty"` // empty if it did not run
}

// Seeds is what a run needs to be repeated exactly.
type Seeds struct {
	Property       uint64 `json:"property"`
	PropertyChecks int    `json:"property_checks"`
	FuzzExecutions int    `json:"fuzz_executions"`
}

// Layer is one kind of evidence.
//
// Counts always holds passed and failed, unless the layer did not run; what
// else it holds is the layer's own.
type Layer struct {
	Name     string         `json:"name"`
	Target   string         `json:"target"` // the make target that runs it alone
	Status   Status         `json:"status"`
	Shows    string         `json:"shows"`
	NotShown string         `json:"not_shown"`
	Counts   map[string]int `json:"counts"`
	Failures []string       `json:"failures"`           // names, sorted; their text is under timing
	Reason   string         `json:"reason,omitempty"`   // why it did not run
	Optional bool           `json:"optional,omitempty"` // it lacks something optional, so that fails nothing
}

// Model is one model that was run under every schedule. Reduced executions stand
// for all that differ from them only in the order of steps that commute; where
// brute force was too long to run, its number is an estimate.
type Model struct {
	Name       string  `json:"name"`
	Reduced    int     `json:"reduced"`
	BruteForce float64 `json:"brute_force"`
	Estimated  bool    `json:"estimated"`
	Outcomes   int     `json:"outcomes"`
	Test       string  `json:"test,omitempty"`
	Schedule   string  `json:"schedule,omitempty"` // one of those that were tried, as a table
	Replay     string  `json:"replay,omitempty"`   // what replays it
}

// Evidence is one type with its Contract sentences, and the checks that quote one of
// them, by what they judge by.
type Evidence struct {
	Type   string             `json:"type"`
	Means  map[string][]Check `json:"means"`
	Claims []Claim            `json:"claims"` // the sentences
}

// Means are what a check can judge by, in the order of tables.
var Means = []string{
	"example", "rapid", "gopter", "policytest", "golden", "twin", "race", "fuzz", "model", "histories", "walk", "specification", "simulation",
}

// Check is a test, a fuzz target or a law in its file; a specification has no name in it.
type Check struct {
	File string `json:"file"`
	Of   string `json:"of"`
}

// Claim is one Contract sentence with the checks that quote it.
type Claim struct {
	ID   string   `json:"id"` // stays as long as the declaration and the words do
	Text string   `json:"text"`
	File string   `json:"file"`
	Of   string   `json:"of"`   // the declaration that promises it
	Code []string `json:"code"` // what keeps it: functions, or types by their methods
	By   []Quote  `json:"by"`
}

// Noticed is one small change of the code of a claim that a check which quotes it
// noticed: the first that was tried.
type Noticed struct {
	Claim   string `json:"claim"`  // its id
	Mutant  string `json:"mutant"` // its id
	At      string `json:"at"`     // file:line
	Was     string `json:"was"`
	Becomes string `json:"becomes"`
	By      string `json:"by"` // the test
}

// Quote is one check that quotes a claim.
type Quote struct {
	Kind string `json:"kind"`
	File string `json:"file"`
	Of   string `json:"of"` // the check; empty in a specification
	// Reaches: run alone, it reaches code of the claim.
	Reaches bool `json:"reaches"`
}

// Mutation is the result of a campaign of mutants. The numbers of Statuses add up
// to Discovered.
type Mutation struct {
	Discovered int            `json:"discovered"`
	Statuses   map[string]int `json:"statuses"`
	Mutants    []Mutant       `json:"mutants"` // those shown one by one, survivors among them
}

// MutantStatuses are the statuses of mutants in the order in which they are shown.
var MutantStatuses = []string{"killed", "survived", "timeout", "uncovered", "does not compile", "equivalent"}

// StatusCount is how many mutants have a status.
type StatusCount struct {
	Status string
	Count  int
}

// Shown returns the statuses that mutants have.
func (m Mutation) Shown() (all []StatusCount) {
	for _, s := range MutantStatuses {
		if n := m.Statuses[s]; n > 0 {
			all = append(all, StatusCount{s, n})
		}
	}
	return all
}

// Mutant is one small change of the code and what became of it.
type Mutant struct {
	ID      string `json:"id"`
	Package string `json:"package"`
	Status  string `json:"status"`
	Diff    string `json:"diff"`
	Killer  string `json:"killer,omitempty"` // the check that noticed it
}

// Spec is one TLA+ specification: the states that TLC searched, and the smaller
// graph of which so many edges were walked on the shipped code.
type Spec struct {
	Name        string `json:"name"`
	States      int    `json:"states"`
	Depth       int    `json:"depth"`
	Bugs        int    `json:"bugs"`      // planted and rejected
	Witnesses   int    `json:"witnesses"` // reached
	GraphStates int    `json:"graph_states"`
	GraphEdges  int    `json:"graph_edges"`
	Walked      int    `json:"walked"`
	// Drawing is the graph as the report draws it; nil if it does not.
	Drawing *Drawing `json:"drawing,omitempty"`
}

// Drawing is a graph whose states are told apart by some variables alone.
type Drawing struct {
	By     []string     `json:"by"`
	States []DrawnState `json:"states"`
	Edges  []DrawnEdge  `json:"edges"`
}

// DrawnState stands for all states with the same values of these variables.
type DrawnState struct {
	Name   string `json:"name"`
	Depth  int    `json:"depth"`  // steps from the beginning
	States int    `json:"states"` // that it stands for
	Stays  int    `json:"stays"`  // edges that do not leave it
}

// DrawnEdge stands for all edges from one drawn state to another.
type DrawnEdge struct {
	From    int      `json:"from"`
	To      int      `json:"to"`
	Actions []string `json:"actions"`
	Edges   int      `json:"edges"` // that it stands for
}

// Simulation is one file of scenarios of the simulator.
type Simulation struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Cases int    `json:"cases"`
	Held  int    `json:"held"` // bounds that held, of all of them
	Of    int    `json:"of"`
	// Lines are drawn of the case that Case names.
	Case  string           `json:"case"`
	Lines []SimulationLine `json:"lines"`
}

// SimulationLine is the part of calls that failed, in steps of half a second, with
// one policy or baseline.
type SimulationLine struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values"`
}

// Timing holds whatever varies between two runs of one commit.
type Timing struct {
	Started    time.Time     `json:"started"`
	Seconds    float64       `json:"seconds"`
	Machine    Machine       `json:"machine"`
	Layers     []LayerTiming `json:"layers"`
	Benchmarks []Benchmark   `json:"benchmarks"`
	Budgets    []Budget      `json:"budgets"`
	Demo       *Demo         `json:"demo,omitempty"`
	// Reached are, by the id of a claim, the functions of its code that its checks
	// reach. Which of two ways a race takes is not the same in every run.
	Reached map[string][]string `json:"reached,omitempty"`
	// Noticed are changes of code that the checks of its claims noticed, one a claim. It
	// is the first that was, which a test of many goroutines need not always notice.
	Noticed []Noticed `json:"noticed,omitempty"`
}

// Machine is where the figures were taken.
type Machine struct {
	CPUs int    `json:"cpus"`
	CPU  string `json:"cpu"`
}

// LayerTiming is the varying part of the layer with the same name.
type LayerTiming struct {
	Name     string             `json:"name"`
	Seconds  float64            `json:"seconds"`
	Failures []Failure          `json:"failures"`
	Figures  map[string]float64 `json:"figures,omitempty"`
}

// Failure is one failed check and what it said.
type Failure struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Benchmark is the median of a benchmark's repetitions.
type Benchmark struct {
	Package string  `json:"package"`
	Name    string  `json:"name"`
	Runs    int     `json:"runs"`
	NsPerOp float64 `json:"ns_per_op"`
	Bytes   float64 `json:"bytes_per_op"`
	Allocs  float64 `json:"allocs_per_op"`
	Ratio   float64 `json:"ratio"` // to the calibration loop of the same run; 0 without one
}

// Budget compares a figure with its bound. A Hard one fails its layer; the
// others depend on the machine and are only shown.
type Budget struct {
	What    string  `json:"what"`
	Got     float64 `json:"got"`
	Limit   float64 `json:"limit"`
	Unit    string  `json:"unit"`
	Hard    bool    `json:"hard"`
	Verdict string  `json:"verdict"` // within, over, not measured or NotResolved
}

// NotResolved is the verdict on a difference of two figures that came out below
// zero: it lies within their spread, so it neither keeps its bound nor breaks it.
const NotResolved = "not resolved"

// Demo is what the demo program writes about its run.
type Demo struct {
	Policy    string    `json:"policy"`
	Seconds   float64   `json:"seconds"`
	Requests  int       `json:"requests"`  // sent by the client
	Responses int       `json:"responses"` // answered, whatever the status code
	Errors    int       `json:"errors"`    // ended with a typed error
	Retries   int       `json:"retries"`
	Promises  []Promise `json:"promises"`
	Backends  []Backend `json:"backends"`
	Decisions []string  `json:"decisions"` // some picks, explained
}

// Promise is one thing the demo checks about itself.
type Promise struct {
	Name   string `json:"name"`
	Held   bool   `json:"held"`
	Detail string `json:"detail"` // what broke it; empty when held
}

// Backend is one server of the demo, as the client saw it.
type Backend struct {
	Name     string  `json:"name"`
	Role     string  `json:"role"`  // what the demo does to it, such as "hangs"
	State    string  `json:"state"` // at the end
	Requests int     `json:"requests"`
	Share    float64 `json:"share"` // of all requests, 0 to 1
	Errors   int     `json:"errors"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
}

// AllPassed reports whether every layer ran and passed, but for those that lack
// something optional. A record without layers showed nothing.
func (r Record) AllPassed() bool {
	passed, failed := r.Totals()
	return passed > 0 && failed == 0 && len(r.With(Failed)) == 0
}

// With returns the names of the layers with a status.
func (r Record) With(s Status) []string {
	var names []string
	for _, l := range r.Layers {
		if l.Status == s {
			names = append(names, l.Name)
		}
	}
	return names
}

// Totals adds up the checks of all layers. A layer that did not run, unless it lacks
// something optional, counts as one failed check: otherwise a run that shows too little could end in
// "0 failed".
func (r Record) Totals() (passed, failed int) {
	for _, l := range r.Layers {
		passed += l.Counts["passed"]
		failed += l.Counts["failed"]
		if l.Status == NotRun && !l.Optional {
			failed++
		}
	}
	return passed, failed
}

// Encode returns the file's bytes, or an error if they would break the schema.
func Encode(r Record) ([]byte, error) {
	r.Schema = Schema
	r.Layers = slices.Clone(r.Layers)
	for i := range r.Layers {
		l := &r.Layers[i]
		l.Failures = slices.Sorted(slices.Values(l.Failures))
		if l.Counts == nil {
			l.Counts = map[string]int{}
		}
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	b = append(b, '\n')
	if _, err := Decode(b); err != nil {
		return nil, err
	}
	return b, nil
}

// Decode reads a record and refuses one that the schema does not allow.
func Decode(b []byte) (Record, error) {
	var r Record
	if err := decode(b, "", &r); err != nil {
		return Record{}, err
	}
	return r, r.addsUp()
}

// addsUp holds sums that the schema cannot express against what they sum up.
func (r Record) addsUp() error {
	if m := r.Mutation; m != nil {
		sum := 0
		for _, n := range m.Statuses {
			sum += n
		}
		if sum != m.Discovered {
			return fmt.Errorf("record: of %d mutants the statuses count %d", m.Discovered, sum)
		}
	}
	return nil
}

// DecodeDemo reads the summary of the demo program, by the same schema.
func DecodeDemo(b []byte) (Demo, error) {
	var d Demo
	err := decode(b, "#/$defs/demo", &d)
	return d, err
}

// decode validates b against one definition of the schema before it reads it.
func decode(b []byte, definition string, into any) error {
	const name = "verification.schema.json"
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return fmt.Errorf("record: not JSON: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaJSON))
	if err != nil {
		return fmt.Errorf("record: %s: %w", name, err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, doc); err != nil {
		return fmt.Errorf("record: %s: %w", name, err)
	}
	schema, err := c.Compile(name + definition)
	if err != nil {
		return fmt.Errorf("record: %s: %w", name, err)
	}
	if err := schema.Validate(value); err != nil {
		_, problems, _ := strings.Cut(err.Error(), "\n") // its first line is a path on this machine
		return fmt.Errorf("record: breaks %s:\n%s", name, problems)
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}
