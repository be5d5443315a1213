package health_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/copyleftdev/poise-go/pkg/health"
)

// behaviour is what one probe does.
type behaviour struct {
	takes time.Duration // until it answers, if it is not told to stop
	deaf  bool          // it does not stop when it is told to
	fails string        // how: "", "error" or "panic"
}

func (b behaviour) probe(ctx context.Context) error {
	select {
	case <-time.After(b.takes):
	case <-cut(ctx, b.deaf):
		return ctx.Err()
	}
	switch b.fails {
	case "error":
		return errRefused
	case "panic":
		panic("a bug")
	}
	return nil
}

// cut returns when a context ends, or never.
func cut(ctx context.Context, deaf bool) <-chan struct{} {
	if deaf {
		return nil
	}
	return ctx.Done()
}

// timeline works out on paper what a Runner does with probes and forces, and stops
// when the probes are used up.
type timeline struct {
	health  health.ActiveHealthConfig
	timeout time.Duration
	probes  []behaviour
	forces  []force

	now, free time.Duration // free: when the last call of Probe returns
	ended     time.Duration // when the last probe was recorded, -1 for never
	condition health.Condition
	row       int // results in a row, negative for failures
	lines     []string
}

type force struct {
	at        time.Duration
	condition health.Condition
}

// pass lets time pass. It reports whether the condition was forced meanwhile; with
// wakes it stays there.
func (l *timeline) pass(until time.Duration, wakes bool) (forced bool) {
	for len(l.forces) > 0 && l.forces[0].at < until {
		f := l.forces[0]
		l.forces, l.condition, l.row, forced = l.forces[1:], f.condition, 0, true
		if l.now = max(l.now, f.at); wakes {
			return true
		}
	}
	l.now = max(l.now, until)
	return forced
}

func (l *timeline) draw() []string {
	l.ended = -1
	for len(l.probes) > 0 {
		for l.pass(l.due(), true) { // a force wakes it, and it looks again
		}
		forced, result := false, "failed"
		if l.free > l.now+l.timeout {
			forced = l.pass(l.now+l.timeout, false)
		} else {
			forced = l.pass(max(l.now, l.free), false)
			b := l.probes[0]
			l.probes = l.probes[1:]
			takes := min(b.takes, l.timeout)
			l.free = l.now + takes
			if b.deaf {
				l.free = l.now + b.takes
			}
			if b.takes < l.timeout && b.fails == "" {
				result = "passed"
			}
			forced = l.pass(l.now+takes, false) || forced
		}
		l.record(result, forced)
	}
	return l.lines
}

// due is when the next probe is, if nothing happens before.
func (l *timeline) due() time.Duration {
	if l.ended < 0 {
		return l.now
	}
	return l.ended + map[health.Condition]time.Duration{
		health.Unknown: l.health.UnknownInterval, health.Healthy: l.health.Interval, health.Unhealthy: l.health.UnhealthyInterval,
	}[l.condition]
}

// record writes what Observe is told.
func (l *timeline) record(result string, forced bool) {
	switch {
	case forced:
		result = "discarded"
	case result == "passed":
		l.row = max(0, l.row) + 1
	default:
		l.row = min(0, l.row) - 1
	}
	switch {
	case forced:
	case l.row >= l.health.HealthyThreshold:
		l.condition = health.Healthy
	case -l.row >= l.health.UnhealthyThreshold:
		l.condition = health.Unhealthy
	}
	if !forced {
		l.ended = l.now
	}
	l.lines = append(l.lines, fmt.Sprint(l.now, " ", result, " ", l.condition))
}

// Claim: Run probes whenever one is due until its context ends, and returns the context's error.
//
// Claim: A probe is not sent while the one before still runs, and times out if that does not return within Timeout.
//
// Claim: A report names what a probe found only if it counted.
//
// Cases: B28, G18.
func TestRunner_LawKeepsToItsTimeline(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		milliseconds := func(least, most int, name string) time.Duration {
			return time.Duration(rapid.IntRange(least, most).Draw(rt, name)) * time.Millisecond
		}
		l := &timeline{
			health: health.ActiveHealthConfig{
				Interval: milliseconds(1, 20, "interval"), UnhealthyInterval: milliseconds(1, 20, "unhealthy interval"),
				UnknownInterval: milliseconds(1, 20, "unknown interval"), Hold: time.Minute,
				HealthyThreshold: rapid.IntRange(1, 3).Draw(rt, "healthy"), UnhealthyThreshold: rapid.IntRange(1, 3).Draw(rt, "unhealthy"),
			},
			timeout: milliseconds(1, 20, "timeout"),
		}
		// Every duration has a fraction of its own, so that no two things happen at once.
		for i := range rapid.IntRange(1, 12).Draw(rt, "probes") {
			l.probes = append(l.probes, behaviour{
				takes: milliseconds(0, 50, "takes") + time.Duration(i+1)*time.Microsecond,
				deaf:  rapid.Bool().Draw(rt, "deaf"),
				fails: rapid.SampledFrom([]string{"", "", "error", "panic"}).Draw(rt, "fails"),
			})
		}
		at := time.Duration(0)
		for range rapid.IntRange(0, 4).Draw(rt, "forces") {
			at += milliseconds(1, 80, "later") + 1
			l.forces = append(l.forces, force{at, health.Condition(rapid.IntRange(0, 2).Draw(rt, "condition"))})
		}
		probes, forces := l.probes, l.forces
		want := l.draw()
		got := played(t, l, probes, forces)
		if !slices.Equal(got, want) {
			rt.Fatalf("probes %+v\nforces %+v\nit reported %q\nwant        %q", probes, forces, got, want)
		}
	})
}

// played lets a Runner live through a timeline, and returns what it reported.
func played(t *testing.T, l *timeline, probes []behaviour, forces []force) (lines []string) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := newActive(t, l.health)
		began := time.Now()
		var next, running, most atomic.Int32
		r, err := health.NewRunner(health.RunnerConfig{
			Health: h, Timeout: l.timeout,
			Probe: func(ctx context.Context) error {
				most.Store(max(most.Load(), running.Add(1)))
				defer running.Add(-1)
				return probes[next.Add(1)-1].probe(ctx)
			},
			Observe: func(r health.ProbeReport) {
				lines = append(lines, fmt.Sprint(time.Since(began), " ", r.Result, " ", r.State.Condition))
				if int(next.Load()) == len(probes) {
					cancel()
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for _, f := range forces {
				select {
				case <-time.After(f.at - time.Since(began)):
					_ = h.Force(f.condition, time.Now())
				case <-ctx.Done():
				}
			}
		}()
		_ = r.Run(ctx)
		if most.Load() > 1 || h.State(time.Now()).Running {
			lines = append(lines, fmt.Sprintf("%d probes at once, one outstanding: %t", most.Load(), h.State(time.Now()).Running))
		}
		after(time.Second) // for the deaf ones to return
	})
	return lines
}
