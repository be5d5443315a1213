package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/copyleftdev/poise-go/ci/record"
	"github.com/copyleftdev/poise-go/ci/report"
)

// The files that verify writes, below the root.
const (
	recordFile   = "out/verification.json"
	reportFolder = "out/report"
	reportFile   = reportFolder + "/index.html"
	// historyFolder keeps the records of earlier runs, for the trend.
	historyFolder = "out/history"
)

// runLayers runs every layer in order, never stops at a failure, and prints a
// line for each. missing holds the needs that setup could not meet.
func runLayers(ctx context.Context, w *workspace, rows []layer, missing []string, out io.Writer) record.Record {
	begin := time.Now()
	r := record.Record{
		Toolchain: record.Toolchain{Go: runtime.Version(), GOOS: runtime.GOOS, GOARCH: runtime.GOARCH},
		Seeds: record.Seeds{
			Property: w.settings.seed, PropertyChecks: w.settings.checks, FuzzExecutions: w.settings.fuzzExecs,
		},
		Timing: record.Timing{Started: begin.UTC(), Machine: record.Machine{CPUs: runtime.NumCPU(), CPU: cpuModel()}},
	}
	for i, l := range rows {
		fmt.Fprintf(out, "%2d/%d  %-12s ", i+1, len(rows), l.name)
		start := time.Now()
		found := l.attempt(ctx, w, missing)
		row := l.record(found)
		r.Layers = append(r.Layers, row)
		r.Timing.Layers = append(r.Timing.Layers, record.LayerTiming{
			Name: l.name, Seconds: seconds(time.Since(start)), Failures: found.failures, Figures: found.figures,
		})
		r.Models = append(r.Models, found.models...)
		r.Specs = append(r.Specs, found.specs...)
		r.Simulations = append(r.Simulations, found.simulations...)
		r.Evidence = append(r.Evidence, found.evidence...)
		r.Toolchain.TLC = cmp.Or(r.Toolchain.TLC, found.tlc)
		r.Timing.Benchmarks = append(r.Timing.Benchmarks, found.shown.Benchmarks...)
		r.Timing.Budgets = append(r.Timing.Budgets, found.shown.Budgets...)
		if found.shown.Reached != nil {
			r.Timing.Reached = found.shown.Reached
		}
		r.Timing.Noticed = append(r.Timing.Noticed, found.shown.Noticed...)
		r.Timing.Demo = cmp.Or(r.Timing.Demo, found.shown.Demo)
		printLayer(out, row, found.failures, time.Since(start))
	}
	r.Timing.Seconds = seconds(time.Since(begin))
	return r
}

// attempt runs the layer within its limit, unless something says that it cannot.
func (l layer) attempt(ctx context.Context, w *workspace, missing []string) result {
	if lack := l.lacks(missing); lack != "" {
		return result{notRun: "missing: " + lack, optional: mayBeLeftOut(lack)}
	}
	if ctx.Err() != nil {
		return result{notRun: "interrupted"}
	}
	limited, cancel := context.WithTimeoutCause(ctx, l.limit, fmt.Errorf("stopped after its limit of %v", l.limit))
	defer cancel()
	found := l.run(limited, w)
	if ctx.Err() != nil { // what it found is what the interruption broke
		return result{notRun: "interrupted"}
	}
	if found.notRun == "" && found.passed == 0 && len(found.failures) == 0 {
		found.fail("ran nothing", "no check ran, so nothing was shown")
	}
	slices.SortStableFunc(found.failures, func(a, b record.Failure) int { return cmp.Compare(a.Name, b.Name) })
	for i := range found.failures {
		found.failures[i].Text = clip(found.failures[i].Text)
	}
	return found
}

func (l layer) record(found result) record.Layer {
	row := record.Layer{Name: l.name, Target: l.target, Shows: l.shows, NotShown: l.notShown, Counts: map[string]int{}}
	if found.notRun != "" {
		row.Status, row.Reason, row.Optional = record.NotRun, found.notRun, found.optional
		return row
	}
	for k, n := range found.counts {
		row.Counts[k] = n
	}
	row.Counts["passed"], row.Counts["failed"] = found.passed, len(found.failures)
	row.Status = record.Passed
	if len(found.failures) > 0 {
		row.Status = record.Failed
	}
	for _, f := range found.failures {
		row.Failures = append(row.Failures, f.Name)
	}
	return row
}

// clip keeps the two ends of a long text: the first failure and the last word.
func clip(text string) string {
	const half = 6000
	text = strings.ToValidUTF8(strings.TrimSpace(text), "�")
	if len(text) <= 2*half {
		return text
	}
	return strings.ToValidUTF8(text[:half], "") + "\n[…]\n" + strings.ToValidUTF8(text[len(text)-half:], "")
}

