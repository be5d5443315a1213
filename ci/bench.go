package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/copyleftdev/poise-go/ci/record"
)

// calibration is a fixed loop; other figures are shown as multiples of it, so
// that two machines can be compared.
const calibration = "pkg/policy.BenchmarkCalibration"

// benchRuns is odd, so that the median is a run that happened.
const benchRuns = 5

// benchTime is how long a run lasts: there are hundreds of benchmarks.
const benchTime = "30ms"

// budget is one bound on a figure. The benchmark's value is divided by per,
// lowered by the value of less, or divided by the value of over.
//
// Times are never hard: they depend on the machine. Allocations and ratios of two
// figures of one run do not, and fail the layer. A budget whose benchmark is
// missing fails too, or renaming a benchmark would lift its bound.
type budget struct {
	what   string
	bench  string
	metric func(record.Benchmark) float64
	per    float64
	less   string
	over   string
	limit  float64
	unit   string
	hard   bool
}

var budgets = slices.Concat(pickBudgets, flatBudgets(), prepareBudgets, allocBudgets(), otherBudgets)

// pickAt names a row of the benchmark of picks in which all of n are eligible.
func pickAt(policy string, n int) string {
	return fmt.Sprintf("pkg/policy.BenchmarkPick/policy=%s/n=%d/eligible=100", policy, n)
}

// flat are the policies whose picks do not depend on the number of candidates, with
// what 4,096 of them are to cost against 8: where a pick touches candidates, more
// of them miss the caches.
var flat = []struct {
	policy string
	limit  float64
}{
	{"RoundRobin", 1.3}, {"SmoothWeightedRoundRobin", 1.3}, {"Random", 1.3}, {"WeightedRandom", 1.3}, {"RingHash", 1.3}, {"Maglev", 1.3},
	{"PowerOfTwoChoices", 1.8}, {"WeightedLeastRequest", 1.8}, {"Priority", 1.8}, {"Locality", 1.8},
}

// linear are the policies that ask every candidate.
var linear = []string{"LeastLoaded", "Rendezvous", "WeightedRendezvous", "BoundedLoadRendezvous"}

var pickBudgets = []budget{
	{what: "RoundRobin, one pick", bench: pickAt("RoundRobin", 4096), metric: ns, limit: 6, unit: "ns"},
	{what: "SmoothWeightedRoundRobin, one pick", bench: pickAt("SmoothWeightedRoundRobin", 4096), metric: ns, limit: 12, unit: "ns"},
	{what: "Random, one pick", bench: pickAt("Random", 4096), metric: ns, limit: 10, unit: "ns"},
	{what: "WeightedRandom, one pick", bench: pickAt("WeightedRandom", 4096), metric: ns, limit: 15, unit: "ns"},
	{what: "Maglev, one pick", bench: pickAt("Maglev", 4096), metric: ns, limit: 15, unit: "ns"},
	{what: "RingHash, one pick", bench: pickAt("RingHash", 4096), metric: ns, limit: 60, unit: "ns"},
	{what: "Priority, one pick", bench: pickAt("Priority", 4096), metric: ns, limit: 60, unit: "ns"},
	{what: "Locality, one pick", bench: pickAt("Locality", 4096), metric: ns, limit: 60, unit: "ns"},
	{what: "Rendezvous, for each candidate", bench: pickAt("Rendezvous", 4096), metric: ns, per: 4096, limit: 2, unit: "ns"},
	{what: "WeightedRendezvous, for each candidate", bench: pickAt("WeightedRendezvous", 4096), metric: ns, per: 4096, limit: 4, unit: "ns"},
	{what: "BoundedLoadRendezvous, for each candidate", bench: pickAt("BoundedLoadRendezvous", 4096), metric: ns, per: 4096, limit: 5, unit: "ns"},
	{what: "LeastLoaded, for each candidate", bench: pickAt("LeastLoaded", 4096), metric: ns, per: 4096, limit: 2, unit: "ns"},
}

