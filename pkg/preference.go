package poise

import "iter"

// Preferrer is a Picker that can say in which order a key would go through the
// candidates. The Pickers of the keyed policies are Preferrers.
//
// # Contract
//
//   - Preference lists every eligible candidate once, by index, and nobody else.
//   - Preference lists nobody where there is no key.
//   - A pick in which the first of the preference are tried takes the next one, where load does not decide.
//
// # Cost
//
// Each policy states its own. Listing allocates; it is not for the request path.
//
// # Concurrency
//
// Any number of goroutines may list at once, and each list may be ranged over
// again.
type Preferrer interface {
	// Preference lists the eligible candidates, the most preferred first.
	Preference(Key) iter.Seq[int]
}
