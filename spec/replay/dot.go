package replay

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Last is the variable that holds the step that led to a state. It belongs to the
// edges and is taken out of the states.
const Last = "last"

// Forget is the step by which a dump forgets the last one. It is no edge: it leads
// from a state to itself. Without it, each state would be dumped once for every
// step that leads to it, and all edges from there as often.
const Forget = "Forget"

// unnamed is what TLC calls a step that is guarded from outside, as one is that
// has to wait for Forget.
const unnamed = "UnnamedAction"

// dump is what TLC wrote, state by state.
type dump struct {
	ids     []string // of the states, in the order of the file
	states  map[string]Record
	initial map[string]bool
	edges   []dumped
}

type dumped struct{ from, to, action string }

var (
	dotNode = regexp.MustCompile(`^(-?\d+) \[label="(.*)"(,style = filled)?\];?$`)
	dotEdge = regexp.MustCompile(`^(-?\d+) -> (-?\d+) \[label="(\w*)"(.*)\];$`)
	unquote = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")
)

// parseDot reads the text of -dump dot,actionlabels. Its edges are lines of their
// own, so parallel edges stay apart, which a graph library would merge.
func parseDot(text string) (*dump, error) {
	if !strings.HasSuffix(strings.TrimSpace(text), "}") || strings.Count(text, "{") != strings.Count(text, "}") {
		return nil, errors.New("replay: the dump is cut off: its braces do not close")
	}
	d := &dump{states: map[string]Record{}, initial: map[string]bool{}}
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if m := dotEdge.FindStringSubmatch(l); m != nil {
			if strings.Contains(m[4], "dashed") || m[3] == "" {
				return nil, fmt.Errorf("replay: an edge without an action, as a temporal property adds: %s", l)
			}
			d.edges = append(d.edges, dumped{m[1], m[2], m[3]})
			continue
		}
		m := dotNode.FindStringSubmatch(l)
		if m == nil {
			continue // layout
		}
		state, err := ParseState(unquote.Replace(m[2]))
		if err != nil {
			return nil, fmt.Errorf("%w in state %s", err, m[1])
		}
		if d.states[m[1]] == nil {
			d.ids = append(d.ids, m[1])
		}
		d.states[m[1]] = state
		if m[3] != "" {
			d.initial[m[1]] = true
		}
	}
	for _, e := range d.edges {
		if d.states[e.from] == nil || d.states[e.to] == nil {
			return nil, fmt.Errorf("replay: the dump is cut off: %s -> %s leads to no state", e.from, e.to)
		}
	}
	return d, nil
}

// Counts are what TLC said of the graph that it dumped.
type Counts struct{ Initial, Generated, Distinct int }

// FromDot returns the graph of a dump. TLC's own counts show that nothing is
// missing: every generated state that is not an initial one is an edge.
func FromDot(text string, counts Counts) (*Graph, error) {
	d, err := parseDot(text)
	if err != nil {
		return nil, err
	}
	got := Counts{len(d.initial), len(d.edges) + len(d.initial), len(d.states)}
	if got != counts {
		return nil, fmt.Errorf("replay: the dump has %+v and TLC counted %+v", got, counts)
	}
	b := builder{known: map[Value]int{}, seen: map[Edge]bool{}, g: &Graph{}}
	at := map[string]int{}
	for _, id := range d.ids {
		if d.states[id][Last] == "" {
			return nil, fmt.Errorf("replay: the specification has no variable %s", Last)
		}
		at[id] = b.state(d.states[id].without(Last), d.initial[id])
	}
	forgets := false
	for _, e := range d.edges {
		forgets = forgets || e.action == Forget
	}
	for _, e := range d.edges {
		step := d.states[e.to][Last]
		op := step.Fields()["op"].Str()
		switch {
		case e.action == "Next":
			return nil, errors.New("replay: an edge is called Next; name every disjunct of Next")
		case op != e.action && (e.action != unnamed || !forgets):
			return nil, fmt.Errorf("replay: action %s says that it is %q in %s.op", e.action, op, Last)
		case op == Forget && at[e.from] != at[e.to]:
			return nil, fmt.Errorf("replay: %s changes %s", Forget, d.states[e.from].Value())
		case op != Forget:
			b.edge(Edge{From: at[e.from], To: at[e.to], Step: step})
		}
	}
	return b.g.sorted(), nil
}

// builder merges states that differ in the last step only.
type builder struct {
	g     *Graph
	known map[Value]int
	seen  map[Edge]bool
}

func (b *builder) state(s Record, initial bool) int {
	text := s.Value()
	i, known := b.known[text]
	if !known {
		i = len(b.g.States)
		b.known[text] = i
		b.g.States = append(b.g.States, s)
	}
	if initial {
		b.g.Initial = append(b.g.Initial, i)
	}
	return i
}

func (b *builder) edge(e Edge) {
	if !b.seen[e] {
		b.seen[e] = true
		b.g.Edges = append(b.g.Edges, e)
	}
}
