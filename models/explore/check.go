//go:build interleave

package explore

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/spec/seq"
)

// affordable is up to how many executions brute force confirms the reduction.
const affordable = 2_000_000

// Check explores the model and fails the test for every verdict against it.
//
// The reduced engine runs the model to its end. Brute force runs it too, and if
// it ends within 2,000,000 executions both must have seen the same outcomes, the
// same witnesses and the same verdicts. The reduced engine must find every planted
// bug, and so must brute force with few preemptions.
//
// Where coverage is counted, only the first 2,000 executions of the model run: the
// question is what code it reaches, and planted bugs are no code of the library.
//
// In a race build only the reduced engine runs, and data races are the only
// verdict besides deadlock.
//
// A failure prints a -run pattern that replays it: Check then runs that one
// execution and prints its table.
func Check[S any](t *testing.T, m Model[S]) {
	t.Helper()
	if schedule, yes := replayed(t); yes {
		t.Run("replay="+schedule, func(t *testing.T) { replay(t, erase(m), schedule) })
		return
	}
	if folder := os.Getenv(historiesVariable); folder != "" {
		writeHistories(t, erase(m), folder)
		return
	}
	if testing.CoverMode() != "" {
		sketch(t, erase(m))
		return
	}
	check(t, erase(m))
	for _, b := range m.Bugs {
		if b.Breaks == "race" && !raceBuild || b.Breaks != "race" && raceBuild {
			continue
		}
		t.Run("bug="+strings.ReplaceAll(b.Name, " ", "_"), func(t *testing.T) {
			twin := m
			twin.New = b.New
			if b.Tasks != nil {
				twin.Tasks = b.Tasks
			}
			p := erase(twin)
			p.name = m.Name + ", bug: " + b.Name
			if schedule, yes := replayed(t); yes {
				t.Run("replay="+schedule, func(t *testing.T) { replay(t, p, schedule) })
				return
			}
			if raceBuild {
				findRace(t, p)
				return
			}
			find(t, p, b.Breaks)
		})
	}
}

// erase drops the state type of a model and fills its bounds in.
func erase[S any](m Model[S]) program {
	p := program{name: m.Name, spec: m.Spec, bounds: m.Bounds}
	if p.bounds.Steps == 0 {
		p.bounds.Steps = 200
	}
	if p.bounds.Executions == 0 {
		p.bounds.Executions = 20_000_000
	}
	if raceBuild {
		p.spec = nil // the order of calls is judged elsewhere, and orders of steps would multiply
	}
	p.new = func() any { return m.New() }
	for _, t := range m.Tasks {
		p.tasks = append(p.tasks, programTask{t.Name, func(s any, h *T) { t.Body(s.(S), h) }})
	}
	preds := func(from []Pred[S]) (to []programPred) {
		for _, f := range from {
			to = append(to, programPred{f.Name, func(s any) bool { return f.Holds(s.(S)) }})
		}
		return to
	}
	p.always, p.sometimes = preds(m.Always), preds(m.Sometimes)
	if m.Final != nil {
		p.final = func(s any, r *Run) error { return m.Final(s.(S), r) }
	}
	if m.Outcome != nil {
		p.outcome = func(s any, r *Run) string { return m.Outcome(s.(S), r) }
	}
	return p
}

// options says how to explore.
type options struct {
	reduce bool
	budget int // of preemptions; negative: none
	stopAt string
	script []int
	dice   *dice
	table  *table

	histories bool // keep them
}

func run(p program, o options) *result {
	r := &result{
		outcomes:  make(map[string]int),
		failures:  make(map[string]failure),
		sometimes: make([]bool, len(p.sometimes)),
	}
	if o.histories {
		r.histories = make(map[string]seq.History)
	}
	if len(p.tasks) > maxTasks {
		r.refused = refusal(fmt.Sprintf("more than %d tasks", maxTasks))
		return r
	}
	e := &engine{program: p, reduce: o.reduce, budget: o.budget, stopAt: o.stopAt, script: o.script, dice: o.dice, table: o.table, seen: r}
	began := time.Now()
	e.explore()
	r.elapsed = time.Since(began)
	return r
}

