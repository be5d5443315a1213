package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// performanceDoc is the document whose tables of figures can be renewed.
const performanceDoc = "docs/performance.md"

// performanceTables says, by heading and column after the first, which benchmark a
// cell shows, with %s for the policy; "" is a cell that is somebody else's, and
// stays.
var performanceTables = map[string][]string{
	"## One pick": {
		"BenchmarkPick/policy=%s/n=8/eligible=100", "BenchmarkPick/policy=%s/n=64/eligible=100",
		"BenchmarkPick/policy=%s/n=512/eligible=100", "BenchmarkPick/policy=%s/n=4096/eligible=100",
	},
	"## With fewer eligible": {
		"BenchmarkPick/policy=%s/n=512/eligible=100", "BenchmarkPick/policy=%s/n=512/eligible=50", "BenchmarkPick/policy=%s/n=512/eligible=1",
		"BenchmarkPick/policy=%s/n=4096/eligible=100", "BenchmarkPick/policy=%s/n=4096/eligible=50", "BenchmarkPick/policy=%s/n=4096/eligible=1",
	},
	"## Prepare": {
		"BenchmarkPrepare/policy=%s/n=8/change=lost-one", "BenchmarkPrepare/policy=%s/n=64/change=lost-one",
		"BenchmarkPrepare/policy=%s/n=512/change=lost-one", "", "", "", "BenchmarkPrepare/policy=%s/n=512/change=none",
	},
	"## Together": {"BenchmarkPickTogether/policy=%s/n=512/procs=1", "BenchmarkPickTogether/policy=%s/n=512/procs=2"},
}

// performancePasses is how often each benchmark runs. Of short bursts some find a
// moment in which nobody else has the processor.
const performancePasses = 60

// performanceBursts is how long a burst is: what takes milliseconds by itself needs
// more than one of them.
var performanceBursts = []struct{ pattern, time string }{{"Calibration|BenchmarkPick", "1ms"}, {"Prepare", "10ms"}}

// renewPerformance measures package policy and writes the minimum of each figure
// into the tables of docs/performance.md. What the text around them says is left to
// the reader.
func renewPerformance(ctx context.Context, w *workspace, out io.Writer) error {
	least, err := w.leastFigures(ctx, out)
	if err != nil {
		return err
	}
	path := filepath.Join(w.root, performanceDoc)
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	renewed, err := renewTables(string(old), least)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: tables renewed; the calibration loop took %s ns\n", performanceDoc, figure(least["BenchmarkCalibration"], false))
	return os.WriteFile(path, []byte(renewed), 0o644)
}

// leastFigures runs the benchmarks of package policy and returns the minimum of
// each, in nanoseconds.
func (w *workspace) leastFigures(ctx context.Context, out io.Writer) (map[string]float64, error) {
	folder, err := os.MkdirTemp("", "performance")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, "policy.test")
	if _, err := w.exec.output(ctx, w.root, "go", "test", "-c", "-o", binary, "./pkg/policy"); err != nil {
		return nil, err
	}
	least := map[string]float64{}
	for pass := range performancePasses {
		for _, burst := range performanceBursts {
			text, err := w.exec.output(ctx, filepath.Join(w.root, "pkg", "policy"), binary,
				"-test.run", "^$", "-test.bench", burst.pattern, "-test.benchtime", burst.time)
			if err != nil {
				return nil, err
			}
			takeLeast(least, text)
		}
		fmt.Fprintf(out, "pass %d of %d\n", pass+1, performancePasses)
	}
	return least, nil
}

// takeLeast keeps the lower of the figures that are known and those in the output
// of benchmarks.
func takeLeast(least map[string]float64, text string) {
	for line := range strings.Lines(text) {
		if name, metrics := parseBench(line); name != "" {
			if was, known := least[name]; !known || metrics["ns/op"] < was {
				least[name] = metrics["ns/op"]
			}
		}
	}
}

// renewTables puts the figures into the tables of the document. A cell whose
// benchmark was not measured is an error, or it would keep an old figure.
func renewTables(doc string, figures map[string]float64) (string, error) {
	var b strings.Builder
	heading, found := "", 0
	for line := range strings.Lines(doc) {
		if strings.HasPrefix(line, "#") {
			heading = strings.TrimSpace(line)
		}
		columns := performanceTables[heading]
		if columns == nil || !strings.HasPrefix(line, "| `") {
			b.WriteString(line)
			continue
		}
		row, err := renewRow(strings.Split(strings.TrimSpace(line), "|"), columns, heading == "## Prepare", figures)
		if err != nil {
			return "", err
		}
		found++
		b.WriteString(row + "\n")
	}
	if found == 0 {
		return "", fmt.Errorf("%s has none of the tables that can be renewed", performanceDoc)
	}
	return b.String(), nil
}

// renewRow is one row, of cells between bars: nothing, the policy, the columns,
// nothing.
func renewRow(cells, columns []string, units bool, figures map[string]float64) (string, error) {
	policy, _, _ := strings.Cut(strings.TrimLeft(cells[1], " `"), "`")
	if len(cells) < len(columns)+3 {
		return "", fmt.Errorf("the row of %s has %d cells, want %d", policy, len(cells)-2, len(columns)+1)
	}
	for i, column := range columns {
		if column == "" {
			continue
		}
		name := fmt.Sprintf(column, policy)
		if strings.Contains(cells[1], "with a pick") && strings.HasSuffix(name, "lost-one") {
			name = strings.Replace(name, "BenchmarkPrepare/", "BenchmarkPrepareAndPick/", 1)
		}
		v, measured := figures[name]
		if !measured {
			return "", fmt.Errorf("%s was not measured", name)
		}
		cells[i+2] = " " + figure(v, units) + " "
	}
	return strings.Join(cells, "|"), nil
}

// figure writes nanoseconds with three digits, with the unit or as nanoseconds.
func figure(ns float64, units bool) string {
	unit := ""
	if units {
		unit = " ns"
		for _, next := range []string{" µs", " ms"} {
			if ns < 999.5 {
				break
			}
			ns, unit = ns/1000, next
		}
	}
	switch {
	case ns < 9.995:
		return fmt.Sprintf("%.2f", ns) + unit
	case ns < 99.95:
		return fmt.Sprintf("%.1f", ns) + unit
	case ns < 999.5:
		return fmt.Sprintf("%.0f", ns) + unit
	}
	return thousands(ns) + unit
}

// thousands writes a number of a thousand or more with three digits and a comma.
func thousands(v float64) string {
	step := 10.0
	for v/step >= 999.5 {
		step *= 10
	}
	n := int(v/step+0.5) * int(step)
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}
