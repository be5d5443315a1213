package report_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/ci/record"
	"github.com/copyleftdev/poise-go/ci/report"
)

func base(t *testing.T) record.Record {
	t.Helper()
	b, err := os.ReadFile("testdata/verification.json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := record.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func encode(t *testing.T, r record.Record) []byte {
	t.Helper()
	b, err := record.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// files reads a record that passed throughout, lets a test spoil it, and renders it.
func files(t *testing.T, spoil ...func(*record.Record)) map[string]string {
	t.Helper()
	r := base(t)
	for _, s := range spoil {
		s(&r)
	}
	rendered, err := report.Render(encode(t, r))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range rendered {
		all[f.Name] = string(f.Body)
	}
	return all
}

func failLayer(l *record.Layer, lt *record.LayerTiming, name, text string) {
	l.Status = record.Failed
	l.Failures = []string{name}
	l.Counts["failed"] = 1
	lt.Failures = []record.Failure{{Name: name, Text: text}}
}

func unitFails(r *record.Record) {
	failLayer(&r.Layers[3], &r.Timing.Layers[3], "pkg TestX", "    x_test.go:7: boom")
}

func raceDoesNotRun(r *record.Record) {
	l := &r.Layers[5]
	l.Status, l.Reason, l.Counts = record.NotRun, "missing: C compiler", nil
}

// full adds what the record in testdata has nothing of.
func full(r *record.Record) {
	r.Evidence = []record.Evidence{
		{Type: "pkg.View", Means: map[string][]record.Check{"example": {{File: "pkg/view_test.go", Of: "TestX"}, {File: "pkg/view_test.go", Of: "TestY"}}, "specification": {{File: "spec/tla/view/View.tla"}}}, Claims: []record.Claim{
			{ID: "pkg.View-1", Text: "A View <never> changes.", File: "pkg/view.go", Of: "View", Code: []string{"View"}, By: []record.Quote{{Kind: "test", File: "pkg/view_test.go", Of: "TestX", Reaches: true}, {Kind: "specification", File: "spec/tla/view/View.tla"}}},
			{ID: "pkg.View.Len-2", Text: "A View is small.", File: "pkg/view.go", Of: "View.Len", Code: []string{"View.Len"}, By: []record.Quote{}},
		}},
	}
	r.Timing.Noticed = []record.Noticed{{Claim: "pkg.View.Len-2", Mutant: "m.View.Len: literal", At: "pkg/view.go:7", Was: "n < 1", Becomes: "n <= 1", By: "TestLen"}}
	r.Timing.Reached = map[string][]string{"pkg.View-1": {"pkg.View.Len", "pkg.View.Select"}}
	r.Models = []record.Model{
		{Name: "slots: two callers", Reduced: 25, BruteForce: 1000, Outcomes: 3, Test: "TestSlots/two", Schedule: "1  Load", Replay: "a1b2"},
		{Name: "slots: one caller", Reduced: 3, BruteForce: 3, Outcomes: 1},
		{Name: "publication: many", Reduced: 3686, BruteForce: 4.2e13, Estimated: true, Outcomes: 1},
	}
	r.Specs = []record.Spec{gate(), {Name: "Plain", States: 5, GraphStates: 3, GraphEdges: 2, Walked: 1}}
	r.Simulations = []record.Simulation{
		{Name: "outage", Title: "all fail", Cases: 2, Held: 5, Of: 6, Case: "outage/n=3", Lines: []record.SimulationLine{{Name: "rotation", Values: []float64{0, 0.5, 0}}}},
		{Name: "calm", Title: "nothing fails", Cases: 1, Case: "calm", Lines: []record.SimulationLine{{Name: "rotation", Values: []float64{0, 0}}}},
	}
	r.Mutation = &record.Mutation{
		Discovered: 12, Statuses: map[string]int{"killed": 9, "survived": 1, "does not compile": 2},
		Mutants: []record.Mutant{{ID: "pkg.View.Len/literal/1", Package: "pkg", Status: "survived", Diff: "-1\n+2"}},
	}
	r.Timing.Budgets = append(r.Timing.Budgets, record.Budget{What: "RoundTrip beyond bare", Got: -1.25, Limit: 5, Unit: "µs", Verdict: record.NotResolved})
}

func mustHold(t *testing.T, page string, wants ...string) {
	t.Helper()
	for _, w := range wants {
		if !strings.Contains(page, w) {
			t.Errorf("the page does not hold %q", w)
		}
	}
}

func TestRender_SaysWhatTheRecordSays(t *testing.T) {
	all := files(t)
	mustHold(t, all["index.html"], "1741ea7c0de5", "go1.26.8 on linux/amd64", "staticcheck 2026.2.2", "seed 1",
		"Races on paths or schedules that did not happen in this run.", "so nothing here says whether the checks would notice")
	mustHold(t, all["speed.html"], "RoundRobin, one pick", ">over<", "Pick/policy=PowerOfTwoChoices/n=4096", "1,023×")
	mustHold(t, all["demo.html"], "power-of-two-choices", "every slot was given back", "127.0.0.1:40107", "35.0 %", "request 2210")
	mustHold(t, all["counters.html"], "generated cases", "58,000")
	if _, there := all["failures.html"]; there || strings.Contains(all["index.html"], "What did not pass") {
		t.Error("a report without failures has a place for them")
	}
}

func TestRender_HeadlineCountsLayersAndSpeedBounds(t *testing.T) {
	bounds := func(verdicts ...string) func(*record.Record) {
		return func(r *record.Record) {
			r.Timing.Budgets = []record.Budget{{What: "hard", Unit: "allocs", Hard: true, Verdict: "within"}}
			for _, v := range verdicts {
				r.Timing.Budgets = append(r.Timing.Budgets, record.Budget{What: "x", Unit: "ns", Verdict: v})
			}
		}
	}
	for _, c := range []struct {
		spoil []func(*record.Record)
		want  string
	}{
		{[]func(*record.Record){bounds()}, "All 10 layers passed"},
		{[]func(*record.Record){bounds("within", "within")}, "All 10 layers passed; all 2 speed bounds kept"},
		{[]func(*record.Record){bounds("within", "over", "over")}, "All 10 layers passed; 2 of 3 speed bounds over"},
		{[]func(*record.Record){bounds("within", "over", record.NotResolved)}, "All 10 layers passed; 1 of 3 speed bounds over; 1 speed bound without a verdict"},
		{[]func(*record.Record){bounds("within", "not measured")}, "All 10 layers passed; 1 speed bound without a verdict"},
		{[]func(*record.Record){bounds(), unitFails}, "1 layer of 10 failed: unit"},
		{[]func(*record.Record){bounds(), raceDoesNotRun}, "1 layer of 10 not run: race"},
		{[]func(*record.Record){bounds(), unitFails, raceDoesNotRun}, "1 layer of 10 failed: unit; not run: race"},
	} {
		page := files(t, c.spoil...)["index.html"]
		mustHold(t, page, "<h1>"+c.want+"</h1>")
		verdict := "failed"
		if strings.HasPrefix(c.want, "All") {
			verdict = "passed"
		}
		mustHold(t, page, `class="verdict card `+verdict+`"`)
	}
}

func TestRender_LimitsComeBeforeEverythingElse(t *testing.T) {
	page := files(t, full, unitFails)["index.html"]
	first := strings.Index(page, `<h2 id="means">`)
	for _, later := range []string{`<h2 id="failed">`, `<h2 id="over">`, `<h2 id="find">`, `<h2 id="mutants">`, `<h2 id="repeat">`} {
		if at := strings.Index(page, later); at < first || first < 0 {
			t.Errorf("%s stands at %d, before the limits at %d", later, at, first)
		}
	}
}

func TestRender_FailureIsShownWithItsTextAndNothingInItIsMarkup(t *testing.T) {
	all := files(t, func(r *record.Record) {
		failLayer(&r.Layers[3], &r.Timing.Layers[3], "TestX<script>", "got </pre><script>alert(1)</script>")
		r.Layers[3].Failures = append(r.Layers[3].Failures, "TestY")
		r.Layers[3].Counts["failed"] = 2
		r.Timing.Layers[3].Failures = append(r.Timing.Layers[3].Failures, record.Failure{Name: "TestY"})
	})
	mustHold(t, all["index.html"], "unit: TestX&lt;script&gt;", "got &lt;/pre&gt;&lt;script&gt;alert(1)", `<a href="failures.html#layer-unit">1 more failure of unit</a>`)
	mustHold(t, all["failures.html"], "unit: TestY", "2 failures in 1 of 10 layers")
	for name, page := range all {
		if strings.HasSuffix(name, ".html") && strings.Contains(page, "<script") {
			t.Errorf("in %s text of the record became markup", name)
		}
	}
}

func TestRender_LayerThatDidNotRunHasNoNumbers(t *testing.T) {
	page := files(t, raceDoesNotRun)["index.html"]
	rows := tables(t, page)["layers"]
	if got := rows[6]; got[0] != "race" || got[1] != "not run" || got[2] != "–" || got[3] != "–" || got[4] != "–" {
		t.Errorf("the row reads %q, want not run and no number", got)
	}
	mustHold(t, page, "<b>race</b>: missing: C compiler. Alone it runs by <code>make race</code>.")
}

func TestRender_BrokenPromiseIsSaidByWord(t *testing.T) {
	page := files(t, func(r *record.Record) {
		r.Timing.Demo.Promises[0].Held = false
		r.Timing.Demo.Promises[0].Detail = "request 9 vanished"
	})["demo.html"]
	mustHold(t, page, ">broken<", "request 9 vanished")
}

func TestRender_PagesOfNothingAreLeftOut(t *testing.T) {
	all := files(t, func(r *record.Record) { r.Timing.Demo, r.Timing.Budgets, r.Timing.Benchmarks = nil, nil, nil })
	for _, name := range []string{"demo.html", "speed.html", "claims.html", "proofs.html", "models.html", "specifications.html", "simulations.html", "mutants.html", "failures.html"} {
		if _, there := all[name]; there || strings.Contains(all["index.html"], `"`+name) {
			t.Errorf("there is a page %s with nothing on it, or a link to it", name)
		}
	}
	mustHold(t, files(t, full)["mutants.html"], "pkg.View.Len/literal/1", "does not compile")
}

func TestRender_ModelSaysWhatAnExecutionStandsFor(t *testing.T) {
	page := files(t, full)["models.html"]
	mustHold(t, page, ">40.0<", ">itself<", ">1.1e&#43;10<", "≈ 4.2e&#43;13", `-run '^TestSlots$/^two$/^replay=a1b2$'`, "1  Load", `id="group-slots"`)
	if strings.Contains(strings.ToLower(page), "left out") {
		t.Error("a model reads as if something of it were not checked")
	}
}

func TestRender_ClaimLeadsToItsChecksAndSaysWhetherTheyPassed(t *testing.T) {
	page := files(t, full, unitFails)["claims.html"]
	mustHold(t, page, "A View &lt;never&gt; changes.", `<span class="status failed">failed</span> reaches it: test <a href="../../pkg/view_test.go">TestX</a>`,
		`<span class="status not-run">not run</span> <b>does not reach it</b>: specification <a href="../../spec/tla/view/View.tla">spec/tla/view/View.tla</a>`,
		"No check quotes it", `<a href="../../pkg/view.go">View.Len</a>`, `id="claim-pkg.View.Len-2"`, "2 functions reached", "pkg.View.Len, pkg.View.Select",
		"TestLen fails with <code>n &lt;= 1</code> in place of <code>n &lt; 1</code>, at pkg/view.go:7", "no change noticed", "Of 1 sentences a test",
		"1 of 2 quotations do",
		"0 are quoted by checks of which none failed, 1 by one that failed, 1 by none that ran.")
	mustHold(t, files(t, full)["claims.html"], `<span class="status passed">passed</span> reaches it: test <a href="../../pkg/view_test.go">TestX</a>`)
}

func TestRender_TypeLeadsToWhoProvesWhat(t *testing.T) {
	page := files(t, full)["proofs.html"]
	mustHold(t, page, `<a href="claims.html#type-pkg.View">pkg.View</a>`, `<a href="#of-example-pkg.View">2</a>`, `<dt id="of-example-pkg.View">`,
		`<a href="../../pkg/view_test.go">TestY</a>`, `<a href="../../spec/tla/view/View.tla">spec/tla/view/View.tla</a>`)
	rows := tables(t, page)["checks by type and kind of evidence"]
	if got := strings.Join(rows[1], " "); strings.Join(strings.Fields(got), " ") != "pkg.View 2 2 1" || len(rows[1]) != len(record.Means)+2 {
		t.Errorf("the row of the type is %q", rows[1])
	}
}

func TestRender_SimulationHasItsPictureAndItsWords(t *testing.T) {
	page := files(t, full)["simulations.html"]
	mustHold(t, page, "Failed calls over time: outage/n=3", "rotation: 50.0 % at most, from second 0.5", "5 of 6", "has none", "no call failed, so there is nothing to draw")
	if n := strings.Count(page, "<polyline"); n != 1 {
		t.Errorf("%d lines, want the one of the case in which calls failed", n)
	}
}

func TestRender_BoundWithoutAVerdictIsNotWithin(t *testing.T) {
	mustHold(t, files(t, full)["speed.html"], `<span class="status not-resolved shown">not resolved</span>`, "-1.25 µs", "neither that the bound is kept nor that it is not")
}

func TestRender_TrendNeedsAnEarlierRun(t *testing.T) {
	now, old := base(t), base(t)
	old.Timing.Started = now.Timing.Started.Add(-24 * time.Hour)
	old.Layers[0].Counts["passed"] = 1
	rendered, err := report.Render(encode(t, now), []byte("{}"), encode(t, old), encode(t, now))
	if err != nil {
		t.Fatal(err)
	}
	page := string(rendered[0].Body)
	mustHold(t, page, "2 runs recorded", "1 earlier record could not be read")
	rows := tables(t, page)["recorded runs"]
	if len(rows) != 3 || rows[1][2] == rows[2][2] {
		t.Errorf("the trend has the rows %q, want the old run and this one", rows)
	}
	if strings.Contains(files(t)["index.html"], `id="trend"`) {
		t.Error("a single run has a trend")
	}
}

func TestRender_BadRecordIsRefused(t *testing.T) {
	if all, err := report.Render([]byte(`{"schema":"poise-verification/2"}`)); err == nil || all != nil {
		t.Errorf("got %d files and %v, want an error", len(all), err)
	}
}

// Every sum that a page shows is that of the record, and every row of a table is
// one of the record.
func TestRender_FiguresAddUpToTheRecord(t *testing.T) {
	for name, spoil := range map[string][]func(*record.Record){"passed": {full}, "failed": {full, unitFails, raceDoesNotRun}} {
		t.Run(name, func(t *testing.T) {
			r := base(t)
			for _, s := range spoil {
				s(&r)
			}
			all := files(t, spoil...)
			same := func(what string, got, want int) {
				t.Helper()
				if got != want {
					t.Errorf("%s: the report has %d, the record %d", what, got, want)
				}
			}
			passed, failed := r.Totals()
			failed -= len(r.With(record.NotRun)) // which are shown apart

			layers := tables(t, all["index.html"])["layers"]
			last := layers[len(layers)-1]
			same("rows of layers", len(layers)-2, len(r.Layers))
			same("passed checks of the layers", column(layers[1:len(layers)-1], 2), passed)
			same("failed checks of the layers", column(layers[1:len(layers)-1], 3), failed)
			same("passed checks in the last row", number(last[2]), passed)
			same("failed checks in the last row", number(last[3]), failed)
			tiles := regexp.MustCompile(`<dt>([a-z ]+)</dt><dd>([^<]*)</dd>`).FindAllStringSubmatch(all["index.html"], -1)
			for _, tile := range tiles {
				switch tile[1] {
				case "checks passed":
					same("the tile of passed checks", number(tile[2]), passed)
				case "failed":
					same("the tile of failed checks", number(tile[2]), failed)
				case "layers not run":
					same("the tile of layers", number(tile[2]), len(r.With(record.NotRun)))
				case "speed bounds over":
					same("the tile of bounds", number(tile[2]), len(rowsOf(tables(t, all["speed.html"])["speed bounds that are over"])))
				}
			}

			speed := tables(t, all["speed.html"])
			same("bounds", len(rowsOf(speed["speed bounds that are over"]))+len(rowsOf(speed["bounds that are kept, must hold or have no verdict"])), len(r.Timing.Budgets))
			benchmarks, models, executions, claims := 0, 0, 0, 0
			for caption, rows := range speed {
				if strings.HasPrefix(caption, "benchmarks of") {
					benchmarks += len(rowsOf(rows))
				}
			}
			same("benchmarks", benchmarks, len(r.Timing.Benchmarks))
			judged := 0
			for _, rows := range tables(t, all["models.html"]) {
				models += len(rowsOf(rows))
				judged += column(rows[1:], 1)
			}
			for _, m := range r.Models {
				executions += m.Reduced
			}
			same("models", models, len(r.Models))
			same("executions", judged, executions)
			mustHold(t, all["index.html"], fmt.Sprintf("%s executions judged", thousands(executions)))
			sentences := 0
			for _, e := range r.Evidence {
				sentences += len(e.Claims)
			}
			for caption, rows := range tables(t, all["claims.html"]) {
				if strings.HasPrefix(caption, "claims of") {
					claims += len(rowsOf(rows))
				}
			}
			same("claims", claims, sentences)
			mustHold(t, all["index.html"], fmt.Sprintf("%d sentences that the documentation of %d types", sentences, len(r.Evidence)))

			simulations := tables(t, all["simulations.html"])["files"]
			same("scenarios", len(simulations)-2, len(r.Simulations))
			same("cases", column(simulations[1:len(simulations)-1], 2), number(simulations[len(simulations)-1][2]))
			same("bounds held", column(simulations[1:len(simulations)-1], 3), number(simulations[len(simulations)-1][3]))
			specs := tables(t, all["specifications.html"])["specifications"]
			same("edges walked", column(specs[1:], 5), r.Specs[0].Walked+r.Specs[1].Walked)
			mutants := tables(t, all["mutants.html"])["mutants by status"]
			same("mutants", column(mutants[1:len(mutants)-1], 1), r.Mutation.Discovered)
			same("mutants in the last row", number(mutants[len(mutants)-1][1]), r.Mutation.Discovered)
			counters := tables(t, all["counters.html"])
			for _, l := range r.Layers {
				sum := 0
				for k, n := range l.Counts {
					if k != "passed" && k != "failed" {
						sum += n
					}
				}
				if sum > 0 {
					same("counts of "+l.Name, column(counters["counts of "+l.Name][1:], 1), sum)
				}
			}
		})
	}
}

func rowsOf(rows [][]string) [][]string { return rows[min(1, len(rows)):] }

func column(rows [][]string, k int) (sum int) {
	for _, r := range rows {
		sum += number(r[k])
	}
	return sum
}

// number reads the first number of a text; a dash and words are none.
func number(text string) int {
	n, _ := strconv.Atoi(strings.ReplaceAll(regexp.MustCompile(`^[\d,]*`).FindString(text), ",", ""))
	return n
}

func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// tables reads the tables of a page: their rows, the heading first, by caption
// without its numbers and what stands after its first stop.
func tables(t *testing.T, page string) map[string][][]string {
	t.Helper()
	all := map[string][][]string{}
	caption, text, depth := "", new(strings.Builder), 0
	var rows [][]string
	walk(t, page, func(token xml.Token) {
		switch e := token.(type) {
		case xml.StartElement:
			switch e.Name.Local {
			case "table":
				rows, caption = nil, ""
			case "tr":
				rows = append(rows, nil)
			case "th", "td", "caption":
				text.Reset()
				depth++
			}
		case xml.EndElement:
			switch e.Name.Local {
			case "th", "td":
				depth--
				rows[len(rows)-1] = append(rows[len(rows)-1], strings.Join(strings.Fields(text.String()), " "))
			case "caption":
				depth--
				caption = strings.ToLower(strings.Join(strings.Fields(text.String()), " "))
			case "table":
				caption, _, _ = strings.Cut(caption, " in the order")
				caption, _, _ = strings.Cut(caption, ".")
				caption, _, _ = strings.Cut(caption, ";")
				caption, _, _ = strings.Cut(caption, ", ")
				caption, _, _ = strings.Cut(caption, " of scenarios")
				caption = strings.TrimPrefix(caption, "the ")
				if strings.HasPrefix(caption, "bounds that are kept") {
					caption = "bounds that are kept, must hold or have no verdict"
				}
				caption = strings.TrimLeft(caption, "0123456789, ")
				all[caption] = append(all[caption], rows...)
			}
		case xml.CharData:
			if depth > 0 {
				text.Write(e)
			}
		}
	})
	return all
}

// walk goes through the tokens of a page.
func walk(t *testing.T, page string, see func(xml.Token)) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		see(token)
	}
}

