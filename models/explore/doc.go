// Package explore runs a small concurrent model under every schedule.
//
// A model is two to four tasks over the shipped types of the library. Under the
// build tag interleave every synchronising operation of those types asks this
// package first, so one goroutine runs at a time and the package decides which.
// Go's memory model makes that enough: a program without data races behaves as
// if its operations were interleaved one by one, and sync/atomic has no weaker
// order. The race build of the same models looks for the data races.
//
// Two engines run the same model. Brute force tries every order of every step.
// The reduced engine tries one order out of each class of orders that differ only
// in steps that commute: it starts from one schedule, finds the pairs of steps
// whose order mattered, and goes back to turn each of them round; sleep sets keep
// it from running a class twice. Where brute force is affordable, both must
// agree on every outcome and every verdict.
//
// There is one explorer per process, because the hook of the library is one
// variable. Use more processes, not more goroutines.
package explore
