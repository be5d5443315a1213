//go:build browser

package browser_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/ci/record"
	"github.com/copyleftdev/poise-go/ci/report"
	"github.com/copyleftdev/poise-go/ci/report/browser"
)

// widths are those of a phone and of a desk, with the height that the overview may
// have there.
var widths = []struct{ width, most int }{{390, 12_000}, {1280, 6_000}}

// large is a record with more of everything than a run has.
func large(t *testing.T) record.Record {
	t.Helper()
	b, err := os.ReadFile("../testdata/verification.json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := record.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	for len(r.Layers) < 18 {
		l := r.Layers[len(r.Layers)%7]
		l.Name += fmt.Sprint(len(r.Layers))
		r.Layers = append(r.Layers, l)
		r.Timing.Layers = append(r.Timing.Layers, record.LayerTiming{Name: l.Name, Seconds: 71})
	}
	const words = "what is promised here has to hold whatever the callers do, and at every instant"
	for i := range 90 {
		e := record.Evidence{Type: fmt.Sprintf("pkg/discovery/target.TypeNumber%d", i), Means: map[string][]record.Check{}}
		for _, m := range record.Means {
			e.Means[m] = []record.Check{{File: "pkg/some_test.go", Of: "TestTypeNumber_HoldsWhatItPromisesUnderEveryCircumstance"}}
		}
		for k := range 6 {
			e.Claims = append(e.Claims, record.Claim{ID: fmt.Sprintf("target.TypeNumber%d.Method-%06d%02d", i, i, k), Code: []string{"TypeNumber.Method"}, Text: fmt.Sprint(words, " ", i, " ", k), File: "pkg/some.go", Of: "TypeNumber.Method", By: []record.Quote{
				{Kind: "test", File: "pkg/some_test.go", Of: "TestTypeNumber_HoldsWhatItPromisesUnderEveryCircumstance"}, {Kind: "specification", File: "spec/tla/some/Some.tla"},
			}})
		}
		r.Evidence = append(r.Evidence, e)
		r.Models = append(r.Models, record.Model{
			Name: fmt.Sprintf("kind %d: two callers against one that leaves", i%50), Reduced: 1258, BruteForce: 3.3e7, Estimated: true, Outcomes: 14,
			Test: fmt.Sprintf("TestKind_LeavesInTheMiddle/%d", i), Replay: "a1b2", Schedule: strings.Repeat("1  caller 1  Load  Some.counter = 4  some.go:83 and so on for long\n", 30),
		})
		r.Simulations = append(r.Simulations, record.Simulation{
			Name: fmt.Sprintf("some-servers-fail-%d", i), Title: words, Cases: 4, Held: 9, Of: 9, Case: "some-servers-fail/n=10,k=1",
			Lines: []record.SimulationLine{{Name: "weighted-least-request", Values: []float64{0, 0.5, 0.25, 0}}, {Name: "rotation", Values: []float64{0, 1, 1, 1}}},
		})
		for _, n := range []int{8, 512, 4096} {
			r.Timing.Benchmarks = append(r.Timing.Benchmarks, record.Benchmark{Package: "pkg/policy", Name: fmt.Sprintf("BenchmarkSome/policy=Number%d/n=%d/eligible=100", i, n), Runs: 5, NsPerOp: float64(n)})
		}
		r.Timing.Budgets = append(r.Timing.Budgets, record.Budget{What: fmt.Sprintf("Policy number %d at 4,096 against 8", i), Got: 7, Limit: 2, Unit: "×", Verdict: "over"})
	}
	drawing := &record.Drawing{By: []string{"state", "used"}}
	for i := range 14 {
		drawing.States = append(drawing.States, record.DrawnState{Name: fmt.Sprintf("state draining, used %d", i), Depth: i, States: 70, Stays: 3})
		drawing.Edges = append(drawing.Edges, record.DrawnEdge{From: i, To: (i + 1) % 14, Actions: []string{"Acquire"}, Edges: 4})
	}
	for i := range 12 {
		r.Specs = append(r.Specs, record.Spec{Name: fmt.Sprintf("Specification%d", i), States: 115885, GraphStates: 980, GraphEdges: 1756, Walked: 1756, Drawing: drawing})
	}
	r.Mutation = &record.Mutation{Discovered: 9391, Statuses: map[string]int{"killed": 9390, "survived": 1}, Mutants: []record.Mutant{
		{ID: "pkg/health.(*Circuit).Permit/boundary/a1", Package: "pkg/health", Status: "survived", Diff: "- if n < limit {\n+ if n <= limit {\n"},
	}}
	return r
}

