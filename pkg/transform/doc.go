// Package transform edits the samples of a balancer before a View is made of
// them: slow start, subsets, preference for a zone, and transforms of the user.
//
// A [Transform] edits a [Draft]. A [Chain] keeps the samples of the members, runs
// its transforms over them in order, and says which samples are different
// afterwards. It does not make the View.
//
// The package reads no clock. Each run is told the instant, and returns the
// instant at which it wants to run again although no member has changed.
package transform
