package report_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/ci/record"
	"github.com/copyleftdev/poise-go/ci/report"
)

// sample reads a record with every kind of content, passed throughout, and lets
// a test spoil it.
func sample(t *testing.T, spoil func(*record.Record)) string {
	t.Helper()
	b, err := os.ReadFile("testdata/verification.json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := record.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	spoil(&r)
	if b, err = record.Encode(r); err != nil {
		t.Fatal(err)
	}
	page, err := report.Render(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

func untouched(*record.Record) {}

func fail(l *record.Layer, lt *record.LayerTiming, name, text string) {
	l.Status = record.Failed
	l.Failures = []string{name}
	l.Counts["failed"] = 1
	lt.Failures = []record.Failure{{Name: name, Text: text}}
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
	page := sample(t, untouched)
	mustHold(t, page,
		"<h1>All 10 layers passed</h1>", "1741ea7c0de5", "go1.26.8 on linux/amd64", "staticcheck 2026.2.2", "seed 1",
		"generated cases 58,000", "Not yet part of verify: models, lin, tla, mutate",
		"RoundRobin, one pick", ">over<", "Pick/policy=PowerOfTwoChoices/n=4096", "1,023×",
		"power-of-two-choices", "every slot was given back", "127.0.0.1:40107", "35.0 %", "request 2210",
		"Races on paths or schedules that did not happen in this run.",
	)
	if strings.Contains(page, "What failed") {
		t.Error("a page without failures has a section for them")
	}
}

func TestRender_ShowsWhatTheReductionLeavesOut(t *testing.T) {
	page := sample(t, func(r *record.Record) {
		r.Models = []record.Model{
			{Name: "slots", Reduced: 25, BruteForce: 1000, Outcomes: 3},
			{Name: "publication", Reduced: 3686, BruteForce: 4.2e13, Estimated: true, Outcomes: 1},
		}
	})
	mustHold(t, page, "<h2>Models</h2>", "1,000", "97.5 %", "≈ 4e&#43;13", "3,686")
	if strings.Contains(sample(t, untouched), "<h2>Models</h2>") {
		t.Error("a record without models has a table of them")
	}
}

func TestRender_ShowsWhichEdgesWereWalked(t *testing.T) {
	page := sample(t, func(r *record.Record) {
		r.Toolchain.TLC = "2.18"
		r.Specs = []record.Spec{{Name: "Gate", States: 115885, Depth: 32, Bugs: 3, Witnesses: 2, GraphStates: 9, GraphEdges: 1756, Walked: 1755}}
	})
	mustHold(t, page, "<h2>Specifications</h2>", "115,885", "1,755 of 1,756", "TLC 2.18")
	if strings.Contains(sample(t, untouched), "<h2>Specifications</h2>") {
		t.Error("a record without specifications has a table of them")
	}
}

func TestRender_HeadlineNamesWhatFailedAndWhatDidNotRun(t *testing.T) {
	failed := func(r *record.Record) { fail(&r.Layers[3], &r.Timing.Layers[3], "TestX", "boom") }
	notRun := func(r *record.Record) {
		l := &r.Layers[5]
		l.Status, l.Reason, l.Counts = record.NotRun, "missing: C compiler", nil
	}
	for _, c := range []struct {
		name  string
		spoil []func(*record.Record)
		want  string
	}{
		{"one failed", []func(*record.Record){failed}, "1 layer failed: unit"},
		{"one did not run", []func(*record.Record){notRun}, "1 layer was not run: race"},
		{"both", []func(*record.Record){failed, notRun}, "1 layer failed: unit; not run: race"},
	} {
		t.Run(c.name, func(t *testing.T) {
			page := sample(t, func(r *record.Record) {
				for _, s := range c.spoil {
					s(r)
				}
			})
			mustHold(t, page, "<h1>"+c.want+"</h1>", "What failed", `class="verdict card failed"`)
		})
	}
}

func TestRender_FailureIsShownWithItsTextAndNothingInItIsMarkup(t *testing.T) {
	page := sample(t, func(r *record.Record) {
		fail(&r.Layers[3], &r.Timing.Layers[3], "TestX<script>", "got </pre><script>alert(1)</script>")
	})
	mustHold(t, page, "TestX&lt;script&gt;", "got &lt;/pre&gt;&lt;script&gt;alert(1)")
	if strings.Contains(page, "<script") {
		t.Error("text of the record became markup")
	}
}

func TestRender_BrokenPromiseIsSaidByWord(t *testing.T) {
	page := sample(t, func(r *record.Record) {
		r.Timing.Demo.Promises[0].Held = false
		r.Timing.Demo.Promises[0].Detail = "request 9 vanished"
	})
	mustHold(t, page, ">broken<", "request 9 vanished")
}

func TestRender_RecordWithoutFiguresHasNoEmptySections(t *testing.T) {
	page := sample(t, func(r *record.Record) {
		r.Timing.Demo, r.Timing.Budgets, r.Timing.Benchmarks = nil, nil, nil
	})
	for _, heading := range []string{"The demo", "Budgets", "Benchmarks"} {
		if strings.Contains(page, "<h2>"+heading) {
			t.Errorf("there is a section %q with nothing in it", heading)
		}
	}
}

// One file, offline: no script, and nothing fetched from anywhere.
func TestRender_PageStandsAlone(t *testing.T) {
	page := sample(t, untouched)
	if found := regexp.MustCompile(`(?i)<(script|link|img|object|iframe)|src=|href=|url\(|@import|https?://`).FindString(page); found != "" {
		t.Errorf("the page holds %q", found)
	}
	mustHold(t, page, `<html lang="en">`, `name="viewport"`, "prefers-color-scheme: dark", "@media print")
	if strings.Contains(page, "ZgotmplZ") {
		t.Error("the template refused a value")
	}
}

// Whoever cannot see the colours reads every status, and every status has a style.
func TestRender_EveryStatusIsAWord(t *testing.T) {
	page := sample(t, untouched)
	for _, m := range regexp.MustCompile(`<span class="status ([a-z-]+)[^"]*">([^<]*)</span>`).FindAllStringSubmatch(page, -1) {
		if strings.ReplaceAll(m[2], " ", "-") != m[1] {
			t.Errorf("the status %q reads %q", m[1], m[2])
		}
		if !strings.Contains(page, "."+m[1]+".status") {
			t.Errorf("the status %q has no style", m[1])
		}
	}
}

func TestRender_TagsAreBalanced(t *testing.T) {
	page := sample(t, untouched)
	var open []string
	void := []string{"meta", "br"}
	for _, m := range regexp.MustCompile(`<(/?)([a-z][a-z0-9]*)`).FindAllStringSubmatch(page[strings.Index(page, "</style>"):], -1) {
		switch {
		case slices.Contains(void, m[2]) || m[2] == "style":
		case m[1] == "":
			open = append(open, m[2])
		case len(open) > 0 && open[len(open)-1] == m[2]:
			open = open[:len(open)-1]
		case m[2] == "head" || m[2] == "html":
		default:
			t.Fatalf("</%s> closes %q", m[2], open)
		}
	}
	if len(open) > 0 {
		t.Errorf("%q stay open", open)
	}
}

func TestRender_BadRecordIsRefused(t *testing.T) {
	if page, err := report.Render([]byte(`{"schema":"poise-verification/1"}`)); err == nil || page != nil {
		t.Errorf("got %d bytes and %v, want an error", len(page), err)
	}
}

func TestRender_LeadsFromEachTypeToItsEvidence(t *testing.T) {
	page := sample(t, func(r *record.Record) {
		r.Evidence = []record.Evidence{{Type: "pkg.View", Promises: 12, Kinds: map[string][]string{
			"test": {"pkg/view_test.go", "pkg/view_with_test.go"}, "specification": {"spec/tla/view/View.tla"},
		}}}
	})
	mustHold(t, page, "Evidence by type", ">pkg.View<", ">12<", `<a href="../../pkg/view_with_test.go" title="pkg/view_with_test.go">2</a>`,
		`<td data-is="specification"><a href="../../spec/tla/view/View.tla" title="spec/tla/view/View.tla">1</a></td>`, `<td data-is="fuzz">–</td>`)
	if page := sample(t, untouched); strings.Contains(page, "Evidence by type") {
		t.Error("a record without evidence shows a table of it")
	}
}
