package policy_test

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Cases: G25.
func TestRandom_SeedsReplayForEver(t *testing.T) {
	checkGolden(t, "random", goldenLines(t,
		func(seed uint64) poise.Policy { return newRandom(t, seed) }, backends))
}