// failed spoils every other layer many times over.
func failed(r record.Record) record.Record {
	for i := range r.Layers {
		l, lt := &r.Layers[i], &r.Timing.Layers[i]
		switch i % 3 {
		case 1:
			l.Status, l.Reason, l.Counts = record.NotRun, "missing: a C compiler", nil
		case 2:
			l.Status = record.Failed
			for k := range 120 {
				name := fmt.Sprintf("pkg/health TestSome_%d/a_row_with_a_long_name_that_says_what_is_tried", k)
				l.Failures = append(l.Failures, name)
				lt.Failures = append(lt.Failures, record.Failure{Name: name, Text: strings.Repeat("got something else\n", 20)})
			}
			l.Counts = map[string]int{"passed": 7, "failed": len(l.Failures)}
		}
	}
	return r
}

// served renders the record, with others before it, for a browser.
func served(t *testing.T, r record.Record) (*httptest.Server, []string) {
	t.Helper()
	var earlier [][]byte
	for i := range 12 {
		old := large(t)
		old.Timing.Started = old.Timing.Started.Add(-time.Duration(i+1) * time.Hour)
		b, err := record.Encode(old)
		if err != nil {
			t.Fatal(err)
		}
		earlier = append(earlier, b)
	}
	b, err := record.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	files, err := report.Render(b, earlier...)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	var pages []string
	for _, f := range files {
		if strings.HasSuffix(f.Name, ".html") {
			pages = append(pages, f.Name)
		}
		mux.HandleFunc("/"+f.Name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(f.Body) // the browser is gone, and its own error says so
		})
	}
	mux.HandleFunc("/measure", func(w http.ResponseWriter, q *http.Request) { fmt.Fprint(w, measure) })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s, pages
}

// measure is a page that opens each page named in its fragment in a frame, and says
// how large it is and what runs off its edge. A frame may be as narrow as a phone,
// which the window of some browsers may not.
const measure = `<!doctype html><meta charset="utf-8"><style>body{margin:0}iframe{border:0;display:block}</style><pre id="result"></pre><script>
const seen = [], jobs = JSON.parse(decodeURIComponent(location.hash.slice(1)));
function next() {
  const job = jobs.shift();
  if (!job) { document.getElementById("result").textContent = JSON.stringify(seen); return; }
  const f = document.createElement("iframe");
  f.width = job.width; f.height = job.height;
  f.onload = () => {
    const d = f.contentDocument, root = d.documentElement, off = [];
    for (const e of d.body.querySelectorAll("*")) {
      if (e.matches(".skip") || e.closest(".box, pre, svg, thead")) continue;
      const box = e.getBoundingClientRect();
      if (box.width > 0 && (box.right > job.width + 1 || box.left < -1)) off.push(e.tagName + " " + e.className + " " + e.textContent.trim().slice(0, 40));
    }
    const at = d.getElementById(decodeURIComponent(job.page.split("#")[1] || "content"));
    seen.push({page: job.page, width: job.width, height: root.scrollHeight, wide: root.scrollWidth, off: off.slice(0, 3),
      open: !!at && at.checkVisibility() && (!at.closest("details") || at.closest("details").open), scripts: d.scripts.length});
    if (!job.keep) f.remove();
    next();
  };
  f.src = job.page;
  document.body.append(f);
}
next();
</script>`

