package health_test

import (
	"math"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// slowWindow keeps everything it was ever told and works each answer out anew.
// Every observation has the instant that counts for it: that of the one before, if
// its own is earlier.
type slowWindow struct {
	cfg  health.OutcomeWindowConfig // without zero fields
	seen []seen
	last time.Time // of the newest observation, or the first instant of all
}

type seen struct {
	outcome poise.Outcome
	at      time.Time
	void    bool // the clock was set back since
}

// tooFarBack reports whether the clock was set back from one instant to another.
func (s *slowWindow) tooFarBack(from, to time.Time) bool {
	return s.cfg.HalfLife > 0 && float64(from.Sub(to)) > 10*float64(s.cfg.HalfLife)
}

func (s *slowWindow) record(outcome poise.Outcome, now time.Time) {
	if outcome > poise.Overloaded {
		return
	}
	switch {
	case s.tooFarBack(s.last, now):
		for i := range s.seen {
			s.seen[i].void = true
		}
	case now.Before(s.last):
		now = s.last
	}
	s.last = now
	s.seen = append(s.seen, seen{outcome: outcome, at: now})
}

// stats returns the counts and the penalty at an instant.
func (s *slowWindow) stats(now time.Time) (counts [3]int, penalty float64) {
	held := s.seen[max(0, len(s.seen)-s.cfg.Capacity):]
	weights := 0.0
	for _, o := range held {
		counts[o.outcome]++
		weight := [...]float64{0, float64(s.cfg.FailureWeight), float64(s.cfg.OverloadWeight)}[o.outcome]
		switch age := now.Sub(o.at); {
		case o.void || s.tooFarBack(s.last, now):
			weight = 0
		case s.cfg.HalfLife > 0:
			age = max(age, s.last.Sub(o.at)) // an earlier instant counts as the last
			weight *= math.Pow(0.5, float64(age)/float64(s.cfg.HalfLife))
		}
		weights += weight
	}
	if len(held) < s.cfg.MinimumSamples || len(held) == 0 {
		return counts, 0
	}
	return counts, weights / float64(len(held))
}

// windowStep is one step of a script.
type windowStep struct {
	Outcome uint8 // modulo 8; 6 clears, 7 looks only
	Forward int16 // by how much time passes before, in eighths of a half-life
}

// requireWindow plays a script on an OutcomeWindow and its slow twin.
func requireWindow(t failer, cfg health.OutcomeWindowConfig, script []windowStep) {
	t.Helper()
	w, err := health.NewOutcomeWindow(cfg, dusk)
	if err != nil {
		t.Fatalf("%v", err)
	}
	slow := &slowWindow{cfg: cfg, last: dusk}
	unit := max(cfg.HalfLife/8, 1)
	now := dusk
	for i, step := range script {
		now = now.Add(time.Duration(step.Forward) * unit)
		switch op := step.Outcome % 8; op {
		case 6:
			w.Clear()
			slow.clear()
		case 7:
		default:
			w.Record(poise.Outcome(op), now)
			slow.record(poise.Outcome(op), now)
		}
		counts, penalty := slow.stats(now)
		stats := w.Stats(now)
		if got := [3]int{stats.Successes, stats.Failures, stats.Overloaded}; got != counts {
			t.Fatalf("step %d: it holds %v, want %v", i, got, counts)
		}
		if !near(stats.Penalty, penalty, float64(max(cfg.FailureWeight, cfg.OverloadWeight))) || cfg.HalfLife == 0 && stats.Penalty != penalty {
			t.Fatalf("step %d: the penalty is %v, want %v", i, stats.Penalty, penalty)
		}
		if again := w.Penalty(now); again != stats.Penalty {
			t.Fatalf("step %d: Penalty is %v, Stats have %v", i, again, stats.Penalty)
		}
		load, err := w.Load(now)
		if want := stats.Penalty * float64(cfg.FailureCost); want >= 1<<64 != (err != nil) || err == nil && load != uint64(want) {
			t.Fatalf("step %d: the load is %d and %v at a penalty of %v", i, load, err, stats.Penalty)
		}
	}
}

// clear forgets the observations, but not how far time had come.
func (s *slowWindow) clear() { s.seen = s.seen[:0] }

// near reports whether two penalties are the same but for rounding, where failures
// weigh up to so much.
func near(a, b, weight float64) bool { return math.Abs(a-b) <= 1e-9*weight }
