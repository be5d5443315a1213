//go:build interleave

package walk

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/spec/replay"
)

// inFlight is an InFlight and the variables in which callers keep their leases.
type inFlight struct {
	counter *poise.InFlight
	lease   map[string]*poise.Lease
	had     map[string]bool
}

// held tells what became of a caller's lease. The zero one, which it has before it
// acquires any, is none.
func (s *inFlight) held(by string) string {
	switch {
	case s.lease[by].Held():
		return "held"
	case s.had[by]:
		return "ended"
	default:
		return "none"
	}
}

// Claim: Leases held at once never exceed the limit.
//
// Bounds: two callers, one lease each, limits 0, 1 and 2. Not shown: more of any.
func TestInFlight_WalksItsStateGraphStepByStep(t *testing.T) {
	g := replay.Load(t, "../../spec/tla/inflight/InFlight.graph")
	replay.WalkSteps(t, g, inFlightMapping(), newDriver)
}

func inFlightMapping() replay.StepMapping[*inFlight] {
	return replay.StepMapping[*inFlight]{
		New: func(_, initial replay.Record) (*inFlight, error) {
			return &inFlight{
				counter: poise.NewInFlight(uint64(initial["limit"].Int())),
				lease:   map[string]*poise.Lease{"a": {}, "b": {}},
				had:     map[string]bool{},
			}, nil
		},
		Begin: map[string]func(*inFlight, replay.Record) func() any{
			"(*InFlight).Acquire": func(s *inFlight, args replay.Record) func() any {
				return func() any {
					lease, err := s.counter.Acquire()
					if err != nil {
						return "at the limit"
					}
					by := args["by"].Str()
					s.lease[by], s.had[by] = &lease, true
					return "lease"
				}
			},
			"(*Lease).Release": func(s *inFlight, args replay.Record) func() any {
				lease := s.lease[args["of"].Str()]
				return func() any {
					if lease.Release() {
						return "true"
					}
					return "false"
				}
			},
		},
		Steps: func(action string, from, args replay.Record) int {
			if action == "ReleaseAgain" && from["lease"].Fields()[args["of"].Str()].Str() == "none" {
				return 0 // a zero Lease knows no counter
			}
			if action == "AcquireLoad" || action == "AcquireRefused" {
				return 2 // the limit, which may change in place, and what is used
			}
			return 1
		},
		Project: func(s *inFlight) map[string]any {
			return map[string]any{
				"limit": s.counter.Limit(), "used": s.counter.Current(),
				"lease": map[string]string{"a": s.held("a"), "b": s.held("b")},
			}
		},
		May: func(_, state replay.Record, name string, args replay.Record) bool {
			// A caller that holds a lease would lose it by acquiring another.
			return name == "(*Lease).Release" || state["lease"].Fields()[args["of"].Str()].Str() != "held"
		},
		Busy: busy("idle"),
		Hidden: []replay.Exempt{
			{Name: "pc", Why: "the place in a call shows in what its next operation does"},
			{Name: "seen", Why: "a local variable of Acquire shows in what its next operation does"},
		},
	}
}

// busy returns the callers whose pc is not the one of a caller outside any call.
func busy(outside string) func(replay.Record) []string {
	return func(state replay.Record) (callers []string) {
		for caller, pc := range state["pc"].Fields() {
			if pc.Str() != outside {
				callers = append(callers, caller)
			}
		}
		return callers
	}
}
