//go:build interleave

package models

import (
	"fmt"

	"github.com/copyleftdev/poise-go/models/explore"
)

// same returns n tasks with one body.
func same[S any](n int, name string, body func(S, *explore.T)) []explore.Task[S] {
	return numbered(n, name, func(_ int, s S, h *explore.T) { body(s, h) })
}

// numbered returns n tasks whose body is told its number.
func numbered[S any](n int, name string, body func(number int, s S, h *explore.T)) []explore.Task[S] {
	tasks := make([]explore.Task[S], n)
	for i := range tasks {
		tasks[i] = explore.Task[S]{Name: fmt.Sprintf("%s %d", name, i), Body: func(s S, h *explore.T) { body(i, s, h) }}
	}
	return tasks
}

// results names an execution by what each task's calls returned.
func results[S any](_ S, r *explore.Run) string {
	var out [4][]any
	for _, op := range r.History {
		out[op.Task] = append(out[op.Task], op.Result)
	}
	return fmt.Sprint(out)
}
