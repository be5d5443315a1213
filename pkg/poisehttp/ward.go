// Explorable.

package poisehttp

import "github.com/copyleftdev/poise-go/pkg/internal/syncx"

// Ward bounds how many endpoints of a group may be set aside at once, so that one
// request that every endpoint fails at cannot take all of them out. It issues the
// Quarantines of the group; each is in the ward while its endpoint is aside.
//
// A Ward is made by NewWard, and is full until Resize.
//
// # Contract
//
//   - Enter succeeds exactly while fewer are inside than MaxAside percent of the endpoints, rounded down.
//   - Enter and Leave by several goroutines bring the number inside above the bound at no instant.
//   - Resize puts nobody out: who is inside stays until it leaves.
//
// # Cost
//
// Every method is O(1); nothing but Quarantine allocates.
//
// # Concurrency
//
// Enter, Leave and Resize are each one atomic step.
type Ward struct {
	cfg QuarantineConfig
	// beds holds the bound in its upper half and the number inside in its lower.
	beds syncx.Uint64
}

// NewWard returns a Ward of no endpoints, or a [poise.FieldError] of ErrOutOfRange.
func NewWard(cfg QuarantineConfig) (*Ward, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Ward{cfg: cfg}, nil
}

// Quarantine returns a Quarantine of one more endpoint of the group.
func (w *Ward) Quarantine() *Quarantine { return &Quarantine{cfg: w.cfg, ward: w} }

// Resize says how many endpoints the group has.
func (w *Ward) Resize(endpoints uint32) {
	bound := uint64(endpoints) * uint64(w.cfg.MaxAside) / 100
	for {
		beds := w.beds.Load()
		if w.beds.CompareAndSwap(beds, bound<<32|inside(beds)) {
			return
		}
	}
}

// Enter takes a place inside. It reports whether there was one.
func (w *Ward) Enter() bool {
	for {
		beds := w.beds.Load()
		if inside(beds) >= beds>>32 {
			return false
		}
		if w.beds.CompareAndSwap(beds, beds+1) {
			return true
		}
	}
}

// Leave gives a place back that Enter took.
func (w *Ward) Leave() { w.beds.Add(^uint64(0)) }

// overfull reports whether Resize has left more inside than may be.
func (w *Ward) overfull() bool {
	beds := w.beds.Load()
	return inside(beds) > beds>>32
}

func inside(beds uint64) uint64 { return beds & (1<<32 - 1) }
