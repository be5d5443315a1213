package policy_test

import (
	"fmt"
	"math"
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

// Cases: B78, B04.
//
// Claim: After a change, each run of as many picks as the eligible weights sum to takes a candidate at most once more or less often than its weight says, while the list stays.
func TestSmoothWeightedRoundRobin_IsOneTurnOffAfterAnyChanges_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newSmooth(t, rapid.Uint64Range(0, 3).Draw(t, "seed"))
		weights := rapid.OneOf(rapid.Uint32Range(1, 6), rapid.Just(uint32(1)), rapid.Uint32Range(1, 400))
		joined := 0
		join := func() poise.Sample {
			joined++
			return poise.Sample{ID: fmt.Sprint(joined), Weight: weightOf(t, weights.Draw(t, "weight"))}
		}
		var samples []poise.Sample
		for range rapid.IntRange(1, 8).Draw(t, "members") {
			samples = append(samples, join())
		}
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			open(t, p, samples).picks(t, rapid.IntRange(1, 900).Draw(t, "picks"))
			var next []poise.Sample
			for _, s := range samples {
				switch rapid.IntRange(0, 4).Draw(t, "becomes") {
				case 0: // leaves
				case 1:
					s.Weight = weightOf(t, weights.Draw(t, "new weight"))
					next = append(next, s)
				default:
					next = append(next, s)
				}
			}
			for range rapid.IntRange(0, 2).Draw(t, "joining") {
				next = append(next, join())
			}
			if len(next) == 0 {
				next = append(next, join())
			}
			samples = next
			if rapid.Bool().Draw(t, "sent again") {
				open(t, p, samples)
			}
		}
		d := open(t, p, samples)
		window := eligibleSum(d)
		picks := d.picks(t, 3*window)
		counts := make([]int, len(samples))
		for k, at := range picks {
			counts[at]++
			if k >= window {
				counts[picks[k-window]]--
			}
			if k < window-1 {
				continue
			}
			for i, count := range counts {
				if off := count - int(samples[i].Weight.Value()); off < -1 || off > 1 {
					t.Fatalf("up to pick %d candidate %d of weight %v has %d of %d picks", k, i, samples[i].Weight, count, window)
				}
			}
		}
	})
}

// Light candidates get their share also where a weight changes, or somebody comes
// and goes, at every pick.
//
// Cases: B78, B04.
func TestSmoothWeightedRoundRobin_StarvesNobodyByChanges(t *testing.T) {
	const picks = 12_000
	heavy := []uint32{100, 100, 100, 100, 100, 30}
	for name, change := range map[string]func(k int, samples []poise.Sample) []poise.Sample{
		"a weight flickers": func(k int, samples []poise.Sample) []poise.Sample {
			samples[0].Weight = weightOf(t, uint32(90+k%7*3))
			return samples
		},
		"one comes and goes": func(k int, samples []poise.Sample) []poise.Sample { return samples[k%2:] },
		"another life each time": func(k int, samples []poise.Sample) []poise.Sample {
			samples[0].Incarnation = uint64(k)
			return samples
		},
	} {
		p := newSmooth(t, 0)
		counts, want := map[string]float64{}, map[string]float64{}
		for k := range picks {
			samples := change(k, weighing(t, append(slices.Clone(heavy), 1, 4)...))
			sum := 0.0
			for _, s := range samples {
				sum += float64(s.Weight.Value())
			}
			for _, s := range samples {
				want[s.ID] += float64(s.Weight.Value()) / sum
			}
			counts[samples[open(t, p, samples).pick(t, poise.Query{})].ID]++
		}
		for id, expected := range want {
			if id == "a" {
				continue // who loses its credit each time is the one that changes
			}
			if got := counts[id]; math.Abs(got-expected) > 0.3*expected {
				t.Errorf("%s: %s got %.0f picks, its weight says %.1f", name, id, got, expected)
			}
		}
	}
}

// Cases: B78.
func TestSmoothWeightedRoundRobin_OutlivesHeavyCredit(t *testing.T) {
	p := newSmooth(t, 0)
	open(t, p, weighing(t, 1000, 1)).picks(t, 500)
	if got := open(t, p, weighing(t, 1, 1)).counts(t, 400); got[0] < 199 || got[0] > 201 {
		t.Errorf("weights 1000:1 became 1:1, and shares of 400 are %v", got)
	}
	p = newSmooth(t, 0)
	open(t, p, weighing(t, 1000, 1, 1)).picks(t, 500)
	light := weighing(t, 1, 1, 1, 1)[1:] // the heavy one left, d joins
	if got := open(t, p, light).counts(t, 200); slices.Min(got) < 65 {
		t.Errorf("after one of weight 1000 left, a newcomer's share of 200 is %v", got)
	}
}
