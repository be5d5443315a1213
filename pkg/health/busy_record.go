// Explorable.

package health

import "math"

// busyMemory is the time that a busyRecord looks back, in nanoseconds.
const busyMemory = 1e9

// busyPrior is how many sound answers a busyRecord begins with, so that the first
// "too busy" of a quiet fleet does not say that all of it is.
const busyPrior = 10

// busyRecord is which part of the latest answers of a fleet said "too busy".
//
// The zero value has no answers.
type busyRecord struct {
	at          int64
	busy, other float64 // fading
	served      uint64  // of the fleet, up to which other counts
}

// advance lets the record fade up to the instant and adds what was served since.
func (b *busyRecord) advance(at int64, served uint64) {
	if at > b.at {
		keep := math.Exp(float64(b.at-at) / busyMemory)
		b.busy *= keep
		b.other *= keep
	}
	b.at = at
	b.other += float64(served - b.served)
	b.served = served
}

// share is the part of the answers that said "too busy".
func (b *busyRecord) share() float64 { return b.busy / (b.busy + b.other + busyPrior) }

// odds is how many answers said "too busy" for each that did not.
func (b *busyRecord) odds() float64 { return b.busy / (b.other + 1) }
