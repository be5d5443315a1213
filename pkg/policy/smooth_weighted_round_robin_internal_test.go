package policy

import (
	"fmt"
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

func weightedView(t *testing.T, weights ...uint32) *poise.View {
	t.Helper()
	candidates := make([]poise.Candidate, len(weights))
	for i, w := range weights {
		weight, err := poise.NewWeight(w)
		if err != nil {
			t.Fatal(err)
		}
		candidates[i] = poise.Sample{ID: fmt.Sprint(i), Weight: weight}
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func newTestCreditList(t *testing.T, weights ...uint32) *creditList {
	t.Helper()
	r, err := newCreditList(weightedView(t, weights...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The table that was published with the rule: credits after each pick.
func TestCreditList_KeepsCreditsAsPublished(t *testing.T) {
	r := newTestCreditList(t, 5, 1, 1)
	for step, row := range []struct {
		position int
		credits  []int64
	}{
		{0, []int64{-2, 1, 1}},
		{0, []int64{-4, 2, 2}},
		{1, []int64{1, -4, 3}},
		{0, []int64{-1, -3, 4}},
		{2, []int64{4, -2, -2}},
		{0, []int64{2, -1, -1}},
		{0, []int64{0, 0, 0}},
	} {
		if got := r.advance(); got != row.position || !slices.Equal(r.credits, row.credits) {
			t.Errorf("step %d: took %d, credits %v, want %d and %v", step+1, got, r.credits, row.position, row.credits)
		}
	}
}

// Credits sum to 0, and are what was earned less what was paid.
func TestCreditList_CreditsAreWhatWasEarnedLessWhatWasPaid(t *testing.T) {
	chance := poise.NewGenerator(8)
	for size := range 50 {
		weights := make([]uint32, 1+size%25)
		for i := range weights {
			weights[i] = 1 + uint32(chance.Below(40))
		}
		r := newTestCreditList(t, weights...)
		counts := make([]int64, len(weights))
		for step := range 200 {
			counts[r.advance()]++
			sum := int64(0)
			for i, credit := range r.credits {
				sum += credit
				if want := int64(step+1)*int64(weights[i]) - r.total*counts[i]; credit != want {
					t.Fatalf("weights %v, step %d: credit %d of %d, want %d", weights, step, credit, i, want)
				}
			}
			if sum != 0 {
				t.Fatalf("weights %v, step %d: credits sum to %d", weights, step, sum)
			}
			if off := 2 * r.credits[0]; len(weights) == 2 && (off > r.total || -off > r.total) {
				t.Fatalf("weights %v, step %d: one of two is more than half a pick off", weights, step)
			}
		}
	}
}

// isOpen reports whether turns are replayed.
func (c *cycle) isOpen() bool { return c.cursor.Load()&closed != closed }

func pickOf(t *testing.T, p *SmoothWeightedRoundRobin, v *poise.View) (pick func() int, r *creditList) {
	t.Helper()
	picker, err := p.Prepare(v)
	if err != nil {
		t.Fatal(err)
	}
	return func() int {
		selection, err := picker.Pick(poise.Query{})
		if err != nil {
			t.Fatal(err)
		}
		index, err := v.Index(selection)
		if err != nil {
			t.Fatal(err)
		}
		return index
	}, picker.(*smoothWeightedRoundRobinPicker).creditList
}

// The steady state is replayed: at once by a policy that never picked, and after
// one period that follows a change.
func TestSmoothWeightedRoundRobin_ReplaysOnceTheCreditsComeRound(t *testing.T) {
	p := new(SmoothWeightedRoundRobin)
	pick, first := pickOf(t, p, weightedView(t, 3, 2, 1))
	if first.cycle.isOpen() {
		t.Error("turns can be taken before the first pick asks for one")
	}
	for k := range 8 {
		if pick(); !first.cycle.isOpen() {
			t.Fatalf("pick %d of a fresh policy ran live", k)
		}
	}
	next, second := pickOf(t, p, weightedView(t, 3, 2, 1, 2))
	for k := range 7 {
		if next(); second.cycle.isOpen() {
			t.Fatalf("pick %d after a change replayed what was never recorded", k)
		}
	}
	if first.cycle.isOpen() {
		t.Error("the cycle of the list before is still open")
	}
	for range 2 * 8 {
		next()
	}
	if !second.cycle.isOpen() {
		t.Error("three periods after a change picks still run live")
	}
	if _, again := pickOf(t, p, weightedView(t, 3, 2, 1, 2)); again != second {
		t.Error("an equal View got a list of its own")
	}
	_, prepared := pickOf(t, p, weightedView(t, 7))
	if prepared == second {
		t.Error("another View got the list of the last")
	}
	if _, again := pickOf(t, p, weightedView(t, 7)); again != prepared {
		t.Error("a View equal to the one prepared last got a list of its own")
	}
	if _, again := pickOf(t, p, weightedView(t, 3, 2, 1, 2)); again != second {
		t.Error("a View equal to the one picked from got a list of its own")
	}
}

// A list that is met again with the credits of its beginning goes on by replay,
// and with any other credits picks run live.
func TestSmoothWeightedRoundRobin_FindsItsCycleAgain(t *testing.T) {
	p := new(SmoothWeightedRoundRobin)
	pick, r := pickOf(t, p, weightedView(t, 2, 1))
	other, _ := pickOf(t, p, weightedView(t, 1, 2))
	var got []int
	for range 2 {
		for range 3 {
			got = append(got, pick())
			if !r.cycle.isOpen() {
				t.Error("picks run live from the credits of the beginning")
			}
		}
		got = append(got, other(), other(), other())
	}
	pick()
	other()
	other()
	if pick(); r.cycle.isOpen() {
		t.Error("turns are replayed from credits that are not those of the beginning")
	}
	if want := []int{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("picks %v, want %v", got, want)
	}
}

// What is left of 2^26 steps is made in Prepare.
func TestCreditList_MakesAheadWhatIsAffordable(t *testing.T) {
	weights := slices.Repeat([]uint32{1}, 8000)
	weights[0] = 401 // a period of 8400, times 8000: just over 2^26
	costly := newTestCreditList(t, weights...)
	costly.start(0)
	if costly.recorded != 0 {
		t.Errorf("made %d turns ahead at a cost of %d", costly.recorded, 8400*8000)
	}
	weights[0] = 389 // 8388 times 8000: just under
	affordable := newTestCreditList(t, weights...)
	affordable.start(0)
	if affordable.recorded != 8388 {
		t.Errorf("made %d turns ahead, want 8388", affordable.recorded)
	}
	if len(newTestCreditList(t, 1<<18-1, 1).cycle.order) != 1<<18 {
		t.Error("a period of 2^18 is not stored")
	}
	if len(newTestCreditList(t, 1<<18, 1).cycle.order) != 0 {
		t.Error("a period over 2^18 is stored")
	}
	if len(newTestCreditList(t, 6<<20, 3<<20).cycle.order) != 3 {
		t.Error("the divisor that weights have in common lengthens the period")
	}
	long := newTestCreditList(t, 1<<30, 1)
	long.start(5)
	if want := []int64{5 << 30, 5}; long.recorded != 0 || long.credits[1] != want[1] {
		t.Errorf("after five turns of a long period credits are %v", long.credits)
	}
}

// A pick that slept between its look at a cycle and its step takes nothing of a
// cycle that was recorded again meanwhile, although the place is the same.
func TestCycle_TurnOfAnOldRecordingIsNotTaken(t *testing.T) {
	var c cycle
	c.size(2)
	c.record(0, 0)
	c.record(1, 1)
	c.open()
	asleep := c.cursor.Load()
	if taken := c.close(); taken != 0 {
		t.Errorf("%d turns were taken of none", taken)
	}
	if _, open := c.next(); open {
		t.Error("a closed cycle gave a turn")
	}
	if taken := c.close(); taken != 0 {
		t.Errorf("closing twice reports %d turns", taken)
	}
	c.record(0, 1)
	c.record(1, 0)
	c.open()
	if c.cursor.CompareAndSwap(asleep, asleep+1) {
		t.Error("the sleeper's step succeeds")
	}
	for k, want := range []int{1, 0, 1} {
		if got, open := c.next(); !open || got != want {
			t.Errorf("turn %d is %d (%v), want %d", k, got, open, want)
		}
	}
	if taken := c.close(); taken != 1 {
		t.Errorf("%d turns since the beginning, want 1", taken)
	}
}
