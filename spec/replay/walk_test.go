package replay

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// gate is a type with one call of two steps and one of one step.
type gateState struct{ open bool }

// gateGraph is a gate that two callers enter one after the other: Enter loads,
// then steps in; Close is one step; the world opens it.
func gateGraph() *Graph {
	state := func(open bool, pc string) Record {
		return Record{"open": Of(open), "pc": Record{"a": Of(pc)}.Value()}
	}
	step := func(op, res string) Value {
		return Record{"op": Of(op), "by": Of("a"), "res": Of(res)}.Value()
	}
	return (&Graph{
		Spec:    "Gate",
		Go:      map[string]string{"EnterLoad": "(*Gate).Enter", "EnterStep": "(*Gate).Enter", "Close": "(*Gate).Close", "Open": ""},
		States:  []Record{state(false, ""), state(true, ""), state(true, "loaded")},
		Initial: []int{0},
		Edges: []Edge{
			{0, 1, step("Open", "")},
			{1, 2, step("EnterLoad", "")},
			{2, 0, step("EnterStep", "in")},
			{1, 0, step("Close", "")},
		},
	}).sorted()
}

func gateMapping() Mapping[*gateState] {
	return Mapping[*gateState]{
		New: func(_, _ Record) (*gateState, error) { return &gateState{}, nil },
		Apply: map[string]func(*gateState, Record) (any, error){
			"Open": func(s *gateState, _ Record) (any, error) { s.open = true; return "", nil },
			"(*Gate).Enter": func(s *gateState, _ Record) (any, error) {
				s.open = false
				return "in", nil
			},
			"(*Gate).Close": func(s *gateState, _ Record) (any, error) { s.open = false; return "", nil },
		},
		Project: func(s *gateState) map[string]any { return map[string]any{"open": s.open} },
		May: func(_, state Record, name string, _ Record) bool {
			return state["open"].Bool() == (name != "Open")
		},
		Busy: func(state Record) (callers []string) {
			if state["pc"].Fields()["a"].Str() != "" {
				callers = append(callers, "a")
			}
			return callers
		},
		Hidden: []Exempt{{"pc", "between calls there is no place in a call"}},
	}
}

func TestWalk_AcceptsATypeThatFollowsItsGraph(t *testing.T) {
	counts, problems := gateMapping().Check(gateGraph())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if want := (Walked{States: 3, Edges: 4, Operations: 3, Covered: 4, Refused: 3}); counts != want {
		t.Errorf("got %+v, want %+v", counts, want)
	}
}

func TestWalk_ReportsEveryKindOfDisagreement(t *testing.T) {
	type parts struct {
		g *Graph
		m Mapping[*gateState]
	}
	for _, c := range []struct {
		name  string
		fault func(*parts)
		want  string
	}{
		{"a result that differs", func(p *parts) {
			p.m.Apply["(*Gate).Enter"] = func(s *gateState, _ Record) (any, error) { s.open = false; return "out", nil }
		}, "it returned out"},
		{"a state that differs", func(p *parts) {
			p.m.Apply["(*Gate).Close"] = func(*gateState, Record) (any, error) { return "", nil }
		}, "open is TRUE and not FALSE"},
		{"an operation that is not possible", func(p *parts) {
			p.m.Apply["(*Gate).Close"] = func(*gateState, Record) (any, error) { return nil, errors.New("stuck") }
		}, "stuck"},
		{"an operation that the mapping lacks", func(p *parts) { delete(p.m.Apply, "(*Gate).Close") },
			"the mapping has no operation (*Gate).Close"},
		{"an operation that the graph lacks", func(p *parts) {
			p.m.Apply["(*Gate).Kick"] = p.m.Apply["(*Gate).Close"]
		}, "the graph never makes (*Gate).Kick"},
		{"an edge that the graph lacks", func(p *parts) {
			p.m.May = func(_, _ Record, _ string, _ Record) bool { return true }
		}, "the graph has no such edge"},
		{"an edge that nobody may take", func(p *parts) {
			p.m.May = func(_, _ Record, _ string, _ Record) bool { return false }
		}, "which the mapping says no client may make"},
		{"a variable that is not projected", func(p *parts) {
			p.m.Project = func(*gateState) map[string]any { return nil }
		}, "the mapping does not project open"},
		{"a variable hidden in vain", func(p *parts) { p.m.Hidden = append(p.m.Hidden, Exempt{"door", "gone"}) },
			"there is no variable door to hide"},
		{"an operation skipped in vain", func(p *parts) { p.m.Skip = []Exempt{{"(*Gate).Kick", "gone"}} },
			"there is no operation (*Gate).Kick to skip"},
		{"a type that cannot be made", func(p *parts) {
			p.m.New = func(_, _ Record) (*gateState, error) { return nil, errors.New("no wood") }
		}, "no wood"},
		{"a call that goes round in circles", func(p *parts) {
			p.g.Edges = append(p.g.Edges, Edge{2, 2, Record{"op": `"Spin"`, "by": `"a"`, "res": `""`}.Value()})
		}, "a call of more than 64 steps"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &parts{gateGraph(), gateMapping()}
			c.fault(p)
			_, problems := p.m.Check(p.g)
			if text := fmt.Sprint(problems); len(problems) == 0 || !strings.Contains(text, c.want) {
				t.Errorf("got %s, want %q", text, c.want)
			}
		})
	}
}
