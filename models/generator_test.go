//go:build interleave

package models

import (
	"testing"

	"github.com/copyleftdev/poise-go/models/explore"
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/spec/seq"
)

type source interface{ Uint64() uint64 }

// twoSteps is a generator that loses what it drew when somebody draws in between.
type twoSteps struct{ state explore.Uint64 }

func (g *twoSteps) Uint64() uint64 {
	next := g.state.Load() + 0x9e3779b97f4a7c15
	g.state.Store(next)
	return poise.Mix64(next)
}

// Claim: Draws by several goroutines are together the first draws of the stream, each taken once.
func TestGenerator_ParallelDrawsAreTheStream(t *testing.T) {
	const tasks, draws, seed = 3, 2, 42
	stream := make([]uint64, tasks*draws)
	for i, g := 0, poise.NewGenerator(seed); i < len(stream); i++ {
		stream[i] = g.Uint64()
	}
	m := explore.Model[source]{
		Name:     "generator: parallel draws",
		NotShown: "Below and Pair when they draw again; more than 3 tasks of 2 draws.",
		New:      func() source { return poise.NewGenerator(seed) },
		Outcome:  results[source],
		Spec:     seq.Stream(stream),
		Bugs: []explore.Bug[source]{{
			Name:   "load and store instead of add",
			New:    func() source { g := new(twoSteps); g.state.Store(seed); return g },
			Breaks: "history",
		}},
	}
	m.Tasks = same(tasks, "draw", func(g source, h *explore.T) {
		for range draws {
			h.Call("Draw", nil, func() any { return g.Uint64() })
		}
	})
	explore.Check(t, m)
}
