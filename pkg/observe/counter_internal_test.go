package observe

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Claim: A counter of a Metrics never shows a smaller number than before, and stays at the largest once it is there.
func TestCounter_StaysAtTheLargestNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c counter
		c.n.Store(rapid.SampledFrom([]uint64{0, 5, math.MaxUint64 - 3, math.MaxUint64}).Draw(t, "start"))
		for range 5 {
			was := c.load()
			delta := rapid.SampledFrom([]uint64{0, 1, 2, math.MaxUint64}).Draw(t, "delta")
			c.add(delta)
			want := was + delta
			if delta > math.MaxUint64-was {
				want = math.MaxUint64
			}
			if is := c.load(); is != want || is < was {
				t.Fatalf("%d and %d are %d", was, delta, is)
			}
		}
	})
}

// Claim: The sum of a Histogram loses no part of a duration, and stays at the largest number once it is there.
func TestHistogram_StaysAtTheLargestNumber(t *testing.T) {
	var h histogram
	for range 3 {
		h.observe(math.MaxInt64, attemptBounds[:])
	}
	if r := h.read(attemptBounds[:]); r.sum != math.MaxUint64 || r.Sum() != math.MaxInt64 || r.Count() != 3 {
		t.Errorf("three of the longest are %v", r.Sum())
	}
	h = histogram{}
	for range 1000 {
		h.observe(999*time.Nanosecond, attemptBounds[:])
	}
	if r := h.read(attemptBounds[:]); r.Sum() != 999*time.Microsecond {
		t.Errorf("a thousand of 999 ns are %v", r.Sum())
	}
	h.buckets[0].n.Store(math.MaxUint64)
	h.buckets[3].n.Store(7)
	if r := h.read(attemptBounds[:]); r.counts[0] != math.MaxUint64 || r.Count() != math.MaxUint64 {
		t.Errorf("buckets that are full add up to %v", r.counts)
	}
}
