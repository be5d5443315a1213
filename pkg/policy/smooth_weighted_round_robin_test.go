package policy_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// Published periods, and those of the Rust sibling.
func TestSmoothWeightedRoundRobin_PicksAsPublished(t *testing.T) {
	for _, row := range []struct {
		weights []uint32
		period  string
	}{
		{[]uint32{5, 1, 1}, "aabacaa"},
		{[]uint32{4, 2, 1}, "abacaba"},
		{[]uint32{3, 1, 1}, "abaca"},
		{[]uint32{1, 2, 3}, "cbacbc"},
		{[]uint32{7, 3}, "abaaabaaba"},
		{[]uint32{1, 1, 1}, "abc"},
		{[]uint32{3, 2, 1}, "abacba"},
		{[]uint32{4, 3, 2, 1}, "abcabdacba"},
		{[]uint32{1, 3}, "babb"},
		{[]uint32{10, 2, 2}, "aabacaa"}, // only ratios count
	} {
		samples := weighing(t, row.weights...)
		picks := letters(samples, open(t, newSmooth(t, 0), samples).picks(t, 3*len(row.period)))
		if want := strings.Repeat(row.period, 3); picks != want {
			t.Errorf("weights %v: picks %s, want %s", row.weights, picks, want)
		}
	}
}

// The sequences of the sibling where the list changes from pick to pick.
func TestSmoothWeightedRoundRobin_FollowsChangesAsPublished(t *testing.T) {
	t.Run("b is out for two picks", func(t *testing.T) {
		p := newSmooth(t, 0)
		samples := weighing(t, 3, 2, 1)
		without := slices.Clone(samples)
		without[1].Status = poise.Unavailable
		picks := ""
		for _, list := range [][]poise.Sample{samples, samples, without, without, samples, samples, samples, samples} {
			picks += letters(list, open(t, p, list).picks(t, 1))
		}
		if picks != "abacabac" {
			t.Errorf("picks %s, want abacabac", picks)
		}
	})
	t.Run("the order alternates", func(t *testing.T) {
		p := newSmooth(t, 0)
		samples := weighing(t, 2, 1)
		reversed := []poise.Sample{samples[1], samples[0]}
		picks, indices := "", []int{}
		for k := range 6 {
			list := [][]poise.Sample{samples, reversed}[k%2]
			index := open(t, p, list).pick(t, poise.Query{})
			picks += list[index].ID
			indices = append(indices, index)
		}
		if want := []int{0, 0, 0, 1, 1, 1}; picks != "abaaba" || !slices.Equal(indices, want) {
			t.Errorf("picks %s at %v, want abaaba at %v", picks, indices, want)
		}
	})
}

// Claim: From the first pick on, each run of as many picks as the eligible weights sum to takes each candidate exactly as often as its weight says, while the list stays as it is.
func TestSmoothWeightedRoundRobin_GivesEachItsWeight(t *testing.T) {
	t.Run("128 weights that rise", func(t *testing.T) {
		weights := make([]uint32, 128)
		for i := range weights {
			weights[i] = uint32(i + 1)
		}
		for i, count := range open(t, newSmooth(t, 0), weighing(t, weights...)).counts(t, 8256) {
			if count != i+1 {
				t.Errorf("weight %d got %d picks of 8256", i+1, count)
			}
		}
	})
	t.Run("128 equal weights take turns", func(t *testing.T) {
		picks := open(t, newSmooth(t, 0), weighing(t, slices.Repeat([]uint32{9}, 128)...)).picks(t, 128*128)
		for k, index := range picks {
			if index != k%128 {
				t.Fatalf("pick %d is %d", k, index)
			}
		}
	})
	t.Run("5, 1 and 1 a hundred times, from every start", func(t *testing.T) {
		for seed := range uint64(20) {
			d := open(t, newSmooth(t, seed), weighing(t, 5, 1, 1))
			for run := range 100 {
				if got := d.counts(t, 7); !slices.Equal(got, []int{5, 1, 1}) {
					t.Fatalf("seed %d, run %d: shares %v", seed, run, got)
				}
			}
		}
	})
}

