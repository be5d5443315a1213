package policy_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// Claim: PowerOfTwoChoices never picks the single most loaded candidate while another is eligible.
//
// Cases: B10, E2, E3.
func TestPowerOfTwoChoices_NeverPicksTheMostLoaded(t *testing.T) {
	for _, loads := range [][]uint64{{10, 0}, {3, 2, 1, 0}, {0, 1, 2}, {7, 9, 7, 7, 7}} {
		for _, inFlight := range []bool{true, false} {
			samples := loaded(t, loads...)
			for i := range samples {
				if !inFlight {
					samples[i].Load = fixed(loads[i])
				}
			}
			counts := open(t, newPowerOfTwoChoices(t, 1), samples).counts(t, 1000)
			worst := slices.Index(loads, slices.Max(loads))
			if counts[worst] != 0 {
				t.Errorf("loads %v: the most loaded got %d of 1000", loads, counts[worst])
			}
			// Of four, the idle one is in half of the pairs: 16 a sigma.
			if len(loads) == 4 && (counts[3] < 420 || counts[3] > 580) {
				t.Errorf("loads %v: the idle one got %d of 1000, want about half", loads, counts[3])
			}
		}
	}
}

// Claim: The two candidates are distinct, and each pair is equally likely.
func TestPowerOfTwoChoices_DrawsEveryPairEquallyOften(t *testing.T) {
	const n, pairs, bias = 5, 10, 0.02
	counts := make([]int, pairs)
	for _, seed := range seedSweep {
		// Candidate 2 is left out, so that five of six are drawn from.
		samples := backends(n + 1)
		samples[2].Status = poise.Draining
		d := open(t, newPowerOfTwoChoices(t, seed), samples)
		var why poise.Decision
		q := poise.Query{Why: &why}
		for range sampleSize(1.0/pairs, bias)/len(seedSweep) + 1 {
			d.pick(t, q)
			a, b := why.Compared[0].Index, why.Compared[1].Index
			if a == b || a == 2 || b == 2 || why.ComparedLen != 2 || why.Considered != 2 {
				t.Fatalf("compared %d with %d: %+v", a, b, why)
			}
			counts[pairNumber(d.view.NextEligible(a), d.view.NextEligible(b))]++
		}
	}
	if err := checkShares(counts, bias); err != nil {
		t.Error(err)
	}
}

// pairNumber numbers the unordered pairs of distinct numbers: 0 for {0, 1}.
func pairNumber(a, b int) int {
	a, b = min(a, b), max(a, b)
	return b*(b-1)/2 + a
}