// check explores a program that must keep all its promises.
func check(t *testing.T, p program) {
	t.Helper()
	reduced := run(p, options{reduce: true, budget: -1})
	report(t, p, "reduced", reduced)
	if raceBuild || t.Failed() {
		t.Logf("counts: race-executions=%d", reduced.executions)
		return
	}
	t.Logf("counts: models=1 executions=%d redundant=%d outcomes=%d max-steps=%d",
		reduced.executions, reduced.redundant, len(reduced.outcomes), reduced.steps)
	for i, s := range p.sometimes {
		if !reduced.sometimes[i] {
			t.Errorf("model %s: sometimes %s: no state in which it holds was reached", p.name, s.name)
		}
	}
	about := estimate(p)
	if about > 3*affordable {
		t.Logf("model %s: brute force would take about %.1g executions and was not run", p.name, about)
		tableRow(t, p, reduced, about, true)
		return
	}
	b := p
	b.bounds.Executions = affordable
	brute := run(b, options{budget: -1})
	if _, over := brute.failures["executions"]; over {
		t.Logf("model %s: brute force takes more than %d executions and was not run to its end", p.name, affordable)
		tableRow(t, p, reduced, about, true)
		return
	}
	report(t, p, "brute force", brute)
	compare(t, p, reduced, brute)
	t.Logf("counts: brute-force-executions=%d", brute.executions)
	tableRow(t, p, reduced, float64(brute.executions), false)
}

// sketch runs the first executions of a model.
func sketch(t *testing.T, p program) {
	t.Helper()
	p.bounds.Executions = min(p.bounds.Executions, 2_000)
	r := run(p, options{reduce: true, budget: -1})
	delete(r.failures, "executions")
	report(t, p, "the beginning", r)
}

// address is what of a value differs between two runs of one schedule.
var address = regexp.MustCompile(`0x[0-9a-f]{4,}`)

// tableRow prints the model's row in the table of models, with one schedule of those
// that were tried.
func tableRow(t *testing.T, p program, reduced *result, brute float64, estimated bool) {
	t.Helper()
	script, err := decode(reduced.example)
	if err != nil {
		t.Fatal(err)
	}
	steps := &table{}
	run(p, options{budget: -1, script: script, table: steps})
	for i := range steps.rows { // whole Views would make a table that nobody can read
		what := []rune(address.ReplaceAllString(steps.rows[i].what, "address"))
		if len(what) > 60 {
			what = append(what[:60], '…')
		}
		steps.rows[i].what = string(what)
	}
	b, err := json.Marshal(struct {
		Name       string  `json:"name"`
		Reduced    int     `json:"reduced"`
		BruteForce float64 `json:"brute_force"`
		Estimated  bool    `json:"estimated"`
		Outcomes   int     `json:"outcomes"`
		Test       string  `json:"test"`
		Schedule   string  `json:"schedule"`
		Replay     string  `json:"replay"`
	}{p.name, reduced.executions, brute, estimated, len(reduced.outcomes), t.Name(), fmt.Sprint(steps), reduced.example})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("model: %s", b)
}

// report fails the test for every verdict, and logs the figures.
func report(t *testing.T, p program, engine string, r *result) {
	t.Helper()
	if r.refused != "" {
		t.Fatalf("model %s is refused: %s", p.name, r.refused)
	}
	for _, f := range r.failures {
		t.Errorf("model %s: %s: %s\n%s", p.name, f.verdict, f.detail, explain(t, p, f))
	}
	t.Logf("model %s, %s: %d executions, %d redundant, %d outcomes, at most %d steps, %d states unjudged, %v",
		p.name, engine, r.executions, r.redundant, len(r.outcomes), r.steps, r.unjudged, r.elapsed.Round(time.Millisecond))
}

