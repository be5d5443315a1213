// Explorable.

package discovery

import (
	"context"
	"iter"
)

// Cursor follows the snapshots of a Directory. It is a place among revisions and
// nothing else: the Directory does not know of it, and it is dropped by forgetting
// it.
//
// A Cursor is made by Directory.Cursor or Directory.CursorAfter.
//
// # Contract
//
//   - The first item of a Cursor is the current snapshot, even of a closed Directory.
//   - The first item of CursorAfter is the newest snapshot whose revision is higher than the given one.
//   - A Cursor returns the newest snapshot, and skips all that were published in between.
//   - A Cursor never returns a snapshot that is not newer than the one before.
//   - Next waits until there is a newer snapshot, and misses none that is published while it begins to wait.
//   - A Cursor returns the last snapshot of a closed Directory before it ends, and then stays at its end.
//   - A Cursor that is dropped, or whose wait was cancelled, leaves nothing behind.
//   - A Cursor that does not read delays nobody.
//
// # Cost
//
// Poll, and a Next that need not wait, are one load and allocate nothing. All who
// wait for one snapshot share one event.
//
// # Concurrency
//
// A Cursor belongs to one goroutine at a time. Cursors are independent of each
// other.
type Cursor[V any] struct {
	d     *Directory[V]
	after bool // seen means something
	seen  uint64
	ended bool
}

// Cursor returns a Cursor whose first item is the current snapshot.
func (d *Directory[V]) Cursor() *Cursor[V] { return &Cursor[V]{d: d} }

// CursorAfter returns a Cursor whose first item is newer than the revision.
func (d *Directory[V]) CursorAfter(revision uint64) *Cursor[V] {
	return &Cursor[V]{d: d, after: true, seen: revision}
}

// Poll returns the newest snapshot if the Cursor has not seen it.
func (c *Cursor[V]) Poll() (*Snapshot[V], bool) {
	s := c.take(c.d.current.Load())
	return s, s != nil
}

// take returns the snapshot if it is new, and notes the end.
func (c *Cursor[V]) take(p *published[V]) *Snapshot[V] {
	if c.after && p.snapshot.revision <= c.seen {
		c.ended = p.closed
		return nil
	}
	c.after, c.seen = true, p.snapshot.revision
	return p.snapshot
}

// Next returns the newest snapshot that the Cursor has not seen, and waits for it
// if there is none. It returns ErrClosed at the end, or ctx's error once ctx has
// ended; the Cursor can be used again after that.
func (c *Cursor[V]) Next(ctx context.Context) (*Snapshot[V], error) {
	for {
		p := c.d.current.Load()
		if s := c.take(p); s != nil {
			return s, nil
		}
		if p.closed {
			return nil, ErrClosed
		}
		if err := p.superseded.Wait(ctx); err != nil {
			return nil, err
		}
	}
}

// All yields what Next returns, until the end or until ctx has ended.
func (c *Cursor[V]) All(ctx context.Context) iter.Seq[*Snapshot[V]] {
	return func(yield func(*Snapshot[V]) bool) {
		for {
			s, err := c.Next(ctx)
			if err != nil || !yield(s) {
				return
			}
		}
	}
}

// Seen returns the revision of the last snapshot that the Cursor has returned, or
// that it was made with, and whether there is one.
func (c *Cursor[V]) Seen() (revision uint64, ok bool) { return c.seen, c.after }

// Ended reports whether Poll or Next has found the end.
func (c *Cursor[V]) Ended() bool { return c.ended }
