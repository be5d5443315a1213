// Explorable.

package health

import "math"

// busyMemory is the time that a busyRecord looks back, in nanoseconds, and
// busyLongMemory the same for whether the fleet was busy lately.
const (
	busyMemory     = 1e9
	busyLongMemory = 1e10
)

// busyPrior is how many sound answers a busyRecord begins with, so that the first
// "too busy" of a quiet fleet does not say that all of it is.
const busyPrior = 10

// silentWeight is how much more a call that ended in silence says against another
// try than one that was refused: the work may go on, and the next try adds to it.
// silentFree is how many of them say nothing.
const (
	silentWeight = 8
	silentFree   = 3
)

// busyRecord is which part of the latest calls, of a fleet or of one endpoint, was
// refused for want of capacity, and which ended in silence.
//
// The zero value has no calls.
type busyRecord struct {
	at                  int64
	busy, silent, sound float64 // fading
	longBusy, longSound float64 // the same, fading more slowly
	served              uint64  // up to which sound counts
}

// advance lets the record fade up to the instant and adds what was served since.
func (b *busyRecord) advance(at int64, served uint64) {
	if at > b.at {
		keep := math.Exp(float64(b.at-at) / busyMemory)
		b.busy *= keep
		b.silent *= keep
		b.sound *= keep
		keep = math.Exp(float64(b.at-at) / busyLongMemory)
		b.longBusy *= keep
		b.longSound *= keep
	}
	b.at = at
	b.sound += float64(served - b.served)
	b.longSound += float64(served - b.served)
	b.served = served
}

// add adds a call that was refused for want of capacity, or that waited in vain for
// an endpoint that answered others.
func (b *busyRecord) add() {
	b.busy++
	b.longBusy++
}

// addSilent adds a call that waited in vain.
func (b *busyRecord) addSilent() { b.silent++ }

// lately is the part that was refused, over a longer time.
func (b *busyRecord) lately() float64 { return b.longBusy / (b.longBusy + b.longSound + busyPrior) }

// pressure is the part that was refused, or a multiple of the part that ended in
// silence if that is more; at most 1.
func (b *busyRecord) pressure() float64 {
	all := b.busy + b.silent + b.sound + busyPrior
	return max(b.busy/all, min(1, silentWeight*(b.silent-silentFree)/all))
}

// odds is how many calls were refused or ended in silence for each that did not.
func (b *busyRecord) odds() float64 { return (b.busy + b.silent) / (b.sound + busyPrior) }
