//go:build interleave

package models

import (
	"fmt"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/models/explore"
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// sampled is a PeakEWMA, or a twin of it with a planted bug, that is given the
// samples 1, 2, 3 and so on.
type sampled interface {
	observe(k int)
	read() int // the sample that is read, 0 for none yet, -1 for a mixture of two
}

// realSampled makes sample k of 2^(20+k) ns at second k, so that the reading at
// second 5 is different for each sample, and for each mixture.
type realSampled struct{ *poise.PeakEWMA }

var peakZero = time.Unix(0, 0)

func newRealSampled() sampled {
	e, err := poise.NewPeakEWMA(poise.PeakEWMAConfig{Initial: 1, HalfLife: time.Second}, peakZero)
	if err != nil {
		panic(err)
	}
	return realSampled{e}
}

func (s realSampled) observe(k int) {
	s.Observe(1<<(20+k), peakZero.Add(time.Duration(k)*time.Second))
}

func (s realSampled) read() int {
	load, err := s.Load(peakZero.Add(5 * time.Second))
	if load == 1 && err == nil {
		return 0
	}
	for k := 1; k <= 4; k++ {
		if load == uint64(1+(1<<(20+k)-1)>>(5-k)) {
			return k
		}
	}
	return -1
}

// buggySampled keeps samples as PeakEWMA does, with one line changed.
type buggySampled struct {
	count    explore.Uint64
	cost, at [2]explore.Uint64

	onePlace, countFirst, noSecondLook bool
}

func (s *buggySampled) place(count uint64) uint64 {
	if s.onePlace {
		return 0
	}
	return count % 2
}

func (s *buggySampled) observe(k int) {
	next := s.count.Load() + 1
	if s.countFirst {
		s.count.Store(next)
	}
	s.cost[s.place(next)].Store(uint64(k))
	s.at[s.place(next)].Store(uint64(k))
	if !s.countFirst {
		s.count.Store(next)
	}
}

func (s *buggySampled) read() int {
	for {
		count := s.count.Load()
		cost, at := s.cost[s.place(count)].Load(), s.at[s.place(count)].Load()
		if s.noSecondLook || s.count.Load() == count {
			if cost != at {
				return -1
			}
			return int(cost)
		}
	}
}

func TestPeakEWMA_ReadingsAreOfOneSample(t *testing.T) {
	explore.Check(t, explore.Model[sampled]{
		Name:     "PeakEWMA: three samples and two readings",
		NotShown: "Several writers, whom a lock orders; more than three samples.",
		New:      newRealSampled,
		Tasks: []explore.Task[sampled]{
			{Name: "writer", Body: func(s sampled, _ *explore.T) {
				for k := 1; k <= 3; k++ {
					s.observe(k)
				}
			}},
			{Name: "reader", Body: func(s sampled, h *explore.T) {
				for range 2 {
					h.Call("Read", nil, func() any { return s.read() })
				}
			}},
		},
		Final: func(_ sampled, r *explore.Run) error {
			last := 0
			for _, op := range r.History {
				k := op.Result.(int)
				if k < last {
					return fmt.Errorf("read %d after %d", k, last)
				}
				last = k
			}
			return nil
		},
		Outcome: results[sampled],
		Bugs: []explore.Bug[sampled]{
			bug("one place for all samples", "final", func() sampled { return &buggySampled{onePlace: true} }),
			bug("the count moves on first", "final", func() sampled { return &buggySampled{countFirst: true} }),
			bug("no second look at the count", "final", func() sampled { return &buggySampled{noSecondLook: true} }),
		},
	})
}

// oneCall is a PeakEWMA with one call in flight, or a twin of it. Before the call
// ends the estimate is 1, afterwards 10.
type oneCall interface {
	done() bool
	load() int
}

type realCall struct {
	*poise.PeakEWMA
	call *poise.TimedLease
}

func newRealCall() oneCall {
	e, err := poise.NewPeakEWMA(poise.PeakEWMAConfig{Initial: 1, HalfLife: 1}, peakZero)
	if err != nil {
		panic(err)
	}
	call, err := e.Start(peakZero)
	if err != nil {
		panic(err)
	}
	return &realCall{e, &call}
}

func (c *realCall) done() bool { return c.call.Done(poise.Success, peakZero.Add(10)) }

func (c *realCall) load() int {
	load, err := c.Load(peakZero.Add(10))
	if err != nil {
		panic(err)
	}
	return int(load)
}

type buggyCall struct {
	calls, estimate explore.Uint64

	releaseFirst, estimateFirst bool
}

func (c *buggyCall) done() bool {
	if c.releaseFirst {
		c.calls.Store(0)
	}
	c.estimate.Store(10)
	c.calls.Store(0)
	return true
}

func (c *buggyCall) load() int {
	if c.estimateFirst {
		estimate := c.estimate.Load()
		return int(estimate * (c.calls.Load() + 1))
	}
	calls := c.calls.Load()
	return int(c.estimate.Load() * (calls + 1))
}

func newBuggyCall(releaseFirst, estimateFirst bool) func() oneCall {
	return func() oneCall {
		fresh := &buggyCall{releaseFirst: releaseFirst, estimateFirst: estimateFirst}
		fresh.calls.Store(1)
		fresh.estimate.Store(1)
		return fresh
	}
}

// Cases: G9 (an old latency with the lower count).
func TestPeakEWMA_NoLoadMissesBothTheCallAndItsLatency(t *testing.T) {
	explore.Check(t, explore.Model[oneCall]{
		Name:     "PeakEWMA: a call that ends and two loads",
		NotShown: "Several calls that end at once.",
		New:      newRealCall,
		Tasks: []explore.Task[oneCall]{
			{Name: "call", Body: func(c oneCall, h *explore.T) {
				h.Call("Done", seq.Sample{Took: 10, At: 10}, func() any { return c.done() })
			}},
			{Name: "reader", Body: func(c oneCall, h *explore.T) {
				for range 2 {
					h.Call("Load", 10, func() any { return c.load() })
				}
			}},
		},
		Final: func(_ oneCall, r *explore.Run) error {
			for _, load := range r.Results(1) {
				if load != 2 && load != 20 && load != 10 {
					return fmt.Errorf("a load of %d: neither the call nor its latency", load)
				}
			}
			return nil
		},
		Outcome: results[oneCall],
		Spec:    seq.After(seq.Peak(1), seq.Op{Name: "Start", Arg: 0, Result: true}),
		Bugs: []explore.Bug[oneCall]{
			bug("the slot is given back first", "final", newBuggyCall(true, false)),
			bug("the estimate is read first", "final", newBuggyCall(false, true)),
		},
	})
}

// answeredCall is a call whose answer begins while somebody ends it: after 10 or 20,
// each a success. Whichever is first is the sample.
type answeredCall interface {
	answered() bool
	done() bool
	state() string
}

type realAnswered struct{ *realCall }

func (c realAnswered) answered() bool { return c.call.Answered(poise.Success, peakZero.Add(10)) }
func (c realAnswered) done() bool     { return c.call.Done(poise.Success, peakZero.Add(20)) }
func (c realAnswered) state() string {
	return fmt.Sprint(c.InFlight().Current(), " in flight, ", c.PeakEWMA.Estimate(peakZero.Add(20)).Nanoseconds())
}

// buggyAnswered keeps two marks where a TimedLease has one.
type buggyAnswered struct {
	began, ended explore.Uint32
	cost         explore.Uint64
}

func (c *buggyAnswered) answered() bool {
	if c.ended.Load() != 0 || !c.began.CompareAndSwap(0, 1) {
		return false
	}
	c.cost.Store(10)
	return true
}

func (c *buggyAnswered) done() bool {
	sampled := c.began.Load() != 0
	if !c.ended.CompareAndSwap(0, 1) {
		return false
	}
	if !sampled {
		c.cost.Store(20)
	}
	return true
}

func (c *buggyAnswered) state() string { return fmt.Sprint("0 in flight, ", c.cost.Load()) }

// Claim: The first Answered before Done takes the sample and returns true; every other one returns false and changes nothing.
func TestTimedLease_IsSampledOnce(t *testing.T) {
	explore.Check(t, explore.Model[answeredCall]{
		Name:     "TimedLease: an answer that begins and two ends",
		NotShown: "Outcomes other than Success.",
		New:      func() answeredCall { return realAnswered{newRealCall().(*realCall)} },
		Tasks: []explore.Task[answeredCall]{
			{Name: "answer", Body: func(c answeredCall, h *explore.T) { h.Call("Answered", nil, func() any { return c.answered() }) }},
			{Name: "end", Body: func(c answeredCall, h *explore.T) { h.Call("Done", nil, func() any { return c.done() }) }},
			{Name: "end too", Body: func(c answeredCall, h *explore.T) { h.Call("Done", nil, func() any { return c.done() }) }},
		},
		Final: func(c answeredCall, r *explore.Run) error {
			first, ends := r.Results(0)[0] == true, 0
			for _, task := range []int{1, 2} {
				if r.Results(task)[0] == true {
					ends++
				}
			}
			want := "0 in flight, 20"
			if first { // 10 at 10, and half of the way to 1 in each unit
				want = "0 in flight, 1"
			}
			if got := c.state(); ends != 1 || got != want {
				return fmt.Errorf("the answer began first: %t; %d ends; %s", first, ends, got)
			}
			return nil
		},
		Outcome: results[answeredCall],
		Bugs:    []explore.Bug[answeredCall]{bug("two marks", "final", func() answeredCall { return new(buggyAnswered) })},
	})
}

func TestPeakEWMA_SamplesAreOrdered(t *testing.T) {
	explore.Check(t, explore.Model[sampled]{
		Name:     "PeakEWMA: two writers and a reading afterwards",
		NotShown: "More than two writers.",
		New:      newRealSampled,
		Tasks:    numbered(2, "writer", func(n int, s sampled, _ *explore.T) { s.observe(n + 1) }),
		Final: func(s sampled, _ *explore.Run) error {
			if k := s.read(); k != 2 {
				return fmt.Errorf("sample %d is left, want the larger", k)
			}
			return nil
		},
		Outcome: results[sampled],
		Bugs:    []explore.Bug[sampled]{bug("no lock", "final", func() sampled { return &buggySampled{} })},
	})
}

// costed is a PeakEWMA, or a twin of it with a planted bug, whose calls are judged
// by the formula.
type costed interface {
	Observe(latency time.Duration, now time.Time)
	Estimate(now time.Time) time.Duration
}

// tornCost takes samples as PeakEWMA does, without a lock.
type tornCost struct{ cost, at explore.Uint64 }

func newTornCost() costed {
	c := new(tornCost)
	c.cost.Store(8)
	return c
}

func (c *tornCost) Observe(latency time.Duration, now time.Time) {
	next := max(latency, c.Estimate(now))
	c.cost.Store(uint64(next))
	c.at.Store(max(c.at.Load(), uint64(now.Sub(peakZero))))
}

// Estimate is exact for the whole numbers of the model.
func (c *tornCost) Estimate(now time.Time) time.Duration {
	at := time.Duration(c.at.Load())
	return 8 + (time.Duration(c.cost.Load())-8)>>max(0, now.Sub(peakZero)-at)
}

// Claim: A sample that is at least the estimate becomes the estimate at once.
// Claim: An instant before that of the last sample counts as that one.
func TestPeakEWMA_SamplesAndReadingsHaveOneOrder(t *testing.T) {
	explore.Check(t, explore.Model[costed]{
		Name:     "PeakEWMA: two writers, one of whom is late, and a reader",
		NotShown: "More than one sample of each writer; a clock that is set back.",
		New: func() costed {
			e, err := poise.NewPeakEWMA(poise.PeakEWMAConfig{Initial: 8, HalfLife: 1}, peakZero)
			if err != nil {
				panic(err)
			}
			return e
		},
		Tasks: append(
			numbered(2, "writer", func(n int, e costed, h *explore.T) {
				s := seq.Sample{Took: []int{16, 40}[n], At: []int{2, 1}[n]}
				h.Call("Observe", s, func() any { e.Observe(time.Duration(s.Took), peakZero.Add(time.Duration(s.At))); return nil })
			}),
			explore.Task[costed]{Name: "reader", Body: func(e costed, h *explore.T) {
				for at := 2; at <= 3; at++ {
					h.Call("Estimate", at, func() any { return int(e.Estimate(peakZero.Add(time.Duration(at)))) })
				}
			}}),
		Outcome: results[costed],
		Spec:    seq.Peak(8),
		Bugs:    []explore.Bug[costed]{bug("no lock", "history", newTornCost)},
	})
}
