package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/copyleftdev/poise-go/ci/record"
)

// Sizes of a picture, in pixels. The text is set in a font as wide as boxChar.
const (
	boxHeight, boxPad, boxChar = 46, 12, 7.3
	columnGap, rowGap, edge    = 84, 30, 14
	arc                        = 30 // how far an edge that goes back or skips a column keeps off the boxes
)

// picture is a state graph in layers: each state in the column of its depth, so
// that what happens next is to the right.
type picture struct {
	Name, By       string
	Width, Height  float64
	Boxes          []box
	Lines          []string // the paths of edges
	Words          []string // the same, for whoever cannot see it
	States, Edges  int      // of the graph
	Drawn, Between int      // states and edges of the picture
	Stays          int      // edges that are within one of its states
}

// Least is how narrow the picture may be drawn before it scrolls instead.
func (p picture) Least() float64 { return math.Round(0.7 * p.Width) }

// under names the widest of the steps of the style sheet's sign for what scrolls,
// for what is wide at least.
func under(least float64) string {
	switch {
	case least <= 320:
		return "fits"
	case least <= 680:
		return "scrolls-narrow"
	case least <= 1160:
		return "scrolls-medium"
	}
	return "scrolls"
}

type box struct {
	X, Y, Width float64
	Name, Holds string
}

// Middle is where the text of the box is centred.
func (b box) Middle() float64 { return b.X + b.Width/2 }

func (b box) right() float64  { return b.X + b.Width }
func (b box) centre() float64 { return b.Y + boxHeight/2 }

// pictures returns what is to be drawn of the specifications.
func pictures(specs []record.Spec) (all []picture) {
	for _, s := range specs {
		if s.Drawing != nil && len(s.Drawing.States) > 0 {
			all = append(all, drawn(s))
		}
	}
	return all
}

func drawn(s record.Spec) picture {
	d := s.Drawing
	p := picture{
		Name: s.Name, By: strings.Join(d.By, " and "), States: s.GraphStates, Edges: s.GraphEdges,
		Drawn: len(d.States), Between: len(d.Edges),
	}
	above, below := p.room(d)
	p.place(d, above)
	p.Height += below
	for _, e := range d.Edges {
		if e.From >= len(d.States) || e.To >= len(d.States) {
			continue // the schema cannot say so
		}
		p.Lines = append(p.Lines, p.path(e.From, e.To, d.States[e.To].Depth-d.States[e.From].Depth))
		p.Words = append(p.Words, fmt.Sprintf("%s → %s: %s (%s)", d.States[e.From].Name, d.States[e.To].Name,
			strings.Join(e.Actions, ", "), edges(e.Edges)))
	}
	for _, state := range d.States {
		p.Stays += state.Stays
	}
	return p
}

func edges(n int) string {
	if n == 1 {
		return "1 edge"
	}
	return count(n) + " edges"
}

// many reports whether a text joins several.
func many(text string) bool { return strings.Contains(text, " and ") }

// room returns what the arcs need above and below the boxes, and sees to what they
// need beside them.
func (p *picture) room(d *record.Drawing) (above, below float64) {
	for _, e := range d.Edges {
		if e.From >= len(d.States) || e.To >= len(d.States) {
			continue
		}
		switch by := d.States[e.To].Depth - d.States[e.From].Depth; {
		case by > 1:
			above = max(above, reach(by))
		case by < 0:
			below = max(below, reach(by))
		case by == 0:
			p.Width = columnGap / 2 // beside the last column; place adds to it
		}
	}
	return above, below
}

// reach is how far an arc over so many columns keeps off.
func reach(columns int) float64 { return arc * math.Sqrt(math.Abs(float64(columns))) }

// place puts each state into the column of its depth, the columns centred on one
// another.
func (p *picture) place(d *record.Drawing, above float64) {
	var rows []int
	var widths []float64
	for _, s := range d.States {
		for len(rows) <= s.Depth {
			rows, widths = append(rows, 0), append(widths, 0)
		}
		rows[s.Depth]++
		widths[s.Depth] = max(widths[s.Depth], float64(max(len([]rune(s.Name)), len(holds(s))))*boxChar+2*boxPad)
	}
	beside, tallest := p.Width, 0
	for _, n := range rows {
		tallest = max(tallest, n)
	}
	put := make([]int, len(rows))
	for _, s := range d.States {
		x := float64(edge)
		for _, width := range widths[:s.Depth] {
			x += width + columnGap
		}
		y := edge + above + (float64(put[s.Depth])+float64(tallest-rows[s.Depth])/2)*(boxHeight+rowGap)
		put[s.Depth]++
		p.Boxes = append(p.Boxes, box{x, y, widths[s.Depth], s.Name, holds(s)})
		p.Width = max(p.Width, x+widths[s.Depth]+beside+edge)
	}
	p.Height = 2*edge + above + float64(tallest)*(boxHeight+rowGap) - rowGap
}

func holds(s record.DrawnState) string {
	if s.States == 1 {
		return "1 state"
	}
	return count(s.States) + " states"
}

// path returns the line from one box to another that is so many columns on: straight
// to the next column, over those that it skips, and back below.
func (p *picture) path(from, to, columns int) string {
	a, b := p.Boxes[from], p.Boxes[to]
	curve := func(x1, y1, cx1, cy1, cx2, cy2, x2, y2 float64) string {
		return fmt.Sprintf("M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f", x1, y1, cx1, cy1, cx2, cy2, x2, y2)
	}
	switch {
	case columns == 1:
		half := (b.X - a.right()) / 2
		return curve(a.right(), a.centre(), a.right()+half, a.centre(), b.X-half, b.centre(), b.X, b.centre())
	case columns > 1:
		y := min(a.Y, b.Y) - reach(columns)*4/3
		return curve(a.Middle()+8, a.Y, a.Middle()+8, y, b.Middle()-8, y, b.Middle()-8, b.Y)
	case columns == 0:
		return curve(a.right(), a.centre()-6, a.right()+columnGap/2, a.centre(), b.right()+columnGap/2, b.centre(), b.right(), b.centre()+6)
	}
	y := max(a.Y, b.Y) + boxHeight + reach(columns)*4/3
	return curve(a.Middle()-8, a.Y+boxHeight, a.Middle()-8, y, b.Middle()+8, y, b.Middle()+8, b.Y+boxHeight)
}
