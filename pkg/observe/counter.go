package observe

import (
	"math"

	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// counter counts up, and stays at the largest number once it is there.
type counter struct{ n syncx.Uint64 }

// add adds without ever showing a smaller number.
func (c *counter) add(delta uint64) {
	for {
		was := c.n.Load()
		is := was + delta
		if is < was {
			is = math.MaxUint64
		}
		if is == was || c.n.CompareAndSwap(was, is) {
			return
		}
	}
}

func (c *counter) load() uint64 { return c.n.Load() }
