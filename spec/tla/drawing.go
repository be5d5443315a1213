package main

import (
	"fmt"
	"strings"

	"github.com/copyleftdev/poise-go/spec/replay"
)

// mostDrawn is how many states a reader can take in at once.
const mostDrawn = 24

// drawing is a graph folded until it can be drawn.
type drawing struct {
	By []string `json:"by"` // the variables that tell its states apart
	replay.Folded
}

// drawn returns the variables that are to tell the states of a drawing apart, as the
// header says. There may be none: then nothing is drawn.
func (m module) drawn() (variables []string) {
	for _, l := range m.header {
		if text, says := strings.CutPrefix(l.text, "Drawn: "); says {
			variables = strings.Split(strings.TrimSuffix(text, "."), ", ")
		}
	}
	return variables
}

// draw folds the graph of a module as its header says; nil if it says nothing.
func (m module) draw(g *replay.Graph) (*drawing, error) {
	by := m.drawn()
	if by == nil {
		return nil, nil
	}
	folded, err := g.Fold(by...)
	if err != nil {
		return nil, err
	}
	if n := len(folded.States); n > mostDrawn {
		return nil, fmt.Errorf("drawn by %s it has %d states, and a reader can take in %d; name fewer variables",
			strings.Join(by, ", "), n, mostDrawn)
	}
	return &drawing{by, folded}, nil
}
