//go:build interleave

package models

import (
	"fmt"
	"testing"

	"github.com/copyleftdev/poise-go/models/explore"
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// limiter is an InFlight, or a twin of it with a planted bug.
type limiter interface {
	acquire() (release func() bool, ok bool)
	current() uint64
}

type realLimiter struct{ *poise.InFlight }

func (l realLimiter) acquire() (release func() bool, ok bool) {
	lease, err := l.Acquire()
	if err != nil {
		return nil, false
	}
	return (&lease).Release, true
}

func (l realLimiter) current() uint64 { return l.Current() }

// buggyLimiter is InFlight with one line changed.
type buggyLimiter struct {
	used  explore.Uint64
	limit uint64

	store     bool // instead of compare and swap
	overshoot bool // add first, look second
	twice     bool // a lease can be given back twice
}

func (l *buggyLimiter) acquire() (release func() bool, ok bool) {
	if l.overshoot {
		if l.used.Add(1) > l.limit {
			l.used.Add(^uint64(0))
			return nil, false
		}
		return l.lease(), true
	}
	for {
		used := l.used.Load()
		if used >= l.limit {
			return nil, false
		}
		if l.store {
			l.used.Store(used + 1)
			return l.lease(), true
		}
		if l.used.CompareAndSwap(used, used+1) {
			return l.lease(), true
		}
	}
}

func (l *buggyLimiter) lease() func() bool {
	ended := new(explore.Uint32)
	return func() bool {
		if l.twice {
			if ended.Load() != 0 {
				return false
			}
			ended.Store(1)
		} else if !ended.CompareAndSwap(0, 1) {
			return false
		}
		l.used.Add(^uint64(0))
		return true
	}
}

func (l *buggyLimiter) current() uint64 { return l.used.Load() }

func bug[S any](name, breaks string, fresh func() S) explore.Bug[S] {
	return explore.Bug[S]{Name: name, Breaks: breaks, New: fresh}
}

// Claim: Leases held at once never exceed the limit.
// Claim: Current is the number of leases that were acquired and not released.
func TestInFlight_NeverOverLimit(t *testing.T) {
	for _, c := range []struct{ tasks, rounds, limit int }{{2, 2, 1}, {3, 1, 1}, {3, 1, 2}} {
		t.Run(fmt.Sprintf("%d_tasks_of_%d_limit_%d", c.tasks, c.rounds, c.limit), func(t *testing.T) {
			limit := uint64(c.limit)
			m := explore.Model[limiter]{
				Name:     fmt.Sprintf("InFlight: %d tasks of %d acquires, limit %d", c.tasks, c.rounds, c.limit),
				NotShown: "Larger limits, and a counter near its end.",
				New:      func() limiter { return realLimiter{poise.NewInFlight(limit)} },
				Always:   []explore.Pred[limiter]{{Name: "NeverOverLimit", Holds: func(l limiter) bool { return l.current() <= limit }}},
				Sometimes: []explore.Pred[limiter]{
					{Name: "ReachesLimit", Holds: func(l limiter) bool { return l.current() == limit }},
				},
				Final: func(l limiter, _ *explore.Run) error {
					if n := l.current(); n != 0 {
						return fmt.Errorf("%d leases are left", n)
					}
					return nil
				},
				Outcome: results[limiter],
				Spec:    seq.Leases(c.limit),
				Bugs: []explore.Bug[limiter]{
					bug("store instead of compare and swap", "history", func() limiter { return &buggyLimiter{limit: limit, store: true} }),
					bug("add first and look second", "always NeverOverLimit", func() limiter { return &buggyLimiter{limit: limit, overshoot: true} }),
				},
			}
			m.Tasks = numbered(c.tasks, "caller", func(n int, l limiter, h *explore.T) {
				for round := range c.rounds {
					id := n*c.rounds + round
					var release func() bool
					if h.Call("Acquire", id, func() (ok any) { release, ok = l.acquire(); return ok }) == true {
						h.Call("Release", id, func() any { return release() })
					}
				}
			})
			explore.Check(t, m)
		})
	}
}

// held is a limiter of which one lease is out.
type held struct {
	limiter
	release func() bool
}

func hold(l limiter) *held {
	release, _ := l.acquire()
	return &held{l, release}
}

// Claim: The first Release gives the slot back and returns true; every later one returns false and changes nothing.
func TestLease_TwoReleasesGiveBackOnce(t *testing.T) {
	release := func(s *held, h *explore.T) { h.Call("Release", 0, func() any { return s.release() }) }
	explore.Check(t, explore.Model[*held]{
		Name:     "InFlight: two releases of one lease, and an acquire at the limit",
		NotShown: "More than two releases.",
		New:      func() *held { return hold(realLimiter{poise.NewInFlight(2)}) },
		Tasks: []explore.Task[*held]{
			{Name: "release 0", Body: release},
			{Name: "release 1", Body: release},
			{Name: "caller", Body: func(s *held, h *explore.T) {
				h.Call("Acquire", 1, func() any { _, ok := s.acquire(); return ok })
			}},
		},
		Final: func(s *held, _ *explore.Run) error {
			if n := s.current(); n != 1 {
				return fmt.Errorf("%d leases are out, want the caller's", n)
			}
			return nil
		},
		Outcome: results[*held],
		Bugs: []explore.Bug[*held]{bug("flag that is read and then set", "final",
			func() *held { return hold(&buggyLimiter{limit: 2, twice: true}) })},
	})
}

// Claim: Acquire at the limit answers a CapacityError and changes nothing.
func TestInFlight_ReleaseAgainstAcquireAtTheLimit(t *testing.T) {
	explore.Check(t, explore.Model[*held]{
		Name:     "InFlight: a release against two acquires at the limit, and a reader",
		NotShown: "Limits over 1.",
		New:      func() *held { return hold(realLimiter{poise.NewInFlight(1)}) },
		Tasks: []explore.Task[*held]{
			{Name: "holder", Body: func(s *held, h *explore.T) { h.Call("Release", 0, func() any { return s.release() }) }},
			{Name: "caller 1", Body: func(s *held, h *explore.T) { h.Call("Acquire", 1, func() any { _, ok := s.acquire(); return ok }) }},
			{Name: "caller 2", Body: func(s *held, h *explore.T) {
				h.Call("Acquire", 2, func() any { _, ok := s.acquire(); return ok })
				h.Call("Current", nil, func() any { return int(s.current()) })
			}},
		},
		Always:    []explore.Pred[*held]{{Name: "NeverOverLimit", Holds: func(s *held) bool { return s.current() <= 1 }}},
		Sometimes: []explore.Pred[*held]{{Name: "Empty", Holds: func(s *held) bool { return s.current() == 0 }}},
		Outcome:   results[*held],
		Spec:      seq.After(seq.Leases(1), seq.Op{Name: "Acquire", Arg: 0, Result: true}),
		Bugs: []explore.Bug[*held]{bug("add first and look second", "history",
			func() *held { return hold(&buggyLimiter{limit: 1, overshoot: true}) })},
	})
}
