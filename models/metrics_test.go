//go:build interleave

package models

import (
	"fmt"
	"testing"

	"github.com/copyleftdev/poise-go/models/explore"
	"github.com/copyleftdev/poise-go/pkg/observe"
)

// decisionCounter counts decisions: a Metrics, or a twin of it with a planted bug.
type decisionCounter interface {
	tell()
	selected() uint64
}

type realMetrics struct{ observe.Metrics }

func (m *realMetrics) tell()            { m.Decided(observe.Decided{}) }
func (m *realMetrics) selected() uint64 { return m.Snapshot().Decisions(observe.Selected) }

// lossyCounter reads and writes in two steps.
type lossyCounter struct{ n explore.Uint64 }

func (c *lossyCounter) tell()            { c.n.Store(c.n.Load() + 1) }
func (c *lossyCounter) selected() uint64 { return c.n.Load() }

// Claim: Every event that a Metrics is told moves each counter it belongs to by exactly one.
// Claim: A counter of a Metrics never shows a smaller number than before, and stays at the largest once it is there.
func TestMetrics_LosesNoEvent(t *testing.T) {
	teller := func(c decisionCounter, h *explore.T) { h.Call("Decided", nil, func() any { c.tell(); return nil }) }
	explore.Check(t, explore.Model[decisionCounter]{
		Name:     "metrics: two tellers and a reader of one counter",
		NotShown: "Readings of several counters, which are not one instant's.",
		New:      func() decisionCounter { return new(realMetrics) },
		Tasks: []explore.Task[decisionCounter]{
			{Name: "teller 0", Body: teller},
			{Name: "teller 1", Body: teller},
			{Name: "reader", Body: func(c decisionCounter, h *explore.T) {
				before := h.Call("read", nil, func() any { return c.selected() }).(uint64)
				if after := h.Call("read", nil, func() any { return c.selected() }).(uint64); after < before {
					panic(fmt.Sprintf("%d after %d", after, before))
				}
			}},
		},
		Outcome: results[decisionCounter],
		Final: func(c decisionCounter, _ *explore.Run) error {
			if n := c.selected(); n != 2 {
				return fmt.Errorf("two decisions are counted as %d", n)
			}
			return nil
		},
		Bugs: []explore.Bug[decisionCounter]{bug("read and write in two steps", "final", func() decisionCounter { return new(lossyCounter) })},
	})
}
