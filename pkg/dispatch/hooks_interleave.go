//go:build interleave

package dispatch

// Publication is what a Loop publishes by, for the models of an explorer. It exists
// only under the build tag interleave.
type Publication[T any] struct{ of publication[T] }

// Load returns what is published.
func (p *Publication[T]) Load() *T { return p.of.load() }

// Change publishes the next content.
func (p *Publication[T]) Change(next *T, open, shut, gone []*Slots) {
	p.of.change(next, open, shut, gone)
}
