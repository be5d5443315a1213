package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/ci/record"
)

func TestMedians_RepetitionsBecomeOneRow(t *testing.T) {
	procs := fmt.Sprintf("-%d", runtime.GOMAXPROCS(0))
	text := "goos: linux\nBenchmarkPick/policy=X/n=8" + procs + "\nBenchmarkPick/policy=X/n=8" + procs + " \t 100\t 5.0 ns/op\t 0 B/op\t 0 allocs/op\n" +
		"BenchmarkPick/policy=X/n=8" + procs + " \t 100\t 900 ns/op\t 16 B/op\t 2 allocs/op\n" +
		"BenchmarkPick/policy=X/n=8" + procs + " \t 100\t 6.5 ns/op\t 0 B/op\t 0 allocs/op\n" +
		"BenchmarkOther" + procs + " \t 1\t 2e3 ns/op\t 7 B/op\t 1 allocs/op\t 3 widgets/op\nPASS\n"
	got := medians("pkg/policy", text)
	want := []record.Benchmark{
		{Package: "pkg/policy", Name: "BenchmarkPick/policy=X/n=8", Runs: 3, NsPerOp: 6.5},
		{Package: "pkg/policy", Name: "BenchmarkOther", Runs: 1, NsPerOp: 2000, Bytes: 7, Allocs: 1},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestParseBench_OtherLinesAreNotResults(t *testing.T) {
	for _, line := range []string{
		"", "PASS", "BenchmarkX-2", "BenchmarkX-2 100", "BenchmarkX-2 many 5 ns/op", "BenchmarkX-2 100 fast ns/op", "BenchmarkX-2 100 NaN ns/op",
		"BenchmarkX-2 100 5 ns/op 3", "BenchmarkX-2 100 5 MB/s", "--- FAIL: BenchmarkX 1 ns/op",
	} {
		if name, _ := parseBench(line); name != "" {
			t.Errorf("%q is read as a result of %q", line, name)
		}
	}
}

// figuresFor gives every budget's benchmarks the same figures, which keep them all.
func figuresFor(change func(*record.Benchmark)) result {
	r := result{counts: map[string]int{}}
	seen := map[string]bool{}
	add := func(full string) {
		if full == "" || seen[full] {
			return
		}
		seen[full] = true
		pkg, name, _ := strings.Cut(full, ".")
		b := record.Benchmark{Package: pkg, Name: name, Runs: benchRuns, NsPerOp: 5}
		if strings.HasSuffix(name, "=Maglev/n=512/change=none") {
			b.NsPerOp = 0.5
		}
		change(&b)
		r.shown.Benchmarks = append(r.shown.Benchmarks, b)
	}
	add(calibration)
	for _, b := range budgets {
		add(b.bench)
		add(b.less)
		add(b.over)
	}
	return r
}

func TestBudgets_FiguresWithinThemPass(t *testing.T) {
	r := figuresFor(func(*record.Benchmark) {})
	r.judge(budgets)
	if len(r.failures) > 0 || r.passed == 0 || len(r.shown.Budgets) != len(budgets) {
		t.Errorf("got %d passed and failures %q, want all within", r.passed, failureNames(r))
	}
	if got := r.shown.Benchmarks[1].Ratio; got != 1 {
		t.Errorf("the ratio to the calibration loop is %v, want 1", got)
	}
}

func TestBudgets_SlowFiguresAreShownAndFailNothing(t *testing.T) {
	r := figuresFor(func(b *record.Benchmark) {
		if strings.Contains(b.Name, "policy=RoundRobin") {
			b.NsPerOp = 60
		}
	})
	r.judge(budgets)
	if len(r.failures) > 0 || r.shown.Budgets[0].Verdict != "over" {
		t.Errorf("verdict is %q with failures %q, want over and none", r.shown.Budgets[0].Verdict, failureNames(r))
	}
}

func TestBudgets_HardOnesFail(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*record.Benchmark)
		want   string
		also   string // a second failure, if there is one
	}{
		{
			name: "a ratio within the run",
			change: func(b *record.Benchmark) {
				if strings.HasSuffix(b.Name, "policy=PowerOfTwoChoices/n=4096") {
					b.NsPerOp = 91
				}
			},
			want: "budget: PowerOfTwoChoices with lease and release does not grow with the candidates: at most 8 ×",
		},
		{
			name: "a pick that goes through the candidates",
			change: func(b *record.Benchmark) {
				if strings.HasSuffix(b.Name, "policy=Maglev/n=4096/eligible=100") {
					b.NsPerOp = 900
				}
			},
			want: "budget: Maglev does not grow with the candidates: at most 8 ×",
		},
		{
			name: "a table made anew without need",
			change: func(b *record.Benchmark) {
				if strings.HasSuffix(b.Name, "policy=RingHash/n=512/change=lost-one") {
					b.NsPerOp = 900
				}
			},
			want: "budget: RingHash, one of 512 lost against none: at most 5 ×",
		},
		{
			name: "allocations of a pick",
			change: func(b *record.Benchmark) {
				if strings.HasSuffix(b.Name, "policy=Locality/n=512/eligible=100") {
					b.Allocs = 1
				}
			},
			want: "budget: Locality, allocations of a pick: at most 0 allocs",
		},
		{
			name: "allocations beyond a bare transport",
			change: func(b *record.Benchmark) {
				b.Allocs = map[string]float64{"BenchmarkRoundTrip/via=bare": 60, "BenchmarkRoundTrip/via=balancer": 67}[b.Name]
			},
			want: "budget: RoundTrip beyond a bare transport, allocations: at most 6 allocs",
		},
		{
			name: "a division by nothing",
			change: func(b *record.Benchmark) {
				b.NsPerOp *= map[bool]float64{true: 0, false: 1}[strings.HasSuffix(b.Name, "Choices/n=8")]
			},
			want: "budget: PowerOfTwoChoices at 4,096 against 8, with lease and release: at most 1.8 ×: not measured",
			also: "budget: PowerOfTwoChoices with lease and release does not grow with the candidates: at most 8 ×: not measured",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := figuresFor(c.change)
			r.judge(budgets)
			want := slices.DeleteFunc([]string{c.want, c.also}, func(name string) bool { return name == "" })
			if got := failureNames(r); !slices.Equal(got, want) {
				t.Errorf("failures are %q, want %q alone", got, want)
			}
		})
	}
}

