// Package tlc finds the model checker TLC, runs it on one configuration and
// reads what it says.
//
// It knows no specification. TLC's exit codes and message numbers are read, its
// prose only where a message holds nothing else.
package tlc