// Cases: B02.
func TestSmoothWeightedRoundRobin_ComesInNoBursts(t *testing.T) {
	picks := open(t, newSmooth(t, 0), weighing(t, 21, 11)).picks(t, 32)
	if first := slices.Index(picks, 1); first != 1 {
		t.Errorf("21 to 11: the light one comes up at pick %d, want pick 2", first+1)
	}
	if count := strings.Count(fmt.Sprint(picks), "1"); count != 11 {
		t.Errorf("21 to 11: the light one got %d of 32 picks", count)
	}
	if strings.Contains(fmt.Sprint(picks), "0 0 0") {
		t.Errorf("21 to 11: three in a row: %v", picks)
	}
	if got := open(t, newSmooth(t, 0), weighing(t, 100, 100, 25)).counts(t, 9); !slices.Equal(got, []int{4, 4, 1}) {
		t.Errorf("100, 100, 25: shares of nine %v", got)
	}
	samples := weighing(t, 1, 1)
	if got := letters(samples, open(t, newSmooth(t, 0), samples).picks(t, 6)); got != "ababab" {
		t.Errorf("1, 1: picks %s", got)
	}
}

// share picks from many goroutines at once and counts. Each pick is from the desk
// that is current.
func share(t *testing.T, current *atomic.Pointer[desk], n, goroutines, each int, between func(k int)) []int {
	t.Helper()
	counts := make([]atomic.Int64, n)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for k := range each {
				if g == 0 {
					between(k)
				}
				index, err := current.Load().try(poise.Query{})
				if err != nil {
					t.Errorf("Pick: %v", err)
					return
				}
				counts[index].Add(1)
			}
		})
	}
	wg.Wait()
	got := make([]int, n)
	for i := range counts {
		got[i] = int(counts[i].Load())
	}
	return got
}

// Claim: Picks in parallel take exactly the turns that as many picks in sequence would.
//
// Cases: B03.
func TestSmoothWeightedRoundRobin_SharesExactlyInParallel(t *testing.T) {
	want := []int{750, 450, 300}
	heavier := weighing(t, 5, 3, 2)
	heavier[2].Weight = weightOf(t, 9)
	for _, row := range []struct {
		name    string
		samples func(k int) []poise.Sample // to publish before pick k; nil for none
		exact   bool
	}{
		{"one View", func(int) []poise.Sample { return nil }, true},
		{"equal Views again and again", func(k int) []poise.Sample { return weighing(t, 5, 3, 2) }, true},
		{"a change of weights and back", func(k int) []poise.Sample {
			switch k {
			case 10:
				return heavier
			case 20:
				return weighing(t, 5, 3, 2)
			}
			return nil
		}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := newSmooth(t, 0)
			var current atomic.Pointer[desk]
			first := open(t, p, weighing(t, 5, 3, 2))
			current.Store(&first)
			got := share(t, &current, 3, 50, 30, func(k int) {
				if samples := row.samples(k); samples != nil {
					next := open(t, p, samples)
					current.Store(&next)
				}
			})
			if row.exact && !slices.Equal(got, want) {
				t.Errorf("shares %v, want %v", got, want)
			}
			if sum := got[0] + got[1] + got[2]; sum != 1500 {
				t.Errorf("%d picks of 1500: %v", sum, got)
			}
		})
	}
	t.Run("live, as the period is too long to be stored", func(t *testing.T) {
		weights := []uint32{1 << 20, 1 << 19, 3}
		want := open(t, newSmooth(t, 0), weighing(t, weights...)).counts(t, 16000)
		var current atomic.Pointer[desk]
		d := open(t, newSmooth(t, 0), weighing(t, weights...))
		current.Store(&d)
		if got := share(t, &current, 3, 8, 2000, func(int) {}); !slices.Equal(got, want) {
			t.Errorf("shares %v, want %v", got, want)
		}
	})
	t.Run("over a change, until the credits come round", func(t *testing.T) {
		before, after := weighing(t, 4, 3, 2, 1), weighing(t, 1, 5, 2, 1)
		p, slow := newSmooth(t, 0), newSmooth(t, 0)
		open(t, p, before).picks(t, 3)
		open(t, slow, before).picks(t, 3)
		d := open(t, p, after)
		var current atomic.Pointer[desk]
		current.Store(&d)
		got := share(t, &current, 4, 8, 500, func(int) {})
		if want := open(t, slow, after).counts(t, 4000); !slices.Equal(got, want) {
			t.Errorf("shares %v, want %v", got, want)
		}
	})
}