func printLayer(out io.Writer, l record.Layer, failures []record.Failure, took time.Duration) {
	switch l.Status {
	case record.NotRun:
		fmt.Fprintf(out, "%-8s  %s\n", l.Status, l.Reason)
	default:
		fmt.Fprintf(out, "%-8s %6d passed %4d failed  %6.1fs\n", l.Status, l.Counts["passed"], l.Counts["failed"], took.Seconds())
	}
	for _, f := range failures {
		fmt.Fprintf(out, "\n    %s\n", f.Name)
		for line := range strings.Lines(f.Text) {
			fmt.Fprintf(out, "        %s\n", strings.TrimRight(line, "\n"))
		}
		fmt.Fprintln(out)
	}
}

// printEnd prints the table again, without the failures between its lines, and
// last of all the line that counts.
func printEnd(out io.Writer, r record.Record) {
	fmt.Fprintf(out, "\n%-12s  %-8s  %7s  %7s  %8s\n", "layer", "status", "passed", "failed", "seconds")
	for i, l := range r.Layers {
		fmt.Fprintf(out, "%-12s  %-8s  %7d  %7d  %8.1f\n",
			l.Name, l.Status, l.Counts["passed"], l.Counts["failed"], r.Timing.Layers[i].Seconds)
	}
	fmt.Fprintln(out)
	if names := r.With(record.Failed); len(names) > 0 {
		fmt.Fprintf(out, "failed: %s\n", strings.Join(names, ", "))
	}
	if names := r.With(record.NotRun); len(names) > 0 {
		fmt.Fprintf(out, "not run: %s (each that is not optional counts as one failed below)\n", strings.Join(names, ", "))
	}
	passed, failed := r.Totals()
	fmt.Fprintf(out, "%d passed, %d failed\n", passed, failed)
}

// verify is the command: set up, run everything, record it, render it.
func verify(ctx context.Context, w *workspace, h *host, rows []layer, out io.Writer) error {
	// A stale record must not be taken for this run's.
	for _, f := range []string{recordFile, reportFolder} {
		if err := os.RemoveAll(filepath.Join(w.root, f)); err != nil {
			return err
		}
	}
	missing, err := h.setup(ctx, false)
	if err != nil {
		fmt.Fprintln(out, err)
	}
	r := runLayers(ctx, w, rows, missing, out)
	w.describe(context.WithoutCancel(ctx), &r)
	if err := errors.Join(writeRecord(w.root, r), writeReport(w.root)); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nrecord %s, report %s\n", recordFile, reportFile)
	printEnd(out, r)
	if !r.AllPassed() {
		return errNotAllPassed
	}
	return nil
}

var errNotAllPassed = errors.New("not every layer passed")

// describe adds what the record says of the tree and of the tools.
func (w *workspace) describe(ctx context.Context, r *record.Record) {
	r.Commit = "unknown"
	if commit, err := w.git(ctx, "rev-parse", "HEAD"); err == nil {
		r.Commit = commit
	}
	changes, err := w.git(ctx, "status", "--porcelain")
	r.Dirty = err != nil || changes != ""
	// The version says nothing about a tool that could not be built: then it is empty.
	v, _ := w.exec.output(ctx, w.root, "go", "tool", "-modfile=ci/tools/go.mod", "staticcheck", "-version")
	r.Toolchain.Staticcheck = strings.TrimPrefix(v, "staticcheck ")
}

func writeRecord(root string, r record.Record) error {
	b, err := record.Encode(r)
	if err != nil {
		return err
	}
	kept := filepath.Join(root, historyFolder, r.Timing.Started.UTC().Format("20060102T150405.000Z")+".json")
	return errors.Join(write(filepath.Join(root, recordFile), b), write(kept, b))
}

// writeReport renders the report from the record on disk, and its trend from those
// of earlier runs.
func writeReport(root string) error {
	b, err := os.ReadFile(filepath.Join(root, recordFile))
	if err != nil {
		return err
	}
	names, err := filepath.Glob(filepath.Join(root, historyFolder, "*.json")) // sorted, so the oldest first
	if err != nil {
		return err
	}
	var earlier [][]byte
	for _, name := range names {
		old, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		earlier = append(earlier, old)
	}
	files, err := report.Render(b, earlier...)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(root, reportFolder)); err != nil { // a page may be of another record
		return err
	}
	for _, f := range files {
		if err := write(filepath.Join(root, reportFolder, f.Name), f.Body); err != nil {
			return err
		}
	}
	return nil
}

func write(name string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, b, 0o644)
}

func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }

// cpuModel names the processor where the system tells; the report says it because
// a figure without a machine means little.
func cpuModel() string {
	b, _ := os.ReadFile("/proc/cpuinfo") // absent elsewhere
	for line := range strings.Lines(string(b)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
