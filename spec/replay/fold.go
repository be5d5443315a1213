package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Folded is a graph whose states are told apart by some variables alone, so that a
// reader can take it in.
type Folded struct {
	States []FoldedState `json:"states"`
	Edges  []FoldedEdge  `json:"edges"`
}

// FoldedState stands for all states with the same values of the variables.
type FoldedState struct {
	Name   string `json:"name"`
	Depth  int    `json:"depth"`  // steps from an initial one
	States int    `json:"states"` // that it stands for
	Stays  int    `json:"stays"`  // edges that do not leave it
}

// FoldedEdge stands for all edges from one folded state to another.
type FoldedEdge struct {
	From    int      `json:"from"`
	To      int      `json:"to"`
	Actions []string `json:"actions"` // in order
	Edges   int      `json:"edges"`   // that it stands for
}

// Fold tells the states of a graph apart by the variables alone. Its states come
// by depth, then by name.
func (g *Graph) Fold(variables ...string) (Folded, error) {
	byName := map[string]*FoldedState{}
	names := make([]string, len(g.States))
	for i, state := range g.States {
		name, err := brief(state, variables)
		if err != nil {
			return Folded{}, fmt.Errorf("%s: %w", g.Spec, err)
		}
		if names[i] = name; byName[name] == nil {
			byName[name] = &FoldedState{Name: name, Depth: -1}
		}
		byName[name].States++
	}
	g.depths(byName, names)
	var f Folded
	for _, s := range byName {
		f.States = append(f.States, *s)
	}
	slices.SortFunc(f.States, func(a, b FoldedState) int { return cmp.Or(cmp.Compare(a.Depth, b.Depth), cmp.Compare(a.Name, b.Name)) })
	at := map[string]int{}
	for i, s := range f.States {
		at[s.Name] = i
	}
	f.join(g, func(state int) int { return at[names[state]] })
	return f, nil
}

// depths notes how far each folded state is from an initial one.
func (g *Graph) depths(byName map[string]*FoldedState, names []string) {
	next := map[string][]string{}
	for _, e := range g.Edges {
		next[names[e.From]] = append(next[names[e.From]], names[e.To])
	}
	var now []string
	for _, i := range g.Initial {
		now = append(now, names[i])
	}
	for depth := 0; len(now) > 0; depth++ {
		var then []string
		for _, name := range now {
			if s := byName[name]; s.Depth < 0 {
				s.Depth = depth
				then = append(then, next[name]...)
			}
		}
		now = then
	}
}

// join makes the folded edges.
func (f *Folded) join(g *Graph, folded func(state int) int) {
	byEnds := map[[2]int]*FoldedEdge{}
	for _, e := range g.Edges {
		from, to := folded(e.From), folded(e.To)
		if from == to {
			f.States[from].Stays++
			continue
		}
		ends := [2]int{from, to}
		if byEnds[ends] == nil {
			byEnds[ends] = &FoldedEdge{From: from, To: to}
		}
		edge := byEnds[ends]
		edge.Edges++
		if action := e.Step.Fields()["op"].Str(); !slices.Contains(edge.Actions, action) {
			edge.Actions = append(edge.Actions, action)
		}
	}
	for _, edge := range byEnds {
		slices.Sort(edge.Actions)
		f.Edges = append(f.Edges, *edge)
	}
	slices.SortFunc(f.Edges, func(a, b FoldedEdge) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
}

// brief names the values of some variables as a reader would. The one variable of
// a fold goes without its name.
func brief(state Record, variables []string) (string, error) {
	var parts []string
	for _, name := range variables {
		value, has := state[name]
		if !has {
			return "", fmt.Errorf("there is no variable %s", name)
		}
		text := plain.Replace(string(value))
		if len(variables) > 1 {
			text = name + " " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", "), nil
}

// plain takes away what TLA+ needs and a reader does not.
var plain = strings.NewReplacer(`""`, "–", `"`, "", "<<", "", ">>", "", " |-> ", " ", "[", "", "]", "", "TRUE", "yes", "FALSE", "no")
