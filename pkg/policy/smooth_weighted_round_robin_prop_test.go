package policy_test

import (
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"pgregory.net/rapid"
)

// drawWeighted is drawSamples with weights.
func drawWeighted(t *rapid.T, largest uint32) []poise.Sample {
	samples, _ := drawSamples(t)
	for i := range samples {
		samples[i].Weight = weightOf(t, rapid.Uint32Range(1, largest).Draw(t, "weight"))
	}
	return samples
}

func eligibleSum(d desk) (sum int) {
	for position := range d.view.EligibleLen() {
		s, _ := d.view.Sample(d.view.Eligible(position))
		sum += int(s.Weight.Value())
	}
	return sum
}

func TestSmoothWeightedRoundRobin_OneCycle_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := drawWeighted(t, 20)
		d := open(t, newSmooth(t, rapid.Uint64().Draw(t, "seed")), samples)
		if d.view.Check() != nil {
			return
		}
		d.picks(t, rapid.IntRange(0, 40).Draw(t, "picks before"))
		for i, count := range d.counts(t, eligibleSum(d)) {
			want := 0
			if d.view.Reason(i) == poise.NotExcluded {
				want = int(samples[i].Weight.Value())
			}
			if count != want {
				t.Fatalf("candidate %d of weight %v got %d picks of one cycle", i, samples[i].Weight, count)
			}
		}
	})
}

func TestSmoothWeightedRoundRobin_ComesRoundAgainAndAgain_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := drawWeighted(t, 6)
		d := open(t, newSmooth(t, 0), samples)
		if d.view.Check() != nil {
			return
		}
		cycle := eligibleSum(d)
		first := d.picks(t, cycle)
		if again := d.picks(t, cycle); !slices.Equal(first, again) {
			t.Fatalf("the second cycle is %v after %v", again, first)
		}
	})
}

// However a list changes, from then on the order comes to repeat, and shares are
// exact in it.
func TestSmoothWeightedRoundRobin_SettlesAfterChanges_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newSmooth(t, 0)
		joined := 0
		samples := weighing(t, rapid.SliceOfN(rapid.Uint32Range(1, 6), 2, 6).Draw(t, "weights")...)
		for range rapid.IntRange(1, 6).Draw(t, "changes") {
			if d := open(t, p, samples); d.view.Check() == nil {
				d.picks(t, rapid.IntRange(0, 30).Draw(t, "picks"))
			}
			samples = changeSamples(t, samples, false, &joined)
		}
		d := open(t, p, samples)
		if d.view.Check() != nil {
			return
		}
		d.picks(t, 60*len(samples)) // as long as credits may be worth picks
		for i, count := range d.counts(t, eligibleSum(d)) {
			if d.view.Reason(i) == poise.NotExcluded && count != int(samples[i].Weight.Value()) {
				t.Fatalf("candidate %d of weight %v got %d picks of one cycle", i, samples[i].Weight, count)
			}
		}
	})
}
