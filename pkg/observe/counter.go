package observe

import (
	"math"

	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// counter counts up, and shows the largest number once it is full.
//
// It is full at half of what it could hold, so that one atomic addition will do: what is
// added to a full one, of which each part is less than a thousandth of the other half, is
// taken away again long before it could begin anew.
type counter struct{ n syncx.Uint64 }

const full = 1 << 63

func (c *counter) add(delta uint64) {
	if c.n.Add(delta) > full {
		c.n.Store(full)
	}
}

func (c *counter) load() uint64 {
	if n := c.n.Load(); n < full {
		return n
	}
	return math.MaxUint64
}