// Cases: B04.
func TestSmoothWeightedRoundRobin_KeepsItsPlaceWhenTheListIsSentAgain(t *testing.T) {
	p := newSmooth(t, 0)
	counts := make([]int, 2)
	for range 22 {
		for i, count := range open(t, p, weighing(t, 10, 1)).counts(t, 5) {
			counts[i] += count
		}
	}
	if want := []int{100, 10}; !slices.Equal(counts, want) {
		t.Errorf("shares %v, want %v", counts, want)
	}
}

// Cases: B05, Q4.
func TestSmoothWeightedRoundRobin_KeepsWeightsOverAnOutage(t *testing.T) {
	p := newSmooth(t, 0)
	samples := weighing(t, 9, 1)
	open(t, p, samples).picks(t, 10)
	down := slices.Clone(samples)
	down[0].Excluded = poise.ExcludedUnhealthy
	if got := open(t, p, down).counts(t, 10); !slices.Equal(got, []int{0, 10}) {
		t.Errorf("while one is down: %v", got)
	}
	near := func(got []int, a, b int) {
		t.Helper()
		if math.Abs(float64(got[0]-a)) > 1 || got[0]+got[1] != a+b {
			t.Errorf("shares %v, want %d and %d, give or take 1", got, a, b)
		}
	}
	near(open(t, p, samples).counts(t, 100), 90, 10)
	near(open(t, p, weighing(t, 1, 1)).counts(t, 10), 5, 5)
	near(open(t, p, weighing(t, 3, 1)).counts(t, 40), 30, 10)
}

