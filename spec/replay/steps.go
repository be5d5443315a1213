package replay

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// Stepper runs calls one synchronising operation at a time.
type Stepper interface {
	// Start begins a call and stops it before its first operation.
	Start(task string, call func() any) error
	// Step lets it make one operation, and whatever follows up to the next one.
	Step(task string) error
	// Ended returns what the call returned, if it has ended.
	Ended(task string) (result any, ended bool)
	// Waits reports whether its next operation cannot happen now.
	Waits(task string) bool
	// Close ends the calls that have not.
	Close()
}

// StepMapping says how a Go type follows a specification operation by operation.
type StepMapping[S any] struct {
	_ struct{}
	// New makes the type as an initial state has it.
	New func(constants, initial Record) (S, error)
	// Begin returns a call, by the Go function that is called.
	Begin map[string]func(s S, args Record) func() any
	// World makes the steps that no call makes, by the action, and returns what
	// they came to. May is asked of them too.
	World map[string]func(s S, args Record) (any, error)
	// Decide is told of every step before it is made, so that what is not the code's
	// to decide comes out as the graph has it. May be nil.
	Decide func(s S, from, args Record)
	// Ways returns in how many ways the call of somebody can go on, 0 if it waits;
	// nil: there is one.
	Ways func(constants, state Record, by string) int
	// Within returns what a step came to, by the action, where the call goes on.
	Within map[string]func(S) any
	// Steps returns how many operations an action takes; nil: each takes one.
	Steps func(action string, from, args Record) int
	// Project returns the variables as the type has them.
	Project func(S) map[string]any
	// May reports whether a caller outside any call may begin one. The graph must
	// say the same.
	May func(constants, state Record, name string, args Record) bool
	// Busy names the callers that are inside a call.
	Busy func(state Record) []string
	// Hidden are variables that are not compared.
	Hidden []Exempt
	// Wander is how many walks at random come after those to every edge. What the type
	// remembers and the specification forgets shows on longer ways than the shortest.
	Wander int
	// Enough is how many problems end a walk; 0: it goes on to the last edge.
	Enough int
}

// WalkSteps makes every edge of the graph on the real type, after a shortest path
// to where it begins: every interleaving of the specification is one of the
// shipped code. After each step it compares the state, whether the call has ended,
// and what it returned.
func WalkSteps[S any](t testing.TB, g *Graph, m StepMapping[S], stepper func() Stepper) Walked {
	t.Helper()
	counts, problems := m.Check(g, stepper)
	report(t, problems)
	if len(problems) == 0 {
		t.Logf("%s: %d states, %d edges; %d edges made, step by step", g.Spec, counts.States, counts.Edges, counts.Covered)
		counts.tell(t, g)
	}
	return counts
}

// Check is WalkSteps without a test.
func (m StepMapping[S]) Check(g *Graph, stepper func() Stepper) (Walked, []error) {
	counts := Walked{States: len(g.States), Edges: len(g.Edges)}
	edges := make([]Operation, len(g.Edges))
	for i, e := range g.Edges {
		edges[i] = Operation{From: e.From, To: e.To}
	}
	if m.Ways == nil {
		m.Ways = func(Record, Record, string) int { return 1 }
	}
	by := g.shortest(edges)
	used := map[string]bool{}
	problems := m.close(g, by)
	for i := range g.Edges {
		if m.Enough > 0 && len(problems) >= m.Enough {
			return counts, problems
		}
		if by[g.Edges[i].From] == -2 {
			problems = append(problems, fmt.Errorf("%s: no path leads to state %d", g.Spec, g.Edges[i].From))
			continue
		}
		if err := m.walk(g, leading(g, by, i), stepper(), used); err != nil {
			problems = append(problems, err)
			continue
		}
		counts.Covered++
	}
	out := g.outgoing()
	for i := range m.Wander {
		if err := m.walk(g, wandering(g, out, uint64(i)), stepper(), used); err != nil {
			problems = append(problems, err)
		}
	}
	return counts, append(problems, m.unused(g, used)...)
}

// unused reports parts of the mapping that nothing needs.
func (m StepMapping[S]) unused(g *Graph, used map[string]bool) (problems []error) {
	names := slices.Concat(slices.Sorted(maps.Keys(m.Begin)), slices.Sorted(maps.Keys(m.World)), slices.Sorted(maps.Keys(m.Within)))
	for _, name := range names {
		if !used[name] {
			problems = append(problems, fmt.Errorf("%s: the graph never makes %s; take it out of the mapping", g.Spec, name))
		}
	}
	for _, e := range m.Hidden {
		if !used["hidden "+e.Name] {
			problems = append(problems, fmt.Errorf("%s: there is no variable %s to hide", g.Spec, e.Name))
		}
	}
	return problems
}

// leading returns a shortest path that ends with the edge.
func leading(g *Graph, by []int, edge int) []int {
	path := []int{edge}
	for state := g.Edges[edge].From; by[state] >= 0; state = g.Edges[by[state]].From {
		path = append(path, by[state])
	}
	slices.Reverse(path)
	return path
}

// wandering returns a path that chance chooses, to where nothing leads on, or as
// long as the longest call.
func wandering(g *Graph, out [][]int, seed uint64) (path []int) {
	chance := rand.New(rand.NewPCG(seed, 0))
	state := g.Initial[chance.IntN(len(g.Initial))]
	for len(path) < longest && len(out[state]) > 0 {
		e := out[state][chance.IntN(len(out[state]))]
		path, state = append(path, e), g.Edges[e].To
	}
	return path
}

