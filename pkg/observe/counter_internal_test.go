package observe

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Claim: A counter of a Metrics never shows a smaller number than before, and stays at the largest once it is there.
// Code: counter.add, counter.load
func TestCounter_StaysAtTheLargestNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c counter
		c.n.Store(rapid.SampledFrom([]uint64{0, 5, full - 3, full - 1, full}).Draw(t, "start"))
		for range 3000 { // enough to begin anew if nothing is taken away
			was := c.load()
			delta := rapid.SampledFrom([]uint64{0, 1, 2, longest}).Draw(t, "delta")
			c.add(delta)
			want := was + delta
			if was >= full || want >= full {
				want = math.MaxUint64
			}
			if is := c.load(); is != want || c.n.Load() > full {
				t.Fatalf("%d and %d are %d", was, delta, is)
			}
			if was == math.MaxUint64 && delta == longest {
				return
			}
		}
	})
	var c counter
	c.n.Store(full)
	for range 5000 {
		c.add(longest)
	}
	if c.load() != math.MaxUint64 {
		t.Errorf("a full counter begins anew at %d", c.load())
	}
}

// Claim: The sum of a Histogram has the whole microseconds of attempts, and the nanoseconds of decisions.
func TestHistogram_SumsInItsUnit(t *testing.T) {
	for of, want := range map[*times]float64{&attemptTimes: 1e-3, &decisionTimes: 1.5e-3} {
		var h histogram
		for range 1000 {
			h.observe(1500*time.Nanosecond, of)
		}
		if got := h.read(of).Seconds(); math.Abs(got-want) > 1e-12 {
			t.Errorf("a thousand of 1500 ns are %v s, want %v", got, want)
		}
	}
}

func TestHistogram_StaysAtTheLargestNumber(t *testing.T) {
	var h histogram
	h.observe(0, &decisionTimes)
	h.observe(-5, &decisionTimes)
	if r := h.read(&decisionTimes); r.sum != 0 || r.Count() != 2 {
		t.Errorf("two of no time are %v s", r.Seconds())
	}
	h = histogram{}
	h.observe(math.MaxInt64, &decisionTimes)
	if r := h.read(&decisionTimes); r.sum != longest || r.Count() != 1 {
		t.Errorf("the longest pick is %v s", r.Seconds())
	}
	h.sum.n.Store(full)
	h.counts[0].n.Store(full)
	h.counts[3].n.Store(7)
	if r := h.read(&attemptTimes); r.counts[0] != math.MaxUint64 || r.Count() != math.MaxUint64 || r.Seconds() != float64(math.MaxUint64)/1e6 {
		t.Errorf("buckets that are full add up to %v, and %v s", r.counts, r.Seconds())
	}
}
