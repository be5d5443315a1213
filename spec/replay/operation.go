package replay

import (
	"fmt"
	"slices"
)

// Operation is a whole call, or a step of the world: a path of edges on which
// nobody else makes a step.
type Operation struct {
	From, To int
	// Name is the Go function that is called, as its action's Go line spells it,
	// or the action, if it is a step of the world.
	Name string
	// Args are the fields of the first step, but for op and res.
	Args Record
	// Result is the field res of the last step.
	Result Value
	// Edges are the edges of the path, by their places in the graph.
	Edges []int
}

// Label is the operation as a client makes it, without what comes of it.
func (o Operation) Label() Label { return Label{o.Name, o.Args.Value()} }

// String returns the operation as a line of a failure.
func (o Operation) String() string {
	return fmt.Sprintf("%s %s returns %s", o.Name, o.Args.Value(), o.Result)
}

// Label is a name with its arguments.
type Label struct {
	Name string
	Args Value
}

// longest is how many steps one call may have. A longer one goes round in circles.
const longest = 64

// operations returns the operations of a graph whose states tell who is in a call.
// A state in which nobody is, is at rest; operations lead from rest to rest.
func (g *Graph) operations(busy func(Record) []string) ([]Operation, error) {
	out := g.outgoing()
	var all []Operation
	var follow func(path []int, by Value) error
	follow = func(path []int, by Value) error {
		last := g.Edges[path[len(path)-1]]
		if len(busy(g.States[last.To])) == 0 {
			all = append(all, g.operation(path))
			return nil
		}
		if len(path) == longest {
			return fmt.Errorf("replay: a call of more than %d steps, begun in state %d", longest, g.Edges[path[0]].From)
		}
		for _, e := range out[last.To] {
			if g.Edges[e].Step.Fields()["by"] != by {
				continue
			}
			if err := follow(append(slices.Clone(path), e), by); err != nil {
				return err
			}
		}
		return nil
	}
	for i, e := range g.Edges {
		if len(busy(g.States[e.From])) > 0 {
			continue
		}
		if err := follow([]int{i}, e.Step.Fields()["by"]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (g *Graph) operation(path []int) Operation {
	first, last := g.Edges[path[0]], g.Edges[path[len(path)-1]]
	step := first.Step.Fields()
	return Operation{
		From: first.From, To: last.To, Name: g.function(step["op"].Str()), Args: step.without("op", "res"),
		Result: last.Step.Fields()["res"], Edges: path,
	}
}

// outgoing returns the edges of each state.
func (g *Graph) outgoing() [][]int {
	out := make([][]int, len(g.States))
	for i, e := range g.Edges {
		out[e.From] = append(out[e.From], i)
	}
	return out
}

// shortest returns, for each state, the operation that ends a shortest path to
// it: -1 for initial states, -2 for those out of reach.
func (g *Graph) shortest(operations []Operation) []int {
	by := make([]int, len(g.States))
	for i := range by {
		by[i] = -2
	}
	out := make([][]int, len(g.States))
	for i, o := range operations {
		out[o.From] = append(out[o.From], i)
	}
	queue := slices.Clone(g.Initial)
	for _, i := range queue {
		by[i] = -1
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, o := range out[at] {
			if to := operations[o].To; by[to] == -2 {
				by[to] = o
				queue = append(queue, to)
			}
		}
	}
	return by
}

// Walks returns for each operation a shortest path of operations that ends with it,
// from an initial state in which nobody is in a call.
func (g *Graph) Walks(busy func(Record) []string) ([][]Operation, error) {
	operations, err := g.operations(busy)
	if err != nil {
		return nil, err
	}
	by := g.shortest(operations)
	var walks [][]Operation
	for i, o := range operations {
		if by[o.From] == -2 {
			continue
		}
		walk := []Operation{operations[i]}
		for state := o.From; by[state] >= 0; state = operations[by[state]].From {
			walk = append(walk, operations[by[state]])
		}
		slices.Reverse(walk)
		walks = append(walks, walk)
	}
	return walks, nil
}
