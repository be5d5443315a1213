package report

import (
	"fmt"
	"html/template"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/copyleftdev/poise-go/ci/record"
)

// functions are what the templates call. None of them returns markup.
var functions = template.FuncMap{
	"brute": brute, "class": class, "count": count, "duration": duration, "figure": figure, "groups": groups, "held": held,
	"id": id, "join": join, "many": many, "means": means, "name": name, "noticed": noticed, "ofBound": ofBound, "percent": percent, "pictures": pictures, "plots": plots,
	"plural": plural, "quoted": quoted, "runs": runs, "short": short, "simulations": simulations, "sorted": sorted, "standsFor": standsFor,
	"sum": sum, "test": test, "times": times, "under": under, "walked": walked, "width": width, "worst": worst,
}

func class(s any) string { return strings.ReplaceAll(fmt.Sprint(s), " ", "-") }

func join(names []string) string { return strings.Join(names, ", ") }

func short(commit string) string { return commit[:min(12, len(commit))] }

// id makes the name of a place on a page.
func id(kind, name string) string {
	return kind + "-" + strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.':
			return r
		}
		return '-'
	}, name), "-")
}

// name drops the prefix that every benchmark has.
func name(s string) string { return strings.TrimPrefix(s, "Benchmark") }

// count writes n with a comma between thousands.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural writes a number with what it counts.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return count(n) + " " + thing + "s"
}

// sorted returns the names of what a layer counted, the same way round every time.
func sorted(counts map[string]int) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(counts)), func(k string) bool { return k == "passed" || k == "failed" })
}

// group is models of one kind; what stands before the colon of their names is its.
type group struct {
	Name   string
	Models []record.Model
}

func groups(models []record.Model) (all []group) {
	for _, m := range models {
		name, _, _ := strings.Cut(m.Name, ":")
		i := slices.IndexFunc(all, func(g group) bool { return g.Name == name })
		if i < 0 {
			i = len(all)
			all = append(all, group{Name: name})
		}
		all[i].Models = append(all[i].Models, m)
	}
	return all
}

// test writes a test's name as the go command wants it in -run.
func test(m record.Model) string { return strings.ReplaceAll(m.Test, "/", "$/^") }

// brute writes how many executions brute force takes.
func brute(m record.Model) string {
	if m.Estimated {
		return "≈ " + strconv.FormatFloat(m.BruteForce, 'g', 2, 64)
	}
	return count(int(m.BruteForce))
}

// standsFor writes how many executions, on average, one that was judged stands for.
// A share that was left out would read as if so much were not checked.
func standsFor(m record.Model) string {
	of := m.BruteForce / float64(m.Reduced)
	switch {
	case of < 1.05:
		return "itself"
	case of < 100:
		return strconv.FormatFloat(of, 'f', 1, 64)
	case of < 1e6:
		return count(int(math.Round(of)))
	}
	return strconv.FormatFloat(of, 'g', 2, 64)
}

// layerOf says in which layer a kind of evidence runs.
var layerOf = map[string]string{
	"test": "unit", "law": "props", "fuzz": "fuzz", "model": "models", "walk": "tla", "histories": "lin", "specification": "tla", "simulation": "sim",
}

// means are what the checks of a type judge by, in the order of tables.
func means(e record.Evidence) (all []string) {
	for _, m := range record.Means {
		if len(e.Means[m]) > 0 {
			all = append(all, m)
		}
	}
	return all
}

// Means are the columns of the page of proofs.
func (v view) Means() []string { return record.Means }

// Judged is how many types have a check that judges so.
func (v view) Judged(means string) (n int) {
	for _, e := range v.Evidence {
		if len(e.Means[means]) > 0 {
			n++
		}
	}
	return n
}

// quote says what became of one check that quotes a claim.
type quote struct {
	record.Quote
	Status record.Status
}

// quoted returns the checks of a claim. A check of a layer that ran has passed
// unless the layer names it, or its package, among its failures.
func quoted(v view, c record.Claim) (all []quote) {
	for _, q := range c.By {
		one := quote{q, record.NotRun}
		if l := v.Layer(layerOf[q.Kind]); l != nil && l.Status != record.NotRun {
			one.Status = record.Passed
			for _, f := range l.Failures {
				at, test, _ := strings.Cut(f, " ")
				test, _, _ = strings.Cut(test, ":")
				test, _, _ = strings.Cut(test, "/")
				if at == path.Dir(q.File)+":" || at == path.Dir(q.File) && test == q.Of || strings.HasPrefix(f, q.File) {
					one.Status = record.Failed
				}
			}
		}
		all = append(all, one)
	}
	return all
}

// runs returns how many claims are quoted by checks that passed, failed or did not run.
func runs(v view) map[string]int {
	n := map[string]int{}
	for _, e := range v.Evidence {
		for _, c := range e.Claims {
			worst := record.NotRun
			for _, q := range quoted(v, c) {
				if q.Status == record.Failed || worst == record.NotRun {
					worst = q.Status
				}
			}
			n[string(worst)]++
		}
	}
	return n
}

// noticed is the change that a check of the claim noticed; nil if there is none.
func noticed(v view, c record.Claim) *record.Noticed {
	for i := range v.Timing.Noticed {
		if v.Timing.Noticed[i].Claim == c.ID {
			return &v.Timing.Noticed[i]
		}
	}
	return nil
}

// sum adds up one figure of every row of a kind; the overview shows it.
func sum(v view, what string) (n int) {
	switch what {
	case "promises":
		for _, e := range v.Evidence {
			n += len(e.Claims)
		}
	case "quotations", "reaching":
		for _, e := range v.Evidence {
			for _, c := range e.Claims {
				for _, q := range c.By {
					if what == "quotations" || q.Reaches {
						n++
					}
				}
			}
		}
	case "executions":
		for _, m := range v.Models {
			n += m.Reduced
		}
	case "states":
		for _, s := range v.Specs {
			n += s.States
		}
	case "bugs":
		for _, s := range v.Specs {
			n += s.Bugs
		}
	case "cases":
		for _, s := range v.Simulations {
			n += s.Cases
		}
	case "held":
		for _, s := range v.Simulations {
			n += s.Held
		}
	case "of":
		for _, s := range v.Simulations {
			n += s.Of
		}
	case "kept":
		for _, p := range v.Timing.Demo.Promises {
			if p.Held {
				n++
			}
		}
	default:
		panic("report: no sum of " + what)
	}
	return n
}

// walked says how many of all edges were walked.
func walked(specs []record.Spec) string {
	walked, all := 0, 0
	for _, s := range specs {
		walked, all = walked+s.Walked, all+s.GraphEdges
	}
	return count(walked) + " of " + count(all)
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

// ofBound says how far over its bound a figure is.
func ofBound(b record.Budget) string {
	if b.Limit <= 0 {
		return ""
	}
	return figure(b.Got/b.Limit) + "× the bound"
}

// held says how many bounds of a scenario held; some are only shown.
func held(s record.Simulation) string {
	if s.Of == 0 {
		return "has none"
	}
	return count(s.Held) + " of " + count(s.Of)
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

// width is a bar's length in percent: part of whole, never outside its box.
func width(part, whole float64) float64 {
	if whole <= 0 || math.IsNaN(part) {
		return 0
	}
	return math.Round(1000*max(0, min(1, part/whole))) / 10
}
