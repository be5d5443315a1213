package health

import (
	"math"
	"testing"
)

// A count stays at its end rather than begin below 0, where no threshold is.
func TestOneMore_StopsAtTheEnd(t *testing.T) {
	for n, want := range map[int]int{0: 1, 41: 42, math.MaxInt - 1: math.MaxInt, math.MaxInt: math.MaxInt} {
		if got := oneMore(n); got != want {
			t.Errorf("after %d comes %d, want %d", n, got, want)
		}
	}
}
