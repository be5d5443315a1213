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

// stuckWeight and waitedWeight are how much more a call that ended in silence says
// against another try than one that was refused: the work may go on, and the next try
// adds to it. The first is for endpoints that answered nobody meanwhile, which may hang
// alone, the second for those that answered others, which are short of capacity.
// silentFree is how many of them say nothing.
const (
	stuckWeight  = 2.5
	waitedWeight = 8
	silentFree   = 3
)

// busyRecord is which part of the latest calls, of a fleet or of one endpoint, was
// refused for want of capacity, and which ended in silence.
//
// The zero value has no calls.
type busyRecord struct {
	at int64
	// Fading: calls that were refused, that waited in vain for an endpoint that answered
	// nobody or that answered others, and all others.
	refused, stuck, waited, sound float64
	longBusy, longSound           float64 // refused and waited, and sound, fading more slowly
	served                        uint64  // up to which sound counts
}

// advance lets the record fade up to the instant and adds what was served since.
func (b *busyRecord) advance(at int64, served uint64) {
	if at > b.at {
		keep := math.Exp(float64(b.at-at) / busyMemory)
		b.refused *= keep
		b.stuck *= keep
		b.waited *= keep
		b.sound *= keep
		keep = math.Exp(float64(b.at-at) / busyLongMemory)
		b.longBusy *= keep
		b.longSound *= keep
		b.at = at
	}
	b.sound += float64(served - b.served)
	b.longSound += float64(served - b.served)
	b.served = served
}

// addRefused adds a call that was refused for want of capacity.
func (b *busyRecord) addRefused() {
	b.refused++
	b.longBusy++
}

// addWaited adds a call that waited in vain for an endpoint that answered others.
func (b *busyRecord) addWaited() {
	b.waited++
	b.longBusy++
}

// addStuck adds a call that waited in vain for an endpoint that answered nobody.
func (b *busyRecord) addStuck() { b.stuck++ }

// without is the record of a fleet without that of one of its endpoints.
func (b *busyRecord) without(own *busyRecord) busyRecord {
	return busyRecord{
		refused: max(0, b.refused-own.refused), stuck: max(0, b.stuck-own.stuck),
		waited: max(0, b.waited-own.waited), sound: max(0, b.sound-own.sound),
		longBusy: max(0, b.longBusy-own.longBusy), longSound: max(0, b.longSound-own.longSound),
	}
}

// lately is the part that was refused or waited, over a longer time.
func (b *busyRecord) lately() float64 { return b.longBusy / (b.longBusy + b.longSound + busyPrior) }

// pressure is the part that was refused, or a multiple of the part that ended in
// silence if that is more; at most 1.
func (b *busyRecord) pressure() float64 {
	silent := max(0, stuckWeight*b.stuck+waitedWeight*b.waited-silentFree*waitedWeight)
	return min(1, max(b.refused, silent)/(b.refused+b.stuck+b.waited+b.sound+busyPrior))
}

// odds is how many calls were refused, or waited if that counts, for each that did
// not.
func (b *busyRecord) odds(waited bool) float64 {
	bad := b.refused
	if waited {
		bad += b.waited
	}
	return bad / (b.sound + busyPrior)
}
