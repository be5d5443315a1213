// Package mutation makes small changes to the code of a package, one at a time, and
// asks its tests whether they notice.
//
// All changes of a package are compiled into one test binary, each behind a switch
// that the environment sets (Untch, Offutt and Harrold, "Mutation Analysis Using Mutant
// Schemata", 1993), through the overlay of the go command, so that no file of the tree
// is touched. A mutant is judged in a process of its own by the tests that reach its
// place, the cheapest first, until one fails.
//
// A mutant that survives is a hole in the tests, or equivalent: then the ledger,
// equivalents.toml, says why, and fails once that is no longer so.
package mutation
