//go:build interleave

package models

import (
	"fmt"
	"testing"

	"github.com/copyleftdev/poise-go/models/explore"
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// group is what a dispatcher holds: endpoints, and a published picker over some
// of them. It is the balancer's protocol over the balancer's parts; the balancer
// itself has a clock and a goroutine of its own.
type group struct {
	policy  *policy.RoundRobin
	slots   [2]*poisehttp.Slots
	current explore.Pointer[published]
	idle    explore.Int64
	inside  explore.Int64 // calls that endpoint 0 serves

	torn    bool // planted: a call reads the pointer twice
	blind   bool // planted: a call does not take a slot
	tooSoon bool // planted: an endpoint is removed before the picker without it is published, and nobody picks again
}

// published is a picker and the endpoints that its View was made of.
type published struct {
	view    *poise.View
	picker  poise.Picker
	members []int
}

func newGroup(plant func(*group)) func() *group {
	return func() *group {
		g := &group{policy: new(policy.RoundRobin)}
		for i := range g.slots {
			g.slots[i] = poisehttp.NewSlots(0, func() { g.idle.Add(1) })
		}
		plant(g)
		g.current.Store(g.prepare(0, 1))
		return g
	}
}

func (g *group) prepare(members ...int) *published {
	var candidates []poise.Candidate
	for _, m := range members {
		candidates = append(candidates, candidate{ID: fmt.Sprint(m)})
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		panic(err)
	}
	picker, err := g.policy.Prepare(v)
	if err != nil {
		panic(err)
	}
	return &published{v, picker, members}
}

// call picks and is admitted, again and again while admission refuses. It returns
// the endpoint, -1 when there is none, and -2 for a Selection that does not
// resolve.
func (g *group) call() int {
	for {
		p := g.current.Load()
		selection, err := p.picker.Pick(poise.Query{})
		if err != nil {
			return -1
		}
		if g.torn {
			p = g.current.Load()
		}
		at, err := p.view.Index(selection)
		if err != nil {
			return -2
		}
		m := p.members[at]
		if g.blind {
			g.serve(m)
			return m
		}
		slot, err := g.slots[m].Begin()
		if err != nil {
			if g.tooSoon {
				return -1
			}
			continue
		}
		g.serve(m)
		slot.Release()
		return m
	}
}

func (g *group) serve(m int) {
	if m == 0 {
		g.inside.Add(1)
		g.inside.Add(-1)
	}
}

// remove takes endpoint 0 away.
func (g *group) remove() {
	next := g.prepare(1)
	if g.tooSoon {
		g.slots[0].Remove()
		g.current.Store(next)
		return
	}
	g.current.Store(next)
	g.slots[0].Remove()
}

func TestPublication_AgainstPickAndAdmission(t *testing.T) {
	explore.Check(t, explore.Model[*group]{
		Name:     "publication: a call that picks and is admitted, against the removal of an endpoint",
		NotShown: "Policies with state of their own beside round robin's cursor; several changes in a row.",
		New:      newGroup(func(*group) {}),
		Tasks: []explore.Task[*group]{
			{Name: "caller", Body: func(g *group, h *explore.T) {
				for range 2 {
					h.Call("Call", nil, func() any { return g.call() })
				}
			}},
			{Name: "control", Body: func(g *group, h *explore.T) {
				h.Call("Update", uint64(0b10), func() any { g.remove(); return nil })
			}},
		},
		Always:    []explore.Pred[*group]{{Name: "NoCallAfterIdle", Holds: func(g *group) bool { return g.idle.Load() == 0 || g.inside.Load() == 0 }}},
		Sometimes: []explore.Pred[*group]{{Name: "Served", Holds: func(g *group) bool { return g.inside.Load() == 1 }}},
		Final: func(g *group, r *explore.Run) error {
			for _, op := range r.History {
				if op.Result == -2 {
					return fmt.Errorf("a selection was resolved on another view")
				}
			}
			if n := g.idle.Load(); n != 1 {
				return fmt.Errorf("the removed endpoint became idle %d times", n)
			}
			return nil
		},
		Outcome: results[*group],
		Spec:    seq.Members(0b11),
		Bugs: []explore.Bug[*group]{
			bug("picker and members of two publications", "final", newGroup(func(g *group) { g.torn = true })),
			bug("selection without admission", "always NoCallAfterIdle", newGroup(func(g *group) { g.blind = true })),
			bug("removal before publication, and no second pick", "history", newGroup(func(g *group) { g.tooSoon = true })),
		},
	})
}

func TestPublication_TwoCallersAgainstRemoval(t *testing.T) {
	explore.Check(t, explore.Model[*group]{
		Name:     "publication: two callers against the removal of an endpoint",
		NotShown: "The order of calls, which the model with one caller judges.",
		New:      newGroup(func(*group) {}),
		Tasks: []explore.Task[*group]{
			{Name: "caller 0", Body: func(g *group, h *explore.T) { h.Call("Call", nil, func() any { return g.call() }) }},
			{Name: "caller 1", Body: func(g *group, h *explore.T) { h.Call("Call", nil, func() any { return g.call() }) }},
			{Name: "control", Body: func(g *group, _ *explore.T) { g.remove() }},
		},
		Final: func(g *group, r *explore.Run) error {
			for _, op := range r.History {
				if op.Result.(int) < 0 {
					return fmt.Errorf("a call ended with %v", op.Result)
				}
			}
			if n := g.idle.Load(); n != 1 {
				return fmt.Errorf("the removed endpoint became idle %d times", n)
			}
			return nil
		},
		Outcome: results[*group],
		Bugs: []explore.Bug[*group]{
			bug("picker and members of two publications", "final", newGroup(func(g *group) { g.torn = true })),
		},
	})
}
