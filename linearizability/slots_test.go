package linearizability

import (
	"errors"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/spec/seq"
)

const endpoints = 3

// A slot's number holds its endpoint, and so does the argument of a transition.
// Endpoints share nothing, so each is judged on its own.
func slotOf(endpoint, caller int) int { return endpoint*16 + caller }
func endpointOf(op seq.Op) int        { return op.Arg.(int) / 16 }

// One slot for each caller and endpoint, of which two may be out at once. The last
// steps remove.
var slots = subject{
	spec: seq.Each(seq.Slots(2), endpointOf),
	fresh: func(testing.TB) func(*Caller, int, int) {
		var of [endpoints]*dispatch.Slots
		for i := range of {
			of[i] = dispatch.NewSlots(2, nil)
		}
		var taken [endpoints * 16]*dispatch.Slot // one caller's each
		var held [endpoints * 16]bool
		return func(c *Caller, step, pick int) {
			endpoint := pick % endpoints
			id := slotOf(endpoint, c.Number)
			transition := func(name string, f func()) {
				c.Call(name, slotOf(endpoint, 0), func() any { f(); return nil })
			}
			switch s := of[endpoint]; {
			case pick < 16 && step > 40:
				transition("Remove", s.Remove)
			case pick < 32:
				transition("Drain", s.Drain)
			case pick < 64:
				transition("Resume", s.Resume)
			case taken[id] != nil && (held[id] || pick >= 240): // at times a slot that has ended
				c.Call("Release", id, func() any { return taken[id].Release() })
				held[id] = false
			default:
				held[id] = c.Call("Begin", id, func() any {
					slot, err := s.Begin()
					taken[id] = &slot
					return admission(err)
				}) == seq.Admitted
			}
		}
	},
	good: serial(
		call("Begin", 0, seq.Admitted), call("Begin", 1, seq.Admitted), call("Begin", 2, seq.Full), call("Drain", 0, nil),
		call("Release", 0, true), call("Begin", 2, seq.Draining), call("Resume", 0, nil), call("Begin", 2, seq.Admitted),
		call("Release", 0, false), call("Remove", 0, nil), call("Resume", 0, nil), call("Begin", 3, seq.Draining),
		call("Begin", 16, seq.Admitted)),
	mutants: []mutant{
		returns("over the limit", 2, seq.Admitted),
		returns("admitted while draining", 5, seq.Admitted),
		returns("draining after a resume", 7, seq.Draining),
		returns("admitted after removal", 11, seq.Admitted),
		returns("given back twice", 8, true),
		returns("another endpoint's removal", 12, seq.Draining),
		without("a release is lost", 4),
	},
}

func admission(err error) any {
	switch {
	case err == nil:
		return seq.Admitted
	case errors.Is(err, dispatch.ErrDraining):
		return seq.Draining
	case errors.Is(err, poise.ErrAtCapacity):
		return seq.Full
	default:
		panic(err)
	}
}

// Claim: Begin on draining or removed Slots answers ErrDraining and keeps no slot.
// Claim: Slots held at once never exceed the limit of Slots.
// Claim: A call that Begin admitted holds its slot until Release, whatever the Slots become meanwhile.
// Claim: Remove is final: Drain and Resume after it change nothing.
// Claim: The first Release of a Slot gives it back and returns true; every later one returns false and changes nothing.
func TestSlots_Linearizable(t *testing.T)     { allowed(t, slots) }
func TestSlots_Linearizable_Law(t *testing.T) { law(t, slots) }
