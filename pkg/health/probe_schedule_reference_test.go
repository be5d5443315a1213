package health_test

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// slowSchedule is a ProbeSchedule that looks at everybody at each question. It takes
// no jitter and no clock that steps back.
type slowSchedule struct {
	cfg     health.ProbeScheduleConfig // with all settings
	members map[uint64]*slowMember
	places  uint64
}

// slowMember is one member. Times are counted from dawn.
type slowMember struct {
	id        uint64
	place     uint64
	condition health.Condition
	row       int // results in a row, negative for failures
	due       time.Duration
	ended     time.Duration // of the last probe that was not voided; -1 for none
	undecided int
	timedOut  bool

	running, voided bool
	began           time.Duration
	number          int // of its probe
}

func newSlowSchedule(cfg health.ProbeScheduleConfig) *slowSchedule {
	return &slowSchedule{cfg: cfg, members: map[uint64]*slowMember{}, places: poise.NewGenerator(cfg.Seed).Uint64()}
}

func (s *slowSchedule) sorted() []*slowMember {
	var all []*slowMember
	for _, m := range s.members {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b *slowMember) int {
		slow := func(m *slowMember) int {
			if m.timedOut {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(slow(a), slow(b)), cmp.Compare(a.id, b.id))
	})
	return all
}

func (s *slowSchedule) add(id uint64, at time.Duration) bool {
	if s.members[id] != nil {
		return false
	}
	s.places += 11400714819323198485 // 2^64 divided by the golden ratio
	s.members[id] = &slowMember{id: id, place: s.places, due: at, ended: -1}
	return true
}

// counts returns the probes that are outstanding, and those of members that timed
// out before.
func (s *slowSchedule) counts() (running, slow int) {
	for _, m := range s.members {
		if m.running {
			running++
			if m.timedOut {
				slow++
			}
		}
	}
	return running, slow
}

func (s *slowSchedule) next(at time.Duration) (m *slowMember, wait time.Duration) {
	for _, m := range s.members {
		if m.running && at >= m.began+s.cfg.Health.Hold {
			m.timedOut, m.running = true, false
			if !m.voided {
				m.ended = m.began + s.cfg.Health.Hold
			}
			s.again(m, at)
		}
	}
	running, slow := s.counts()
	wait = -1
	for _, m := range s.sorted() {
		switch {
		case m.running, running >= s.cfg.MaxRunning, m.timedOut && slow >= max(1, s.cfg.MaxRunning/2):
		case m.due <= at:
			m.running, m.voided, m.began = true, false, at
			m.number++
			return m, 0
		case wait < 0 || m.due-at < wait:
			wait = m.due - at
		}
	}
	for _, m := range s.members {
		if left := m.began + s.cfg.Health.Hold - at; m.running && (wait < 0 || left < wait) {
			wait = left
		}
	}
	return nil, wait
}

// end returns whether the result counts.
func (s *slowSchedule) end(m *slowMember, number int, result health.ProbeResult, timedOut bool, at time.Duration) bool {
	if s.members[m.id] != m || !m.running || number != m.number {
		return false
	}
	m.running, m.timedOut = false, timedOut
	// It may be past its Hold, and nobody has looked.
	counts := !m.voided && at < m.began+s.cfg.Health.Hold
	switch {
	case counts:
		m.ended = at
	case !m.voided:
		m.ended = m.began + s.cfg.Health.Hold
	}
	if counts {
		switch result {
		case health.ProbePassed:
			m.row = max(m.row, 0) + 1
		case health.ProbeFailed:
			m.row = min(m.row, 0) - 1
		}
		if m.row >= s.cfg.Health.HealthyThreshold {
			m.condition = health.Healthy
		}
		if -m.row >= s.cfg.Health.UnhealthyThreshold {
			m.condition = health.Unhealthy
		}
	}
	s.again(m, at)
	return counts
}

func (s *slowSchedule) again(m *slowMember, at time.Duration) {
	m.undecided++
	if m.condition != health.Unknown {
		m.undecided = 0
	}
	m.due = s.dueOf(m, at)
}

func (s *slowSchedule) dueOf(m *slowMember, at time.Duration) time.Duration {
	h := &s.cfg.Health
	interval := map[health.Condition]time.Duration{
		health.Healthy: h.Interval, health.Unhealthy: h.UnhealthyInterval, health.Unknown: max(h.Interval, h.UnknownInterval),
	}[m.condition]
	gap := max(interval/2, 1)
	if m.condition == health.Unknown {
		gap = h.UnknownInterval
	}
	soonest := at
	if m.ended >= 0 {
		soonest = max(at, m.ended+gap)
	}
	if m.condition == health.Unknown {
		if m.undecided < 2*max(h.HealthyThreshold, h.UnhealthyThreshold) {
			return soonest
		}
		soonest = max(soonest, at+interval/2)
	}
	// The place in the interval is a share of it; then one interval after another.
	share := new(big.Int).Mul(new(big.Int).SetUint64(m.place), big.NewInt(int64(interval)))
	place := time.Duration(share.Rsh(share, 64).Int64())
	rounds := max(0, (soonest-place)/interval-1)
	due := place + rounds*interval
	for due < soonest {
		due += interval
	}
	return due
}

func (s *slowSchedule) force(m *slowMember, condition health.Condition, at time.Duration) {
	if m.running && !m.voided && at >= m.began+s.cfg.Health.Hold {
		m.ended = m.began + s.cfg.Health.Hold
	}
	m.condition, m.row, m.undecided, m.voided = condition, 0, 0, true
	if !m.running {
		m.due = s.dueOf(m, at)
	}
}
