package health_test

import (
	"errors"
	"slices"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// slowPermit is a permit as its holder would note it on paper.
type slowPermit struct {
	real    health.Permit
	epoch   int
	since   time.Time
	ended   bool
	expired bool
}

// slowCircuit knows a circuit by its history alone, and works everything out anew
// at each question. Only the jitter it has to be told.
type slowCircuit struct {
	cfg     health.CircuitConfig
	events  []health.CircuitEvent
	results []bool // that counted in this epoch: whether they failed
	permits []*slowPermit
	since   time.Time // moved by a clock that steps back
}

func (s *slowCircuit) epoch() int { return len(s.events) }

func (s *slowCircuit) mode() health.CircuitMode {
	if len(s.events) == 0 {
		return health.Closed
	}
	return s.events[len(s.events)-1].To
}

// wait returns how long the circuit was to be open, and within which bounds that
// must lie: the history back to the last time it was closed tells.
func (s *slowCircuit) wait() (wait, least, most time.Duration) {
	most = s.cfg.OpenFor
	for i := len(s.events) - 1; i >= 0 && s.events[i].To != health.Closed; i-- {
		if s.events[i].To != health.Open {
			continue
		}
		if wait == 0 {
			wait = s.events[i].OpenFor
		} else {
			most = min(2*most, s.cfg.MaxOpenFor)
		}
		if s.events[i].Cause == health.CauseForced {
			break
		}
	}
	return wait, most - most/2, most
}

// over reports whether a span is over, on whichever side of it the clock is.
func over(now, since time.Time, span time.Duration) bool {
	return !now.Before(since.Add(span)) || !now.After(since.Add(-span))
}

// out returns the trials that are out.
func (s *slowCircuit) out(now time.Time) (out []*slowPermit) {
	for _, p := range s.permits {
		if s.mode() == health.HalfOpen && p.epoch == s.epoch() && !p.ended && !p.expired && !over(now, p.since, s.cfg.MaxHold) {
			out = append(out, p)
		}
	}
	return out
}

func (s *slowCircuit) available(now time.Time) bool {
	switch s.mode() {
	case health.Open:
		wait, _, _ := s.wait()
		return over(now, s.since, wait)
	case health.HalfOpen:
		return len(s.out(now)) < s.cfg.Trials
	}
	return true
}

// state works out what the circuit must answer.
func (s *slowCircuit) state(now time.Time) health.CircuitState {
	state := health.CircuitState{Mode: s.mode(), Epoch: uint64(s.epoch()), Trials: len(s.out(now))}
	switch s.mode() {
	case health.Closed:
		for _, failed := range s.results {
			state.Failures++
			if !failed {
				state.Failures = 0
			}
		}
		latest := s.results[max(0, len(s.results)-s.cfg.Window):]
		state.Samples = len(latest)
		for _, failed := range latest {
			if failed {
				state.Failed++
			}
		}
	case health.Open:
		if !s.available(now) {
			wait, _, _ := s.wait()
			state.RetryAfter = s.since.Add(wait).Sub(now)
		}
	case health.HalfOpen:
		for _, failed := range s.results {
			if !failed {
				state.Successes++
			}
		}
	}
	return state
}

// reclaim is what every timed call does first.
func (s *slowCircuit) reclaim(now time.Time) {
	out := s.out(now)
	for _, p := range s.permits {
		switch {
		case s.mode() != health.HalfOpen || p.epoch != s.epoch() || p.ended || p.expired:
		case !slices.Contains(out, p):
			p.expired = true
		case now.Before(p.since):
			p.since = now
		}
	}
}

// begin notes a transition, of which the events tell the jitter.
func (s *slowCircuit) begin(to health.CircuitMode, cause health.CircuitCause, now time.Time) {
	s.events = append(s.events, health.CircuitEvent{From: s.mode(), To: to, Epoch: uint64(s.epoch() + 1), Cause: cause, At: now})
	s.since, s.results = now, nil
}

// acquire reports whether a permit must be given.
func (s *slowCircuit) acquire(now time.Time) bool {
	s.reclaim(now)
	if !s.available(now) {
		if s.mode() == health.Open && now.Before(s.since) {
			s.since = now
		}
		return false
	}
	if s.mode() == health.Open {
		s.begin(health.HalfOpen, health.CauseTime, now)
	}
	return true
}

func (s *slowCircuit) end(p *slowPermit, outcome poise.Outcome, now time.Time) error {
	s.reclaim(now)
	switch {
	case p.ended:
		return health.ErrPermitEnded
	case p.expired:
		return health.ErrPermitExpired
	}
	p.ended = true
	if p.epoch != s.epoch() {
		return health.ErrPermitStale
	}
	if !slices.Contains([]poise.Outcome{poise.Success, poise.Failure, poise.Overloaded}, outcome) {
		return nil
	}
	s.results = append(s.results, outcome != poise.Success)
	state := s.state(now)
	switch {
	case state.Mode == health.Closed && state.Failures >= s.cfg.Failures:
		s.begin(health.Open, health.CauseFailures, now)
	case state.Mode == health.Closed && s.cfg.Window > 0 && state.Samples >= s.cfg.MinSamples &&
		state.Failed*100 >= s.cfg.FailurePercent*state.Samples:
		s.begin(health.Open, health.CauseFailureRate, now)
	case state.Mode == health.HalfOpen && outcome != poise.Success:
		s.begin(health.Open, health.CauseTrialFailed, now)
	case state.Mode == health.HalfOpen && state.Successes >= s.cfg.Successes:
		s.begin(health.Closed, health.CauseTrialsSucceeded, now)
	}
	return nil
}

// circuitRun is a circuit and its slow twin.
type circuitRun struct {
	t      failer
	real   *health.Circuit
	slow   *slowCircuit
	told   []health.CircuitEvent
	now    time.Time
	counts map[string]int // of what happened, so that a script can be asked whether it did
}

func newCircuitRun(t failer, cfg health.CircuitConfig) *circuitRun {
	t.Helper()
	r := &circuitRun{t: t, now: noon, counts: map[string]int{}}
	cfg.Observer = func(e health.CircuitEvent) { r.told = append(r.told, e) }
	c, err := health.NewCircuit(cfg)
	if err != nil {
		t.Fatalf("%v", err)
		return nil
	}
	r.real, r.slow = c, &slowCircuit{cfg: c.Config()}
	return r
}

func (r *circuitRun) acquire() {
	available := r.real.Available(r.now)
	was := r.slow.mode()
	p, err := r.real.Acquire(r.now)
	if ok := r.slow.acquire(r.now); ok != (err == nil) || ok != available {
		r.t.Fatalf("Available says %t, Acquire %v, and the slow twin %t", available, err, ok)
	}
	if err == nil {
		r.slow.permits = append(r.slow.permits, &slowPermit{real: p, epoch: r.slow.epoch(), since: r.now})
		return
	}
	r.counts["refused"]++
	var refused *health.CircuitError
	want, after := health.ErrTrialsTaken, time.Duration(0)
	if was == health.Open {
		want, after = health.ErrOpen, r.slow.state(r.now).RetryAfter
	}
	if !errors.As(err, &refused) || refused.Err != want || refused.RetryAfter != after {
		r.t.Fatalf("Acquire answers %v, want %v and to come back after %v", err, want, after)
	}
}

// end ends one of the latest permits, whatever became of it.
func (r *circuitRun) end(number int, outcome poise.Outcome) {
	permits := r.slow.permits
	if len(permits) == 0 {
		return
	}
	p := permits[len(permits)-1-number%min(len(permits), 5)]
	got := r.real.End(p.real, outcome, r.now)
	if want := r.slow.end(p, outcome, r.now); got != want {
		r.t.Fatalf("End of %s answers %v, want %v", outcome, got, want)
	}
	if got != nil {
		r.counts[got.Error()]++
	}
}

// compare asks everything, at this instant and some others.
func (r *circuitRun) compare() {
	r.t.Helper()
	events := r.slow.events
	if n := len(events); n != len(r.told) {
		r.t.Fatalf("%d events were told, want %d", len(r.told), n)
	} else if n > 0 {
		if events[n-1].To == health.Open && events[n-1].OpenFor == 0 {
			events[n-1].OpenFor = r.told[n-1].OpenFor
			if wait, least, most := r.slow.wait(); wait < least || wait > most || wait < 1 {
				r.t.Fatalf("open for %v, want from %v to %v", wait, least, most)
			}
		}
		if r.told[n-1] != events[n-1] {
			r.t.Fatalf("told %+v, want %+v", r.told[n-1], events[n-1])
		}
		r.counts[events[n-1].Cause.String()]++
	}
	for _, ahead := range []time.Duration{0, 1, -1, r.slow.cfg.OpenFor, r.slow.cfg.MaxHold, -r.slow.cfg.MaxHold} {
		now := r.now.Add(ahead)
		if got, want := r.real.State(now), r.slow.state(now); got != want {
			r.t.Fatalf("State is %+v, want %+v", got, want)
		}
		left, changes := r.real.NextChange(now)
		if got, want := r.real.Available(now), r.slow.available(now); got != want || changes == want || changes != (left > 0) {
			r.t.Fatalf("Available is %t, NextChange %v and %t, want %t", got, left, changes, want)
		}
		if changes && (r.real.Available(now.Add(left-1)) || !r.real.Available(now.Add(left))) {
			r.t.Fatalf("Available does not become true after %v", left)
		}
	}
}

// requireCircuit plays a script on a circuit and its slow twin.
func requireCircuit(t failer, cfg health.CircuitConfig, script []uint16) *circuitRun {
	t.Helper()
	r := newCircuitRun(t, cfg)
	r.play(script)
	return r
}

// play takes each step as an operation in the low bits and a number in the others.
func (r *circuitRun) play(script []uint16) {
	r.t.Helper()
	for _, word := range script {
		number := int(word >> 4)
		switch word & 15 {
		case 0, 1, 2, 3:
			r.acquire()
		case 4, 5, 6:
			r.end(number, poise.Failure)
		case 7, 8:
			r.end(number, poise.Success)
		case 9:
			r.end(number, poise.Outcome(number%6))
		case 10, 11:
			r.now = r.now.Add(time.Duration(number) * r.slow.cfg.OpenFor / 512)
		case 12:
			r.now = r.now.Add(time.Duration(number) * r.slow.cfg.MaxHold / 2048)
		case 13:
			r.now = r.now.Add(-time.Duration(number) * r.slow.cfg.OpenFor / 1024)
		case 14:
			if number%4 == 0 {
				r.real.ForceOpen(r.now)
				r.slow.begin(health.Open, health.CauseForced, r.now)
			}
		default:
			if number%4 == 0 {
				r.real.ForceClose(r.now)
				r.slow.begin(health.Closed, health.CauseForced, r.now)
			}
		}
		r.compare()
	}
}