// Cases: B07, G27.
func TestSmoothWeightedRoundRobin_KeepsCreditWhereNothingIsPicked(t *testing.T) {
	samples := weighing(t, 3, 2, 1)
	want := open(t, newSmooth(t, 0), samples).picks(t, 24)
	p := newSmooth(t, 0)
	none := slices.Clone(samples)
	for i := range none {
		none[i].Status = poise.Unavailable
	}
	without := samples[1:]
	var got []int
	for range 8 {
		got = append(got, open(t, p, samples).picks(t, 3)...)
		for range 1000 {
			if _, err := open(t, p, nil).try(poise.Query{}); err != poise.ErrEmpty {
				t.Fatal(err)
			}
		}
		if _, err := open(t, p, none).try(poise.Query{}); err != poise.ErrNoEligible {
			t.Fatal(err)
		}
		// Prepared and never picked from: no absence.
		d := open(t, p, without)
		if _, err := d.try(poise.Query{Tried: retried(without, 0, 1)}); err != poise.ErrAllTried {
			t.Fatal(err)
		}
		// A list with a duplicate never becomes a View.
		if _, err := poise.NewView([]poise.Candidate{samples[0], samples[0]}); err == nil {
			t.Fatal("a duplicate passed")
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("picks %v, want %v", got, want)
	}
}

// Cases: B08.
func TestSmoothWeightedRoundRobin_SumsHugeWeights(t *testing.T) {
	const huge = math.MaxUint32
	if got := open(t, newSmooth(t, 0), weighing(t, huge, huge, huge)).counts(t, 9); !slices.Equal(got, []int{3, 3, 3}) {
		t.Errorf("three huge weights share nine picks as %v", got)
	}
	if got := open(t, newSmooth(t, 0), weighing(t, 1, huge)).counts(t, 1000); !slices.Equal(got, []int{0, 1000}) {
		t.Errorf("1 against a huge weight: %v", got)
	}
}

// Cases: B09.
func TestSmoothWeightedRoundRobin_TakesTheHeavyOneAmongLightOnes(t *testing.T) {
	weights := slices.Repeat([]uint32{1}, 100)
	weights[42] = math.MaxUint32
	if got := open(t, newSmooth(t, 0), weighing(t, weights...)).counts(t, 10_000)[42]; got < 9_999 {
		t.Errorf("the heavy one got %d of 10000", got)
	}
}

// Claim: SmoothWeightedRoundRobin refuses to prepare a View whose eligible weights, summed and multiplied by their number, exceed 2^60.
func TestSmoothWeightedRoundRobin_RefusesWeightsWithoutRoomForCredit(t *testing.T) {
	// 2^15 weights of 2^30: their sum is 2^45, times their number 2^60.
	samples := backends(1 << 15)
	for i := range samples {
		samples[i].Weight = weightOf(t, 1<<30)
	}
	p := newSmooth(t, 0)
	d := open(t, p, samples)
	samples[7].Weight = weightOf(t, 1<<30+1)
	picker, err := p.Prepare(viewOf(t, samples))
	if picker != nil {
		t.Error("a Picker came with the error")
	}
	checkFieldError(t, "one too heavy", err, "weights", poise.ErrWeightOverflow)
	// The Picker in use serves on.
	if got := d.picks(t, 3); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("after the refusal: %v", got)
	}
	samples[7].Status = poise.Draining // it does not count
	if _, err := p.Prepare(viewOf(t, samples)); err != nil {
		t.Errorf("a weight that is not eligible counts: %v", err)
	}
}

// Retries follow the weights among those left, however many, and do not change who
// comes next.
//
// Cases: Q1, Q3.
func TestSmoothWeightedRoundRobin_SpreadsRetries(t *testing.T) {
	samples := weighing(t, 1, 1, 3, 2)
	undisturbed, d := open(t, newSmooth(t, 0), samples), open(t, newSmooth(t, 0), samples)
	retries := make([]int, 4)
	for range 210 { // 30 periods; a fails each time
		first := d.pick(t, poise.Query{})
		if want := undisturbed.pick(t, poise.Query{}); first != want {
			t.Fatalf("a retry moved the next turn from %d to %d", want, first)
		}
		if first == 0 {
			retries[d.pick(t, poise.Query{Tried: retried(samples, 0)})]++
		}
	}
	if want := []int{0, 5, 15, 10}; !slices.Equal(retries, want) {
		t.Errorf("30 retries went to %v, want %v", retries, want)
	}
}

// A pick that knows of nobody tried here takes its turn.
func TestSmoothWeightedRoundRobin_TakesATurnWhereNobodyIsPassedOver(t *testing.T) {
	samples := weighing(t, 3, 2, 1)
	want := open(t, newSmooth(t, 0), samples).picks(t, 12)
	d := open(t, newSmooth(t, 0), samples)
	var got []int
	for k := range 12 {
		q := poise.Query{}
		if k%2 == 0 {
			q.Tried = new(poise.Tried)
			q.Tried.Add("stranger", 0)
		}
		got = append(got, d.pick(t, q))
	}
	if !slices.Equal(got, want) {
		t.Errorf("picks %v, want %v", got, want)
	}
}

func TestSmoothWeightedRoundRobin_SeedsStartWhereTheyEverDid(t *testing.T) {
	checkGolden(t, "smooth_weighted_round_robin", goldenLines(t,
		func(seed uint64) poise.Policy { return newSmooth(t, seed) }, risingWeights(t)))
}

// risingWeights makes candidates of the weights 1, 2, 3, 4 and so on round.
func risingWeights(t *testing.T) func(n int) []poise.Sample {
	return func(n int) []poise.Sample {
		samples := backends(n)
		for i := range samples {
			samples[i].Weight = weightOf(t, uint32(1+i%4))
		}
		return samples
	}
}

