// Explorable.

package health

import "math"

// peerMark is the record of a fleet at the beginning of something, so that what
// happened since can be told.
type peerMark struct {
	served, failed uint64 // of the fleet
	ownServed      uint64 // of the endpoint
	ownFailed      uint64
}

// record is what calls came to, of the endpoints that serve.
type record struct{ served, failed float64 }

// rate is the share of failed calls, one more failure and two more calls
// included, so that few calls do not say much.
func (r record) rate() float64 { return (r.failed + 1) / (r.served + r.failed + 2) }

// surely is the rate plus so many of its standard deviations.
func (r record) surely(deviations float64) float64 {
	rate := r.rate()
	return rate + deviations*math.Sqrt(rate*(1-rate)/(r.served+r.failed+1))
}

// forget lets the record fade so that it keeps about so many calls, after new of
// them came in.
func (r *record) forget(served, failed, memory float64) {
	keep := memory / (memory + served + failed)
	r.served = (r.served + served) * keep
	r.failed = (r.failed + failed) * keep
}
