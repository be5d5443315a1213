// Package report renders a verification record as one page.
//
// The page is the record's and nothing else's: Render takes the file's bytes, so
// there is no way to slip in a figure that a reader of the record cannot find.
// It is one file without script, font or picture from elsewhere, for a phone, a
// desk and paper alike, and it says every status by word.
package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/copyleftdev/poise-go/ci/record"
)

//go:embed page.html
var pageHTML string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"brute": brute, "class": class, "count": count, "details": details, "duration": duration, "evidenceKinds": evidenceKinds, "figure": figure,
	"figures": figures, "join": join, "leftOut": leftOut, "many": many, "name": name, "number": number, "percent": percent, "pictures": pictures, "short": short, "simulations": simulations, "times": times,
	"width": width,
}).Parse(pageHTML))

// view is what the page shows: the record, with each layer beside its timing.
type view struct {
	record.Record
	Headline       string
	Verdict        record.Status
	Passed, Failed int
	Rows           []row
	Started        string
	Largest        float64 // share of a demo backend
}

type row struct {
	record.Layer
	Timing record.LayerTiming
}

// Render returns the page, or an error if b is not a valid record.
func Render(b []byte) ([]byte, error) {
	r, err := record.Decode(b)
	if err != nil {
		return nil, err
	}
	v := view{Record: r, Headline: headline(r), Verdict: record.Failed, Started: r.Timing.Started.Format("2 January 2006, 15:04 UTC")}
	if r.AllPassed() {
		v.Verdict = record.Passed
	}
	v.Passed, v.Failed = r.Totals()
	for _, l := range r.Layers {
		one := row{Layer: l}
		for _, t := range r.Timing.Layers {
			if t.Name == l.Name {
				one.Timing = t
			}
		}
		v.Rows = append(v.Rows, one)
	}
	if r.Timing.Demo != nil {
		for _, b := range r.Timing.Demo.Backends {
			v.Largest = max(v.Largest, b.Share)
		}
	}
	var out bytes.Buffer
	if err := page.Execute(&out, v); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return out.Bytes(), nil
}

// headline is the one sentence for whoever reads no further.
func headline(r record.Record) string {
	failed, notRun := r.With(record.Failed), r.With(record.NotRun)
	switch {
	case r.AllPassed():
		return fmt.Sprintf("All %d layers passed", len(r.Layers))
	case len(failed) == 0:
		return fmt.Sprintf("%s not run: %s", layersDid(len(notRun), "was", "were"), join(notRun))
	case len(notRun) == 0:
		return fmt.Sprintf("%s failed: %s", layersDid(len(failed), "", ""), join(failed))
	default:
		return fmt.Sprintf("%s failed: %s; not run: %s", layersDid(len(failed), "", ""), join(failed), join(notRun))
	}
}

func layersDid(n int, one, many string) string {
	if n == 1 {
		return strings.TrimSpace("1 layer " + one)
	}
	return strings.TrimSpace(fmt.Sprintf("%d layers %s", n, many))
}

func class(s any) string { return strings.ReplaceAll(fmt.Sprint(s), " ", "-") }

func join(names []string) string { return strings.Join(names, ", ") }

func short(commit string) string { return commit[:min(12, len(commit))] }

// name drops the prefix that every benchmark has.
func name(s string) string { return strings.TrimPrefix(s, "Benchmark") }

// count writes n with a comma between thousands.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// details lists a layer's own counts, the same way round every time.
func details(l row) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(l.Counts)) {
		if k != "passed" && k != "failed" {
			parts = append(parts, k+" "+count(l.Counts[k]))
		}
	}
	return strings.Join(parts, " · ")
}

// figures lists what a layer measured beyond its counts.
func figures(m map[string]float64) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, k+" "+figure(m[k]))
	}
	return strings.Join(parts, " · ")
}

// evidenceKinds are the columns of the table of evidence.
func evidenceKinds() []string {
	return []string{"test", "law", "fuzz", "model", "walk", "histories", "specification", "simulation"}
}

// number counts from one.
func number(i int) int { return i + 1 }

// brute writes how many executions brute force takes.
func brute(m record.Model) string {
	if m.Estimated {
		return "≈ " + strconv.FormatFloat(m.BruteForce, 'g', 1, 64)
	}
	return count(int(m.BruteForce))
}

// leftOut writes the share of executions that the reduction saved.
func leftOut(m record.Model) string {
	if m.BruteForce <= 0 {
		return "–"
	}
	return percent(max(0, 1-float64(m.Reduced)/m.BruteForce))
}

func duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	d = d.Round(time.Second)
	return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
}

// figure writes about three significant digits, and whole numbers in full.
func figure(v float64) string {
	switch a := math.Abs(v); {
	case v == math.Trunc(v) && a < 1e15, a >= 100:
		return count(int(math.Round(v)))
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
}

func times(ratio float64) string {
	if ratio == 0 {
		return "–"
	}
	return figure(ratio) + "×"
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

// width is a bar's length in percent: part of whole, never outside its box.
func width(part, whole float64) float64 {
	if whole <= 0 || math.IsNaN(part) {
		return 0
	}
	return math.Round(1000*max(0, min(1, part/whole))) / 10
}
