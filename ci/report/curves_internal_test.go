package report

import (
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/ci/record"
)

func TestSimulations_DrawWhatFailedAndLeaveOutWhatDidNot(t *testing.T) {
	drawn := simulations([]record.Simulation{
		{Name: "sound", Lines: []record.SimulationLine{{Name: "loop", Values: []float64{0, 0}}}},
		{Name: "bad", Lines: []record.SimulationLine{{Name: "loop", Values: []float64{0, 0.5, 0}}, {Name: "rotation", Values: []float64{1, 1, 1}}}},
	})
	if len(drawn) != 1 || drawn[0].Name != "bad" || len(drawn[0].Paths) != 2 {
		t.Fatalf("drawn are %+v, want the two lines of bad", drawn)
	}
	for _, p := range drawn[0].Paths {
		if strings.Count(p.Points, ",") != 3 {
			t.Errorf("%s has the points %q, want three", p.Name, p.Points)
		}
	}
	top, bottom := drawn[0].Paths[1].Points, drawn[0].Paths[0].Points
	if !strings.HasPrefix(top, "48.0,10.0") || !strings.HasPrefix(bottom, "48.0,126.0") {
		t.Errorf("all and nothing begin at %q and %q, want the upper and the lower edge", top, bottom)
	}
}
