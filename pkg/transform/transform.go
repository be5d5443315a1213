package transform

import "time"

// Transform edits the samples of a View to be: weights, exclusions, priorities. A
// Transform with state belongs to one Chain.
//
// # Contract
//
//   - A Chain calls Edit once in each Run that reaches the transform, one call at a time.
//   - Each Edit starts from the samples as the transform before it left them, so an edit that is not made again is undone.
//   - The error of an Edit ends the Run, and the samples of the last Run stand.
//
// # Cost
//
// Edit runs before each publication. A Transform that looks only at what changed
// costs what changed.
//
// # Concurrency
//
// A Chain calls Edit from the goroutine that called Run.
type Transform interface {
	// Edit edits the draft as of the instant. It returns when it wants to edit again
	// although no member has changed; the zero time is never.
	Edit(d *Draft, now time.Time) (again time.Time, err error)
}

// Func is a Transform without state, made from a function that never asks to be
// called again.
type Func func(d *Draft, now time.Time) error

// Edit calls f.
func (f Func) Edit(d *Draft, now time.Time) (time.Time, error) { return time.Time{}, f(d, now) }
