//go:build interleave

package models

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/models/explore"
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// looped is a whole Loop: no part of it is repeated here.
type looped struct {
	*dispatch.Loop
	lists  [2][]dispatch.Spec // before and after the change
	inside explore.Int64      // calls at member 0
	used   explore.Int64      // calls at member 0 after its value was released
	gone   explore.Bool       // it was

	// Planted faults of whoever uses the Loop.
	twice bool // an attempt is ended twice, and each end is counted
	keeps bool // an attempt is not ended
}

var loopStart = time.Unix(1, 0)

func spec(member int, status poise.Status) dispatch.Spec {
	s := dispatch.Spec{Value: member}
	s.ID, s.Incarnation, s.Status = strconv.Itoa(member), uint64(member+1), status
	return s
}

func newLooped(before, after []dispatch.Spec, plant func(*looped)) func() *looped {
	return func() *looped {
		l := &looped{lists: [2][]dispatch.Spec{before, after}}
		plant(l)
		var err error
		l.Loop, err = dispatch.NewLoop(dispatch.LoopConfig{Policy: new(policy.RoundRobin), Passive: health.PassiveHealthConfig{Off: true}})
		if err != nil {
			panic(err)
		}
		if err := l.Update(before, loopStart); err != nil {
			panic(err)
		}
		return l
	}
}

// call makes one call and returns the member that had it, -1 for none.
func (l *looped) call() int {
	var c dispatch.Call
	if err := l.Acquire(&c, dispatch.Query{Now: loopStart}); err != nil {
		return -1
	}
	m := c.Value().(int)
	if m == 0 {
		l.inside.Add(1)
		if l.gone.Load() {
			l.used.Add(1)
		}
		l.inside.Add(-1)
	}
	if l.keeps {
		return m
	}
	if l.twice {
		l.inside.Add(-1)
	}
	c.End(poise.Result{}, loopStart)
	l.collect()
	return m
}

// collect notes that the value of member 0 was released.
func (l *looped) collect() {
	for _, v := range l.Released() {
		if v == 0 {
			if l.gone.Swap(true) {
				l.used.Add(1) // twice
			}
		}
	}
}

func (l *looped) change() {
	if err := l.Update(l.lists[1], loopStart); err != nil {
		panic(err)
	}
	l.collect()
}

var (
	both    = []dispatch.Spec{spec(0, poise.Ready), spec(1, poise.Ready)}
	second  = []dispatch.Spec{spec(1, poise.Ready)}
	first   = []dispatch.Spec{spec(0, poise.Ready)}
	handing = []dispatch.Spec{spec(0, poise.Draining), spec(1, poise.Ready)}
)

// never are what no call may come to.
var neverUsedAfterRelease = explore.Pred[*looped]{
	Name: "NoCallAfterRelease", Holds: func(l *looped) bool { return l.used.Load() == 0 && l.inside.Load() >= 0 },
}

// Claim: A member that drains or was removed admits no call that began after the change returned.
// Claim: Each value of a member that was removed is released once, when its last call has ended.
func TestLoop_CallsAgainstARemoval(t *testing.T) {
	explore.Check(t, explore.Model[*looped]{
		Name:     "loop: a caller against the removal of a member",
		NotShown: "Policies with state of their own beside round robin's cursor; passive health; several changes in a row.",
		New:      newLooped(both, second, func(*looped) {}),
		Tasks: []explore.Task[*looped]{
			{Name: "caller", Body: func(l *looped, h *explore.T) {
				for range 2 {
					h.Call("Call", nil, func() any { return l.call() })
				}
			}},
			{Name: "operator", Body: func(l *looped, h *explore.T) {
				h.Call("Update", uint64(0b10), func() any { l.change(); return nil })
			}},
		},
		Always:    []explore.Pred[*looped]{neverUsedAfterRelease},
		Sometimes: []explore.Pred[*looped]{{Name: "Served", Holds: func(l *looped) bool { return l.inside.Load() == 1 }}},
		Final: func(l *looped, _ *explore.Run) error {
			l.collect()
			if !l.gone.Load() {
				return fmt.Errorf("the value of the removed member was not released")
			}
			return nil
		},
		Outcome: results[*looped],
		Spec:    seq.Members(0b11),
		Bugs: []explore.Bug[*looped]{
			bug("an attempt that nobody ends", "final", newLooped(both, second, func(l *looped) { l.keeps = true })),
			bug("an attempt that counts twice", "always NoCallAfterRelease", newLooped(both, second, func(l *looped) { l.twice = true })),
		},
	})
}

