package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// History is what clients did to one object: finished calls, in any order.
type History struct {
	_ struct{}
	// Start is what is known of the initial state: some of its variables.
	Start Record
	Calls []Call
}

// Call is one finished call, or a step of the world.
type Call struct {
	_ struct{}
	// Name is the Go function, as its actions name it, or the action itself if it
	// is a step of the world.
	Name string
	// Args are arguments and choices of the first step, as far as they are known.
	// Where callers may overlap, by is one of them.
	Args Record
	// Result is what it returned.
	Result Value
	// Call and Return are stamps of one monotone counter. The interval is closed:
	// equal stamps of two calls mean that they overlap.
	Call, Return int64
}

// String returns the call as a line of a history's text.
func (c Call) String() string {
	return fmt.Sprintf("%d %d %s %s => %s", c.Call, c.Return, c.Name, c.Args.Value(), c.Result)
}

// InOrder returns the history of calls made one after the other.
func InOrder(start Record, calls ...Call) History {
	h := History{Start: start, Calls: slices.Clone(calls)}
	for i := range h.Calls {
		h.Calls[i].Call, h.Calls[i].Return = int64(2*i), int64(2*i+1)
	}
	return h
}

// String returns the text of the history, a line for each call.
func (h History) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "history %s\n", h.Start.Value())
	for _, c := range h.Calls {
		fmt.Fprintln(&b, c)
	}
	return b.String()
}

// ParseHistories reads the texts of histories, one after the other.
func ParseHistories(text string) (all []History, err error) {
	number := 0
	for l := range strings.Lines(text) {
		number++
		l = strings.TrimRight(l, "\n")
		if start, is := strings.CutPrefix(l, "history "); is {
			v, err := ParseValue(start)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			all = append(all, History{Start: v.Fields()})
			continue
		}
		var c Call
		before, result, _ := strings.Cut(l, " => ")
		fields := strings.SplitN(before, " ", 4)
		if len(all) == 0 || len(fields) != 4 {
			return nil, fmt.Errorf("line %d: %q is no call of a history", number, l)
		}
		if _, err := fmt.Sscan(fields[0], &c.Call); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if _, err := fmt.Sscan(fields[1], &c.Return); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		args, err := ParseValue(fields[3])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if c.Result, err = ParseValue(result); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		c.Name, c.Args = fields[2], args.Fields()
		last := &all[len(all)-1]
		last.Calls = append(last.Calls, c)
	}
	return all, nil
}

// Path is how a graph accepts a history: where it starts, and the edges in order.
type Path struct {
	_       struct{}
	Initial int
	Edges   []int
}

// Lookup looks histories up in a graph.
type Lookup struct {
	Graph *Graph
	out   [][]int
	busy  []map[Value]bool
	steps []Record

	// Labels are what clients and the world can do somewhere in the graph, sorted.
	Labels []Label
}

// NewLookup returns a Lookup in the graph.
func NewLookup(g *Graph) *Lookup {
	l := &Lookup{Graph: g, out: g.outgoing(), busy: g.callers()}
	for _, e := range g.Edges {
		l.steps = append(l.steps, e.Step.Fields())
	}
	l.Labels = l.labels()
	return l
}

func (l *Lookup) labels() (all []Label) {
	for i, e := range l.Graph.Edges {
		step := l.steps[i]
		if l.busy[e.From][step["by"]] {
			continue
		}
		all = append(all, Label{l.Graph.function(step["op"].Str()), step.without("op", "res").Value()})
	}
	slices.SortFunc(all, func(a, b Label) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Args, b.Args)) })
	return slices.Compact(all)
}