// walk makes a path on a fresh object. Every result is compared, and the state at
// the end: those before are the ends of other paths.
func (m StepMapping[S]) walk(g *Graph, path []int, run Stepper, used map[string]bool) error {
	defer run.Close()
	state, end := g.Edges[path[0]].From, g.Edges[path[len(path)-1]].To
	s, err := m.New(g.Constants, g.States[state])
	if err != nil {
		return fmt.Errorf("%s: New: %w", g.Spec, err)
	}
	for i, e := range path {
		if err = m.step(g, s, g.Edges[e], run, used); err != nil {
			path = path[:i+1]
			break
		}
	}
	if to := g.States[end]; err == nil {
		err = errors.Join(compare(m.Project(s), to, m.Hidden, used), m.waits(g, to, run))
	}
	if err == nil {
		return nil
	}
	text := fmt.Sprintf("%s: %v\n  from %s", g.Spec, err, g.States[state].Value())
	for _, e := range path {
		text += "\n  " + string(g.Edges[e].Step)
	}
	return errors.New(text)
}

// waits compares who waits with who should.
func (m StepMapping[S]) waits(g *Graph, state Record, run Stepper) error {
	for _, by := range m.Busy(state) {
		if waits, ways := run.Waits(by), m.Ways(g.Constants, state, by); waits != (ways == 0) {
			return fmt.Errorf("whether the call of %s waits is %t, and it can go on in %d ways", by, waits, ways)
		}
	}
	return nil
}

// step makes one edge.
func (m StepMapping[S]) step(g *Graph, s S, e Edge, run Stepper, used map[string]bool) error {
	args := e.Step.Fields()
	action, by := args["op"].Str(), args["by"].Str()
	if m.Decide != nil {
		m.Decide(s, g.States[e.From], args)
	}
	if world := m.World[action]; world != nil {
		used[action] = true
		got, err := world(s, args)
		if err == nil && Of(got) != args["res"] {
			err = fmt.Errorf("it came to %v", got)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", action, err)
		}
		return err
	}
	if !slices.Contains(m.Busy(g.States[e.From]), by) {
		begin := m.Begin[g.function(action)]
		if begin == nil {
			return fmt.Errorf("the mapping cannot begin %s", g.function(action))
		}
		used[g.function(action)] = true
		if err := run.Start(by, begin(s, args)); err != nil {
			return err
		}
	}
	steps := 1
	if m.Steps != nil {
		steps = m.Steps(action, g.States[e.From], args)
	}
	for range steps {
		if err := run.Step(by); err != nil {
			return fmt.Errorf("%s: %w", action, err)
		}
	}
	return m.came(g, s, e, run, used)
}

// came compares what a step came to.
func (m StepMapping[S]) came(g *Graph, s S, e Edge, run Stepper, used map[string]bool) error {
	args := e.Step.Fields()
	action, by := args["op"].Str(), args["by"].Str()
	result, ended := run.Ended(by)
	if goesOn := slices.Contains(m.Busy(g.States[e.To]), by); ended == goesOn {
		return fmt.Errorf("after %s, whether the call of %s has ended is %t: %v", action, by, ended, result)
	}
	if within := m.Within[action]; within != nil && !ended {
		used[action] = true
		result, ended = within(s), true
	}
	if ended && Of(result) != args["res"] {
		return fmt.Errorf("%s returned %v and not %s", action, result, args["res"])
	}
	return nil
}

// close asks the other way round: in every state, can every call that has begun go
// on in exactly as many ways as are open to it, and may a client begin exactly the calls that the graph
// begins?
func (m StepMapping[S]) close(g *Graph, by []int) (problems []error) {
	labels := map[Label]Record{}
	begins := map[int]map[Label]bool{}
	goesOn := map[int]map[string]int{}
	for _, e := range g.Edges {
		args := e.Step.Fields()
		caller := args["by"].Str()
		if slices.Contains(m.Busy(g.States[e.From]), caller) {
			if goesOn[e.From] == nil {
				goesOn[e.From] = map[string]int{}
			}
			goesOn[e.From][caller]++
			continue
		}
		label := Label{g.function(args["op"].Str()), args.without("op", "res").Value()}
		labels[label] = args
		if begins[e.From] == nil {
			begins[e.From] = map[Label]bool{}
		}
		begins[e.From][label] = true
	}
	for i, state := range g.States {
		if by[i] == -2 {
			continue
		}
		busy := m.Busy(state)
		for _, caller := range busy {
			if n, ways := goesOn[i][caller], m.Ways(g.Constants, state, caller); n != ways {
				problems = append(problems, fmt.Errorf("%s: the call of %s goes on in %d ways in %s, and a real one in %d",
					g.Spec, caller, n, state.Value(), ways))
			}
		}
		for label, args := range labels {
			if slices.Contains(busy, args["by"].Str()) {
				continue
			}
			if may := m.May(g.Constants, state, label.Name, args); may != begins[i][label] {
				problems = append(problems, fmt.Errorf("%s: whether a client may make %s %s in %s is %t, and the graph says otherwise",
					g.Spec, label.Name, label.Args, state.Value(), may))
			}
		}
	}
	return problems
}