// flatBudgets show the ratios that are aimed at. They fail only where a pick has
// begun to go through the candidates, which makes it a hundred times slower: a busy
// machine makes one figure out of a few a multiple of what it is.
func flatBudgets() []budget {
	var list []budget
	for _, f := range flat {
		row := budget{bench: pickAt(f.policy, 4096), over: pickAt(f.policy, 8), metric: ns, unit: "×"}
		row.what, row.limit = f.policy+" at 4,096 against 8", f.limit
		list = append(list, row)
		row.what, row.limit, row.hard = f.policy+" does not grow with the candidates", 8, true
		list = append(list, row)
	}
	return list
}

func prepareAt(policy, change string) string {
	return fmt.Sprintf("pkg/policy.BenchmarkPrepare/policy=%s/n=512/change=%s", policy, change)
}

var prepareBudgets = []budget{
	{what: "Maglev, one of 512 lost", bench: prepareAt("Maglev", "lost-one"), metric: ns, per: 1e6, limit: 1.5, unit: "ms"},
	{what: "RingHash, one of 512 lost", bench: prepareAt("RingHash", "lost-one"), metric: ns, per: 1e6, limit: 8, unit: "ms"},
	{what: "Rendezvous, one of 512 lost", bench: prepareAt("Rendezvous", "lost-one"), metric: ns, per: 1e6, limit: 1, unit: "ms"},
	{what: "Maglev, none of 512 lost against one", bench: prepareAt("Maglev", "none"), over: prepareAt("Maglev", "lost-one"), metric: ns, limit: 0.2, unit: "×", hard: true},
	// A ring keeps the points of who was lost, so that neither builds anything.
	{what: "RingHash, one of 512 lost against none", bench: prepareAt("RingHash", "lost-one"), over: prepareAt("RingHash", "none"), metric: ns, limit: 5, unit: "×", hard: true},
}

// allocBudgets hold that no pick allocates.
func allocBudgets() []budget {
	names := slices.Clone(linear)
	for _, f := range flat {
		names = append(names, f.policy)
	}
	var list []budget
	for _, name := range names {
		list = append(list, budget{what: name + ", allocations of a pick", bench: pickAt(name, 512), metric: allocs, unit: "allocs", hard: true})
	}
	return list
}

