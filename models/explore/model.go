//go:build interleave

package explore

import (
	"context"
	"time"

	"github.com/copyleftdev/poise-go/spec/seq"
)

// Model is a small concurrent program and what must hold of it.
//
// Everything that tasks share lies in S and is either one of the library's types,
// a hooked type of this package, or written by one task only. A model is
// deterministic apart from the choices it takes from T.
type Model[S any] struct {
	_ struct{}

	Name     string
	NotShown string // what a pass of this model says nothing about

	New   func() S // makes a fresh state; runs alone
	Tasks []Task[S]

	// Always must hold in every state between two steps, Sometimes in at least
	// one. A state in which a predicate would have to wait for a lock is not
	// judged, and counted.
	Always, Sometimes []Pred[S]

	Final   func(S, *Run) error  // judges a state in which every task has ended
	Outcome func(S, *Run) string // names it; both engines must see the same names
	Spec    seq.Spec             // judges the calls made through T.Call; nil: none

	Bounds Bounds
	Bugs   []Bug[S]
}

// Task is one of the goroutines of a model.
type Task[S any] struct {
	Name string
	Body func(S, *T)
}

// Pred is a named predicate over a state. It may read hooked objects and call
// methods that only read; it must not change anything.
type Pred[S any] struct {
	Name  string
	Holds func(S) bool
}

// Bug is a twin of the model with one planted fault, which the explorer must find.
type Bug[S any] struct {
	Name  string
	New   func() S
	Tasks []Task[S] // nil: the model's own
	// Breaks is the verdict that must be reached: "always NAME", "final",
	// "history", "deadlock", "panic", "steps" or "race".
	Breaks string
}

// Bounds limits an exploration. Reaching a limit is a failure, never a quiet end.
// Zero means the value in brackets.
type Bounds struct {
	Steps      int // of one execution (200); more is called a livelock
	Executions int // of the reduced engine (20,000,000)

	// Tick is by how much T.Now may find the clock advanced, at most Ticks times
	// in one execution (0: the clock stands still). That the clock does not
	// advance more often is part of what the model does not show.
	Tick  time.Duration
	Ticks int
}

// Run is what one execution leaves besides its state.
type Run struct {
	History seq.History // the calls made through T.Call, in the order of their returns
}

// Results returns what the task's calls returned, in order.
func (r *Run) Results(task int) []any {
	var results []any
	for _, op := range r.History {
		if op.Task == task {
			results = append(results, op.Result)
		}
	}
	return results
}

// T is a task's own handle on the explorer.
type T struct {
	e    *engine
	task *task
}

// Call runs f and records it as a call of the operation op with argument arg.
// The argument and the result are comparable. The recorded interval is the
// smallest there is: from f's first step to its last.
func (t *T) Call(op string, arg any, f func() any) any {
	return t.e.call(t.task, op, arg, f)
}

// Choose returns one of 0 to n-1. The explorer tries them all.
func (t *T) Choose(label string, n int) int { return t.e.Choose(label, n) }

// Now reads the model's clock, which all tasks share. Whether it has advanced by
// a tick since it was read last is a choice, as long as ticks are left.
func (t *T) Now() time.Time { return t.e.now() }

// Context returns a context that ends at any step from now on, or never. When
// nothing else can happen, it ends.
func (t *T) Context() context.Context { return t.e.newContext() }