// A call that began before a change and is refused by who drains finds who was brought instead.
func TestLoop_CallsAgainstADrainThatBringsAnother(t *testing.T) {
	explore.Check(t, explore.Model[*looped]{
		Name:     "loop: a call against a change that drains the only member and brings another",
		NotShown: "Several changes in a row.",
		New:      newLooped(first, handing, func(*looped) {}),
		Tasks: []explore.Task[*looped]{
			{Name: "caller", Body: func(l *looped, h *explore.T) {
				h.Call("Call", nil, func() any { return l.call() })
			}},
			{Name: "operator", Body: func(l *looped, h *explore.T) {
				h.Call("Update", uint64(0b10), func() any { l.change(); return nil })
			}},
		},
		Sometimes: []explore.Pred[*looped]{{Name: "Served by who drains", Holds: func(l *looped) bool { return l.inside.Load() == 1 }}},
		Outcome:   results[*looped],
		Spec:      seq.Members(0b01),
		Bugs: []explore.Bug[*looped]{
			bug("a list without the one that was to come", "history", newLooped(first, nil, func(*looped) {})),
		},
	})
}

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
		if err := h.Update(both, loopStart); err != nil {
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
	if err := h.Acquire(&h.calls[i], dispatch.Query{Now: loopStart, Attempts: attempts}); err != nil {
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
			for _, m := range h.Inspect(loopStart).Members {
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

// ended is a call with a slot of the only member, and how many of its ends have counted.
type ended struct {
	*dispatch.Loop
	call dispatch.Call
	ends explore.Int64
	both bool // planted: every end is said to be the first
}

func newEnded(both bool) func() *ended {
	return func() *ended {
		e := &ended{both: both}
		var err error
		e.Loop, err = dispatch.NewLoop(dispatch.LoopConfig{Policy: new(policy.RoundRobin), Passive: health.PassiveHealthConfig{Off: true}})
		if err != nil {
			panic(err)
		}
		if err := e.Update(first, loopStart); err != nil {
			panic(err)
		}
		if err := e.Acquire(&e.call, dispatch.Query{Now: loopStart}); err != nil {
			panic(err)
		}
		return e
	}
}

func (e *ended) end() {
	if e.call.End(poise.Result{}, loopStart) || e.both {
		e.ends.Add(1)
	}
}

// Claim: The first End of an attempt ends it and returns true; every later one returns false and changes nothing.
func TestLoop_EndsThatRace(t *testing.T) {
	explore.Check(t, explore.Model[*ended]{
		Name:     "loop: the end of a response, its close and a cancellation at once",
		NotShown: "A Call that is used again.",
		New:      newEnded(false),
		Tasks: []explore.Task[*ended]{
			{Name: "reader", Body: func(e *ended, _ *explore.T) { e.call.Answered(poise.Result{}, loopStart); e.end() }},
			{Name: "closer", Body: func(e *ended, _ *explore.T) { e.end() }},
			{Name: "canceller", Body: func(e *ended, _ *explore.T) { e.end() }},
		},
		Final: func(e *ended, _ *explore.Run) error {
			if n, m := e.ends.Load(), e.Inspect(loopStart).Members[0].InFlight; n != 1 || m != 0 {
				return fmt.Errorf("%d ends have counted, and %d slots are held", n, m)
			}
			return nil
		},
		Outcome: func(e *ended, _ *explore.Run) string { return "" },
		Bugs:    []explore.Bug[*ended]{bug("every end is said to be the first", "final", newEnded(true))},
	})
}
