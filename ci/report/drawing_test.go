package report_test

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/ci/record"
)

func gate() record.Spec {
	return record.Spec{
		Name: "Gate", GraphStates: 2990, GraphEdges: 8715, Walked: 8715,
		Drawing: &record.Drawing{
			By:     []string{"lock", "stage"},
			States: []record.DrawnState{{Name: "shut", States: 1}, {Name: "ajar", Depth: 1, States: 1700, Stays: 5}, {Name: "b<roken", Depth: 1, States: 9, Stays: 3}, {Name: "open", Depth: 2, States: 1280}},
			Edges: []record.DrawnEdge{
				{From: 0, To: 1, Actions: []string{"Push"}, Edges: 1}, {From: 1, To: 3, Actions: []string{"Push", "Wind"}, Edges: 1200},
				{From: 0, To: 3, Actions: []string{"Kick"}, Edges: 2}, {From: 3, To: 0, Actions: []string{"Close"}, Edges: 4}, {From: 1, To: 2, Actions: []string{"Kick"}, Edges: 7},
			},
		},
	}
}

func TestRender_DrawsWhatTheRecordHoldsOfAGraph(t *testing.T) {
	page := files(t, full)["specifications.html"]
	mustHold(t, page,
		`<h2 id="graph-Gate">Gate</h2>`, "8,715 of 8,715", "1 of 2", `class="sideways scrolls-narrow"`, "2,990 states and 8,715 edges", "4 states that lock and stage alone tell apart", "5 ways between them; 8 edges stay",
		`aria-label="State graph of Gate; the list below it says the same in words"`, "1,700 states", "b&lt;roken",
		"<li>shut → ajar: Push (1 edge)</li>", "<li>ajar → open: Push, Wind (1,200 edges)</li>", `id="arrow"`)
	if n := strings.Count(page, `marker-end=`); n != 5 {
		t.Errorf("%d lines for 5 edges", n)
	}
	if strings.Contains(page, "graph-Plain") {
		t.Error("a graph of which the record holds no drawing is drawn")
	}
	svg := page[strings.Index(page, `<svg role="img"`):]
	svg = svg[:strings.Index(svg, "</svg>")+len("</svg>")]
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("the picture is not well formed: %v", err)
		}
	}
}
