// Package policytest holds the laws that every [poise.Policy] keeps, the library's
// own and the user's, as a test that takes three lines:
//
//	func TestMyPolicy(t *testing.T) {
//		policytest.Run(t, policytest.Suite{New: func() poise.Policy { return new(MyPolicy) }})
//	}
//
// The laws are the sentences under "Contract" in the docs of poise.Policy,
// poise.Picker, poise.Query and poise.LoadTracker. Each is a subtest of its own, so that one of
// them can be run alone. Run them with the race detector on: it sees more than
// the laws can.
//
// A policy that no law catches has kept them on about a hundred candidate sets and
// some ten thousand picks. That says nothing about how well it spreads work, nor about
// a branch that no candidate led into: Suite.Unvaried names those of a Sample, and
// Suite takes localities, identities and candidate sets of the policy's own.
package policytest
