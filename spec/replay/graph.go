package replay

import (
	"cmp"
	"crypto/sha256"
	"errors"
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

// String returns the compact text of the graph: tables of steps and of the values
// of each variable, and for each state a line of values and one of edges, as
// step>state.
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
	columns := g.columns(&b)
	e := 0
	for i, s := range g.States {
		b.WriteString("state")
		for _, c := range columns {
			fmt.Fprintf(&b, " %d", c.number[s[c.name]])
		}
		b.WriteString("\n")
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

// column is a variable with the values that it ever has.
type column struct {
	name   string
	number map[Value]int
}

// columns writes the table of the variables and returns it.
func (g *Graph) columns(b *strings.Builder) (columns []column) {
	if len(g.States) == 0 {
		return nil
	}
	for _, name := range g.States[0].names() {
		var values []Value
		for _, s := range g.States {
			values = append(values, s[name])
		}
		slices.Sort(values)
		c := column{name, map[Value]int{}}
		fmt.Fprintf(b, "variable %s\n", name)
		for i, v := range slices.Compact(values) {
			c.number[v] = i
			fmt.Fprintf(b, "value %s\n", v)
		}
		columns = append(columns, c)
	}
	return columns
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
		return nil, fmt.Errorf("line 4: the digest is not that of the text below; write graphs with go run ./spec/tla graphs")
	}
	r := reader{g: g}
	number := 4
	for l := range strings.Lines(lines[4]) {
		number++
		if err := r.line(strings.TrimRight(l, "\n")); err != nil {
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

// reader keeps the tables of a graph's text.
type reader struct {
	g         *Graph
	steps     []Value
	variables []string
	values    [][]Value // by variable
}

func (r *reader) line(l string) (err error) {
	what, rest, _ := strings.Cut(l, " ")
	switch what {
	case "constants":
		var v Value
		v, err = ParseValue(rest)
		r.g.Constants = v.Fields()
	case "action":
		action, function, _ := strings.Cut(rest, " ")
		r.g.Go[action] = function
	case "step":
		r.steps = append(r.steps, Value(rest))
	case "variable":
		r.variables = append(r.variables, rest)
		r.values = append(r.values, nil)
	case "value":
		if len(r.values) == 0 {
			return errors.New("a value of no variable")
		}
		last := len(r.values) - 1
		r.values[last] = append(r.values[last], Value(rest))
	case "state":
		return r.state(strings.Fields(rest))
	case "initial":
		r.g.Initial = append(r.g.Initial, len(r.g.States)-1)
	case "":
		return r.edges(strings.Fields(rest))
	default:
		return fmt.Errorf("%q is no line of a graph", l)
	}
	return err
}

func (r *reader) state(numbers []string) error {
	if len(numbers) != len(r.variables) {
		return fmt.Errorf("a state has %d values for %d variables", len(numbers), len(r.variables))
	}
	s := make(Record, len(numbers))
	for i, number := range numbers {
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n >= len(r.values[i]) {
			return fmt.Errorf("%q names no value of %s", number, r.variables[i])
		}
		s[r.variables[i]] = r.values[i][n]
	}
	r.g.States = append(r.g.States, s)
	return nil
}

func (r *reader) edges(texts []string) error {
	for _, text := range texts {
		step, to, _ := strings.Cut(text, ">")
		s, err := strconv.Atoi(step)
		if err != nil || s < 0 || s >= len(r.steps) {
			return fmt.Errorf("%q names no step", text)
		}
		t, err := strconv.Atoi(to)
		if err != nil {
			return fmt.Errorf("%q names no state", text)
		}
		r.g.Edges = append(r.g.Edges, Edge{len(r.g.States) - 1, t, r.steps[s]})
	}
	return nil
}
