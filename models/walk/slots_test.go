//go:build interleave

package walk

import (
	"errors"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/spec/replay"
)

// slots is a Slots and the variables in which callers keep their slots.
type slots struct {
	*dispatch.Slots
	slot map[string]*dispatch.Slot
	had  map[string]bool
	idle int
}

// held tells what became of a caller's slot. The zero one, which it has before it begins
// any call, is none.
func (s *slots) held(by string) string {
	switch {
	case s.slot[by].Held():
		return "held"
	case s.had[by]:
		return "ended"
	default:
		return "none"
	}
}

// Claim: After Remove, the idle function runs exactly once, when the last slot has come back.
//
// Bounds: two callers, one slot each, limit 1. Not shown: more of any.
func TestSlots_WalkTheirStateGraphStepByStep(t *testing.T) {
	call := func(f func(*dispatch.Slots)) func(*slots, replay.Record) func() any {
		return func(s *slots, _ replay.Record) func() any {
			return func() any { f(s.Slots); return "" }
		}
	}
	replay.WalkSteps(t, replay.Load(t, "../../spec/tla/slots/Slots.graph"), replay.StepMapping[*slots]{
		New: func(constants, _ replay.Record) (*slots, error) {
			s := &slots{slot: map[string]*dispatch.Slot{"a": {}, "b": {}}, had: map[string]bool{}}
			s.Slots = dispatch.NewSlots(uint64(constants["Limit"].Int()), func() { s.idle++ })
			return s, nil
		},
		Begin: map[string]func(*slots, replay.Record) func() any{
			"(*Slots).Begin": func(s *slots, args replay.Record) func() any {
				return func() any {
					slot, err := s.Begin()
					switch {
					case errors.Is(err, dispatch.ErrDraining):
						return "draining"
					case errors.Is(err, poise.ErrAtCapacity):
						return "full"
					}
					by := args["by"].Str()
					s.slot[by], s.had[by] = &slot, true
					return "slot"
				}
			},
			"(*Slot).Release": func(s *slots, args replay.Record) func() any {
				by := args["by"].Str()
				return func() any {
					if s.slot[by].Release() {
						return "true"
					}
					return "false"
				}
			},
			"(*Slots).Drain":  call((*dispatch.Slots).Drain),
			"(*Slots).Resume": call((*dispatch.Slots).Resume),
			"(*Slots).Remove": call((*dispatch.Slots).Remove),
		},
		Steps: func(action string, from, args replay.Record) int {
			switch action {
			case "BeginAcquire":
				return 3 // the lease, which InFlight walks operation by operation
			case "BeginUndo", "ReleaseGive", "BeginFull":
				return 2 // its end, or the two loads of its refusal
			case "ReleaseAgain":
				if from["slot"].Fields()[args["by"].Str()].Str() == "none" {
					return 0 // a zero Slot knows no Slots
				}
			}
			return 1
		},
		Project: func(s *slots) map[string]any {
			return map[string]any{
				"used":  s.InFlight().Current(),
				"state": s.Admission().String(),
				"idle":  s.idle,
				"slot":  map[string]string{"a": s.held("a"), "b": s.held("b")},
			}
		},
		May: func(_, state replay.Record, name string, args replay.Record) bool {
			// A caller that holds a slot would lose it by beginning another call.
			return name != "(*Slots).Begin" || state["slot"].Fields()[args["by"].Str()].Str() != "held"
		},
		Busy: busy(""),
		Hidden: []replay.Exempt{
			{Name: "retired", Why: "that the idle function was claimed shows in how often it runs"},
			{Name: "call", Why: "which call a caller is in shows in what it returns"},
			{Name: "pc", Why: "the place in a call shows in what its next operation does"},
		},
	}, newDriver)
}
