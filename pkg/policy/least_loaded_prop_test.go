package policy_test

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"pgregory.net/rapid"
)

func TestLeastLoaded_LawOfTheMinimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples, loads := drawSamples(t)
		d := open(t, new(policy.LeastLoaded), samples)
		for range 2 * len(samples) {
			chosen, err := d.try(poise.Query{})
			if err != nil {
				return
			}
			for i, load := range loads {
				if d.view.Reason(i) == poise.NotExcluded && load < loads[chosen] {
					t.Fatalf("took load %d, and %d is eligible with %d", loads[chosen], i, load)
				}
			}
		}
	})
}

func TestLeastLoaded_LawOfOneCycleAmongTies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples, loads := drawSamples(t)
		d := open(t, new(policy.LeastLoaded), samples)
		ties := 0
		for i, load := range loads {
			if d.view.Reason(i) == poise.NotExcluded && load == least(d, loads) {
				ties++
			}
		}
		d.counts(t, ties*rapid.IntRange(0, 2).Draw(t, "cycles before"))
		for i, count := range d.counts(t, ties) {
			if count > 1 {
				t.Fatalf("%d got %d of one cycle of %d ties", i, count, ties)
			}
		}
	})
}

// least returns the smallest eligible load.
func least(d desk, loads []uint64) uint64 {
	smallest := uint64(1<<64 - 1)
	for i, load := range loads {
		if d.view.Reason(i) == poise.NotExcluded {
			smallest = min(smallest, load)
		}
	}
	return smallest
}
