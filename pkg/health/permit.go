// Explorable.

package health

import "time"

// Permit is the right to make one call, issued by Circuit.Acquire and given to
// Circuit.End. Copies of it share one end. The zero Permit is of no circuit.
type Permit struct {
	ticket *ticket
	number uint64 // of this use of the ticket
	epoch  uint64 // that issued it
}

// ticket is what the copies of a Permit share. An ended one is used again under
// another number, so that the steady state allocates nothing; one that is never
// ended is left to the garbage collector.
type ticket struct {
	of *Circuit // never changes

	// Guarded by the circuit's mu.
	number  uint64
	expired bool      // its number counts as cancelled; it is not used again
	since   time.Time // when it was issued, if it is a trial
	next    *ticket   // the next free one, if it is free
}
