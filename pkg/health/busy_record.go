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
	silentWeight = 50
	silentFree   = 3
)

// waitsShare is the part of its calls from which an endpoint is one that makes its
// callers wait in vain, and waitsCalls how many at least.
const (
	waitsShare = 0.01
	waitsCalls = 0.3
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

// fade is by how much records fade in a time.
type fade struct {
	elapsed     int64
	short, long float64
}

func fadeOf(elapsed int64) fade {
	return fade{elapsed, math.Exp(-float64(elapsed) / busyMemory), math.Exp(-float64(elapsed) / busyLongMemory)}
}

// advance lets the record fade up to the instant and adds what was served since.
func (b *busyRecord) advance(at int64, served uint64) {
	b.advanceBy(&fade{elapsed: -1}, at, served)
}

// advanceBy is advance with a fade that is likely to be the right one.
func (b *busyRecord) advanceBy(by *fade, at int64, served uint64) {
	if elapsed := at - b.at; elapsed > 0 {
		if elapsed != by.elapsed {
			*by = fadeOf(elapsed)
		}
		b.refused *= by.short
		b.stuck *= by.short
		b.waited *= by.short
		b.sound *= by.short
		b.longBusy *= by.long
		b.longSound *= by.long
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

// merge adds what another one has of the last second.
func (b *busyRecord) merge(other *busyRecord) {
	b.refused += other.refused
	b.stuck += other.stuck
	b.waited += other.waited
	b.sound += other.sound
}

// loss is the part that was refused or ended in silence.
func (b *busyRecord) loss() float64 { return (b.refused + b.stuck + b.waited) / b.all() }

// lately is the part that was refused or waited, over a longer time.
func (b *busyRecord) lately() float64 { return b.longBusy / (b.longBusy + b.longSound + busyPrior) }

// all is how many calls there were, as many sound ones as it begins with included.
func (b *busyRecord) all() float64 { return b.refused + b.stuck + b.waited + b.sound + busyPrior }

// waits reports whether callers wait in vain.
func (b *busyRecord) waits() bool {
	silent := b.stuck + b.waited
	return silent > waitsCalls && silent > waitsShare*(silent+b.refused+b.sound)
}

// pressure is the part that was refused, or if silence counts a multiple of the part
// that ended in it, if that is more; at most 1.
func (b *busyRecord) pressure(silence bool) float64 {
	pressure := b.refused
	if silence {
		pressure = max(pressure, silentWeight*(b.stuck+b.waited-silentFree))
	}
	return min(1, pressure/b.all())
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

// lossOdds is odds with the calls that waited for an endpoint that answered nobody: who
// answers nothing does no better than one that refuses.
func (b *busyRecord) lossOdds(waited bool) float64 {
	return b.odds(waited) + b.stuck/(b.sound+busyPrior)
}
