package policy_test

import (
	"os"
	"slices"
	"strconv"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

// algebra runs properties from the seed and as often as GOPTER_SEED and
// GOPTER_CHECKS say: a failure replays by running its test again.
func algebra(t *testing.T, laws func(*gopter.Properties)) {
	t.Helper()
	parameters := gopter.DefaultTestParametersWithSeed(setting(t, "GOPTER_SEED", 1592614637))
	parameters.MinSuccessfulTests = int(setting(t, "GOPTER_CHECKS", 100))
	properties := gopter.NewProperties(parameters)
	laws(properties)
	properties.TestingRun(t)
}

// setting reads a number from the environment.
func setting(t *testing.T, name string, otherwise int64) int64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return value
}

// masked returns ready candidates, but for those the mask leaves out.
func masked(ready []bool) []poise.Sample {
	samples := backends(len(ready))
	for i := range samples {
		if !ready[i] {
			samples[i].Status = poise.Unavailable
		}
	}
	return samples
}

func TestRoundRobin_LawsOfItsCycle(t *testing.T) {
	algebra(t, func(laws *gopter.Properties) {
		masks := gen.SliceOfN(9, gen.Bool()).SuchThat(func(ready []bool) bool { return slices.Contains(ready, true) })

		laws.Property("k eligible candidates come round after k picks", prop.ForAll(
			func(seed uint64, ready []bool) bool {
				d := open(t, newRoundRobin(t, seed), masked(ready))
				k := d.view.EligibleLen()
				picks := d.picks(t, 3*k)
				return slices.Equal(picks[:k], picks[k:2*k]) && slices.Equal(picks[k:2*k], picks[2*k:])
			}, gen.UInt64(), masks))

		laws.Property("every seed's cycle is a rotation of the ascending one", prop.ForAll(
			func(seed uint64, ready []bool) bool {
				d := open(t, newRoundRobin(t, seed), masked(ready))
				picks := d.picks(t, d.view.EligibleLen())
				at := slices.Index(picks, slices.Min(picks))
				return slices.IsSorted(slices.Concat(picks[at:], picks[:at]))
			}, gen.UInt64(), masks))

		laws.Property("n picks leave the cursor where n mod k picks do", prop.ForAll(
			func(seed uint64, ready []bool, n int) bool {
				long, short := open(t, newRoundRobin(t, seed), masked(ready)), open(t, newRoundRobin(t, seed), masked(ready))
				k := long.view.EligibleLen()
				long.picks(t, k+n)
				short.picks(t, k+n%k)
				return long.pick(t, poise.Query{}) == short.pick(t, poise.Query{})
			}, gen.UInt64(), masks, gen.IntRange(0, 60)))
	})
}
