package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/copyleftdev/poise-go/ci/record"
)

// Sizes of a plot, in pixels.
const (
	plotLeft, plotAbove, plotUnder = 52, 12, 26
	keyGap, keyLine, keyChar       = 8, 15, 7.3
)

// plot is lines over two axes, with a key at the end of each line.
type plot struct {
	Title         string
	Width, Height float64
	Lines         []plotLine
	Marks         []mark // on the axes
}

// plotLine is one line; its dashes tell it from the others without colour.
type plotLine struct {
	Name, Points string
	Hue          int
	EndX, EndY   float64
	KeyX, KeyY   float64
}

type mark struct {
	X, Y   float64
	Text   string
	Anchor string
	Line   bool // across the plot
}

// series is a line before it is drawn.
type series struct {
	Name string
	X, Y []float64
}

// axis says how values become places and texts.
type axis struct {
	log   bool
	ticks []float64
	write func(float64) string
}

func (a axis) at(v, low, high float64) float64 {
	if a.log {
		v, low, high = math.Log(v), math.Log(low), math.Log(high)
	}
	if high <= low {
		return 0.5
	}
	return (v - low) / (high - low)
}

// hues is how many looks of a line the style sheet has.
const hues = 6

// draw puts the lines into a plot; the axes span what they and their ticks have.
func draw(title string, width, height float64, lines []series, x, y axis) plot {
	p := plot{Title: title, Width: width, Height: height}
	keys := 0.0
	lowX, highX := span(x.ticks, lines, func(s series) []float64 { return s.X })
	lowY, highY := span(y.ticks, lines, func(s series) []float64 { return s.Y })
	for _, l := range lines {
		keys = max(keys, float64(len([]rune(l.Name)))*keyChar)
	}
	right := width - keys - 2*keyGap
	px := func(v float64) float64 { return plotLeft + (right-plotLeft)*x.at(v, lowX, highX) }
	py := func(v float64) float64 {
		return plotAbove + (height-plotAbove-plotUnder)*(1-y.at(v, lowY, highY))
	}
	for i, l := range lines {
		var points []string
		one := plotLine{Name: l.Name, Hue: i % hues, KeyX: right + keyGap}
		for k := range l.X {
			one.EndX, one.EndY = px(l.X[k]), py(l.Y[k])
			points = append(points, fmt.Sprintf("%.1f,%.1f", one.EndX, one.EndY))
		}
		one.Points, one.KeyY = strings.Join(points, " "), one.EndY
		p.Lines = append(p.Lines, one)
	}
	p.spreadKeys()
	for _, v := range y.ticks {
		p.Marks = append(p.Marks, mark{plotLeft - 6, py(v), y.write(v), "end", true})
	}
	for _, v := range x.ticks {
		p.Marks = append(p.Marks, mark{px(v), height - 8, x.write(v), "middle", false})
	}
	return p
}

// Right is where the plot ends and the keys begin.
func (p plot) Right() float64 {
	if len(p.Lines) == 0 {
		return p.Width
	}
	return p.Lines[0].KeyX - keyGap
}

// spreadKeys moves keys that would cover one another apart, in the order of the ends
// of their lines.
func (p *plot) spreadKeys() {
	order := make([]*plotLine, len(p.Lines))
	for i := range p.Lines {
		order[i] = &p.Lines[i]
	}
	slices.SortStableFunc(order, func(a, b *plotLine) int { return cmp.Compare(a.KeyY, b.KeyY) })
	for i := 1; i < len(order); i++ {
		order[i].KeyY = max(order[i].KeyY, order[i-1].KeyY+keyLine)
	}
	most := p.Height - plotUnder/2
	for i := len(order) - 1; i >= 0; i-- {
		order[i].KeyY = min(order[i].KeyY, most)
		most = order[i].KeyY - keyLine
	}
}

func span(ticks []float64, lines []series, of func(series) []float64) (low, high float64) {
	all := slices.Clone(ticks)
	for _, l := range lines {
		all = append(all, of(l)...)
	}
	if len(all) == 0 {
		return 0, 1
	}
	return slices.Min(all), slices.Max(all)
}

// decades returns powers of ten below, between and above the values, at most five.
func decades(lines []series) (ticks []float64) {
	low, high := span(nil, lines, func(s series) []float64 { return s.Y })
	from, to := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	for e := from; e <= max(to, from+1); e += max(1, (to-from+3)/4) {
		ticks = append(ticks, math.Pow10(e))
	}
	return ticks
}

// simulation is one file of scenarios with its picture.
type simulation struct {
	record.Simulation
	Plot *plot // nil if no call failed in the case
}

// simulations returns the scenarios with what is drawn of them.
func simulations(all []record.Simulation) (drawn []simulation) {
	for _, s := range all {
		drawn = append(drawn, simulation{s, drawSimulation(s)})
	}
	return drawn
}

