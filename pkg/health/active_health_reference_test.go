package health_test

import (
	"errors"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// entry is one line of a slowActive's history: a result that counted, or a force.
type entry struct {
	forced    bool
	condition health.Condition // as forced, or Healthy or Unhealthy as found
}

// slowActive knows an ActiveHealth by its history alone, and works everything out
// anew at each question. The wait is not known, only between what bounds it lies;
// each answer narrows them until a probe ends or the condition changes.
type slowActive struct {
	cfg     health.ActiveHealthConfig
	history []entry
	running int       // the number of the outstanding reservation, 0 for none
	since   time.Time // when it was reserved
	ended   []time.Time
	// For the present end and condition.
	least, most time.Duration
}

// counts returns the condition and the results in a row.
func (s *slowActive) counts() (condition health.Condition, healthy, unhealthy int) {
	for _, e := range s.history {
		switch {
		case e.forced:
			condition, healthy, unhealthy = e.condition, 0, 0
		case e.condition == health.Healthy:
			healthy, unhealthy = healthy+1, 0
		default:
			healthy, unhealthy = 0, unhealthy+1
		}
		if healthy == s.cfg.HealthyThreshold {
			condition = health.Healthy
		}
		if unhealthy == s.cfg.UnhealthyThreshold {
			condition = health.Unhealthy
		}
	}
	return condition, healthy, unhealthy
}

// forget returns to the bounds that the config alone gives.
func (s *slowActive) forget() {
	condition, _, _ := s.counts()
	s.most = []time.Duration{s.cfg.UnknownInterval, s.cfg.Interval, s.cfg.UnhealthyInterval}[condition]
	s.least = s.most - s.most*time.Duration(s.cfg.Jitter)/100
}

// look brings the twin up to an instant at which something may change.
func (s *slowActive) look(now time.Time) {
	if s.running != 0 {
		if now.Before(s.since) {
			s.since = now
		}
		if now.Sub(s.since) >= s.cfg.Hold {
			s.ended = append(s.ended, s.since.Add(s.cfg.Hold))
			s.running = 0
			s.forget()
		}
	}
	if n := len(s.ended); n > 0 && now.Before(s.ended[n-1]) {
		s.ended[n-1] = now
	}
}

// end ends a reservation if it is the outstanding one.
func (s *slowActive) end(number int, now time.Time) bool {
	s.look(now)
	if number == 0 || number != s.running {
		return false
	}
	s.running = 0
	s.ended = append(s.ended, now)
	return true
}

// elapsed returns since when Due counts, and what it counts beside the interval.
func (s *slowActive) elapsed(now time.Time) (elapsed, hold time.Duration) {
	switch n := len(s.ended); {
	case s.running != 0:
		return max(0, now.Sub(s.since)), s.cfg.Hold
	case n > 0:
		return max(0, now.Sub(s.ended[n-1])), 0
	}
	return 1 << 61, 0
}

// requireDue holds an answer of Due against the bounds, and narrows them.
func (s *slowActive) requireDue(t failer, now time.Time, due time.Duration) {
	t.Helper()
	elapsed, hold := s.elapsed(now)
	whole := elapsed - hold + due
	switch {
	case due < 0 || due > 0 && (whole < s.least || whole > s.most):
		t.Fatalf("%v after the last end the next is due in %v, want the whole from %v to %v", elapsed-hold, due, s.least, s.most)
	case due > 0:
		s.least, s.most = whole, whole
	case elapsed-hold < s.least:
		t.Fatalf("%v after the last end the next is due, want no sooner than after %v", elapsed-hold, s.least)
	default:
		s.most = min(s.most, elapsed-hold)
	}
}

// requireState holds everything that an ActiveHealth shows against the twin.
func (s *slowActive) requireState(t failer, h *health.ActiveHealth, now time.Time) {
	t.Helper()
	condition, healthy, unhealthy := s.counts()
	elapsed, _ := s.elapsed(now)
	want := health.ActiveState{
		Condition: condition, ConsecutiveSuccesses: healthy, ConsecutiveFailures: unhealthy,
		Running: s.running != 0 && elapsed < s.cfg.Hold,
	}
	if condition == health.Unhealthy || condition == health.Unknown && s.cfg.Unknown == health.DenyUnknown {
		want.Excluded = poise.ExcludedUnhealthy
	}
	got := h.State(now)
	s.requireDue(t, now, got.Due)
	if h.Due(now) != got.Due || h.Excluded() != got.Excluded {
		t.Fatalf("Due and Excluded are %v and %v, and State says %+v", h.Due(now), h.Excluded(), got)
	}
	if got.Due = 0; got != want {
		t.Fatalf("it is %+v, want %+v", got, want)
	}
}

// requireActive plays a script on an ActiveHealth and its slow twin. Each step is
// an operation in the low bits and a number in the others. Every field of the
// config is set.
func requireActive(t failer, cfg health.ActiveHealthConfig, seed uint64, script []uint16) {
	t.Helper()
	h, err := health.NewActiveHealth(cfg)
	if err != nil {
		t.Fatalf("%v", err)
	}
	slow := &slowActive{cfg: cfg}
	slow.forget()
	chance, now := poise.NewGenerator(seed), dawn
	issued := []health.Reservation{{}} // the zero Reservation is number 0
	for _, word := range script {
		number := int(word >> 3)
		pick := len(issued) - 1 - number%min(len(issued), 3)
		switch word & 7 {
		case 0, 1:
			slow.look(now)
			r, wait, err := h.Reserve(now, chance)
			slow.requireDue(t, now, wait)
			if (err == nil) != (wait == 0) || errors.Is(err, health.ErrProbeRunning) != (slow.running != 0) {
				t.Fatalf("Reserve answers %v and %v with %d outstanding", wait, err, slow.running)
			}
			if err == nil {
				issued = append(issued, r)
				slow.running, slow.since = len(issued)-1, now
				slow.forget()
			}
		case 2, 3:
			want := slow.end(pick, now)
			if want {
				found := []health.Condition{health.Healthy, health.Unhealthy}[number/4%2]
				slow.history = append(slow.history, entry{condition: found})
				slow.forget()
			}
			if _, got := h.Complete(issued[pick], number/4%2 == 0, now); got != want {
				t.Fatalf("the result of %d of %d counts: %t, want %t", pick, len(issued), got, want)
			}
		case 4:
			want := slow.end(pick, now)
			if want {
				slow.forget()
			}
			if got := h.Cancel(issued[pick], now); got != want {
				t.Fatalf("cancelling %d of %d counts: %t, want %t", pick, len(issued), got, want)
			}
		case 5:
			if number%4 != 0 {
				break // forced less often
			}
			slow.look(now)
			slow.history = append(slow.history, entry{forced: true, condition: health.Condition(number / 4 % 3)})
			slow.running = 0
			slow.forget()
			if err := h.Force(health.Condition(number/4%3), now); err != nil {
				t.Fatalf("%v", err)
			}
		case 6:
			now = now.Add(time.Duration(number) * cfg.Interval / 64)
		default:
			now = now.Add(-time.Duration(number*number) * cfg.Interval / 64)
		}
		slow.requireState(t, h, now)
	}
}