// Accepts looks for a path of the graph on which every call makes its steps between
// its call and its return, and returns what it returned. The error says which call
// no path can return from.
func (l *Lookup) Accepts(h History) (Path, error) {
	type event struct {
		at      int64
		returns bool
		call    int
	}
	var events []event
	for i, c := range h.Calls {
		events = append(events, event{c.Call, false, i}, event{c.Return, true, i})
	}
	// The interval is closed, so at one stamp calls come before returns.
	slices.SortStableFunc(events, func(a, b event) int {
		calls := func(e event) int {
			if e.returns {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(calls(a), calls(b)))
	})
	a := acceptor{Lookup: l, calls: h.Calls}
	for _, i := range l.Graph.Initial {
		if l.Graph.States[i].has(h.Start) {
			a.add(&reached{state: i, edge: -1})
		}
	}
	if len(a.front) == 0 {
		return Path{}, fmt.Errorf("no initial state has %s", h.Start.Value())
	}
	for _, e := range events {
		c := h.Calls[e.call]
		if !e.returns {
			a.open = append(a.open, e.call)
			continue
		}
		a.close()
		a.keep(e.call)
		if len(a.front) == 0 {
			return Path{}, fmt.Errorf("no path returns from %s in\n%s", c, h)
		}
	}
	return a.front[0].path(), nil
}

// has reports whether the record has the given fields.
func (r Record) has(some Record) bool {
	for name, v := range some {
		if r[name] != v {
			return false
		}
	}
	return true
}

// callers returns, for each state, who is inside a call: those whose pc is not what
// it was at first.
func (g *Graph) callers() []map[Value]bool {
	all := make([]map[Value]bool, len(g.States))
	outside := g.States[g.Initial[0]]["pc"].Fields()
	for i, s := range g.States {
		all[i] = map[Value]bool{}
		for c, pc := range s["pc"].Fields() {
			if pc != outside[c] {
				all[i][Of(c)] = true
			}
		}
	}
	return all
}

// acceptor keeps every way in which the events so far can have happened.
type acceptor struct {
	*Lookup
	calls []Call
	open  []int // called and not returned
	front []*reached
}

// reached is a state on some path. A call is in neither list before its first step.
type reached struct {
	state       int
	begun, done []int // calls, sorted
	before      *reached
	edge        int // that led here, -1 at the start
}

func (r *reached) key() string { return fmt.Sprint(r.state, r.begun, r.done) }

func (r *reached) path() (p Path) {
	for ; r.edge >= 0; r = r.before {
		p.Edges = append(p.Edges, r.edge)
	}
	p.Initial = r.state
	slices.Reverse(p.Edges)
	return p
}

func (a *acceptor) add(r *reached) { a.front = append(a.front, r) }

// close adds whatever open calls can have done by now.
func (a *acceptor) close() {
	seen := map[string]bool{}
	for _, r := range a.front {
		seen[r.key()] = true
	}
	for i := 0; i < len(a.front); i++ {
		r := a.front[i]
		for _, e := range a.out[r.state] {
			for _, next := range a.step(r, e) {
				if key := next.key(); !seen[key] {
					seen[key] = true
					a.add(next)
				}
			}
		}
	}
}

// step returns what becomes of the calls by an edge: more than one thing if
// several of them could begin by it.
func (a *acceptor) step(r *reached, e int) (all []*reached) {
	edge := a.Graph.Edges[e]
	fields := a.steps[e]
	by := fields["by"]
	inside := a.busy[r.state][by]
	for _, i := range a.open {
		c := a.calls[i]
		switch began := slices.Contains(r.begun, i); {
		case slices.Contains(r.done, i), inside != began:
			continue
		case inside && c.Args["by"] != by:
			continue
		case !inside && (c.Name != a.Graph.function(fields["op"].Str()) || !fields.has(c.Args)):
			continue
		}
		next := &reached{state: edge.To, begun: without(r.begun, i), done: r.done, before: r, edge: e}
		switch {
		case a.busy[edge.To][by]:
			next.begun = with(next.begun, i)
		case fields["res"] == c.Result:
			next.done = with(r.done, i)
		default:
			continue
		}
		all = append(all, next)
	}
	return all
}

// keep drops every way in which the call has not ended.
func (a *acceptor) keep(call int) {
	a.open = without(a.open, call)
	a.front = slices.DeleteFunc(a.front, func(r *reached) bool { return !slices.Contains(r.done, call) })
	for _, r := range a.front {
		r.done = without(r.done, call)
	}
}

func with(list []int, i int) []int {
	list = append(slices.Clone(list), i)
	slices.Sort(list)
	return list
}

func without(list []int, i int) []int {
	return slices.DeleteFunc(slices.Clone(list), func(j int) bool { return j == i })
}

// Varying returns the variables that initial states tell apart, sorted.
func (g *Graph) Varying() (names []string) {
	for _, name := range g.States[g.Initial[0]].names() {
		if slices.ContainsFunc(g.Initial, func(i int) bool { return g.States[i][name] != g.States[g.Initial[0]][name] }) {
			names = append(names, name)
		}
	}
	return names
}

// function names what an action is a step of: a Go function, or itself if it is a
// step of the world.
func (g *Graph) function(action string) string { return cmp.Or(g.Go[action], action) }
