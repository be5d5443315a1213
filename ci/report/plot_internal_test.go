package report

import (
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/ci/record"
)

func TestPlot_AllAndNothingAreItsEdges(t *testing.T) {
	p := drawSimulation(record.Simulation{Lines: []record.SimulationLine{
		{Name: "loop", Values: []float64{0, 0.5, 0}}, {Name: "rotation", Values: []float64{1, 1, 1}},
	}})
	if p == nil || len(p.Lines) != 2 {
		t.Fatalf("drawn is %+v, want two lines", p)
	}
	bottom, top := p.Lines[0].Points, p.Lines[1].Points
	if !strings.HasPrefix(bottom, "52.0,184.0 ") || !strings.HasPrefix(top, "52.0,12.0 ") || strings.Count(top, ",") != 3 {
		t.Errorf("nothing and all are at %q and %q, want the lower and the upper edge", bottom, top)
	}
	if nothing := drawSimulation(record.Simulation{Lines: []record.SimulationLine{{Values: []float64{0, 0}}}}); nothing != nil {
		t.Errorf("a case in which nothing failed is drawn: %+v", nothing)
	}
}

func TestPlot_KeysDoNotCoverOneAnother(t *testing.T) {
	var lines []series
	for range 6 {
		lines = append(lines, series{Name: "one of six", X: []float64{1, 2}, Y: []float64{3, 3}})
	}
	p := draw("x", 400, 200, lines, axis{write: figure}, axis{write: figure})
	for i, a := range p.Lines {
		if a.KeyY < plotAbove || a.KeyY > p.Height || a.KeyX < p.Right() {
			t.Errorf("key %d is at %v, %v, off the plot", i, a.KeyX, a.KeyY)
		}
		for _, b := range p.Lines[i+1:] {
			if d := a.KeyY - b.KeyY; d > -keyLine && d < keyLine {
				t.Errorf("keys at %v and %v cover one another", a.KeyY, b.KeyY)
			}
		}
	}
}

func TestPlots_AreOfWhatDiffersInSizeAlone(t *testing.T) {
	bench := func(name string, ns float64) record.Benchmark {
		return record.Benchmark{Package: "pkg", Name: "Benchmark" + name, NsPerOp: ns}
	}
	all := []record.Benchmark{bench("New/n=8", 10), bench("New/n=64", 90), bench("Alone/n=8", 5), bench("Plain", 5), bench("Hash/key=text/size=8", 4), bench("Hash/key=text/size=32", 9)}
	for _, policy := range []string{"A", "B", "C"} {
		for _, eligible := range []string{"100", "1"} {
			all = append(all, bench("Pick/policy="+policy+"/n=8/eligible="+eligible, 3), bench("Pick/policy="+policy+"/n=64/eligible="+eligible, 30))
		}
	}
	charts := plots(all)
	if len(charts) != 3 || charts[0].Name != "pkg New" || charts[1].Name != "pkg Hash" || charts[2].Name != "pkg Pick" || !charts[2].Open || charts[0].Open {
		t.Fatalf("charts are %+v, want New, Hash and Pick, the last of them open", charts)
	}
	if n := len(charts[0].Plots[0].Lines); n != 1 || charts[1].Plots[0].Lines[0].Name != "key=text" {
		t.Errorf("New has %d lines, Hash %+v", n, charts[1].Plots[0].Lines)
	}
	pick := charts[2].Plots
	if len(pick) != 3 || pick[1].Title != "B" || len(pick[1].Lines) != 2 || pick[1].Lines[1].Name != "eligible=1" {
		t.Errorf("of six lines of three policies the plots are %+v, want one for each policy", pick)
	}
}

func TestText_IsAsReadersWriteIt(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{count(1234567), "1,234,567"}, {count(-123), "-123"}, {count(-1234), "-1,234"}, {count(999), "999"},
		{plural(1, "check"), "1 check"}, {plural(2000, "check"), "2,000 checks"},
		{id("type", "pkg/a.View b"), "type-pkg-a.View-b"},
		{duration(59.94), "59.9 s"}, {duration(125), "2 min 05 s"},
		{nanoseconds(1), "1 ns"}, {nanoseconds(1e4), "10 µs"}, {nanoseconds(1e9), "1 s"},
		{ofBound(record.Budget{Got: 9, Limit: 2}), "4.50× the bound"}, {ofBound(record.Budget{Got: 9}), ""},
		{under(200), "fits"}, {under(600), "scrolls-narrow"}, {under(1000), "scrolls-medium"}, {under(2000), "scrolls"},
		{worst(record.SimulationLine{}), "not run"}, {worst(record.SimulationLine{Values: []float64{0}}), "no call failed"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