var otherBudgets = []budget{
	{what: "PowerOfTwoChoices at 8, pick, lease and release", bench: "pkg/policy.BenchmarkLease/policy=PowerOfTwoChoices/n=8", metric: ns, limit: 30, unit: "ns"},
	{what: "PowerOfTwoChoices at 4,096 against 8, with lease and release", bench: "pkg/policy.BenchmarkLease/policy=PowerOfTwoChoices/n=4096", over: "pkg/policy.BenchmarkLease/policy=PowerOfTwoChoices/n=8", metric: ns, limit: 1.8, unit: "×"},
	{what: "PowerOfTwoChoices with lease and release does not grow with the candidates", bench: "pkg/policy.BenchmarkLease/policy=PowerOfTwoChoices/n=4096", over: "pkg/policy.BenchmarkLease/policy=PowerOfTwoChoices/n=8", metric: ns, limit: 8, unit: "×", hard: true},
	{what: "PowerOfTwoChoices at 8, allocations with lease and release", bench: "pkg/policy.BenchmarkLease/policy=PowerOfTwoChoices/n=8", metric: allocs, limit: 0, unit: "allocs", hard: true},
	{what: "NewView of 4,096 candidates", bench: "pkg.BenchmarkNewView/n=4096", metric: ns, per: 1000, limit: 400, unit: "µs"},
	{what: "Directory, Load", bench: "pkg/discovery.BenchmarkLoad/goroutines=1", metric: ns, limit: 3, unit: "ns"},
	{what: "Directory, Load, allocations", bench: "pkg/discovery.BenchmarkLoad/goroutines=1", metric: allocs, limit: 0, unit: "allocs", hard: true},
	{what: "Directory, one change among 10,000", bench: "pkg/discovery.BenchmarkChange/what=update/n=10000", metric: ns, per: 1000, limit: 50, unit: "µs"},
	{what: "Directory, Reconcile of 10,000 unchanged", bench: "pkg/discovery.BenchmarkReconcile/what=unchanged/n=10000", metric: ns, per: 1e6, limit: 2, unit: "ms"},
	{what: "Circuit, a permit and its end while closed", bench: "pkg/health.BenchmarkCircuit_Closed/row", metric: ns, limit: 40, unit: "ns"},
	{what: "Circuit, a permit and its end while closed, allocations", bench: "pkg/health.BenchmarkCircuit_Closed/row", metric: allocs, limit: 0, unit: "allocs", hard: true},
	{what: "OutcomeWindow, Record of a success", bench: "pkg/health.BenchmarkOutcomeWindow_Record/plain/success", metric: ns, limit: 30, unit: "ns"},
	{what: "OutcomeWindow, Record of a failure", bench: "pkg/health.BenchmarkOutcomeWindow_Record/plain/failure", metric: ns, limit: 30, unit: "ns"},
	{what: "OutcomeWindow, Record, allocations", bench: "pkg/health.BenchmarkOutcomeWindow_Record/plain/failure", metric: allocs, limit: 0, unit: "allocs", hard: true},
	{what: "Outliers, Sweep of 10,000 members", bench: "pkg/health.BenchmarkOutlierController_Sweep/n=10000", metric: ns, per: 1e6, limit: 1, unit: "ms"},
	{what: "Outliers, Sweep of 10,000 members, allocations", bench: "pkg/health.BenchmarkOutlierController_Sweep/n=10000", metric: allocs, limit: 0, unit: "allocs", hard: true},
	{what: "Explorer, one execution of two tasks of six atomics", bench: "models/explore.BenchmarkExplore_TwoTasksOfSixAtomics", metric: ns, per: 924 * 1000, limit: 2, unit: "µs"},
	{what: "RoundTrip beyond a bare transport", bench: "pkg/poisehttp.BenchmarkRoundTrip/via=balancer", less: "pkg/poisehttp.BenchmarkRoundTrip/via=bare", metric: ns, per: 1000, limit: 5, unit: "µs"},
	{what: "RoundTrip beyond a bare transport, allocations", bench: "pkg/poisehttp.BenchmarkRoundTrip/via=balancer", less: "pkg/poisehttp.BenchmarkRoundTrip/via=bare", metric: allocs, limit: 6, unit: "allocs", hard: true},
}

func ns(b record.Benchmark) float64     { return b.NsPerOp }
func allocs(b record.Benchmark) float64 { return b.Allocs }

func bench(ctx context.Context, w *workspace) result {
	module, pkgs, err := w.packages(ctx, "pkg")
	if r, stop := cannot(pkgs, err, "there is no package in pkg"); stop {
		return r
	}
	s := newStream(module)
	text := map[string]*strings.Builder{}
	s.onText = func(pkg, output string) {
		if text[pkg] == nil {
			text[pkg] = new(strings.Builder)
		}
		text[pkg].WriteString(output)
	}
	flags := []string{"-run", "^$", "-bench", ".", "-benchmem", "-benchtime", benchTime, "-count", strconv.Itoa(benchRuns)}
	r := w.goTest(ctx, s, nil, append(flags, paths(pkgs)...)...)
	if _, engine, err := w.packages(ctx, "models/explore"); err == nil && len(engine) > 0 {
		again := newStream(module)
		again.onText = s.onText
		r.add(w.goTest(ctx, again, nil, append(flags, "-tags", "interleave", engine[0].path)...))
		pkgs = append(pkgs, engine[0])
	}
	r.counts = map[string]int{}
	for _, p := range pkgs {
		if t := text[p.path]; t != nil {
			r.shown.Benchmarks = append(r.shown.Benchmarks, medians(p.dir, t.String())...)
		}
	}
	r.counts["benchmarks"] = len(r.shown.Benchmarks)
	r.passed = len(r.shown.Benchmarks)
	r.judge(budgets)
	return r
}

