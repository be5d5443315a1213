// Explorable.

package health

// failureWindow holds the latest outcomes of a closed circuit, one bit each.
//
// Invariant: failed is the number of bits set, and no bit is set from seen on
// while the window is not full.
type failureWindow struct {
	bits   []uint64
	size   int
	next   int // where the next outcome goes, which is the oldest once it is full
	seen   int
	failed int
}

func newFailureWindow(size int) failureWindow {
	return failureWindow{bits: make([]uint64, (size+63)/64), size: size}
}

// record adds an outcome and forgets the oldest of a full window. A window of size
// 0 holds nothing.
func (w *failureWindow) record(failed bool) {
	if w.size == 0 {
		return
	}
	word, bit := &w.bits[w.next/64], uint64(1)<<(w.next%64)
	if *word&bit != 0 {
		w.failed--
	}
	*word &^= bit
	if failed {
		*word |= bit
		w.failed++
	}
	w.seen = min(w.seen+1, w.size)
	if w.next++; w.next == w.size {
		w.next = 0
	}
}

// reached reports whether the window holds enough outcomes, and percent of them
// or more are failures.
func (w *failureWindow) reached(percent, enough int) bool {
	return w.size != 0 && w.seen >= enough && 100*w.failed >= percent*w.seen
}

func (w *failureWindow) clear() {
	clear(w.bits)
	w.next, w.seen, w.failed = 0, 0, 0
}
