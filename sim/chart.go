package sim

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// chartStep is the width of one point of a chart.
const chartStep = 500 * time.Millisecond

// Line is one line of a chart: the part of calls that failed in each step of
// chartStep, by the instant at which the call began.
type Line struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values"`
}

// Lines returns the lines of a scenario: the judged Subject with each policy, and the
// baselines that ran.
func Lines(results []Result) (lines []Line) {
	shown := map[string]bool{}
	for _, r := range results {
		for _, name := range SubjectNames() {
			of := r.Records[name]
			label := name
			if name == judged {
				label = r.Policy
			} else if byPolicy(name) {
				continue
			}
			if of == nil || shown[label] {
				continue
			}
			shown[label] = true
			lines = append(lines, Line{label, of.failedByStep(r.Scenario)})
		}
	}
	return lines
}

func (r *Record) failedByStep(s *Scenario) (values []float64) {
	step := int(chartStep / bucketWidth)
	for from := 0; from+step <= int(s.Length/bucketWidth); from += step {
		w := window{from, from + step}
		values = append(values, ratio(r.classes(&r.failed, AnyClass, w), r.classes(&r.calls, AnyClass, w)))
	}
	return values
}

// colours are those of the lines, told apart by lightness as well.
var colours = [...]string{"#0b6fa4", "#d55e00", "#009e73", "#8a3ffc", "#777777", "#b8860b"}

// The sizes of a chart.
const (
	chartWidth, chartHeight           = 640, 220
	chartLeft, chartRight, chartUnder = 44, 150, 36
	chartAbove                        = 26
)

// WriteChart writes the lines as an SVG picture with a title.
func WriteChart(out io.Writer, title string, lines []Line) error {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n", chartWidth, chartHeight)
	fmt.Fprintf(&b, `<title>%s</title><rect width="100%%" height="100%%" fill="#ffffff"/><text x="%d" y="15" font-size="12">%s</text>`+"\n",
		escape(title), chartLeft, escape(title))
	steps, most := 2, 0.01
	for _, l := range lines {
		steps = max(steps, len(l.Values))
		for _, v := range l.Values {
			most = max(most, v)
		}
	}
	width, height := float64(chartWidth-chartLeft-chartRight), float64(chartHeight-chartAbove-chartUnder)
	x := func(i int) float64 { return chartLeft + width*float64(i)/float64(steps-1) }
	y := func(v float64) float64 { return chartAbove + height*(1-v/most) }
	for _, part := range []float64{0, 0.5, 1} {
		fmt.Fprintf(&b, `<path d="M%.1f %.1fH%.1f" stroke="#dddddd"/><text x="%d" y="%.1f" text-anchor="end">%.3g %%</text>`+"\n",
			x(0), y(part*most), x(steps-1), chartLeft-5, y(part*most)+4, 100*part*most)
	}
	for i := 0; i < steps; i += max(1, steps/8) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%g s</text>`+"\n", x(i), chartHeight-chartUnder+16, float64(i)*chartStep.Seconds())
	}
	for k, l := range lines {
		colour := colours[k%len(colours)]
		var points []string
		for i, v := range l.Values {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(i), y(v)))
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.6"/>`+"\n", strings.Join(points, " "), colour)
		fmt.Fprintf(&b, `<path d="M%d %dh18" stroke="%s" stroke-width="3"/><text x="%d" y="%d">%s</text>`+"\n",
			chartWidth-chartRight+14, chartAbove+8+16*k, colour, chartWidth-chartRight+38, chartAbove+12+16*k, escape(l.Name))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d">failed calls, by the second in which they began</text></svg>`+"\n", chartLeft, chartHeight-5)
	_, err := io.WriteString(out, b.String())
	return err
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder cannot fail
	return b.String()
}
