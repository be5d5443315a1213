//go:build interleave

package walk

import (
	"errors"
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/models/explore"
	"github.com/copyleftdev/poise-go/spec/replay"
)

func TestWalk_FindsPlantedFaults(t *testing.T) {
	g := replay.Load(t, "../../spec/tla/inflight/InFlight.graph")
	for _, c := range []struct {
		name    string
		acquire func(s *inFlight, used *explore.Uint64) any
		want    string
	}{
		{"a store instead of a compare-and-swap", func(_ *inFlight, used *explore.Uint64) any {
			n := used.Load()
			used.Store(n + 1)
			return "lease"
		}, "after AcquireRetry"},
		{"an addition without a load", func(_ *inFlight, used *explore.Uint64) any {
			used.Add(1)
			return "lease"
		}, "whether the call of"},
		{"an operation too many", func(_ *inFlight, used *explore.Uint64) any {
			n := used.Load()
			used.CompareAndSwap(n, n+1)
			used.Load()
			return "lease"
		}, "whether the call of"},
		{"another result", func(_ *inFlight, used *explore.Uint64) any {
			n := used.Load()
			used.CompareAndSwap(n, n+1)
			return "none"
		}, "returned none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := inFlightMapping()
			var used, limit *explore.Uint64
			begin, project := m.New, m.Project
			m.New = func(constants, initial replay.Record) (*inFlight, error) {
				used, limit = new(explore.Uint64), new(explore.Uint64)
				return begin(constants, initial)
			}
			m.Begin["(*InFlight).Acquire"] = func(s *inFlight, args replay.Record) func() any {
				return func() any {
					limit.Load() // which may change in place, and is read first
					return c.acquire(s, used)
				}
			}
			m.Project = func(s *inFlight) map[string]any {
				state := project(s)
				state["used"] = used.Load()
				return state
			}
			_, problems := m.Check(g, newDriver)
			requireProblem(t, problems, c.want)
		})
	}
}

// requireProblem requires that one of the problems is the one.
func requireProblem(t *testing.T, problems []error, want string) {
	t.Helper()
	for _, p := range problems {
		if strings.Contains(p.Error(), want) {
			return
		}
	}
	t.Errorf("no problem of %d says %q, but %.500v", len(problems), want, errors.Join(problems[:min(1, len(problems))]...))
}

func TestDriver_RefusesWhatCannotHappen(t *testing.T) {
	var mu explore.Mutex
	d := newDriver()
	defer d.Close()
	lock := func() any { mu.Lock(); defer mu.Unlock(); return "done" }
	for _, err := range []error{d.Start("a", lock), d.Step("a"), d.Start("b", lock)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Step("b"); err == nil || !strings.Contains(err.Error(), "has to wait") {
		t.Errorf("a lock that is held was taken: %v", err)
	}
	if err := d.Start("a", lock); err == nil {
		t.Error("a call began inside a call")
	}
	if err := d.Step("a"); err != nil {
		t.Fatal(err)
	}
	if result, ended := d.Ended("a"); !ended || result != "done" {
		t.Errorf("the call of a: %v, ended: %t", result, ended)
	}
	if err := d.Step("a"); err == nil {
		t.Error("a call that has ended went on")
	}
}