// judge relates the figures to the calibration loop and to their budgets. Where
// nothing was measured there is nothing to judge, and the layer ran nothing.
func (r *result) judge(budgets []budget) {
	if len(r.shown.Benchmarks) == 0 {
		return
	}
	found := map[string]record.Benchmark{}
	for _, b := range r.shown.Benchmarks {
		found[b.Package+"."+b.Name] = b
	}
	if loop := found[calibration].NsPerOp; loop > 0 {
		for i := range r.shown.Benchmarks {
			r.shown.Benchmarks[i].Ratio = r.shown.Benchmarks[i].NsPerOp / loop
		}
	} else {
		r.fail(calibration+": not measured", "every ratio needs it")
	}
	for _, b := range budgets {
		row := b.against(found)
		r.shown.Budgets = append(r.shown.Budgets, row)
		name := fmt.Sprintf("budget: %s: at most %v %s", b.what, b.limit, b.unit)
		switch {
		case row.Verdict == "not measured":
			r.fail(name+": not measured", fmt.Sprintf("benchmarks not found: %q", b.missing(found)))
		case b.hard && row.Verdict != "within":
			r.fail(name, fmt.Sprintf("got %.2f %s", row.Got, b.unit))
		case b.hard:
			r.passed++
			r.counts["hard budgets"]++
		}
	}
}

func (b budget) missing(found map[string]record.Benchmark) []string {
	var names []string
	for _, name := range []string{b.bench, b.less, b.over} {
		if _, ok := found[name]; name != "" && !ok {
			names = append(names, name)
		}
	}
	return names
}

func (b budget) against(found map[string]record.Benchmark) record.Budget {
	row := record.Budget{What: b.what, Limit: b.limit, Unit: b.unit, Hard: b.hard, Verdict: "not measured"}
	if len(b.missing(found)) > 0 {
		return row
	}
	row.Got = b.metric(found[b.bench])
	if b.less != "" {
		row.Got -= b.metric(found[b.less])
	}
	if b.over != "" {
		row.Got /= b.metric(found[b.over])
	}
	if b.per != 0 {
		row.Got /= b.per
	}
	switch {
	case math.IsNaN(row.Got) || math.IsInf(row.Got, 0): // JSON has no word for either
		row.Got = 0
	case row.Got < 0: // less than nothing is the spread of two figures, and bounds nothing
		row.Verdict = record.NotResolved
	case row.Got <= b.limit:
		row.Verdict = "within"
	default:
		row.Verdict = "over"
	}
	return row
}

// medians reads the output of go test -bench for one package and returns each
// benchmark's medians, in the order of their first run.
func medians(pkg, text string) []record.Benchmark {
	var names []string
	values := map[string]map[string][]float64{}
	for line := range strings.Lines(text) {
		name, metrics := parseBench(line)
		if name == "" {
			continue
		}
		if values[name] == nil {
			names = append(names, name)
			values[name] = map[string][]float64{}
		}
		for unit, v := range metrics {
			values[name][unit] = append(values[name][unit], v)
		}
	}
	var all []record.Benchmark
	for _, name := range names {
		v := values[name]
		all = append(all, record.Benchmark{
			Package: pkg, Name: name, Runs: len(v["ns/op"]),
			NsPerOp: median(v["ns/op"]), Bytes: median(v["B/op"]), Allocs: median(v["allocs/op"]),
		})
	}
	return all
}

// parseBench reads one line such as
// "BenchmarkPick/n=8-2   1000   5.1 ns/op   0 B/op   0 allocs/op". It returns no
// name for any other line.
func parseBench(line string) (name string, metrics map[string]float64) {
	f := strings.Fields(line)
	if len(f) < 4 || len(f)%2 != 0 || !strings.HasPrefix(f[0], "Benchmark") {
		return "", nil
	}
	if _, err := strconv.Atoi(f[1]); err != nil {
		return "", nil
	}
	metrics = map[string]float64{}
	for i := 2; i < len(f); i += 2 {
		v, err := strconv.ParseFloat(f[i], 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return "", nil
		}
		metrics[f[i+1]] = v
	}
	if _, ok := metrics["ns/op"]; !ok {
		return "", nil
	}
	return strings.TrimSuffix(f[0], fmt.Sprintf("-%d", runtime.GOMAXPROCS(0))), metrics
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[len(v)/2]
}