// drawSimulation draws the failed calls of each balancer over time.
func drawSimulation(s record.Simulation) *plot {
	var lines []series
	most, steps := 0.0, 0
	for _, l := range s.Lines {
		one := series{Name: l.Name}
		for i, v := range l.Values {
			one.X, one.Y = append(one.X, float64(i)/2), append(one.Y, v)
			most, steps = max(most, v), max(steps, i)
		}
		if len(one.X) > 0 {
			lines = append(lines, one)
		}
	}
	if most == 0 {
		return nil
	}
	seconds := axis{write: func(v float64) string { return fmt.Sprintf("%g s", v) }}
	every := max(1, math.Ceil(float64(steps)/2/6))
	for v := 0.0; v <= float64(steps)/2; v += every {
		seconds.ticks = append(seconds.ticks, v)
	}
	share := axis{ticks: []float64{0, most / 2, most}, write: func(v float64) string { return fmt.Sprintf("%.2g %%", 100*v) }}
	p := draw("Failed calls over time: "+s.Case, 760, 210, lines, seconds, share)
	return &p
}

// worst says when most calls of a balancer failed.
func worst(l record.SimulationLine) string {
	if len(l.Values) == 0 {
		return "not run"
	}
	most := slices.Max(l.Values)
	if most == 0 {
		return "no call failed"
	}
	return fmt.Sprintf("%s at most, from second %g", percent(most), float64(slices.Index(l.Values, most))/2)
}

// chart is the benchmarks of one function that differ in size.
type chart struct {
	Name  string
	Plots []plot
	Open  bool // the one with the most plots, so that the page shows some
}

// sized are the parameters of benchmarks that are sizes.
var sized = []string{"n", "size"}

// plots draws the time of each benchmark that was measured at two sizes or more, a
// plot for each function, or for each value of its first parameter where more
// than five lines would be in one.
func plots(all []record.Benchmark) (charts []chart) {
	type place struct{ function, first, rest string }
	var order []place
	found := map[place]*series{}
	lines := map[string]int{} // of each function
	for _, b := range all {
		segments := strings.Split(name(b.Name), "/")
		size, rest := 0.0, []string(nil)
		for _, s := range segments[1:] {
			key, value, _ := strings.Cut(s, "=")
			if v, err := strconv.ParseFloat(value, 64); err == nil && v > 0 && slices.Contains(sized, key) {
				size = v
				continue
			}
			rest = append(rest, s)
		}
		if size == 0 || b.NsPerOp <= 0 {
			continue
		}
		at := place{function: b.Package + " " + segments[0]}
		if len(rest) > 0 {
			at.first, at.rest = rest[0], strings.Join(rest[1:], " ")
		}
		if found[at] == nil {
			order = append(order, at)
			found[at] = new(series)
		}
		found[at].X, found[at].Y = append(found[at].X, size), append(found[at].Y, b.NsPerOp)
		if len(found[at].X) == 2 {
			lines[at.function]++
		}
	}
	parts := map[[2]string][]series{} // by function and title
	var titles [][2]string
	for _, at := range order {
		s := found[at]
		if len(s.X) < 2 {
			continue
		}
		title := [2]string{at.function, at.first}
		s.Name = at.rest
		if lines[at.function] <= 5 {
			title[1], s.Name = "", strings.TrimSpace(at.first+" "+at.rest)
		}
		s.Name = cmp.Or(s.Name, "time")
		if parts[title] == nil {
			titles = append(titles, title)
		}
		parts[title] = append(parts[title], *s)
	}
	most := 0
	for _, title := range titles {
		if i := len(charts); i == 0 || charts[i-1].Name != title[0] {
			charts = append(charts, chart{Name: title[0]})
		}
		c := &charts[len(charts)-1]
		_, value, _ := strings.Cut(title[1], "=")
		c.Plots = append(c.Plots, drawSizes(cmp.Or(value, title[1], "all"), parts[title]))
		if len(c.Plots) > len(charts[most].Plots) {
			most = len(charts) - 1
		}
	}
	if len(charts) > 0 {
		charts[most].Open = true
	}
	return charts
}

func drawSizes(title string, lines []series) plot {
	sizes := axis{log: true, write: func(v float64) string { return count(int(v)) }}
	for _, l := range lines {
		for _, v := range l.X {
			if !slices.Contains(sizes.ticks, v) {
				sizes.ticks = append(sizes.ticks, v)
			}
		}
	}
	slices.Sort(sizes.ticks)
	if n := len(sizes.ticks); n > 4 {
		sizes.ticks = []float64{sizes.ticks[0], sizes.ticks[n/3], sizes.ticks[2*n/3], sizes.ticks[n-1]}
	}
	return draw(title, 376, 190, lines, sizes, axis{log: true, ticks: decades(lines), write: nanoseconds})
}

// nanoseconds writes a time in the unit that suits it.
func nanoseconds(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if v >= unit.size {
			return fmt.Sprintf("%g %s", v/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%g ns", v)
}
