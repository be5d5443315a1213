package policy_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestRandom_LawOfReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples, _ := drawSamples(t)
		seed := rapid.Uint64Min(1).Draw(t, "seed")
		a, b := open(t, newRandom(t, seed), samples), open(t, newRandom(t, seed), samples)
		if a.view.Check() != nil {
			return
		}
		if x, y := a.picks(t, 32), b.picks(t, 32); !slices.Equal(x, y) {
			t.Fatalf("seed %d picks %v and %v", seed, x, y)
		}
	})
}
