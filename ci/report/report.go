// Package report renders a verification record as pages that a person reads, and
// as files that programs read.
//
// The pages are the record's and nothing else's: Render takes the file's bytes, so
// there is no way to slip in a figure that a reader of the record cannot find.
// They need no network and no script, are made for a phone, a desk, a screen reader
// and paper alike, and say every status by word. Of earlier records only the trend
// is shown.
package report

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"slices"

	"github.com/copyleftdev/poise-go/ci/record"
)

// File is one file of the report.
type File struct {
	Name string
	Body []byte
}

//go:embed pages
var sources embed.FS

var templates = template.Must(template.New("").Funcs(functions).ParseFS(sources, "pages/*"))

// page is one page of the report. It is left out where it would show nothing.
type page struct {
	File, Title string
	has         func(view) bool
}

var pages = []page{
	{"index.html", "Overview", func(view) bool { return true }},
	{"failures.html", "Failures", func(v view) bool { return !v.AllPassed() }},
	{"claims.html", "Claims", func(v view) bool { return len(v.Evidence) > 0 }},
	{"proofs.html", "Who proves what", func(v view) bool { return len(v.Evidence) > 0 }},
	{"models.html", "Models", func(v view) bool { return len(v.Models) > 0 }},
	{"specifications.html", "Specifications", func(v view) bool { return len(v.Specs) > 0 }},
	{"simulations.html", "Simulations", func(v view) bool { return len(v.Simulations) > 0 }},
	{"mutants.html", "Mutants", func(v view) bool { return v.Mutation != nil }},
	{"speed.html", "Speed", func(v view) bool { return len(v.Timing.Benchmarks)+len(v.Timing.Budgets) > 0 }},
	{"demo.html", "Demo", func(v view) bool { return v.Timing.Demo != nil }},
	{"counters.html", "Counters", func(view) bool { return true }},
}

// view is what the pages show: the record, with what is worked out of it.
type view struct {
	record.Record
	Page     page   // the one that is rendered
	Pages    []page // all that there are
	Headline string
	Rows     []row
	Bounds   bounds
	Trend    trend
}

// row is a layer beside its timing.
type row struct {
	record.Layer
	Timing record.LayerTiming
}

// Render returns the files of the report, or an error if b is not a valid record.
// The earlier records, the oldest first, make the trend.
func Render(b []byte, earlier ...[]byte) ([]File, error) {
	r, err := record.Decode(b)
	if err != nil {
		return nil, err
	}
	v := view{Record: r, Bounds: boundsOf(r), Trend: trendOf(earlier, r)}
	v.Headline = headline(r)
	for _, l := range r.Layers {
		one := row{Layer: l}
		if i := slices.IndexFunc(r.Timing.Layers, func(t record.LayerTiming) bool { return t.Name == l.Name }); i >= 0 {
			one.Timing = r.Timing.Layers[i]
		}
		v.Rows = append(v.Rows, one)
	}
	for _, p := range pages {
		if p.has(v) {
			v.Pages = append(v.Pages, p)
		}
	}
	var files []File
	for _, p := range v.Pages {
		v.Page = p
		var out bytes.Buffer
		if err := templates.ExecuteTemplate(&out, p.File, v); err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		files = append(files, File{p.File, out.Bytes()})
	}
	others, err := projections(v)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return append(files, others...), nil
}

// Has reports whether there is a page of the name.
func (v view) Has(file string) bool {
	return slices.ContainsFunc(v.Pages, func(p page) bool { return p.File == file })
}

// Verdict is what became of the run.
func (v view) Verdict() record.Status {
	if v.AllPassed() {
		return record.Passed
	}
	return record.Failed
}

// Passed and Failed are the sums of the columns of the table of layers.
func (v view) Passed() int { return v.sum("passed") }

// Failed is the sum of the failed checks of the layers that ran.
func (v view) Failed() int { return v.sum("failed") }

func (v view) sum(name string) (n int) {
	for _, l := range v.Layers {
		n += l.Counts[name]
	}
	return n
}

// NotRun are the names of the layers that did not run.
func (v view) NotRun() []string { return v.With(record.NotRun) }

// Layer returns the row of a layer; nil if the record has none of this name.
func (v view) Layer(name string) *row {
	for i := range v.Rows {
		if v.Rows[i].Name == name {
			return &v.Rows[i]
		}
	}
	return nil
}

// Failures are those of all layers.
func (v view) Failures() (all []failure) {
	for _, l := range v.Rows {
		all = append(all, l.Shown()...)
	}
	return all
}

