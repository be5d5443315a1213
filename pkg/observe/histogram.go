package observe

import (
	"encoding/json"
	"math"
	"slices"
	"time"
)

// attemptBounds are the upper bounds of the buckets of attempts, and decisionBounds
// those of decisions. One more bucket has no bound.
var (
	attemptBounds = [...]time.Duration{
		time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
		100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 5 * time.Second,
	}
	decisionBounds = [...]time.Duration{
		100, 250, 500, time.Microsecond, 2500, 5 * time.Microsecond, 10 * time.Microsecond, 100 * time.Microsecond,
		time.Millisecond, 10 * time.Millisecond,
	}
)

// histogram counts durations by bucket. It is filled without its bounds, which are a
// slice of buckets-1 of them.
type histogram struct {
	buckets [len(attemptBounds) + 1]counter
	sum     counter // nanoseconds
}

// observe counts a duration; a negative one as 0.
func (h *histogram) observe(d time.Duration, bounds []time.Duration) {
	d = max(d, 0)
	i := 0
	for i < len(bounds) && d > bounds[i] {
		i++
	}
	h.buckets[i].add(1)
	h.sum.add(uint64(d))
}

// read returns what was counted.
func (h *histogram) read(bounds []time.Duration) Histogram {
	r := Histogram{bounds: bounds, sum: h.sum.load()}
	var all uint64
	for i := range h.buckets {
		n := h.buckets[i].load()
		if all += n; all < n {
			all = math.MaxUint64
		}
		r.counts[i] = all
	}
	return r
}

// Histogram is how many durations were at most so long, as counted at one time.
//
// The zero value has counted nothing.
//
// # Contract
//
//   - A duration counts in the first bucket whose bound is not below it, and in all after that.
//   - The count of a Histogram is that of its last bucket, which has no bound.
//   - The sum of a Histogram loses no part of a duration, and stays at the largest number once it is there.
type Histogram struct {
	bounds []time.Duration
	counts [len(attemptBounds) + 1]uint64
	sum    uint64
}

// Bucket is how many durations were at most the bound.
type Bucket struct {
	_ struct{}
	// Bound is the upper bound, which belongs to the bucket; 0 for the last bucket,
	// which has none.
	Bound time.Duration
	// Count is how many durations were at most so long.
	Count uint64
}

// Buckets returns the buckets, by bound.
func (h Histogram) Buckets() []Bucket {
	all := make([]Bucket, len(h.counts))
	for i := range all {
		all[i].Count = h.counts[i]
		if i < len(h.bounds) {
			all[i].Bound = h.bounds[i]
		}
	}
	return all
}

// Count returns how many durations were counted.
func (h Histogram) Count() uint64 { return h.counts[len(h.counts)-1] }

// Sum returns the durations together.
func (h Histogram) Sum() time.Duration { return time.Duration(min(h.sum, math.MaxInt64)) }

// Bounds returns the upper bounds of the buckets but the last.
func (h Histogram) Bounds() []time.Duration { return slices.Clone(h.bounds) }

// MarshalJSON writes the count, the sum and the buckets, durations in seconds.
func (h Histogram) MarshalJSON() ([]byte, error) {
	type bucket struct {
		LE    *float64 `json:"le"` // null for the last bucket
		Count uint64   `json:"count"`
	}
	var buckets []bucket
	for i, b := range h.Buckets() {
		of := bucket{Count: b.Count}
		if i < len(h.bounds) {
			bound := b.Bound.Seconds()
			of.LE = &bound
		}
		buckets = append(buckets, of)
	}
	return json.Marshal(struct {
		Count   uint64   `json:"count"`
		Sum     float64  `json:"sum_seconds"`
		Buckets []bucket `json:"buckets"`
	}{h.Count(), float64(h.sum) / float64(time.Second), buckets})
}
