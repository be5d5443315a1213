package policy_test

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

func TestRoundRobin_SeedsStartWhereTheyEverDid(t *testing.T) {
	checkGolden(t, "round_robin", goldenLines(t,
		func(seed uint64) poise.Policy { return newRoundRobin(t, seed) }, backends))
}
