package policy_test

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Cases: G25.
func TestPowerOfTwoChoices_SeedsReplayForEver(t *testing.T) {
	checkGolden(t, "power_of_two_choices", goldenLines(t,
		func(seed uint64) poise.Policy { return newPowerOfTwoChoices(t, seed) },
		func(n int) []poise.Sample {
			samples := backends(n)
			for i := range samples {
				samples[i].Load = fixed(i % 3)
			}
			return samples
		}))
}
