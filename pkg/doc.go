// Package poise holds the vocabulary of load balancing and the one path a
// decision takes.
//
// A control loop samples its [Candidate] values into an immutable [View]. A
// [Policy] compiles the View into a [Picker], off the request path. A request
// asks the Picker with a [Query] and gets a [Selection]; the View turns it into
// an index. Load that changes between two picks lives in a [LoadTracker] such as
// [InFlight], whose [Lease] is also the race-safe admission of one piece of work.
//
//	view, err := poise.NewView(candidates)
//	picker, err := p.Prepare(view)
//	selection, err := picker.Pick(poise.Query{})
//	index, err := view.Index(selection)
//
// Package poise keeps no clock, starts no goroutine and writes no log. What needs
// an instant takes one; what needs chance takes a [Generator].
package poise