type job struct {
	Page   string `json:"page"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Keep   bool   `json:"keep"`
}

type measured struct {
	Page    string
	Width   int
	Height  int
	Wide    int
	Off     []string
	Open    bool
	Scripts int
}

// run starts the browser, which ends by itself, and returns what it printed.
func run(t *testing.T, flags ...string) []byte {
	t.Helper()
	program := browser.Find()
	if program == "" {
		t.Fatal("no browser is here; make setup installs one, and without it the layer pages reads not run")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	// The sandbox needs rights that a container may lack; only our own pages are opened.
	flags = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--user-data-dir=" + t.TempDir(), "--timeout=60000"}, flags...)
	var errs bytes.Buffer
	c := exec.CommandContext(ctx, program, flags...)
	c.Stderr, c.WaitDelay = &errs, 5*time.Second
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", filepath.Base(program), err, errs.String())
	}
	return out
}

func at(t *testing.T, s *httptest.Server, jobs []job) string {
	t.Helper()
	b, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	return s.URL + "/measure#" + strings.NewReplacer("%", "%25", `"`, "%22", "#", "%23", " ", "%20").Replace(string(b))
}

var resultText = regexp.MustCompile(`(?s)<pre id="result">(.*?)</pre>`)

func sizes(t *testing.T, s *httptest.Server, jobs []job) (all []measured) {
	t.Helper()
	dom := run(t, "--virtual-time-budget=30000", "--dump-dom", at(t, s, jobs))
	m := resultText.FindSubmatch(dom)
	if m == nil || json.Unmarshal([]byte(html.UnescapeString(string(m[1]))), &all) != nil || len(all) != len(jobs) {
		t.Fatalf("of %d pages the browser measured %d:\n%.2000s", len(jobs), len(all), dom)
	}
	return all
}

func TestReport_FitsAPhoneAndADesk(t *testing.T) {
	for name, r := range map[string]record.Record{"passed": large(t), "failed": failed(large(t))} {
		t.Run(name, func(t *testing.T) {
			s, pages := served(t, r)
			var jobs []job
			for _, w := range widths {
				for _, p := range pages {
					jobs = append(jobs, job{Page: p, Width: w.width, Height: 900})
				}
			}
			for _, m := range sizes(t, s, jobs) {
				for _, w := range widths {
					if m.Page == "index.html" && m.Width == w.width && (m.Height > w.most || m.Height < 1000) {
						t.Errorf("the overview is %d pixels high at a width of %d, want at most %d", m.Height, w.width, w.most)
					}
				}
				if m.Wide > m.Width || len(m.Off) > 0 || m.Scripts > 0 {
					t.Errorf("%s at %d is %d wide with %d scripts; over its edge are %q", m.Page, m.Width, m.Wide, m.Scripts, m.Off)
				}
				t.Logf("%s at %d: %d pixels high", m.Page, m.Width, m.Height)
			}
		})
	}
}

// A link to what is folded leads into it.
func TestReport_LinksOpenWhatIsFolded(t *testing.T) {
	s, _ := served(t, large(t))
	jobs := []job{
		{Page: "claims.html#type-pkg-discovery-target.TypeNumber7", Width: 390, Height: 900},
		{Page: "claims.html#claim-target.TypeNumber7.Method-00000701", Width: 1280, Height: 900},
		{Page: "proofs.html#of-rapid-pkg-discovery-target.TypeNumber7", Width: 390, Height: 900},
		{Page: "models.html#schedule-kind-7--two-callers-against-one-that-leaves", Width: 1280, Height: 900},
		{Page: "simulations.html#scenario-some-servers-fail-7", Width: 390, Height: 900},
	}
	for _, m := range sizes(t, s, jobs) {
		if !m.Open {
			t.Errorf("%s does not show its place", m.Page)
		}
	}
}

// The pictures are for whoever looks; what can be checked is that they are some.
func TestReport_IsPictured(t *testing.T) {
	s, _ := served(t, large(t))
	folder := t.ArtifactDir()
	for _, w := range widths {
		file := filepath.Join(folder, fmt.Sprintf("overview-%d.png", w.width))
		run(t, fmt.Sprintf("--window-size=1280,%d", w.most), "--virtual-time-budget=30000", "--screenshot="+file, at(t, s, []job{{Page: "index.html", Width: w.width, Height: w.most, Keep: true}}))
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		picture, err := png.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		colours := map[any]bool{}
		for y := range min(1000, picture.Bounds().Dy()) {
			for x := range min(w.width, picture.Bounds().Dx()) {
				colours[picture.At(x, y)] = true
			}
		}
		if len(colours) < 20 {
			t.Errorf("at %d the picture has %d colours, so nothing is on it", w.width, len(colours))
		}
	}
}
