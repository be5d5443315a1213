// Package red has a test that fails.
package red

// Sum is a + b.
func Sum(a, b int) int { return a + b }
