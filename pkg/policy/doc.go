// Package policy holds the selection policies, one file each. Every policy keeps
// the laws of [poise.Policy] and [poise.Picker]; its own doc adds only what is its
// own.
//
// A policy decides. It never dispatches, never waits, keeps no health and reads
// no clock.
package policy
