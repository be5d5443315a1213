package replay

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Graph is the state graph of a specification.
type Graph struct {
	_ struct{}
	// Spec names the specification.
	Spec string
	// Source is the digest of the module and the configuration, without comments.
	Source string
	// Constants are those of the configuration.
	Constants Record
	// Go names, for each action, the Go function whose step it is; "" for a step
	// of the world.
	Go map[string]string
	// States are the states, without the last step.
	States  []Record
	Initial []int
	Edges   []Edge
}

// Edge is one step. Step is a record whose field op is the action; its other
// fields are arguments, choices and the result.
type Edge struct {
	From, To int
	Step     Value
}

// sorted puts states and edges in the order of their texts, so that a graph is
// written one way only.
func (g *Graph) sorted() *Graph {
	order := make([]int, len(g.States))
	texts := make([]Value, len(g.States))
	for i, s := range g.States {
		order[i], texts[i] = i, s.Value()
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(texts[a], texts[b]) })
	place := make([]int, len(order))
	states := make([]Record, len(order))
	for to, from := range order {
		place[from], states[to] = to, g.States[from]
	}
	g.States = states
	for i, s := range g.Initial {
		g.Initial[i] = place[s]
	}
	slices.Sort(g.Initial)
	g.Initial = slices.Compact(g.Initial)
	for i, e := range g.Edges {
		g.Edges[i].From, g.Edges[i].To = place[e.From], place[e.To]
	}
	slices.SortFunc(g.Edges, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Step, b.Step), cmp.Compare(a.To, b.To))
	})
	return g
}

// String returns the compact text of the graph: steps and states in tables, and
// one line of edges, as step>state, per state.
func (g *Graph) String() string {
	body := g.body()
	return fmt.Sprintf("graph %s\nsource %s\nstates %d initial %d edges %d\ndigest %s\n%s",
		g.Spec, g.Source, len(g.States), len(g.Initial), len(g.Edges), Digest(body), body)
}

func (g *Graph) body() string {
	var b strings.Builder
	fmt.Fprintf(&b, "constants %s\n", g.Constants.Value())
	for _, action := range slices.Sorted(maps.Keys(g.Go)) {
		fmt.Fprintf(&b, "action %s %s\n", action, g.Go[action])
	}
	var steps []Value
	for _, e := range g.Edges {
		steps = append(steps, e.Step)
	}
	slices.Sort(steps)
	steps = slices.Compact(steps)
	number := map[Value]int{}
	for i, s := range steps {
		number[s] = i
		fmt.Fprintf(&b, "step %s\n", s)
	}
	e := 0
	for i, s := range g.States {
		fmt.Fprintf(&b, "state %s\n", s.Value())
		if slices.Contains(g.Initial, i) {
			b.WriteString("initial\n")
		}
		for ; e < len(g.Edges) && g.Edges[e].From == i; e++ {
			fmt.Fprintf(&b, " %d>%d", number[g.Edges[e].Step], g.Edges[e].To)
			if e+1 == len(g.Edges) || g.Edges[e+1].From != i {
				b.WriteString("\n")
			}
		}
	}
	return b.String()
}

// Digest returns the digest of a text.
func Digest(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// Parse reads the text of a graph. It refuses one that was cut off or changed by
// hand; the error names the line.
func Parse(text string) (*Graph, error) {
	g := &Graph{Go: map[string]string{}}
	var counts [3]int
	var digest string
	lines := strings.SplitN(text, "\n", 5)
	if len(lines) < 5 {
		return nil, fmt.Errorf("line %d: the graph is cut off", len(lines))
	}
	for i, format := range []struct {
		layout string
		into   []any
	}{
		{"graph %s", []any{&g.Spec}},
		{"source %s", []any{&g.Source}},
		{"states %d initial %d edges %d", []any{&counts[0], &counts[1], &counts[2]}},
		{"digest %s", []any{&digest}},
	} {
		if _, err := fmt.Sscanf(lines[i], format.layout, format.into...); err != nil {
			return nil, fmt.Errorf("line %d: want %q: %w", i+1, format.layout, err)
		}
	}
	if Digest(lines[4]) != digest {
		return nil, fmt.Errorf("line 4: the digest is not that of the text below; write graphs with make tla-graphs")
	}
	var steps []Value
	number := 4
	for l := range strings.Lines(lines[4]) {
		number++
		var err error
		if steps, err = g.line(strings.TrimRight(l, "\n"), steps); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if got := [3]int{len(g.States), len(g.Initial), len(g.Edges)}; got != counts {
		return nil, fmt.Errorf("line 3: states, initial states and edges are %v, not %v", got, counts)
	}
	for _, e := range g.Edges {
		if e.To < 0 || e.To >= len(g.States) {
			return nil, fmt.Errorf("an edge leads to state %d of %d", e.To, len(g.States))
		}
	}
	return g, nil
}

func (g *Graph) line(l string, steps []Value) ([]Value, error) {
	what, rest, _ := strings.Cut(l, " ")
	switch what {
	case "constants":
		v, err := ParseValue(rest)
		g.Constants = v.Fields()
		return steps, err
	case "action":
		action, function, _ := strings.Cut(rest, " ")
		g.Go[action] = function
	case "step":
		v, err := ParseValue(rest)
		return append(steps, v), err
	case "state":
		v, err := ParseValue(rest)
		g.States = append(g.States, v.Fields())
		return steps, err
	case "initial":
		g.Initial = append(g.Initial, len(g.States)-1)
	case "":
		for _, edge := range strings.Fields(rest) {
			step, to, _ := strings.Cut(edge, ">")
			s, err := strconv.Atoi(step)
			if err != nil || s < 0 || s >= len(steps) {
				return steps, fmt.Errorf("%q names no step", edge)
			}
			t, err := strconv.Atoi(to)
			if err != nil {
				return steps, fmt.Errorf("%q names no state", edge)
			}
			g.Edges = append(g.Edges, Edge{len(g.States) - 1, t, steps[s]})
		}
	default:
		return steps, fmt.Errorf("%q is no line of a graph", l)
	}
	return steps, nil
}
