package fuzz

import (
	"errors"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// probeNotes are what a person would note on paper about a candidate that is
// probed: the results since it was last forced, as text, and since when there is
// how much left to wait, of which the latter is known within bounds alone.
type probeNotes struct {
	cfg       health.ActiveHealthConfig
	forced    health.Condition
	results   string // g and b
	out       int    // the reservation that is out, 0 for none
	from      time.Time
	ended     bool
	when      time.Time
	soonest   time.Duration // when the next may be due, from the end
	latest    time.Duration // when it must be
	condition health.Condition
}

// renew reads the condition from the results, and begins to bound the wait anew.
func (n *probeNotes) renew() {
	n.condition = n.forced
	for end := range len(n.results) + 1 {
		head := n.results[:end]
		run := 0
		for i := end - 1; i >= 0 && head[i] == head[end-1]; i-- {
			run++
		}
		switch {
		case run == 0:
		case head[end-1] == 'g' && run >= n.cfg.HealthyThreshold:
			n.condition = health.Healthy
		case head[end-1] == 'b' && run >= n.cfg.UnhealthyThreshold:
			n.condition = health.Unhealthy
		}
	}
	interval := map[health.Condition]time.Duration{
		health.Unknown: n.cfg.UnknownInterval, health.Healthy: n.cfg.Interval, health.Unhealthy: n.cfg.UnhealthyInterval,
	}[n.condition]
	n.soonest, n.latest = interval-interval*time.Duration(n.cfg.Jitter)/100, interval
}

// see is done at every call that may change something.
func (n *probeNotes) see(now time.Time) {
	if n.out != 0 && n.from.After(now) {
		n.from = now
	}
	if n.out != 0 && now.Sub(n.from) >= n.cfg.Hold {
		n.out, n.ended, n.when = 0, true, n.from.Add(n.cfg.Hold)
	}
	if n.ended && n.when.After(now) {
		n.when = now
	}
}

// FuzzActiveHealth's twin is told the same as the ActiveHealth.
//
// Claim: Reserve succeeds exactly when no reservation is outstanding and Due answers 0.
//
// Claim: The condition becomes Healthy or Unhealthy exactly when that many probes in a row as its threshold says have agreed, and otherwise stays.
//
// Claim: Each wait is at most the interval and at least what Jitter leaves of it, which is never nothing.
//
// Claim: A clock that steps back costs at most one more interval, or one more Hold, from the next Reserve.
//
// Cases: B22, B26, B27, B29, B31, G19.
func FuzzActiveHealth(f *testing.F) {
	f.Add(int64(time.Second), int64(time.Minute), uint8(20), uint8(0), uint64(1), []byte{0, 1, 5, 64, 0, 2, 5, 64, 0, 2, 3})
	f.Add(int64(1), int64(1), uint8(99), uint8(255), uint64(0), []byte{0, 6, 255, 0, 5, 1, 1, 0, 5, 2, 0, 4, 1, 1, 0, 7})
	f.Fuzz(func(t *testing.T, interval, hold int64, jitter, thresholds uint8, seed uint64, script []byte) {
		within := func(d int64, unit uint64) time.Duration { return time.Duration(uint64(d)%unit) + 1 }
		cfg := health.ActiveHealthConfig{
			Interval: within(interval, uint64(time.Hour)), UnhealthyInterval: within(interval/7, uint64(time.Hour)),
			UnknownInterval: within(interval/3, uint64(time.Minute)), Hold: within(hold, uint64(time.Hour)), Jitter: int(jitter % 100),
			HealthyThreshold: int(thresholds%4) + 1, UnhealthyThreshold: int(thresholds/4%4) + 1,
			Unknown: health.UnknownPolicy(thresholds / 128),
		}
		h, err := health.NewActiveHealth(cfg)
		if err != nil {
			t.Fatal(err)
		}
		notes := &probeNotes{cfg: cfg}
		notes.renew()
		chance, now := poise.NewGenerator(seed), time.Unix(1<<32, 0)
		var issued []health.Reservation
		for step := 0; step < len(script); step++ {
			argument := byte(0)
			if step+1 < len(script) {
				argument = script[step+1]
			}
			switch op := script[step] % 8; op {
			case 0:
				notes.see(now)
				r, wait, err := h.Reserve(now, chance)
				switch {
				case err == nil && wait == 0:
					requireWait(t, step, notes, now, 0)
					issued = append(issued, r)
					notes.out, notes.from = len(issued), now
					notes.renew() // the jitter is drawn anew
				case wait == 0 || errors.Is(err, health.ErrProbeRunning) != (notes.out != 0):
					t.Fatalf("step %d: Reserve answers %v and %v, and %d is out", step, wait, err, notes.out)
				default:
					requireWait(t, step, notes, now, wait)
				}
			case 1, 2, 3: // the newest reservation is completed or cancelled; with a high argument an old one
				number := len(issued)
				if argument >= 192 {
					number /= 2
				}
				if number == 0 {
					continue
				}
				notes.see(now)
				want := notes.out == number
				if want {
					notes.out, notes.ended, notes.when = 0, true, now
					notes.results += []string{"", "g", "b", ""}[op]
					notes.renew()
				}
				got := false
				if op == 3 {
					got = h.Cancel(issued[number-1], now)
				} else {
					_, got = h.Complete(issued[number-1], op == 1, now)
				}
				if got != want {
					t.Fatalf("step %d: ending reservation %d counts: %t, want %t", step, number, got, want)
				}
			case 4:
				notes.see(now)
				notes.out, notes.results, notes.forced = 0, "", health.Condition(argument%3)
				notes.renew()
				if err := h.Force(notes.forced, now); err != nil {
					t.Fatal(err)
				}
			case 5:
				now = now.Add(time.Duration(argument) * cfg.Interval / 64)
				step++
			case 6:
				now = now.Add(-time.Duration(argument) * time.Duration(argument) * cfg.Interval / 64)
				step++
			default:
				requireWait(t, step, notes, now, h.Due(now))
			}
			requireNotes(t, step, notes, h, now)
		}
	})
}

// requireWait holds an answer of Due against the notes, and learns from it.
func requireWait(t *testing.T, step int, n *probeNotes, now time.Time, wait time.Duration) {
	t.Helper()
	since, more := n.when, time.Duration(0)
	if n.out != 0 {
		since, more = n.from, n.cfg.Hold
	} else if !n.ended {
		if wait != 0 {
			t.Fatalf("step %d: nothing has ended and there are %v to wait", step, wait)
		}
		return
	}
	elapsed := max(0, now.Sub(since)) - more
	if wait == 0 {
		if elapsed < n.soonest {
			t.Fatalf("step %d: after %v there is nothing to wait, before %v", step, elapsed, n.soonest)
		}
		return
	}
	if wait < 0 || elapsed+wait < n.soonest || elapsed+wait > n.latest {
		t.Fatalf("step %d: after %v there are %v to wait, want the whole from %v to %v", step, elapsed, wait, n.soonest, n.latest)
	}
	n.soonest, n.latest = elapsed+wait, elapsed+wait
}

func requireNotes(t *testing.T, step int, n *probeNotes, h *health.ActiveHealth, now time.Time) {
	t.Helper()
	s := h.State(now)
	running := n.out != 0 && now.Sub(n.from) < n.cfg.Hold
	if s.Condition != n.condition || s.Running != running {
		t.Fatalf("step %d: it is %v, running: %t, after %q, want %v, %t", step, s.Condition, s.Running, n.results, n.condition, running)
	}
	denied := n.condition == health.Unhealthy || n.condition == health.Unknown && n.cfg.Unknown == health.DenyUnknown
	if (s.Excluded != poise.NotExcluded) != denied || h.Excluded() != s.Excluded {
		t.Fatalf("step %d: it is %v and excluded as %v, under %v", step, s.Condition, s.Excluded, n.cfg.Unknown)
	}
	if s.ConsecutiveSuccesses > 0 && s.ConsecutiveFailures > 0 || s.ConsecutiveSuccesses+s.ConsecutiveFailures > len(n.results) {
		t.Fatalf("step %d: %d and %d in a row after %q", step, s.ConsecutiveSuccesses, s.ConsecutiveFailures, n.results)
	}
	requireWait(t, step, n, now, s.Due)
}
