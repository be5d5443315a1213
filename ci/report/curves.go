package report

import (
	"fmt"
	"strings"

	"github.com/copyleftdev/poise-go/ci/record"
)

// Sizes of the curves of a simulation, in pixels.
const (
	curveWidth, curveHeight = 560, 150
	curveLeft, curveRight   = 48, 130
	curveAbove, curveUnder  = 10, 24
)

// curves is one case of a simulation: the failed calls of each balancer over time.
type curves struct {
	record.Simulation
	Width, Height int
	Paths         []curve
	Marks         []mark // on the axes
}

// curve is one line; its dashes tell it from the others without colour.
type curve struct {
	Name, Points, Dash string
	KeyY               int
}

type mark struct {
	X, Y   float64
	Text   string
	Anchor string
}

var dashes = [...]string{"", "7 3", "2 2", "9 3 2 3", "4 4", "1 4"}

// simulations returns what is drawn of the scenarios, those in which nothing failed
// left out.
func simulations(all []record.Simulation) (drawn []curves) {
	for _, s := range all {
		if c := drawCurves(s); c.Paths != nil {
			drawn = append(drawn, c)
		}
	}
	return drawn
}

func drawCurves(s record.Simulation) curves {
	c := curves{Simulation: s, Width: curveWidth, Height: curveHeight}
	steps, most := 2, 0.0
	for _, l := range s.Lines {
		steps = max(steps, len(l.Values))
		for _, v := range l.Values {
			most = max(most, v)
		}
	}
	if most == 0 {
		return c
	}
	x := func(i int) float64 {
		return curveLeft + float64(curveWidth-curveLeft-curveRight)*float64(i)/float64(steps-1)
	}
	y := func(v float64) float64 {
		return curveAbove + float64(curveHeight-curveAbove-curveUnder)*(1-v/most)
	}
	for k, l := range s.Lines {
		var points []string
		for i, v := range l.Values {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(i), y(v)))
		}
		c.Paths = append(c.Paths, curve{l.Name, strings.Join(points, " "), dashes[k%len(dashes)], curveAbove + 10 + 16*k})
	}
	for _, v := range []float64{0, most} {
		c.Marks = append(c.Marks, mark{curveLeft - 6, y(v) + 4, fmt.Sprintf("%.3g %%", 100*v), "end"})
	}
	for i := 0; i < steps; i += max(1, steps/6) {
		c.Marks = append(c.Marks, mark{x(i), curveHeight - 6, fmt.Sprintf("%g s", float64(i)/2), "middle"})
	}
	return c
}
