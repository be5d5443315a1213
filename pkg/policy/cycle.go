// Explorable.

package policy

import (
	"math"

	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// cycle is a sequence of positions that is replayed over and over while it is
// open. It is recorded again only while it is closed.
type cycle struct {
	order []syncx.Uint32
	// cursor is the generation of the cycle in the upper half and the place in the
	// order in the lower half, where closed stands for no place. A pick that slept
	// through a recording finds another generation, so that it cannot take a turn
	// of one order at the place of another.
	cursor syncx.Uint64
}

// closed is no place in any order.
const closed = math.MaxUint32

// size makes room for so many turns in a new cycle, which is closed.
func (c *cycle) size(turns int) {
	c.order = make([]syncx.Uint32, turns)
	c.cursor.Store(closed)
}

// next takes the next turn. It answers false while the cycle is closed.
func (c *cycle) next() (position int, open bool) {
	for {
		cursor := c.cursor.Load()
		place := cursor & closed
		if place >= uint64(len(c.order)) {
			return 0, false
		}
		position := c.order[place].Load()
		after := cursor + 1
		if place+1 == uint64(len(c.order)) {
			after = cursor - place
		}
		if c.cursor.CompareAndSwap(cursor, after) {
			return int(position), true
		}
	}
}

// record sets one turn. Requires that the cycle is closed.
func (c *cycle) record(place, position int) { c.order[place].Store(uint32(position)) }

// open lets turns be taken from the beginning. Requires that the cycle is closed
// and that nobody else opens or closes it.
func (c *cycle) open() { c.cursor.Store(c.cursor.Load() &^ closed) }

// close stops turns from being taken and returns how many were taken since the
// beginning of the order; 0 where the cycle was closed already. Requires that
// nobody else opens or closes it.
func (c *cycle) close() (taken int) {
	cursor := c.cursor.Load()
	if cursor&closed == closed {
		return 0
	}
	// Only picks can come between, and they leave the generation.
	generation := cursor>>32 + 1
	return int(c.cursor.Swap(generation<<32|closed) & closed)
}