type failure struct{ Layer, Name, Text string }

// firstFailure is the first of a layer, with the number of the others.
type firstFailure struct {
	failure
	More int
}

// FirstFailures are what the overview shows: a layer may fail hundreds of times.
func (v view) FirstFailures() (all []firstFailure) {
	for _, l := range v.Rows {
		if shown := l.Shown(); len(shown) > 0 {
			all = append(all, firstFailure{shown[0], len(shown) - 1})
		}
	}
	return all
}

// Started is the day and the time at which the run began.
func (v view) Started() string { return v.Timing.Started.Format("2 January 2006, 15:04 UTC") }

// Largest is the largest share of a backend of the demo.
func (v view) Largest() (most float64) {
	for _, b := range v.Timing.Demo.Backends {
		most = max(most, b.Share)
	}
	return most
}

// bounds counts the budgets. Hard ones fail their layer; the others are bounds on
// speed that fail nothing, so the headline names those that are over.
type bounds struct {
	Hard, HardWithin            int
	Speed, Over, Within, NoWord int // NoWord: not measured, or not resolved
}

func boundsOf(r record.Record) (b bounds) {
	for _, row := range r.Timing.Budgets {
		within := row.Verdict == "within"
		switch {
		case row.Hard:
			b.Hard++
			if within {
				b.HardWithin++
			}
			continue
		case within:
			b.Within++
		case row.Verdict == "over":
			b.Over++
		default:
			b.NoWord++
		}
		b.Speed++
	}
	return b
}

// headline is the one sentence for whoever reads no further.
func headline(r record.Record) string {
	failed, notRun := r.With(record.Failed), r.With(record.NotRun)
	said := ""
	switch {
	case r.AllPassed():
		said = fmt.Sprintf("All %s passed", plural(len(r.Layers), "layer"))
	case len(failed) == 0:
		said = fmt.Sprintf("%s of %d not run: %s", plural(len(notRun), "layer"), len(r.Layers), join(notRun))
	case len(notRun) == 0:
		said = fmt.Sprintf("%s of %d failed: %s", plural(len(failed), "layer"), len(r.Layers), join(failed))
	default:
		said = fmt.Sprintf("%s of %d failed: %s; not run: %s", plural(len(failed), "layer"), len(r.Layers), join(failed), join(notRun))
	}
	b := boundsOf(r)
	switch {
	case b.Over > 0:
		said += fmt.Sprintf("; %d of %s over", b.Over, plural(b.Speed, "speed bound"))
	case b.Speed > 0 && b.NoWord == 0:
		said += fmt.Sprintf("; all %s kept", plural(b.Speed, "speed bound"))
	}
	if b.NoWord > 0 {
		said += fmt.Sprintf("; %s without a verdict", plural(b.NoWord, "speed bound"))
	}
	return said
}

// boundsTable is some of the budgets, for one table.
type boundsTable struct {
	Caption string
	Rows    []record.Budget
}

// BoundsOver are the speed bounds that are over.
func (v view) BoundsOver() boundsTable {
	return v.boundsWhere("Speed bounds that are over", true)
}

// BoundsRest are all bounds but those.
func (v view) BoundsRest() boundsTable {
	return v.boundsWhere("Bounds that are kept, must hold or have no verdict", false)
}

func (v view) boundsWhere(caption string, over bool) boundsTable {
	t := boundsTable{Caption: caption}
	for _, b := range v.Timing.Budgets {
		if (b.Verdict == "over" && !b.Hard) == over {
			t.Rows = append(t.Rows, b)
		}
	}
	return t
}

// Shown are the failures of the layer as failures of the whole.
func (r row) Shown() (all []failure) {
	for _, f := range r.Timing.Failures {
		all = append(all, failure{r.Name, f.Name, f.Text})
	}
	return all
}

// benchmarkPackage is the benchmarks of one package.
type benchmarkPackage struct {
	Name       string
	Benchmarks []record.Benchmark
}

// BenchmarkPackages are the benchmarks by package, in the order of the record.
func (v view) BenchmarkPackages() (all []benchmarkPackage) {
	for _, b := range v.Timing.Benchmarks {
		if n := len(all); n == 0 || all[n-1].Name != b.Package {
			all = append(all, benchmarkPackage{Name: b.Package})
		}
		last := &all[len(all)-1]
		last.Benchmarks = append(last.Benchmarks, b)
	}
	return all
}
