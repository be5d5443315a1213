package replay_test

import (
	"errors"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/spec/replay"
)

// inFlight is an InFlight and the variables in which callers keep their leases.
type inFlight struct {
	counter *poise.InFlight
	lease   map[string]*poise.Lease
	state   map[string]string
}

func inFlightMapping() replay.Mapping[*inFlight] {
	return replay.Mapping[*inFlight]{
		New: func(_, initial replay.Record) (*inFlight, error) {
			return &inFlight{
				counter: poise.NewInFlight(uint64(initial["limit"].Int())),
				lease:   map[string]*poise.Lease{"a": {}, "b": {}},
				state:   map[string]string{"a": "none", "b": "none"},
			}, nil
		},
		Apply: map[string]func(*inFlight, replay.Record) (any, error){
			"(*InFlight).Acquire": func(s *inFlight, args replay.Record) (any, error) {
				lease, err := s.counter.Acquire()
				if err != nil {
					if !errors.Is(err, poise.ErrAtCapacity) {
						return nil, err
					}
					return "at the limit", nil
				}
				by := args["by"].Str()
				s.lease[by], s.state[by] = &lease, "held"
				return "lease", nil
			},
			"(*Lease).Release": func(s *inFlight, args replay.Record) (any, error) {
				of := args["of"].Str()
				if s.lease[of].Release() {
					s.state[of] = "ended"
					return "true", nil
				}
				return "false", nil
			},
		},
		Project: func(s *inFlight) map[string]any {
			return map[string]any{
				"limit": s.counter.Limit(), "used": s.counter.Current(), "lease": s.state,
			}
		},
		May: func(_, state replay.Record, name string, args replay.Record) bool {
			// A caller that holds a lease would lose it by acquiring another.
			return name == "(*Lease).Release" || state["lease"].Fields()[args["of"].Str()].Str() != "held"
		},
		Busy: busy("idle"),
		Hidden: []replay.Exempt{
			{Name: "pc", Why: "between calls there is no place in a call"},
			{Name: "seen", Why: "a local variable of Acquire"},
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

func TestInFlight_WalksItsStateGraph(t *testing.T) {
	replay.Walk(t, replay.Load(t, "../tla/inflight/InFlight.graph"), inFlightMapping())
}
