package replay_test

import (
	"errors"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/spec/replay"
)

// slots is a Slots and the variables in which callers keep their slots.
type slots struct {
	slots *dispatch.Slots
	slot  map[string]*dispatch.Slot
	state map[string]string
	idle  int
}

func slotsMapping() replay.Mapping[*slots] {
	call := func(f func(*dispatch.Slots)) func(*slots, replay.Record) (any, error) {
		return func(s *slots, _ replay.Record) (any, error) {
			f(s.slots)
			return "", nil
		}
	}
	return replay.Mapping[*slots]{
		New: func(constants, _ replay.Record) (*slots, error) {
			s := &slots{
				slot:  map[string]*dispatch.Slot{"a": {}, "b": {}},
				state: map[string]string{"a": "none", "b": "none"},
			}
			s.slots = dispatch.NewSlots(uint64(constants["Limit"].Int()), func() { s.idle++ })
			return s, nil
		},
		Apply: map[string]func(*slots, replay.Record) (any, error){
			"(*Slots).Begin": func(s *slots, args replay.Record) (any, error) {
				slot, err := s.slots.Begin()
				switch {
				case errors.Is(err, dispatch.ErrDraining):
					return "draining", nil
				case errors.Is(err, poise.ErrAtCapacity):
					return "full", nil
				case err != nil:
					return nil, err
				}
				by := args["by"].Str()
				s.slot[by], s.state[by] = &slot, "held"
				return "slot", nil
			},
			"(*Slot).Release": func(s *slots, args replay.Record) (any, error) {
				by := args["by"].Str()
				if s.slot[by].Release() {
					s.state[by] = "ended"
					return "true", nil
				}
				return "false", nil
			},
			"(*Slots).Drain":  call((*dispatch.Slots).Drain),
			"(*Slots).Resume": call((*dispatch.Slots).Resume),
			"(*Slots).Remove": call((*dispatch.Slots).Remove),
		},
		Project: func(s *slots) map[string]any {
			return map[string]any{
				"used":  s.slots.InFlight().Current(),
				"state": s.slots.Admission().String(),
				"idle":  s.idle,
				"slot":  s.state,
			}
		},
		May: func(_, state replay.Record, name string, args replay.Record) bool {
			// A caller that holds a slot would lose it by beginning another call.
			return name != "(*Slots).Begin" || state["slot"].Fields()[args["by"].Str()].Str() != "held"
		},
		Busy: busy(""),
		Hidden: []replay.Exempt{
			{Name: "retired", Why: "that the idle function was claimed shows in how often it runs"},
			{Name: "call", Why: "between calls nobody is in one"},
			{Name: "pc", Why: "between calls there is no place in a call"},
		},
	}
}

func TestSlots_WalkTheirStateGraph(t *testing.T) {
	replay.Walk(t, replay.Load(t, "../tla/slots/Slots.graph"), slotsMapping())
}
