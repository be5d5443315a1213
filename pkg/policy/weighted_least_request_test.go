package policy_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"pgregory.net/rapid"
)

// burdened returns candidates of those weights that hold so much work.
func burdened(t reporter, weights []uint32, loads []uint64) []poise.Sample {
	t.Helper()
	samples := weighing(t, weights...)
	for i, load := range loads {
		samples[i].Load = fixed(load)
	}
	return samples
}

// pairs counts who was drawn first and who second, while all are equally loaded.
func pairs(t *testing.T, samples []poise.Sample, q poise.Query, n int) map[[2]int]int {
	t.Helper()
	d := open(t, newWeightedLeastRequest(t, 12), samples)
	var why poise.Decision
	q.Why = &why
	counts := map[[2]int]int{}
	for range n {
		first := d.pick(t, q)
		if why.Rule != policy.RuleTieOfTwoByWeight || why.Compared[0].Index != first {
			t.Fatalf("picked %d: %+v", first, why)
		}
		counts[[2]int{first, why.Compared[1].Index}]++
	}
	return counts
}

// Claim: The first of the two is drawn in proportion to weight, and the second in proportion to weight among all others.
//
// Cases: B10, E3.
func TestWeightedLeastRequest_DrawsTwoByWeight(t *testing.T) {
	// For weights 1, 2 and 3 a pair i, j has the chance i/6 · j/(6-i): these, of 60.
	chances := map[[2]int]uint32{{0, 1}: 4, {0, 2}: 6, {1, 0}: 5, {1, 2}: 15, {2, 0}: 10, {2, 1}: 20}
	check := func(name string, counts map[[2]int]int, places map[int]int) {
		t.Helper()
		var got []int
		var want []uint32
		for pair, chance := range chances {
			at := [2]int{places[pair[0]], places[pair[1]]}
			got, want = append(got, counts[at]), append(want, chance)
			delete(counts, at)
		}
		if len(counts) != 0 {
			t.Errorf("%s: drew others: %v", name, counts)
		}
		if err := checkProportions(got, want, 0.04); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	n := sampleSize(4.0/60, 0.04)
	check("all", pairs(t, weighing(t, 1, 2, 3), poise.Query{}, n), map[int]int{0: 0, 1: 1, 2: 2})
	samples := weighing(t, 7, 1, 7, 2, 3, 7)
	check("the untried", pairs(t, samples, poise.Query{Tried: retried(samples, 0, 2, 5)}, n), map[int]int{0: 1, 1: 3, 2: 4})
}

// Claim: WeightedLeastRequest picks the one whose load divided by its weight is smaller, compared exactly, and of equal ones the first.
func TestWeightedLeastRequest_ComparesLoadOverWeightExactly(t *testing.T) {
	const most = math.MaxUint64
	for _, row := range []struct {
		weights []uint32
		loads   []uint64
		want    int // -1: a tie
	}{
		{[]uint32{1, 1}, []uint64{1, 0}, 1},
		{[]uint32{1, 3}, []uint64{2, 5}, 1}, // 2 against 1.67
		{[]uint32{1, 3}, []uint64{2, 6}, -1},
		{[]uint32{1, 3}, []uint64{2, 7}, 0},
		{[]uint32{1, 9}, []uint64{0, 0}, -1},
		{[]uint32{1, math.MaxUint32}, []uint64{0, 1}, 0},
		{[]uint32{1, math.MaxUint32}, []uint64{1, math.MaxUint32 - 1}, 1},
		// Beyond 64 bits, and where float64 cannot tell the two apart.
		{[]uint32{math.MaxUint32, math.MaxUint32}, []uint64{most, most - 1}, 1},
		{[]uint32{math.MaxUint32, math.MaxUint32}, []uint64{most, most}, -1},
		{[]uint32{math.MaxUint32 - 1, math.MaxUint32}, []uint64{most, most}, 1},
		{[]uint32{2, 1}, []uint64{most, most / 2}, 1},
		{[]uint32{2, 1}, []uint64{most - 1, most / 2}, -1},
	} {
		d := open(t, newWeightedLeastRequest(t, 3), burdened(t, row.weights, row.loads))
		var why poise.Decision
		seen := map[int]bool{}
		for range 40 {
			got := d.pick(t, poise.Query{Why: &why})
			seen[got] = true
			if (why.Rule == policy.RuleTieOfTwoByWeight) != (row.want < 0) || row.want >= 0 && got != row.want {
				t.Fatalf("weights %v, loads %v: picked %d, rule %v", row.weights, row.loads, got, why.Rule)
			}
			if why.Compared[0].Figure != row.loads[got] || why.Compared[1].Figure != row.loads[1-got] || why.ComparedLen != 2 {
				t.Fatalf("weights %v, loads %v: compared %v", row.weights, row.loads, why.Compared)
			}
		}
		if row.want < 0 && row.weights[0] == row.weights[1] && len(seen) != 2 {
			t.Errorf("weights %v, loads %v: ties all go to one", row.weights, row.loads)
		}
	}
}

// Claim: While all loads are in the same proportion to the weights, as when nobody holds work, each candidate is picked in proportion to its weight.
//
// Cases: G10, Q6.
func TestWeightedLeastRequest_SharesByWeightAtEqualLoad(t *testing.T) {
	const bias = 0.03
	weights := []uint32{1, 2, 3, 4}
	for _, held := range []uint64{0, 1000} {
		loads := make([]uint64, len(weights))
		for i, w := range weights {
			loads[i] = uint64(w) * held
		}
		d := open(t, newWeightedLeastRequest(t, 8+held), burdened(t, weights, loads))
		if err := checkProportions(d.counts(t, sampleSize(0.1, bias)), weights, bias); err != nil {
			t.Errorf("holding %d for each unit of weight: %v", held, err)
		}
	}
}

// Claim: WeightedLeastRequest never picks the single candidate with the most load for its weight while another is eligible.
func TestWeightedLeastRequest_NeverPicksTheMostLoaded(t *testing.T) {
	for _, row := range []struct {
		weights []uint32
		loads   []uint64
		most    int
	}{
		{[]uint32{1, 1}, []uint64{10, 0}, 0},
		{[]uint32{1, 1, 1, 1}, []uint64{3, 2, 1, 0}, 0},
		{[]uint32{8, 1, 1}, []uint64{9, 1, 1}, 0}, // the heavy one is drawn first nearly always
		{[]uint32{8, 1, 1}, []uint64{7, 0, 1}, 2}, // and has most load in numbers
	} {
		samples := burdened(t, row.weights, row.loads)
		if got := open(t, newWeightedLeastRequest(t, 2), samples).counts(t, 2000)[row.most]; got != 0 {
			t.Errorf("weights %v, loads %v: %d got %d picks", row.weights, row.loads, row.most, got)
		}
		var all []poise.Sample
		for i := range samples {
			samples[i].Load = holding(t, row.loads[i])
			all = append(all, samples[i])
		}
		if got := open(t, newWeightedLeastRequest(t, 2), all).counts(t, 2000)[row.most]; got != 0 {
			t.Errorf("weights %v, in flight %v: %d got %d picks", row.weights, row.loads, row.most, got)
		}
	}
}

// mute is a tracker that must not be read.
type mute struct{ t *testing.T }

func (m mute) Load(time.Time) (uint64, error) {
	m.t.Error("the load was read")
	return 0, nil
}
func (m mute) Unit() poise.LoadUnit { return poise.RequestsInFlight }

// Claim: A single candidate that is left is picked by WeightedLeastRequest without a draw and without reading its load.
func TestWeightedLeastRequest_TakesTheOnlyOneAsItIs(t *testing.T) {
	want := open(t, newWeightedLeastRequest(t, 4), weighing(t, 1, 2, 3)).picks(t, 30)
	p := newWeightedLeastRequest(t, 4)
	alone := weighing(t, 1, 1)
	alone[0].Load, alone[1].Load = mute{t}, mute{t}
	one, rest, many := open(t, p, alone[:1]), open(t, p, alone), open(t, p, weighing(t, 1, 2, 3))
	var got []int
	for range want {
		one.pick(t, poise.Query{})
		rest.pick(t, poise.Query{Tried: retried(alone, 0)})
		got = append(got, many.pick(t, poise.Query{}))
	}
	if !slices.Equal(got, want) {
		t.Errorf("picks %v, want %v", got, want)
	}
}

// Claim: WeightedLeastRequest refuses to prepare a View in which a candidate has no load tracker.
func TestWeightedLeastRequest_RefusesACandidateWithoutTracker(t *testing.T) {
	samples := weighing(t, 1, 2, 3)
	samples[1].Load, samples[1].Status = nil, poise.Draining
	picker, err := newWeightedLeastRequest(t, 1).Prepare(viewOf(t, samples))
	if picker != nil {
		t.Error("a Picker came with the error")
	}
	checkFieldError(t, "WeightedLeastRequest", err, "candidates[1].Load", poise.ErrNilTracker)
}

// Many requests of one length over candidates of unlike weight: the work held, and
// with it the requests served, come out as the weights.
//
// Cases: G10.
func TestWeightedLeastRequest_HoldsWorkByWeight(t *testing.T) {
	weights := []uint32{1, 2, 3, 4, 1, 2, 3, 4}
	samples := weighing(t, weights...)
	loads := make([]*poise.InFlight, len(samples))
	for i := range samples {
		loads[i] = poise.NewInFlight(0)
		samples[i].Load = loads[i]
	}
	d := open(t, newWeightedLeastRequest(t, 6), samples)
	const held, requests = 400, 100_000
	var work []*poise.Lease
	counts := make([]int, len(samples))
	for k := range requests {
		if k >= held {
			work[0].Release()
			work = work[1:]
		}
		index := d.pick(t, poise.Query{})
		lease, err := loads[index].Acquire()
		if err != nil {
			t.Fatal(err)
		}
		work = append(work, &lease)
		counts[index]++
	}
	for i, w := range weights {
		exact := float64(requests) * float64(w) / 20
		if off := float64(counts[i])/exact - 1; math.Abs(off) > 0.02 {
			t.Errorf("weight %d got %d of %d requests, %.1f %% off", w, counts[i], requests, 100*off)
		}
		if fair := 20 * float64(w); math.Abs(float64(loads[i].Current())-fair) > 0.15*fair {
			t.Errorf("weight %d holds %d of %d, fair is %.0f", w, loads[i].Current(), held, fair)
		}
	}
}

// The trackers' kind decides the path through the code, never the pick.
func TestWeightedLeastRequest_PicksAlikeWithAnyKindOfTracker(t *testing.T) {
	chance := poise.NewGenerator(5)
	for range 50 {
		n := 1 + int(chance.Below(9))
		counted := risingWeights(t)(n)
		stated, both := slices.Clone(counted), slices.Clone(counted)
		for i := range counted {
			load := chance.Below(6)
			counted[i].Load, stated[i].Load, both[i].Load = holding(t, load), fixed(load), holding(t, load)
			if i%2 == 1 {
				both[i].Load = fixed(load)
			}
		}
		want := open(t, newWeightedLeastRequest(t, 1), counted).picks(t, 40)
		for _, samples := range [][]poise.Sample{stated, both} {
			if got := open(t, newWeightedLeastRequest(t, 1), samples).picks(t, 40); !slices.Equal(got, want) {
				t.Fatalf("picks %v, with InFlights %v", got, want)
			}
		}
	}
}

// clocked has the load of the second it is read in.
type clocked struct{}

func (clocked) Load(now time.Time) (uint64, error) { return uint64(now.Unix()), nil }
func (clocked) Unit() poise.LoadUnit               { return poise.RequestsInFlight }

func TestWeightedLeastRequest_ReadsLoadsAtTheInstantOfTheQuery(t *testing.T) {
	samples := weighing(t, 1, 1)
	samples[0].Load, samples[1].Load = clocked{}, fixed(100)
	d := open(t, newWeightedLeastRequest(t, 1), samples)
	if before, after := d.pick(t, poise.Query{Now: time.Unix(99, 0)}), d.pick(t, poise.Query{Now: time.Unix(101, 0)}); before != 0 || after != 1 {
		t.Errorf("picked %d at second 99 and %d at 101, want 0 and 1", before, after)
	}
}

func TestWeightedLeastRequest_ExplainsLoadsWithTheirWeights(t *testing.T) {
	d := open(t, newWeightedLeastRequest(t, 1), burdened(t, []uint32{1, 4}, []uint64{2, 5}))
	var why poise.Decision
	d.pick(t, poise.Query{Why: &why})
	for _, part := range []string{
		"WeightedLeastRequest chose b: less loaded of two by weight",
		"compared b: load 5 at weight 4",
		"compared a: load 2 at weight 1",
	} {
		if !strings.Contains(why.String(), part) {
			t.Errorf("no %q in %s", part, why.String())
		}
	}
}

// Cases: G25.
func TestWeightedLeastRequest_SeedsReplayForEver(t *testing.T) {
	checkGolden(t, "weighted_least_request", goldenLines(t,
		func(seed uint64) poise.Policy { return newWeightedLeastRequest(t, seed) },
		func(n int) []poise.Sample {
			samples := risingWeights(t)(n)
			for i := range samples {
				samples[i].Load = fixed(i % 17)
			}
			return samples
		}))
}

func TestWeightedLeastRequest_LessOfTwo_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples, loads := drawSamples(t)
		for i := range samples {
			samples[i].Weight = weightOf(t, drawWeight(t, true))
		}
		d := open(t, newWeightedLeastRequest(t, rapid.Uint64().Draw(t, "seed")), samples)
		var why poise.Decision
		for range 12 {
			chosen, err := d.try(poise.Query{Why: &why})
			if err != nil {
				return
			}
			if why.ComparedLen == 0 {
				if d.view.EligibleLen() != 1 {
					t.Fatalf("%d are eligible and nothing was compared", d.view.EligibleLen())
				}
				return
			}
			a, b := why.Compared[0], why.Compared[1]
			if a.Index != chosen || a.Index == b.Index || a.Figure != loads[a.Index] || b.Figure != loads[b.Index] {
				t.Fatalf("picked %d, compared %v", chosen, why.Compared)
			}
			left := a.Figure * uint64(samples[b.Index].Weight.Value())
			right := b.Figure * uint64(samples[a.Index].Weight.Value())
			if left > right || (left == right) != (why.Rule == policy.RuleTieOfTwoByWeight) {
				t.Fatalf("picked load %d at weight %v over %d at %v by %v", a.Figure, samples[a.Index].Weight, b.Figure, samples[b.Index].Weight, why.Rule)
			}
		}
	})
}
