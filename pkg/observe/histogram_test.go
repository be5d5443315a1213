package observe_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/observe"
)

// bounds are those of the contract, and of nobody's code.
var bounds = []time.Duration{
	1e6, 5e6, 10e6, 25e6, 50e6, 100e6, 250e6, 500e6, 1e9, 5e9,
}

// boundsOf returns the bounds of all buckets but the last.
func boundsOf(h observe.Histogram) (list []time.Duration) {
	for _, b := range h.Buckets()[:10] {
		list = append(list, b.Bound)
	}
	return list
}

func TestHistogram_ZeroValueHasCountedNothing(t *testing.T) {
	var h observe.Histogram
	text, err := h.MarshalJSON()
	if h.Buckets() != nil || h.Count() != 0 || h.Seconds() != 0 || string(text) != `{"count":0,"sum_seconds":0,"buckets":[]}` || err != nil {
		t.Errorf("it is %s: %v", text, err)
	}
}

// Claim: A duration counts in the first bucket whose bound is not below it, and in all after that.
//
// Claim: The count of a Histogram is that of its last bucket, which has no bound.
func TestHistogram_LawCountsLikeItsSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := new(observe.Metrics)
		near := rapid.SampledFrom([]time.Duration{0, -1, 1, math.MaxInt64, math.MinInt64, 1e6, 5e6, 10e6, 25e6, 50e6, 100e6, 250e6, 500e6, 1e9, 5e9})
		var took []time.Duration
		sum := 0.0
		for range rapid.IntRange(0, 50).Draw(t, "attempts") {
			d := near.Draw(t, "near")
			if d > math.MinInt64 && d < math.MaxInt64 {
				d += time.Duration(rapid.IntRange(-1, 1).Draw(t, "off"))
			}
			m.Attempted(observe.Attempted{Took: d})
			took = append(took, d)
			sum += min(math.Floor(float64(max(d, 0))/1e3), 1<<53) // whole microseconds
		}
		h := m.Snapshot().AttemptTime()
		buckets := h.Buckets()
		if len(buckets) != 11 || !slices.Equal(boundsOf(h), bounds) {
			t.Fatalf("the buckets are %v", buckets)
		}
		for i, b := range buckets {
			want := uint64(len(took))
			if i < len(bounds) {
				want = 0
				for _, d := range took {
					if d <= bounds[i] {
						want++
					}
				}
				if b.Bound != bounds[i] {
					t.Fatalf("bucket %d goes to %v", i, b.Bound)
				}
			} else if b.Bound != 0 {
				t.Fatalf("the last bucket goes to %v", b.Bound)
			}
			if b.Count != want {
				t.Fatalf("%d of %v are up to %v, want %d", b.Count, took, b.Bound, want)
			}
		}
		if h.Count() != uint64(len(took)) || math.Abs(h.Seconds()-sum/1e6) > 1e-9*sum {
			t.Fatalf("%d of %d, %v s together, want %v", h.Count(), len(took), h.Seconds(), sum/1e6)
		}
	})
}

func TestHistogram_OfDecisionsHasBoundsOfItsOwn(t *testing.T) {
	m := new(observe.Metrics)
	m.Decided(observe.Decided{Took: 300})
	m.Decided(observe.Decided{}) // nobody measured
	h := m.Snapshot().DecisionTime()
	if got := h.Buckets(); h.Count() != 1 || got[1].Count != 0 || got[2].Count != 1 || got[2].Bound != 500 || h.Seconds() != 300e-9 {
		t.Errorf("one decision of 300 ns is %v", got)
	}
	if want := []time.Duration{100, 250, 500, 1e3, 2500, 5e3, 10e3, 100e3, 1e6, 10e6}; !slices.Equal(boundsOf(h), want) {
		t.Errorf("the bounds are %v, want %v", boundsOf(h), want)
	}
	if m.Snapshot().Decisions(observe.Selected) != 2 || m.Snapshot().Attempts(observe.AttemptKindOf(poise.Success)) != 0 {
		t.Error("a decision is no attempt")
	}
}
