// Package linearizability judges histories of the library's shared types, made
// by real goroutines, by property tests and by the explorer of interleavings,
// against the specifications of spec/seq. Porcupine decides; see README.md.
package linearizability
