//go:build interleave

package models

import (
	"fmt"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/models/explore"
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/transform"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// warmer gives weights to three members at an instant, of whom some are eligible,
// and counts those that are short of their weight. Arguments and results are those
// of seq.Warming.
type warmer interface {
	apply(arg int) int
	warming() int
}

type realWarmer struct {
	slow  *transform.SlowStart
	chain *transform.Chain
}

func newWarmer() warmer {
	s, err := transform.NewSlowStart(transform.SlowStartConfig{Window: 1000, Refresh: 1})
	if err != nil {
		panic(err)
	}
	chain, err := transform.NewChain(s)
	if err != nil {
		panic(err)
	}
	return realWarmer{s, chain}
}

func (w realWarmer) apply(arg int) int {
	samples := make([]poise.Sample, 3)
	for i := range samples {
		samples[i].ID = fmt.Sprint(i)
		if arg>>i&1 == 0 {
			samples[i].Status = poise.Unavailable
		}
	}
	err := w.chain.Reset(samples)
	if err == nil {
		_, err = w.chain.Run(time.Unix(0, int64(arg>>3)))
	}
	if err != nil {
		panic(err)
	}
	weights, factor := 0, 1
	for _, s := range w.chain.Samples() {
		if s.Weight.Value() > 1 {
			factor = 1000 // somebody warms up, and all weights are multiplied
		}
	}
	for i, s := range w.chain.Samples() {
		weights |= int(s.Weight.Value()) * 1000 / factor << (10 * i)
	}
	return weights
}

func (w realWarmer) warming() int { return w.slow.Warming() }

// tornWarmer is a real one whose count is kept apart: first come the newcomers, and
// then those go that have their weight.
type tornWarmer struct {
	warmer
	count explore.Int64
}

func (w *tornWarmer) apply(arg int) int {
	before := w.warmer.warming()
	weights := w.warmer.apply(arg)
	after, came := w.warmer.warming(), 0
	for i := range 3 {
		if arg>>i&1 != 0 && weights>>(10*i)&1023 == 100 {
			came++ // as old as a newcomer in these programs
		}
	}
	w.count.Add(int64(came))
	w.count.Add(int64(after - before - came))
	return weights
}

func (w *tornWarmer) warming() int { return int(w.count.Load()) }

// Claim: A member that becomes eligible again starts anew, and so does another incarnation.
// Claim: Members that become eligible when nobody who was eligible before still is have their full weight at once.
func TestSlowStart_EditsAreWhole(t *testing.T) {
	explore.Check(t, explore.Model[warmer]{
		Name:     "slow start: edits against one who counts",
		NotShown: "Two who edit: a SlowStart belongs to one Chain, which one goroutine at a time runs.",
		New:      newWarmer,
		Tasks: numbered(2, "caller", func(n int, w warmer, h *explore.T) {
			if n == 1 {
				for range 2 {
					h.Call("Warming", nil, func() any { return w.warming() })
				}
				return
			}
			// The second warms up; at the end of its window the third begins.
			for _, arg := range []int{0<<3 | 1, 0<<3 | 3, 1000<<3 | 7} {
				h.Call("Apply", arg, func() any { return w.apply(arg) })
			}
		}),
		Outcome: results[warmer],
		Spec:    seq.Warming(),
		Bugs: []explore.Bug[warmer]{bug("the count is corrected in two steps", "history", func() warmer {
			return &tornWarmer{warmer: newWarmer()}
		})},
	})
}