func TestBudgets_RenamedBenchmarkDoesNotLiftItsBound(t *testing.T) {
	r := figuresFor(func(b *record.Benchmark) { b.Name = strings.Replace(b.Name, "BenchmarkNewView", "BenchmarkView", 1) })
	r.judge(budgets)
	if len(r.failures) != 1 || !strings.HasSuffix(r.failures[0].Name, "not measured") || !strings.Contains(r.failures[0].Text, "pkg.BenchmarkNewView/n=4096") {
		t.Errorf("failures are %v, want one for the missing benchmark", r.failures)
	}
}

func TestBudgets_MissingCalibrationFails(t *testing.T) {
	r := figuresFor(func(b *record.Benchmark) { b.Name = strings.Replace(b.Name, "Calibration", "Calibrate", 1) })
	r.judge(budgets)
	if got, want := failureNames(r), []string{calibration + ": not measured"}; !slices.Equal(got, want) {
		t.Errorf("failures are %q, want %q", got, want)
	}
}

func TestBench_EventsBecomeFigures(t *testing.T) {
	exec, _ := replies(t, list("m\tm/pkg/policy\t[][]"), reply{has: "-bench", out: events("start m/pkg/policy", "run m/pkg/policy BenchmarkCalibration") +
		`{"Action":"output","Package":"m/pkg/policy","Output":"BenchmarkCalibration \t"}` + "\n" +
		`{"Action":"output","Package":"m/pkg/policy","Output":" 10\t 300 ns/op\t 0 B/op\t 0 allocs/op\n"}` + "\n" + events("pass m/pkg/policy")})
	r := bench(t.Context(), &workspace{exec: exec})
	if r.counts["benchmarks"] != 1 || len(r.shown.Benchmarks) != 1 || r.shown.Benchmarks[0].NsPerOp != 300 {
		t.Errorf("got %v and %+v, want one benchmark of 300 ns", r.counts, r.shown.Benchmarks)
	}
}

func TestBench_PackagesWithoutBenchmarksRanNothing(t *testing.T) {
	exec, _ := replies(t, list("m\tm/pkg\t[][]"), reply{has: "-bench", out: events("start m/pkg", "pass m/pkg")})
	l := planted("bench", result{})
	l.run = bench
	if r := l.attempt(t.Context(), &workspace{exec: exec}, nil); !slices.Equal(failureNames(r), []string{"ran nothing"}) {
		t.Errorf("failures are %q, want ran nothing", failureNames(r))
	}
}

func TestBudget_LessThanNothingKeepsNoBound(t *testing.T) {
	found := map[string]record.Benchmark{"with": {NsPerOp: 4}, "without": {NsPerOp: 5}}
	b := budget{what: "beyond", bench: "with", less: "without", metric: ns, limit: 3, unit: "ns", hard: true}
	if row := b.against(found); row.Got != -1 || row.Verdict != record.NotResolved {
		t.Errorf("got %+v, want -1 without a verdict", row)
	}
	r := result{counts: map[string]int{}}
	r.shown.Benchmarks = []record.Benchmark{{Name: "with", NsPerOp: 4}, {Name: "without", NsPerOp: 5}, {Package: "pkg/policy", Name: "BenchmarkCalibration", NsPerOp: 1}}
	b.bench, b.less = ".with", ".without"
	if r.judge([]budget{b}); len(r.failures) != 1 || r.passed != 0 {
		t.Errorf("a bound that must hold gives %d passed and the failures %+v, want it failed", r.passed, r.failures)
	}
}
