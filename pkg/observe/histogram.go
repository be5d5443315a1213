package observe

import (
	"encoding/json"
	"math"
	"time"
)

// times is what a histogram counts: its buckets by their upper bounds, beside the last
// one, which has none, and the unit of its sum.
type times struct {
	bounds [buckets - 1]time.Duration
	unit   time.Duration
}

const buckets = 11

var (
	// A sum of the microseconds of many calls at once lasts for ages, one of nanoseconds
	// would be full within weeks.
	attemptTimes = times{[...]time.Duration{
		time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
		100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 5 * time.Second,
	}, time.Microsecond}
	decisionTimes = times{[...]time.Duration{
		100, 250, 500, time.Microsecond, 2500, 5 * time.Microsecond, 10 * time.Microsecond, 100 * time.Microsecond,
		time.Millisecond, 10 * time.Millisecond,
	}, time.Nanosecond}
)

// longest is what one duration adds to a sum at most, in its unit: more than a hundred
// days of nanoseconds.
const longest = 1 << 53

// histogram counts durations by bucket.
type histogram struct {
	counts [buckets]counter
	sum    counter
}

// observe counts a duration; a negative one as 0.
func (h *histogram) observe(d time.Duration, of *times) {
	d = max(d, 0)
	i := 0
	for i < len(of.bounds) && d > of.bounds[i] {
		i++
	}
	h.counts[i].add(1)
	h.sum.add(min(uint64(d/of.unit), longest))
}

// read returns what was counted.
func (h *histogram) read(of *times) Histogram {
	r := Histogram{times: of, sum: h.sum.load()}
	var all uint64
	for i := range h.counts {
		n := h.counts[i].load()
		if all += n; all < n {
			all = math.MaxUint64
		}
		r.counts[i] = all
	}
	return r
}

// Histogram is how many durations were at most so long, as counted at one time.
//
// The zero value has counted nothing, and has no buckets.
//
// # Contract
//
//   - A duration counts in the first bucket whose bound is not below it, and in all after that.
//   - The count of a Histogram is that of its last bucket, which has no bound.
//   - The sum of a Histogram has the whole microseconds of attempts, and the nanoseconds of decisions.
type Histogram struct {
	times  *times
	counts [buckets]uint64
	sum    uint64 // in the unit of times
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
	if h.times == nil {
		return nil
	}
	all := make([]Bucket, buckets)
	for i := range all {
		all[i].Count = h.counts[i]
	}
	for i, bound := range h.times.bounds {
		all[i].Bound = bound
	}
	return all
}

// Count returns how many durations were counted.
func (h Histogram) Count() uint64 { return h.counts[buckets-1] }

// Seconds returns the durations together.
func (h Histogram) Seconds() float64 {
	if h.times == nil {
		return 0
	}
	return float64(h.sum) / float64(time.Second/h.times.unit)
}

// MarshalJSON writes the count, the sum and the buckets, durations in seconds.
func (h Histogram) MarshalJSON() ([]byte, error) {
	type bucket struct {
		LE    *float64 `json:"le"` // null for the last bucket
		Count uint64   `json:"count"`
	}
	list := []bucket{}
	for _, b := range h.Buckets() {
		of := bucket{Count: b.Count}
		if b.Bound != 0 {
			bound := b.Bound.Seconds()
			of.LE = &bound
		}
		list = append(list, of)
	}
	return json.Marshal(struct {
		Count   uint64   `json:"count"`
		Sum     float64  `json:"sum_seconds"`
		Buckets []bucket `json:"buckets"`
	}{h.Count(), h.Seconds(), list})
}
