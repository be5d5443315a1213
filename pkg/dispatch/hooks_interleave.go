//go:build interleave

package dispatch

// Publication is what a Loop publishes by, for the models of an explorer. It exists
// only under the build tag interleave.
//
// The zero value has published nothing.
//
// # Contract
//
//   - A call that loads after a change has returned is decided on what the change published.
//   - A call that is refused by somebody who was closed or removed finds them left out in what it loads next.
//
// # Cost
//
// Load is one atomic load, Change as many steps as there are Slots.
//
// # Concurrency
//
// Any number of goroutines may load. Changes are serialised by the caller.
type Publication[T any] struct{ of publication[T] }

// Load returns what is published.
func (p *Publication[T]) Load() *T { return p.of.load() }

// Change publishes the next content, in the order that publication has.
func (p *Publication[T]) Change(next *T, open, shut, gone []*Slots) {
	p.of.change(next, open, shut, gone)
}