// What a screen reader, a keyboard and paper need, on every page.
func TestRender_EveryPageIsSoundHTML(t *testing.T) {
	all := files(t, full, unitFails, raceDoesNotRun)
	styles := all["index.html"]
	for name, page := range all {
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if found := regexp.MustCompile(`(?i)<(script|link|img|object|iframe)|src=|url\([^#]|@import|https?://|ZgotmplZ`).FindString(page); found != "" {
				t.Errorf("it holds %q", found)
			}
			mustHold(t, page, `<html lang="en">`, `name="viewport"`, "prefers-color-scheme: dark", "@media print", `<main id="content">`, `href="#content"`, `<header>`, `<footer>`, `aria-current="page"`)
			ids, level, headings := map[string]bool{}, 0, 0
			var open []string
			var links []string
			walk(t, page, func(token xml.Token) {
				switch e := token.(type) {
				case xml.StartElement:
					attrs := map[string]string{}
					for _, a := range e.Attr {
						attrs[a.Name.Local] = a.Value
					}
					if id, has := attrs["id"]; has {
						if ids[id] || strings.ContainsAny(id, " <>\"") {
							t.Errorf("the id %q is there twice, or is none", id)
						}
						ids[id] = true
					}
					switch e.Name.Local {
					case "h1", "h2", "h3":
						n := int(e.Name.Local[1] - '0')
						if n > level+1 || (n == 1) != (level == 0) {
							t.Errorf("a heading %d follows one of level %d", n, level)
						}
						level = n
						headings++
					case "a":
						links = append(links, attrs["href"])
					case "th":
						if attrs["scope"] == "" {
							t.Error("a heading of a table does not say of what")
						}
					case "table":
						open = append(open, "table")
					case "caption":
						open = open[:len(open)-1]
					case "svg":
						if attrs["aria-label"] == "" && attrs["aria-hidden"] == "" {
							t.Error("a picture has no text")
						}
					case "nav":
						if attrs["aria-label"] == "" && attrs["aria-labelledby"] == "" {
							t.Error("a navigation has no name")
						}
					case "section":
						if attrs["aria-labelledby"] == "" {
							t.Error("a section has no name")
						}
					}
					if class := strings.Fields(attrs["class"]); slices.Contains(class, "box") && attrs["tabindex"] == "" {
						t.Error("what scrolls cannot be reached by the keyboard")
					}
				}
			})
			if len(open) > 0 {
				t.Errorf("%d tables have no caption", len(open))
			}
			for _, link := range links {
				file, place, _ := strings.Cut(link, "#")
				if file == "" && !ids[place] {
					t.Errorf("a link leads to #%s, which is not there", place)
				}
				if strings.HasSuffix(file, ".html") && (all[file] == "" || place != "" && !strings.Contains(all[file], `id="`+place+`"`)) {
					t.Errorf("a link leads to %s, which is not there", link)
				}
			}
			for _, m := range regexp.MustCompile(`<span class="status ([a-z-]+)[^"]*">([^<]*)</span>`).FindAllStringSubmatch(page, -1) {
				if strings.ReplaceAll(m[2], " ", "-") != m[1] || !strings.Contains(styles, "."+m[1]+".status") {
					t.Errorf("the status %q reads %q, or has no style", m[1], m[2])
				}
			}
			balanced(t, page[strings.Index(page, "</style>"):])
		})
	}
}

func balanced(t *testing.T, page string) {
	t.Helper()
	open := []string{"html", "head", "style"}
	for _, m := range regexp.MustCompile(`<(/?)([a-z][a-z0-9]*)[^>]*?(/?)>`).FindAllStringSubmatch(page, -1) {
		switch {
		case m[3] == "/":
		case m[1] == "":
			open = append(open, m[2])
		case len(open) > 0 && open[len(open)-1] == m[2]:
			open = open[:len(open)-1]
		default:
			t.Fatalf("</%s> closes %q", m[2], open)
		}
	}
	if len(open) > 0 {
		t.Errorf("%q stay open", open)
	}
}
