// Explorable.

package dispatch

import "github.com/copyleftdev/poise-go/pkg/internal/syncx"

// publication is what calls that begin now are decided on, and the one order in
// which it may be replaced: first open who may be called, then publish, then close
// who drains, last remove who is gone. So whoever the published content offers is
// open but for the moment of a change, and a call that is refused finds in the
// content that is published then who is there instead.
//
// The zero value has published nothing. Any number of goroutines may load; changes
// are serialised by the caller.
type publication[T any] struct{ current syncx.Pointer[T] }

// load returns what is published; nil before the first change.
func (p *publication[T]) load() *T { return p.current.Load() }

// change publishes the next content, with what has to happen before and after it.
func (p *publication[T]) change(next *T, open, shut, gone []*Slots) {
	for _, s := range open {
		s.Resume()
	}
	p.current.Store(next)
	for _, s := range shut {
		s.Drain()
	}
	for _, s := range gone {
		s.Remove()
	}
}
