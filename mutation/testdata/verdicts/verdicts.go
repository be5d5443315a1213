// Package verdicts has a mutant for each verdict.
package verdicts

// Noticed is a + b.
func Noticed(a, b int) int { return a + b }

// Missed is a - b, and its test takes 0 from everything.
func Missed(a, b int) int { return a - b }

// Max is the greater one; that of equal ones is either.
func Max(a, b int) int {
	if a > b {
		return a
	}
	return b
}

// Endless goes on for ever if it does not count.
func Endless(n int) (sum int) {
	for i := 0; i < n; {
		sum += i
		i += 1
	}
	return sum
}

// Unseen is run by no test.
func Unseen(a, b int) bool { return a == b }

// Early is set before any test runs.
var Early = 40 + len("ab")
