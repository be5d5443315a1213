package poise_test

import (
	"math"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"pgregory.net/rapid"
)

// peakTwin is the formula, read off the documentation.
type peakTwin struct {
	initial, halfLife, cost, at float64 // nanoseconds
}

func (p *peakTwin) passed(instant float64) (elapsed float64) {
	switch {
	case p.at-instant > 10*p.halfLife:
		p.cost, p.at = p.initial, instant
	case instant > p.at:
		return instant - p.at
	}
	return 0
}

func (p *peakTwin) read(instant float64) float64 {
	seen := *p // reading changes nothing
	elapsed := seen.passed(instant)
	return p.initial + (seen.cost-p.initial)*math.Pow(2, -elapsed/p.halfLife)
}

func (p *peakTwin) sample(s, instant float64) {
	elapsed := p.passed(instant)
	b := math.Min(s, p.initial)
	p.cost = math.Max(s, b+(p.cost-b)*math.Pow(2, -elapsed/p.halfLife))
	p.at = math.Max(p.at, instant)
}

func TestPeakEWMA_LawOfItsFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		initial := time.Duration(rapid.Int64Range(1, 1e9).Draw(t, "initial"))
		halfLife := time.Duration(rapid.Int64Range(1, 1e10).Draw(t, "half-life"))
		e, twin := newPeak(t, initial, halfLife), &peakTwin{float64(initial), float64(halfLife), float64(initial), 0}
		now := time.Duration(0)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now += time.Duration(rapid.Int64Range(-int64(halfLife)*12, int64(halfLife)*12).Draw(t, "step")) / 4
			if rapid.Bool().Draw(t, "sample") {
				latency := time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "latency"))
				e.Observe(latency, after(now))
				twin.sample(float64(latency), float64(now))
			}
			got, want := float64(e.Estimate(after(now))), twin.read(float64(now))
			if math.Abs(got-want) > 1+1e-9*want {
				t.Fatalf("after %v it reads %v, the formula gives %v", now, got, want)
			}
		}
	})
}

// Claim: A sample never raises the estimate above itself and what was read before it.
func TestPeakEWMA_LawOfOneSample(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		initial := time.Duration(rapid.Int64Range(1, 1e9).Draw(t, "initial"))
		first := time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "first"))
		gap := time.Duration(rapid.Int64Range(0, 5e9).Draw(t, "gap"))
		small := time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "small"))
		large := small + time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "more"))
		reading := func(s time.Duration) (before, now time.Duration) {
			e := newPeak(t, initial, time.Second)
			e.Observe(first, start)
			before = e.Estimate(after(gap))
			e.Observe(s, after(gap))
			return before, e.Estimate(after(gap))
		}
		before, low := reading(small)
		_, high := reading(large)
		if low < small-1 || low > max(small, before)+1 {
			t.Fatalf("%v after a reading of %v gives %v", small, before, low)
		}
		if high < low-1 {
			t.Fatalf("%v gives %v and the larger %v gives %v", small, low, large, high)
		}
	})
}

func TestPeakEWMA_LawOfLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := newPeak(t, time.Duration(rapid.Int64Range(1, 1e12).Draw(t, "initial")), time.Second)
		var calls []*poise.TimedLease
		for range rapid.IntRange(0, 20).Draw(t, "calls") {
			calls = append(calls, begin(t, e, start))
		}
		for k := range rapid.IntRange(0, len(calls)).Draw(t, "cancelled") {
			calls[k].Done(poise.Cancelled, start)
		}
		load, err := e.Load(start)
		if want := uint64(e.Estimate(start)) * (e.InFlight().Current() + 1); load != want || err != nil {
			t.Fatalf("load %d (%v), want %d", load, err, want)
		}
	})
}