// Claim: Of two equally loaded candidates each is picked equally often.
//
// Cases: E3.
func TestPowerOfTwoChoices_SplitsTiesEqually(t *testing.T) {
	const bias = 0.01
	for name, load := range map[string]poise.LoadTracker{"in flight": holding(t, 3), "stated": fixed(3)} {
		counts := make([]int, 2)
		for _, seed := range seedSweep {
			samples := backends(2)
			samples[0].Load, samples[1].Load = load, load
			d := open(t, newPowerOfTwoChoices(t, seed), samples)
			for i, count := range d.counts(t, sampleSize(1.0/2, bias)/len(seedSweep)+1) {
				counts[i] += count
			}
		}
		if err := checkShares(counts, bias); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPowerOfTwoChoices_SharesEquallyAmongTheIdle(t *testing.T) {
	const bias = 0.02
	if err := checkShares(open(t, newPowerOfTwoChoices(t, 9), backends(4)).counts(t, sampleSize(1.0/4, bias)), bias); err != nil {
		t.Error(err)
	}
}

// Claim: A single eligible candidate is picked without a draw and without reading its load.
//
// Cases: B11.
func TestPowerOfTwoChoices_TakesTheOnlyOneAsItIs(t *testing.T) {
	samples := backends(10)
	for i := range samples {
		samples[i].Load = untold{} // reading it would fail the pick
		if i != 7 {
			samples[i].Status = poise.Unavailable
		}
	}
	for seed := range uint64(1000) {
		if got := open(t, newPowerOfTwoChoices(t, seed+1), samples).pick(t, poise.Query{}); got != 7 {
			t.Fatalf("seed %d picks %d, want 7", seed+1, got)
		}
	}
	want := open(t, newPowerOfTwoChoices(t, 5), backends(9)).picks(t, 20)
	p := newPowerOfTwoChoices(t, 5)
	only, nine := open(t, p, samples), open(t, p, backends(9))
	var got []int
	for range 20 {
		var why poise.Decision
		only.pick(t, poise.Query{Why: &why})
		if why.Rule != policy.RuleOnly || why.ComparedLen != 0 {
			t.Fatalf("Why is %+v", why)
		}
		only.pick(t, poise.Query{})
		got = append(got, nine.pick(t, poise.Query{}))
	}
	if !slices.Equal(got, want) {
		t.Errorf("picks %v, and %v where no single one was picked between", got, want)
	}
	if got := open(t, p, loaded(t, 0, 100)).pick(t, poise.Query{Tried: retried(backends(2), 0)}); got != 1 {
		t.Errorf("picked %d, want the only untried one", got)
	}
}

func TestPowerOfTwoChoices_LeavesOutTheDraining(t *testing.T) {
	samples := loaded(t, 0, 100)
	samples[0].Status = poise.Draining
	if got := open(t, newPowerOfTwoChoices(t, 1), samples).pick(t, poise.Query{}); got != 1 {
		t.Errorf("picked %d, want 1", got)
	}
}

// Claim: A pick that fails to read a load has used its draw.
func TestPowerOfTwoChoices_FailedReadHasUsedItsDraw(t *testing.T) {
	for _, position := range []int{0, 1} {
		p, twin := newPowerOfTwoChoices(t, 5), newPowerOfTwoChoices(t, 5)
		broken := backends(2)
		broken[position].Load = untold{}
		for _, why := range []*poise.Decision{nil, new(poise.Decision)} {
			index, err := open(t, p, broken).try(poise.Query{Why: why})
			if index != -1 || !errors.Is(err, poise.ErrLoadOverflow) {
				t.Fatalf("picked %d (%v), want %v", index, err, poise.ErrLoadOverflow)
			}
			if why != nil && why.Err != err {
				t.Errorf("Why is %+v", *why)
			}
			open(t, twin, backends(2)).pick(t, poise.Query{})
		}
		got, want := open(t, p, backends(50)).picks(t, 20), open(t, twin, backends(50)).picks(t, 20)
		if !slices.Equal(got, want) {
			t.Errorf("after two failed reads the picks are %v, after two good ones %v", got, want)
		}
	}
}

// Claim: PowerOfTwoChoices refuses to prepare a View in which a candidate has no load tracker.
func TestPowerOfTwoChoices_RefusesACandidateWithoutTracker(t *testing.T) {
	for i := range 3 {
		samples := backends(3)
		samples[i].Load = nil
		_, err := newPowerOfTwoChoices(t, 1).Prepare(viewOf(t, samples))
		if !errors.Is(err, poise.ErrNilTracker) {
			t.Errorf("without the tracker of %d: %v, want %v", i, err, poise.ErrNilTracker)
		}
	}
}

func TestPowerOfTwoChoices_SaysWhetherTheyTied(t *testing.T) {
	for _, row := range []struct {
		loads []uint64
		rule  poise.Rule
	}{{[]uint64{4, 4}, policy.RuleTieOfTwo}, {[]uint64{4, 5}, policy.RuleLessOfTwo}} {
		var why poise.Decision
		open(t, newPowerOfTwoChoices(t, 1), loaded(t, row.loads...)).pick(t, poise.Query{Why: &why})
		if why.Rule != row.rule {
			t.Errorf("loads %v: the rule is %v, want %v", row.loads, why.Rule, row.rule)
		}
	}
}

func TestPowerOfTwoChoices_UnseededReachesEveryone(t *testing.T) {
	for name, p := range map[string]*policy.PowerOfTwoChoices{"zero value": new(policy.PowerOfTwoChoices), "seed 0": newPowerOfTwoChoices(t, 0)} {
		for i, count := range open(t, p, backends(4)).counts(t, 4000) {
			// 1000 expected, 27 a sigma.
			if count < 800 || count > 1200 {
				t.Errorf("%s: candidate %d got %d of 4000", name, i, count)
			}
		}
	}
}

func TestPowerOfTwoChoices_GoroutinesTakeEachDrawOnce(t *testing.T) {
	samples := backends(100)
	for i := range samples {
		samples[i].Load = fixed(i % 7)
	}
	want := open(t, newPowerOfTwoChoices(t, 5), samples).picks(t, 4000)
	slices.Sort(want)
	if got := inParallel(t, open(t, newPowerOfTwoChoices(t, 5), samples), 500); !slices.Equal(got, want) {
		t.Error("the picks of eight goroutines are not those of one")
	}
}

// ratchet is a load that grows at each reading, so that a choice by anything but
// the two figures read would show.
type ratchet struct {
	mu    sync.Mutex
	next  uint64
	reads int
}

func (r *ratchet) Load(time.Time) (uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	r.next = poise.Mix64(r.next + 1)
	return r.next, nil
}
func (r *ratchet) Unit() poise.LoadUnit { return poise.RequestsInFlight }

// Cases: E2.
func TestPowerOfTwoChoices_DecidesByWhatItReadOnce(t *testing.T) {
	samples := backends(6)
	loads := make([]*ratchet, len(samples))
	for i := range samples {
		loads[i] = &ratchet{next: uint64(i) << 32}
		samples[i].Load = loads[i]
	}
	d := open(t, newPowerOfTwoChoices(t, 1), samples)
	for k := range 500 {
		var why poise.Decision
		chosen := d.pick(t, poise.Query{Why: &why})
		less, more := why.Compared[0], why.Compared[1]
		if less.Index != chosen || less.Figure > more.Figure || loads[chosen].next != less.Figure {
			t.Fatalf("pick %d took %d by %+v", k, chosen, why.Compared)
		}
		reads := 0
		for _, load := range loads {
			reads += load.reads
		}
		if reads != 2*(k+1) {
			t.Fatalf("%d loads read in %d picks", reads, k+1)
		}
	}
}
