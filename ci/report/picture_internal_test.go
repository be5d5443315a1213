package report

import (
	"testing"

	"github.com/copyleftdev/poise-go/ci/record"
)

// latch is a graph with an edge of every kind: onward, over a column, within one, back.
func latch() record.Spec {
	return record.Spec{Drawing: &record.Drawing{
		States: []record.DrawnState{{Name: "shut"}, {Name: "ajar", Depth: 1}, {Name: "broken", Depth: 1}, {Name: "open", Depth: 2}},
		Edges:  []record.DrawnEdge{{From: 0, To: 1}, {From: 1, To: 3}, {From: 0, To: 3}, {From: 3, To: 0}, {From: 1, To: 2}},
	}}
}

func TestPicture_PutsLaterStatesToTheRightAndNoneOnAnother(t *testing.T) {
	p := drawn(latch())
	for i, a := range p.Boxes {
		if a.X < 0 || a.Y < 0 || a.right() > p.Width || a.Y+boxHeight > p.Height {
			t.Errorf("%s is not on the picture", a.Name)
		}
		for _, b := range p.Boxes[i+1:] {
			if a.X < b.right() && b.X < a.right() && a.Y < b.Y+boxHeight && b.Y < a.Y+boxHeight {
				t.Errorf("%s covers %s", a.Name, b.Name)
			}
		}
	}
	if !(p.Boxes[0].right() < p.Boxes[1].X && p.Boxes[1].X == p.Boxes[2].X && p.Boxes[2].right() < p.Boxes[3].X) {
		t.Errorf("the columns are not the depths: %+v", p.Boxes)
	}
	if at := p.Boxes[3].right(); p.Width < at+columnGap/2 {
		t.Errorf("beside the last column at %v there is no room for an edge within it: %v", at, p.Width)
	}
	wrong := latch()
	wrong.Drawing.Edges[0].To = 9
	if got := drawn(wrong); len(got.Lines) != 4 {
		t.Errorf("an edge to nowhere makes %d lines of 5", len(got.Lines))
	}
}
