//go:build interleave

package models

import (
	"fmt"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/models/explore"
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// warmer gives weights to three candidates at an instant, of whom some are
// eligible. Its argument and its result are those of seq.Warming.
type warmer interface{ apply(arg int) int }

// pausingCandidate is a Candidate that lets others run before it answers.
type pausingCandidate struct {
	candidate
	gate *explore.Uint64
}

func (c pausingCandidate) Sample() poise.Sample {
	c.gate.Add(1)
	return c.candidate.Sample()
}

type realWarmer struct {
	slow *policy.SlowStart
	gate explore.Uint64
}

func newWarmer() *realWarmer {
	s, err := policy.NewSlowStart(policy.SlowStartConfig{Window: 1000})
	if err != nil {
		panic(err)
	}
	return &realWarmer{slow: s}
}

func (w *realWarmer) apply(arg int) int {
	candidates := make([]poise.Candidate, 3)
	for i := range candidates {
		c := candidate{ID: fmt.Sprint(i)}
		if arg>>i&1 == 0 {
			c.Status = poise.Unavailable
		}
		candidates[i] = pausingCandidate{c, &w.gate}
	}
	weights := 0
	for i, c := range w.slow.Apply(candidates, time.Unix(0, int64(arg>>3))) {
		weights |= int(c.Sample().Weight.Value()) << (10 * i)
	}
	return weights
}

// tornWarmer remembers who was there, and who has come to the full weight, without
// a lock. In the first tenth of the window everybody else has a tenth.
type tornWarmer struct{ known, done explore.Uint64 }

func (w *tornWarmer) apply(arg int) int {
	set, known := uint64(arg&7), w.known.Load()
	done := w.done.Load() & set
	if known&set == 0 {
		done |= set
	}
	w.known.Store(set)
	w.done.Store(done)
	weights := 0
	for i := range 3 {
		weight := 1000
		if set>>i&1 != 0 && done>>i&1 == 0 {
			weight = 100
		}
		weights |= weight << (10 * i)
	}
	return weights
}

// Claim: A candidate that becomes eligible again starts anew, and so does another incarnation.
// Claim: Candidates that become eligible when nobody who was eligible before still is have their full weight at once.
func TestSlowStart_AppliesHaveOneOrder(t *testing.T) {
	explore.Check(t, explore.Model[warmer]{
		Name:     "slow start: two callers with lists of their own",
		NotShown: "Candidates that come to their weight; a clock that steps back.",
		New:      func() warmer { return newWarmer() },
		Tasks: numbered(2, "publisher", func(n int, w warmer, h *explore.T) {
			for _, arg := range [][]int{{0<<3 | 1}, {0<<3 | 3, 100<<3 | 3}}[n] {
				h.Call("Apply", arg, func() any { return w.apply(arg) })
			}
		}),
		Outcome: results[warmer],
		Spec:    seq.Warming(),
		Bugs:    []explore.Bug[warmer]{bug("no lock", "history", func() warmer { return new(tornWarmer) })},
	})
}