// Cases: B51 (a).
func TestSmoothWeightedRoundRobin_RampsByHand(t *testing.T) {
	for step, counts := range ramp(t, new(policy.SmoothWeightedRoundRobin), func(step int) []poise.Sample {
		samples := weighing(t, 10, uint32(step), 1)
		if step < 5 {
			samples = samples[:2]
		}
		return samples
	}) {
		checkRamp(t, step+1, counts, 2)
	}
}

// ramp makes 220 picks at each of ten steps and returns the counts.
func ramp(t *testing.T, p poise.Policy, list func(step int) []poise.Sample) [][]int {
	t.Helper()
	var counts [][]int
	for step := 1; step <= 10; step++ {
		counts = append(counts, open(t, p, list(step)).counts(t, 220))
	}
	return counts
}

// checkRamp wants 10 : step, and from step 5 on a third of weight 1.
func checkRamp(t *testing.T, step int, counts []int, within float64) {
	t.Helper()
	sum := 10.0 + float64(step)
	if len(counts) > 2 {
		sum++
	}
	if exact := 220 * float64(step) / sum; math.Abs(float64(counts[1])-exact) > within {
		t.Errorf("step %d: the newcomer got %d of 220 picks, want %.1f within %v", step, counts[1], exact, within)
	}
}

// Claim: After a change, each run of as many picks as the eligible weights sum to takes a candidate at most once more or less often than its weight says, while the list stays.
//
// Cases: B78.
func TestSmoothWeightedRoundRobin_BoundsWhatItInherits(t *testing.T) {
	for _, row := range []struct {
		name          string
		before, after map[string]uint32
		picks         int
	}{
		{"1000:1 becomes 1:1", map[string]uint32{"a": 1000, "b": 1}, map[string]uint32{"a": 1, "b": 1}, 500},
		{"the heavy one leaves and another joins", map[string]uint32{"a": 1000, "b": 1}, map[string]uint32{"b": 1, "c": 1}, 500},
		{"weights fall in steps", map[string]uint32{"a": 90, "b": 7, "c": 3}, map[string]uint32{"a": 1, "b": 2, "c": 3}, 61},
		{"one weight rises", map[string]uint32{"a": 1, "b": 1}, map[string]uint32{"a": 50, "b": 1}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := new(policy.SmoothWeightedRoundRobin)
			picked := func(weights map[string]uint32, n int) (ids []string) {
				var candidates []poise.Candidate
				for _, id := range slices.Sorted(maps.Keys(weights)) {
					w, err := poise.NewWeight(weights[id])
					if err != nil {
						t.Fatal(err)
					}
					candidates = append(candidates, poise.Sample{ID: id, Weight: w})
				}
				v, err := poise.NewView(candidates)
				if err != nil {
					t.Fatal(err)
				}
				picker, err := p.Prepare(v)
				if err != nil {
					t.Fatal(err)
				}
				for range n {
					s, err := picker.Pick(poise.Query{})
					if err != nil {
						t.Fatal(err)
					}
					i, err := v.Index(s)
					if err != nil {
						t.Fatal(err)
					}
					sample, err := v.Sample(i)
					if err != nil {
						t.Fatal(err)
					}
					ids = append(ids, sample.ID)
				}
				return ids
			}
			picked(row.before, row.picks)
			sum := 0
			for _, w := range row.after {
				sum += int(w)
			}
			ids := picked(row.after, 4*sum+400)
			for from := range len(ids) - sum + 1 {
				for id, weight := range row.after {
					n := 0
					for _, other := range ids[from : from+sum] {
						if other == id {
							n++
						}
					}
					if n < int(weight)-1 || n > int(weight)+1 {
						t.Fatalf("picks %d to %d take %s %d times, weight %d", from, from+sum, id, n, weight)
					}
				}
			}
		})
	}
}
