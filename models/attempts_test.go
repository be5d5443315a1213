//go:build interleave

package models

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/copyleftdev/poise-go/models/explore"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// hedged is a Loop, and the attempts of one call.
type hedged struct {
	*dispatch.Loop
	attempts dispatch.Attempts
	apart    bool // planted: each attempt is a call of its own
	calls    [2]dispatch.Call
}

func newHedged(apart bool) func() *hedged {
	return func() *hedged {
		h := &hedged{apart: apart}
		var err error
		h.Loop, err = dispatch.NewLoop(dispatch.LoopConfig{Policy: new(policy.LeastLoaded), Passive: health.PassiveHealthConfig{Off: true}})
		if err != nil {
			panic(err)
		}
		if err := h.Update(pair(), then); err != nil {
			panic(err)
		}
		return h
	}
}

func (h *hedged) attempt(i int) string {
	attempts := &h.attempts
	if h.apart {
		attempts = new(dispatch.Attempts)
	}
	if err := h.Acquire(&h.calls[i], dispatch.Query{Now: then, Attempts: attempts}); err != nil {
		return err.Error()
	}
	return h.calls[i].ID()
}

// Claim: Of attempts that overlap each is at another member, while there is one that was not tried.
func TestLoop_AttemptsOfOneCallThatOverlap(t *testing.T) {
	explore.Check(t, explore.Model[*hedged]{
		Name:     "loop: two attempts of one call at once",
		NotShown: "The ends of the attempts; more than two.",
		New:      newHedged(false),
		Tasks: []explore.Task[*hedged]{
			{Name: "attempt 0", Body: func(h *hedged, _ *explore.T) { h.attempt(0) }},
			{Name: "attempt 1", Body: func(h *hedged, _ *explore.T) { h.attempt(1) }},
		},
		Final: func(h *hedged, _ *explore.Run) error {
			if a, b := h.calls[0].ID(), h.calls[1].ID(); a == b || a == "" || b == "" {
				return fmt.Errorf("the attempts are at %q and %q", a, b)
			}
			for _, m := range h.Inspect(then).Members {
				if m.InFlight != 1 {
					return fmt.Errorf("%s holds %d calls", m.ID, m.InFlight)
				}
			}
			return nil
		},
		Outcome: func(h *hedged, _ *explore.Run) string { return h.calls[0].ID() + h.calls[1].ID() },
		Bugs:    []explore.Bug[*hedged]{bug("attempts that know nothing of each other", "final", newHedged(true))},
	})
}

// pair are two members.
func pair() (list []dispatch.Spec) {
	for m := range 2 {
		s := dispatch.Spec{Value: m}
		s.ID, s.Incarnation = strconv.Itoa(m), uint64(m+1)
		list = append(list, s)
	}
	return list
}
