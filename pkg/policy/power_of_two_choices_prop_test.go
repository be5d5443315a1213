package policy_test

import (
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"pgregory.net/rapid"
)

func TestPowerOfTwoChoices_LawOfReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples, _ := drawSamples(t)
		seed := rapid.Uint64Min(1).Draw(t, "seed")
		a, b := open(t, newPowerOfTwoChoices(t, seed), samples), open(t, newPowerOfTwoChoices(t, seed), samples)
		if a.view.Check() != nil {
			return
		}
		if x, y := a.picks(t, 32), b.picks(t, 32); !slices.Equal(x, y) {
			t.Fatalf("seed %d picks %v and %v", seed, x, y)
		}
	})
}

func TestPowerOfTwoChoices_LawOfTheLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples, loads := drawSamples(t)
		d := open(t, newPowerOfTwoChoices(t, rapid.Uint64Min(1).Draw(t, "seed")), samples)
		for range 8 {
			q, s := drawQuery(t, samples, loads)
			q.Why = new(poise.Decision)
			chosen, err := d.try(q)
			left, _ := s.open()
			if err != nil || len(left) < 2 {
				continue
			}
			other := q.Why.Compared[1].Index
			if other == chosen || !slices.Contains(left, other) || loads[other] < loads[chosen] {
				t.Fatalf("took %d with load %d rather than %d with %d", chosen, loads[chosen], other, loads[other])
			}
			// The heaviest alone of those left can only lose.
			heaviest := slices.MaxFunc(left, func(i, j int) int { return int(loads[i]) - int(loads[j]) })
			if chosen == heaviest && !slices.ContainsFunc(left, func(i int) bool { return i != heaviest && loads[i] == loads[heaviest] }) {
				t.Fatalf("took %d, the single most loaded", chosen)
			}
		}
	})
}
