package replay

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
)

// Mapping says how a Go type follows a specification.
type Mapping[S any] struct {
	_ struct{}
	// New makes the type as an initial state has it.
	New func(constants, initial Record) (S, error)
	// Apply makes an operation, by its name, and returns what it returned, to be
	// compared with the specification's result. An error ends the walk: the
	// operation was not possible.
	Apply map[string]func(s S, args Record) (any, error)
	// Project returns the variables as the type has them.
	Project func(S) map[string]any
	// May reports whether a client may make the operation in a state. The graph
	// must say the same.
	May func(constants, state Record, name string, args Record) bool
	// Busy names the callers that are inside a call. nil: every call is one step.
	Busy func(state Record) []string
	// Hidden are variables that are not compared, Skip operations that are not
	// made.
	Hidden, Skip []Exempt
}

// Exempt is an exception with its reason.
type Exempt struct{ Name, Why string }

// Walked counts what a walk covered.
type Walked struct {
	States, Edges int // of the graph
	Operations    int // made and compared
	Covered       int // edges on the way of an operation
	Refused       int // operations that a client may not make, and that are no edges
}

// Load reads a committed graph. The variable POISE_GRAPH names another one, so
// that the mutation of specifications can ask whether a walk notices.
func Load(t testing.TB, path string) *Graph {
	t.Helper()
	if other := os.Getenv("POISE_GRAPH"); other != "" {
		path = other
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Parse(string(text))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return g
}

// Walk makes every operation of the graph on the real type, after a shortest path
// to where it begins, and compares the result and the state. Then it asks of
// every state whether the graph has exactly the operations that a client may make.
func Walk[S any](t testing.TB, g *Graph, m Mapping[S]) Walked {
	t.Helper()
	counts, problems := m.Check(g)
	report(t, problems)
	if len(problems) == 0 {
		t.Logf("%s: %d states, %d edges; %d operations made, covering %d edges; %d that no client may make",
			g.Spec, counts.States, counts.Edges, counts.Operations, counts.Covered, counts.Refused)
		counts.tell(t, g)
	}
	return counts
}

// tell prints what the record of a verification counts.
func (w Walked) tell(t testing.TB, g *Graph) {
	t.Helper()
	t.Logf(`walk: {"spec":%q,"edges":%d}`, g.Spec, w.Covered)
}

// report fails the test with the first few problems.
func report(t testing.TB, problems []error) {
	t.Helper()
	for i, p := range problems {
		if i == 5 {
			t.Errorf("and %d more", len(problems)-i)
			return
		}
		t.Error(p)
	}
}

// Check is Walk without a test.
func (m Mapping[S]) Check(g *Graph) (Walked, []error) {
	if m.Busy == nil {
		m.Busy = func(Record) []string { return nil }
	}
	w := walker[S]{Mapping: m, g: g, counts: Walked{States: len(g.States), Edges: len(g.Edges)}}
	var err error
	if w.operations, err = g.operations(m.Busy); err != nil {
		return w.counts, []error{err}
	}
	w.by = g.shortest(w.operations)
	w.used = map[string]bool{}
	covered := map[int]bool{}
	for i, o := range w.operations {
		if w.skipped(o.Name) || w.by[o.From] == -2 {
			continue
		}
		if err := w.make(i); err != nil {
			w.problems = append(w.problems, err)
			continue
		}
		w.counts.Operations++
		for _, e := range o.Edges {
			covered[e] = true
		}
	}
	w.counts.Covered = len(covered)
	w.close()
	w.unused()
	return w.counts, w.problems
}

type walker[S any] struct {
	Mapping[S]
	g          *Graph
	operations []Operation
	by         []int // as shortest returns
	used       map[string]bool
	counts     Walked
	problems   []error
}

func (w *walker[S]) skipped(name string) bool {
	for _, e := range w.Skip {
		if e.Name == name {
			w.used["skip "+name] = true
			return true
		}
	}
	return false
}

// path returns the operations that lead to the state, and the initial state.
func (w *walker[S]) path(state int) (path []int, initial int) {
	for w.by[state] >= 0 {
		path = append(path, w.by[state])
		state = w.operations[w.by[state]].From
	}
	slices.Reverse(path)
	return path, state
}

// make makes one operation on a fresh object and compares.
func (w *walker[S]) make(i int) error {
	path, initial := w.path(w.operations[i].From)
	s, err := w.New(w.g.Constants, w.g.States[initial])
	if err != nil {
		return fmt.Errorf("%s: New: %w", w.g.Spec, err)
	}
	path = append(path, i)
	for _, k := range path {
		o := w.operations[k]
		apply := w.Apply[o.Name]
		if apply == nil {
			return fmt.Errorf("%s: the mapping has no operation %s", w.g.Spec, o.Name)
		}
		w.used[o.Name] = true
		got, err := apply(s, o.Args)
		if err == nil && Of(got) != o.Result {
			err = fmt.Errorf("it returned %v", got)
		}
		if err != nil {
			return w.failure(path, initial, err)
		}
	}
	if err := compare(w.Project(s), w.g.States[w.operations[i].To], w.Hidden, w.used); err != nil {
		return w.failure(path, initial, err)
	}
	return nil
}

func (w *walker[S]) failure(path []int, initial int, err error) error {
	text := fmt.Sprintf("%s: %v\n  from %s", w.g.Spec, err, w.g.States[initial].Value())
	for _, k := range path {
		text += "\n  " + w.operations[k].String()
	}
	return errors.New(text)
}

// compare holds a type's variables against a state, and notes which of the hidden
// ones there are.
func compare(got map[string]any, state Record, hidden []Exempt, used map[string]bool) error {
	var wrong []error
	for _, name := range state.names() {
		if slices.ContainsFunc(hidden, func(e Exempt) bool { return e.Name == name }) {
			used["hidden "+name] = true
			continue
		}
		x, has := got[name]
		switch {
		case !has:
			wrong = append(wrong, fmt.Errorf("the mapping does not project %s", name))
		case Of(x) != state[name]:
			wrong = append(wrong, fmt.Errorf("%s is %s and not %s", name, Of(x), state[name]))
		}
	}
	return errors.Join(wrong...)
}

// close asks the other way round: of all operations that the graph knows, which
// may a client make in a state, and does the graph have those and no others?
func (w *walker[S]) close() {
	labels := map[Label]Record{}
	has := map[int]map[Label]bool{}
	for _, o := range w.operations {
		if w.skipped(o.Name) {
			continue
		}
		labels[o.Label()] = o.Args
		if has[o.From] == nil {
			has[o.From] = map[Label]bool{}
		}
		has[o.From][o.Label()] = true
	}
	for state, record := range w.g.States {
		if w.by[state] == -2 || len(w.Busy(record)) > 0 {
			continue
		}
		for label, args := range labels {
			may := w.May(w.g.Constants, record, label.Name, args)
			switch {
			case may && !has[state][label]:
				w.problems = append(w.problems, fmt.Errorf("%s: a client may make %s %s in %s, and the graph has no such edge",
					w.g.Spec, label.Name, label.Args, record.Value()))
			case !may && has[state][label]:
				w.problems = append(w.problems, fmt.Errorf("%s: the graph has %s %s in %s, which the mapping says no client may make",
					w.g.Spec, label.Name, label.Args, record.Value()))
			case !may:
				w.counts.Refused++
			}
		}
	}
}

// unused reports parts of the mapping that nothing needs.
func (w *walker[S]) unused() {
	for _, name := range slices.Sorted(maps.Keys(w.Apply)) {
		if !w.used[name] {
			w.problems = append(w.problems, fmt.Errorf("%s: the graph never makes %s; take it out of the mapping", w.g.Spec, name))
		}
	}
	for _, e := range w.Hidden {
		if !w.used["hidden "+e.Name] {
			w.problems = append(w.problems, fmt.Errorf("%s: there is no variable %s to hide", w.g.Spec, e.Name))
		}
	}
	for _, e := range w.Skip {
		if !w.used["skip "+e.Name] {
			w.problems = append(w.problems, fmt.Errorf("%s: there is no operation %s to skip", w.g.Spec, e.Name))
		}
	}
}
