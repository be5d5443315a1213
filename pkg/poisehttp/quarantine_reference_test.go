package poisehttp_test

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// failer is what a law needs of a test, so that rapid and gopter can run it.
type failer interface {
	Fatalf(format string, args ...any)
	Helper()
}

// slowQuarantine knows a quarantine by its history alone, and works everything
// out anew at each question.
type slowQuarantine struct {
	cfg     poisehttp.QuarantineConfig
	history []poise.Outcome // results that counted, with setAside in between
	aside   bool
	since   time.Time
	// The time aside is not known, only between what bounds it lies; each answer of
	// Return narrows them.
	least, most time.Duration
}

// setAside marks in a history that the endpoint was set aside.
const setAside poise.Outcome = 99

func (s *slowQuarantine) rounds() (rounds int) {
	for _, entry := range s.history {
		switch entry {
		case poise.Success:
			rounds = 0
		case setAside:
			rounds++
		}
	}
	return rounds
}

func (s *slowQuarantine) row() (row int) {
	for _, entry := range s.history {
		row++
		if entry == poise.Success || entry == setAside {
			row = 0
		}
	}
	return row
}

// report tells a result of the present epoch. It reports whether the endpoint is
// to be set aside.
func (s *slowQuarantine) report(outcome poise.Outcome, now time.Time) bool {
	if outcome == poise.Cancelled {
		return false
	}
	s.history = append(s.history, outcome)
	rounds := s.rounds()
	if s.row() < s.cfg.Failures && (rounds == 0 || s.row() == 0) {
		return false
	}
	backoff := s.cfg.Backoff
	for range rounds {
		backoff = min(2*backoff, s.cfg.MaxBackoff)
	}
	s.history = append(s.history, setAside)
	s.aside, s.since, s.least, s.most = true, now, backoff-backoff/2, backoff
	return true
}

// requireReturn holds an answer of Return against the bounds.
func (s *slowQuarantine) requireReturn(t failer, now time.Time, left time.Duration, aside bool) {
	t.Helper()
	if !s.aside {
		if left != 0 || aside {
			t.Fatalf("it is not aside, and Return answers %v", left)
		}
		return
	}
	if now.Before(s.since) {
		s.since = now
	}
	elapsed := now.Sub(s.since)
	switch {
	case aside && (left < 1 || elapsed+left < s.least || elapsed+left > s.most):
		t.Fatalf("after %v aside %v are left, want the whole from %v to %v", elapsed, left, s.least, s.most)
	case aside:
		s.least, s.most = elapsed+left, elapsed+left
	case left != 0 || elapsed < s.least:
		t.Fatalf("it came back after %v with %v left, want no sooner than after %v", elapsed, left, s.least)
	default:
		s.aside = false
	}
}

// requireQuarantine plays a script on a Quarantine and its slow twin. Each step is
// an operation in the low bits and a number in the others.
func requireQuarantine(t failer, cfg poisehttp.QuarantineConfig, seed uint64, script []uint16) {
	t.Helper()
	q, err := poisehttp.NewQuarantine(cfg)
	if err != nil {
		t.Fatalf("%v", err)
	}
	type permit struct {
		poisehttp.Permit
		epoch int
	}
	slow := &slowQuarantine{cfg: cfg}
	chance := poise.NewGenerator(seed)
	now := start
	epoch := 0
	permits := []permit{{}} // the zero Permit is that of the first epoch
	for step, word := range script {
		number := int(word >> 3)
		switch word & 7 {
		case 0, 1:
			p, err := q.Admit()
			if slow.aside != (err != nil) {
				t.Fatalf("step %d: aside is %t and Admit answers %v", step, slow.aside, err)
			}
			if err == nil {
				permits = append(permits, permit{p, epoch})
			}
		case 2, 3, 4:
			p := permits[len(permits)-1-number%min(len(permits), 3)]
			outcome := []poise.Outcome{poise.Failure, poise.Success, poise.Overloaded, poise.Cancelled, poise.Failure}[number/4%5]
			want := p.epoch == epoch && slow.report(outcome, now)
			if want {
				epoch++
			}
			if got := q.Report(p.Permit, outcome, now, chance); got != want {
				t.Fatalf("step %d: Report of %s is %t, want %t", step, outcome, got, want)
			}
		case 5:
			now = now.Add(time.Duration(number) * cfg.Backoff / 64)
		case 6:
			now = now.Add(-time.Duration(number*number) * cfg.Backoff / 64)
		default:
			left := q.Return(now)
			slow.requireReturn(t, now, left, q.Aside())
		}
		if q.Aside() != slow.aside {
			t.Fatalf("step %d: Aside is %t, want %t", step, q.Aside(), slow.aside)
		}
	}
}
