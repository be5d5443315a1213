package main

import (
	"os"
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/spec/replay"
)

func TestDraw_LosesNoStateAndNoEdge(t *testing.T) {
	tree, err := load(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	pictures := 0
	for _, name := range tree.names() {
		d := tree.describe(name)
		if d.Drawing == nil {
			continue
		}
		pictures++
		states, edges := 0, 0
		for _, s := range d.Drawing.States {
			states, edges = states+s.States, edges+s.Stays
			if s.Depth < 0 {
				t.Errorf("%s: %s is out of reach", name, s.Name)
			}
		}
		for _, e := range d.Drawing.Edges {
			edges += e.Edges
		}
		if states != d.GraphStates || edges != d.GraphEdges || len(d.Drawing.Edges) == 0 {
			t.Errorf("%s: the picture stands for %d states and %d edges of %d and %d", name, states, edges, d.GraphStates, d.GraphEdges)
		}
	}
	if pictures == 0 {
		t.Error("nothing is drawn")
	}
}

func TestDraw_RefusesWhatNobodyCouldRead(t *testing.T) {
	g := &replay.Graph{Spec: "Wide"}
	for n := range mostDrawn + 1 {
		g.States = append(g.States, replay.Record{"n": replay.Of(n)})
	}
	m := module{name: "Wide", header: []line{{1, "Drawn: n."}}}
	if _, err := m.draw(g); err == nil || !strings.Contains(err.Error(), "drawn by n it has 25 states") {
		t.Errorf("got %v", err)
	}
	g.States = g.States[1:]
	if d, err := m.draw(g); err != nil || len(d.States) != mostDrawn {
		t.Errorf("got %+v, %v", d, err)
	}
	m.header = nil
	if d, err := m.draw(g); d != nil || err != nil {
		t.Errorf("without a word about it: %+v, %v", d, err)
	}
}
