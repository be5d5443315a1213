package poise_test

import (
	"math"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

func TestPeakEWMA_LawsOfDecay(t *testing.T) {
	laws := gopter.NewProperties(gopter.DefaultTestParametersWithSeed(1592614637))
	cost := gen.Int64Range(1, 1e12)

	laws.Property("going idle for a and then b is going idle for a+b", prop.ForAll(
		func(initial, peak, a, b int64) bool {
			e := newPeak(t, time.Duration(initial), time.Second)
			e.Observe(time.Duration(peak), start)
			halfway := newPeak(t, time.Duration(initial), time.Second)
			halfway.Observe(time.Duration(peak), start)
			middle := halfway.Estimate(after(time.Duration(a)))
			later := newPeak(t, time.Duration(initial), time.Second)
			later.Observe(middle, start)
			if peak < initial {
				return true // then a sample of what is read is not what is known
			}
			got, want := later.Estimate(after(time.Duration(b))), e.Estimate(after(time.Duration(a+b)))
			return math.Abs(float64(got-want)) <= 2+1e-9*float64(want)
		}, cost, cost, gen.Int64Range(0, 5e9), gen.Int64Range(0, 5e9)))

	laws.Property("scaling all durations scales the estimate", prop.ForAll(
		func(initial, first, second, gap, factor int64) bool {
			reading := func(k int64) float64 {
				e := newPeak(t, time.Duration(k*initial), time.Duration(k)*time.Second)
				e.Observe(time.Duration(k*first), start)
				e.Observe(time.Duration(k*second), after(time.Duration(k*gap)))
				return float64(e.Estimate(after(time.Duration(2 * k * gap))))
			}
			once, scaled := reading(1), reading(factor)
			return math.Abs(scaled-float64(factor)*once) <= float64(factor)+1+1e-9*scaled
		}, gen.Int64Range(1, 1e9), gen.Int64Range(0, 1e9), gen.Int64Range(0, 1e9), gen.Int64Range(0, 1e9), gen.Int64Range(1, 100)))

	laws.Property("an estimate stays between the smallest and the largest of what it has seen", prop.ForAll(
		func(initial int64, latencies []int64, gap int64) bool {
			e := newPeak(t, time.Duration(initial), time.Second)
			low, high := initial, initial
			for k, latency := range latencies {
				low, high = min(low, latency), max(high, latency)
				e.Observe(time.Duration(latency), after(time.Duration(int64(k)*gap)))
				if got := int64(e.Estimate(after(time.Duration(int64(k+1) * gap)))); got < low-1 || got > high+1 {
					return false
				}
			}
			return true
		}, cost, gen.SliceOfN(8, gen.Int64Range(0, 1e12)), gen.Int64Range(0, 3e9)))
	laws.TestingRun(t)
}
