package policy_test

import (
	"slices"
	"sync"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// Claim: Random picks every eligible candidate equally often.
func TestRandom_SharesEqually(t *testing.T) {
	const bias = 0.01
	for _, n := range []int{3, 5} {
		counts := make([]int, n)
		for _, seed := range seedSweep {
			// Ineligible neighbours on both sides must not draw picks to the edges.
			samples := backends(n + 2)
			samples[0].Status, samples[n+1].Status = poise.Draining, poise.Draining
			d := open(t, newRandom(t, seed), samples)
			for i, count := range d.counts(t, sampleSize(1/float64(n), bias)/len(seedSweep)+1) {
				if i >= 1 && i <= n {
					counts[i-1] += count
				} else if count != 0 {
					t.Fatalf("candidate %d is not eligible and got %d picks", i, count)
				}
			}
		}
		if err := checkShares(counts, bias); err != nil {
			t.Errorf("%d eligible: %v", n, err)
		}
	}
}

func TestRandom_SharesEquallyAmongTheUntried(t *testing.T) {
	const bias = 0.02
	samples := backends(6)
	d := open(t, newRandom(t, 3), samples)
	counts := make([]int, 4)
	places := map[int]int{0: 0, 2: 1, 3: 2, 5: 3}
	q := poise.Query{Tried: retried(samples, 1, 4)}
	for range sampleSize(1.0/4, bias) {
		counts[places[d.pick(t, q)]]++
	}
	if err := checkShares(counts, bias); err != nil {
		t.Error(err)
	}
}

func TestRandom_KeepsWithinTheBoundsOfOthers(t *testing.T) {
	for i, count := range open(t, newRandom(t, 9), backends(3)).counts(t, 30_000) {
		if count < 9_500 || count > 10_500 {
			t.Errorf("candidate %d got %d of 30000", i, count)
		}
	}
}

func TestRandom_UnseededReachesEveryone(t *testing.T) {
	zero, unseeded := new(policy.Random), newRandom(t, 0)
	for name, p := range map[string]*policy.Random{"zero value": zero, "seed 0": unseeded} {
		for i, count := range open(t, p, backends(4)).counts(t, 4000) {
			// 1000 expected, 27 a sigma.
			if count < 800 || count > 1200 {
				t.Errorf("%s: candidate %d got %d of 4000", name, i, count)
			}
		}
	}
	a, b := open(t, newRandom(t, 0), backends(1000)).picks(t, 20), open(t, newRandom(t, 0), backends(1000)).picks(t, 20)
	if slices.Equal(a, b) {
		t.Errorf("two unseeded policies both picked %v", a)
	}
}

// inParallel returns the sorted picks of eight goroutines.
func inParallel(t *testing.T, d desk, each int) []int {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var picks []int
	for range 8 {
		wg.Go(func() {
			mine := make([]int, 0, each)
			for range each {
				index, err := d.try(poise.Query{})
				if err != nil {
					t.Errorf("Pick: %v", err)
					return
				}
				mine = append(mine, index)
			}
			mu.Lock()
			defer mu.Unlock()
			picks = append(picks, mine...)
		})
	}
	wg.Wait()
	slices.Sort(picks)
	return picks
}

func TestRandom_GoroutinesTakeEachDrawOnce(t *testing.T) {
	want := open(t, newRandom(t, 5), backends(1000)).picks(t, 4000)
	slices.Sort(want)
	if got := inParallel(t, open(t, newRandom(t, 5), backends(1000)), 500); !slices.Equal(got, want) {
		t.Error("the picks of eight goroutines are not those of one")
	}
}

// Pickers of one policy share its stream.
func TestRandom_StreamOutlivesTheView(t *testing.T) {
	want := open(t, newRandom(t, 5), backends(9)).picks(t, 40)
	p := newRandom(t, 5)
	var got []int
	for range 10 {
		got = append(got, open(t, p, backends(9)).picks(t, 4)...)
	}
	if !slices.Equal(got, want) {
		t.Errorf("picks over ten Views %v, over one %v", got, want)
	}
}