// compare holds the reduction against brute force.
func compare(t *testing.T, p program, reduced, brute *result) {
	t.Helper()
	if got, want := keys(reduced.outcomes), keys(brute.outcomes); !slices.Equal(got, want) {
		t.Errorf("model %s: the reduced engine saw outcomes %q, brute force %q", p.name, got, want)
	}
	if got, want := keys(reduced.failures), keys(brute.failures); !slices.Equal(got, want) {
		t.Errorf("model %s: the reduced engine reached verdicts %q, brute force %q", p.name, got, want)
	}
	if !slices.Equal(reduced.sometimes, brute.sometimes) {
		t.Errorf("model %s: witnesses reached: %v reduced, %v by brute force", p.name, reduced.sometimes, brute.sometimes)
	}
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// find explores a planted bug, which must earn its verdict from both engines.
// Brute force looks for it with few preemptions first: in its own order, a fault
// of the first steps would come after all others.
func find(t *testing.T, p program, verdict string) {
	t.Helper()
	r := run(p, options{reduce: true, budget: -1, stopAt: verdict})
	if r.refused != "" {
		t.Fatalf("model %s is refused: %s", p.name, r.refused)
	}
	f, found := r.failures[verdict]
	if !found {
		t.Errorf("model %s: the reduced engine did not find the planted bug in %d executions; verdicts %q", p.name, r.executions, keys(r.failures))
		return
	}
	least, budget := minimise(p, f)
	if budget < 0 {
		t.Errorf("model %s: brute force did not find the planted bug with up to %d preemptions", p.name, preemptions)
		return
	}
	t.Logf("model %s: %s after %d reduced executions; with %d preemptions: %s", p.name, verdict, r.executions+r.redundant, budget, least.schedule)
	confirmed := confirm(t, p, verdict)
	t.Logf("counts: planted-bugs=1 confirmed-by-brute-force=%d", confirmed)
}

// confirm looks for a planted bug by brute force in its own order and without a
// bound of preemptions, unless that takes too long. It returns how many were
// confirmed.
func confirm(t *testing.T, p program, verdict string) int {
	t.Helper()
	if about := estimate(p); about > 3*affordable {
		t.Logf("model %s: not confirmed without a bound of preemptions, which would take about %.1g executions", p.name, about)
		return 0
	}
	p.bounds.Executions = affordable
	r := run(p, options{budget: -1, stopAt: verdict})
	if _, found := r.failures[verdict]; found {
		return 1
	}
	if r.exhausted {
		t.Errorf("model %s: brute force did not find the planted bug in %d executions, which are all there are", p.name, r.executions)
	} else {
		t.Logf("model %s: not confirmed without a bound of preemptions within %d executions", p.name, r.executions)
	}
	return 0
}

// explain returns the table of the failure with the fewest preemptions, and how
// to replay it.
func explain(t *testing.T, p program, f failure) string {
	f, _ = minimise(p, f)
	b := &table{}
	script, err := decode(f.schedule)
	if err != nil {
		return err.Error()
	}
	run(p, options{budget: -1, script: script, table: b})
	return fmt.Sprintf("%sreplay: go test -tags interleave %s -run '^%s$/^replay=%s$'\n", b, folder(), strings.ReplaceAll(t.Name(), "/", "$/^"), f.schedule)
}

// folder returns the package under test as the go command wants it, from the root
// of the module: a test runs in the folder of its package.
func folder() string {
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	at := strings.LastIndex(dir, "/models")
	return "." + dir[max(at, 0):]
}

// preemptions is up to how many preemptions minimise tries; known faults need
// three at most.
const preemptions = 5

// minimise looks by brute force for an execution with the same verdict and the
// fewest preemptions. It gives up, and returns what it was given and -1, when that
// is too far.
func minimise(p program, f failure) (least failure, budget int) {
	p.bounds.Executions = 200_000
	for budget := range preemptions + 1 {
		r := run(p, options{budget: budget, stopAt: f.verdict})
		if least, found := r.failures[f.verdict]; found {
			return least, budget
		}
		if !r.exhausted {
			break
		}
	}
	return f, -1
}

// replay runs one execution and prints its table. It fails when the execution
// earns a verdict.
func replay(t *testing.T, p program, schedule string) {
	script, err := decode(schedule)
	if err != nil {
		t.Fatal(err)
	}
	b := &table{}
	r := run(p, options{budget: -1, script: script, table: b})
	t.Logf("model %s, schedule %s:\n%s", p.name, schedule, b)
	if r.refused != "" {
		t.Fatal(r.refused)
	}
	for _, f := range r.failures {
		t.Errorf("model %s: %s: %s", p.name, f.verdict, f.detail)
	}
}

// replayed returns the schedule that the -run pattern asks this test to replay.
func replayed(t *testing.T) (schedule string, yes bool) {
	f := flag.Lookup("test.run")
	if f == nil {
		return "", false
	}
	parts := strings.Split(f.Value.String(), "/")
	at := strings.Count(t.Name(), "/") + 1
	if at >= len(parts) {
		return "", false
	}
	return strings.CutPrefix(strings.Trim(parts[at], "^$"), "replay=")
}
