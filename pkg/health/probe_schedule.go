package health

import (
	"cmp"
	"math/bits"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// ProbeScheduleConfig are the settings of a ProbeSchedule. The zero value of each
// field is its default.
type ProbeScheduleConfig struct {
	_ struct{}
	// Health are the settings of each member's ActiveHealth.
	Health ActiveHealthConfig
	// MaxRunning is how many probes may be running at once; 1 or more, default 512.
	MaxRunning int
	// Seed seeds where in the interval each member has its place; 0 draws from the
	// runtime.
	Seed uint64
}

// ProbeSchedule says which of many members is to be probed when. It keeps the
// ActiveHealth of each, and spreads the probes over the interval: each member has a
// place of its own in it, and these places are far from each other however many
// members there are. A member whose condition nobody knows yet is probed at once
// and then each UnknownInterval, so that it is soon known.
//
// Half of MaxRunning is kept free of members whose last probe timed out, which hold
// their place for longest. So those that hang do not keep the others from being
// probed.
//
// A ProbeSchedule is made by NewProbeSchedule. It has no clock and no goroutine; a
// [Prober] has both.
//
// # Contract
//
//   - Next returns a member that is due, and of those the one that has been due for longest.
//   - A member that was added is due at once.
//   - A member whose condition is known is due once in each interval of the condition, at its place in it, but not before half an interval has passed since its last probe.
//   - A member whose condition is unknown is due each UnknownInterval, and once twice as many probes as the larger threshold have decided nothing, only each Interval.
//   - At no instant are more than MaxRunning probes outstanding, nor two of one member.
//   - Members whose last probe timed out have at most half of MaxRunning outstanding, and at least one.
//   - An outstanding probe that is not ended within Hold is lost, and gives its place to another.
//   - The wait that Next returns is the time after which it would return a member if nothing else happened.
//   - End of a probe that was ended before, or is lost, or whose member was removed or forced meanwhile, does not count.
//   - A clock that steps back delays no probe by more than half an interval, or one UnknownInterval.
//
// # Cost
//
// Next and End are O(log n) in the number of members, and allocate nothing. A member
// takes about 300 bytes.
//
// # Concurrency
//
// A ProbeSchedule belongs to one goroutine at a time.
type ProbeSchedule struct {
	cfg    ProbeScheduleConfig
	health ActiveHealthConfig // of each member: the shortest waits
	chance *poise.Generator

	members map[uint64]*scheduledMember
	places  uint64 // of the next member in the interval, in 2^64 parts
	// prompt and slow are the members that wait, by when they are due; slow are those
	// whose last probe timed out. running are those whose probe is outstanding, by
	// when it is lost.
	prompt, slow, running memberHeap
	slowRunning           int

	begun bool
	zero  time.Time     // where the schedule's own time begins
	last  time.Duration // which never goes back
}

// scheduledMember is one member of a ProbeSchedule.
type scheduledMember struct {
	id     uint64
	place  uint64 // in the interval, in 2^64 parts
	health ActiveHealth

	key   time.Duration // what its heap is ordered by
	index int           // in its heap
	in    *memberHeap   // nil once it is removed

	reservation Reservation
	timedOut    bool // its last probe did
	undecided   int  // probes since the condition is unknown
}

// ScheduledProbe is the right to probe one member, issued by ProbeSchedule.Next and
// given back to ProbeSchedule.End. Copies are the same right.
//
// The zero value was never issued, so that it has no effect.
type ScheduledProbe struct {
	// Member is who is to be probed.
	Member uint64

	of          *scheduledMember
	reservation Reservation
}

// NewProbeSchedule returns a ProbeSchedule without members, or a
// [poise.FieldError] of ErrOutOfRange.
func NewProbeSchedule(cfg ProbeScheduleConfig) (*ProbeSchedule, error) {
	health, err := cfg.Health.withDefaults()
	if err != nil {
		return nil, inField("Health", err)
	}
	if cfg.MaxRunning = cmp.Or(cfg.MaxRunning, 512); cfg.MaxRunning < 1 {
		return nil, outOfRange("MaxRunning", cfg.MaxRunning)
	}
	cfg.Health = health
	s := &ProbeSchedule{cfg: cfg, health: health, members: make(map[uint64]*scheduledMember)}
	// A member waits for its place in the interval. Half an interval is the least that
	// may lie between two probes, however late the first was.
	s.health.Interval = max(1, health.Interval/2)
	s.health.UnhealthyInterval = max(1, health.UnhealthyInterval/2)
	if cfg.Seed != 0 {
		s.chance = poise.NewGenerator(cfg.Seed)
	}
	s.places = s.chance.Uint64()
	return s, nil
}

// Add adds a member, whose number is the caller's: an incarnation. A number that is
// there already is refused with a [poise.FieldError] of ErrDuplicate.
func (s *ProbeSchedule) Add(member uint64, now time.Time) error {
	if s.members[member] != nil {
		return refuse("member", member, ErrDuplicate)
	}
	// The fractional parts of multiples of the golden ratio lie as far from each other
	// as can be for every number of them.
	const golden = 0x9E3779B97F4A7C15
	s.places += golden
	m := &scheduledMember{id: member, place: s.places, health: ActiveHealth{cfg: s.health}}
	s.members[member] = m
	s.prompt.push(m, s.at(now))
	return nil
}

// Remove removes a member, and reports whether it was there. A probe of it that is
// outstanding counts no more.
func (s *ProbeSchedule) Remove(member uint64) bool {
	m := s.members[member]
	if m == nil {
		return false
	}
	s.release(m)
	delete(s.members, member)
	return true
}

// Next returns a member to probe at the instant now. If there is none it returns
// false and how long to wait, which is negative if only an End or an Add can help.
func (s *ProbeSchedule) Next(now time.Time) (probe ScheduledProbe, wait time.Duration, ok bool) {
	at := s.at(now)
	s.lose(at, now)
	for len(s.running.members) < s.cfg.MaxRunning {
		m := s.first()
		if m == nil || m.key > at {
			break
		}
		s.release(m)
		r, wait, err := m.health.Reserve(now, s.chance)
		if err != nil { // its clock stepped back
			s.waiting(m).push(m, at+wait)
			continue
		}
		m.reservation = r
		if m.timedOut {
			s.slowRunning++
		}
		s.running.push(m, at+s.cfg.Health.Hold)
		return ScheduledProbe{Member: m.id, of: m, reservation: r}, 0, true
	}
	return ScheduledProbe{}, s.wait(at), false
}

// first returns the member that is due first and has room; nil if there is none.
func (s *ProbeSchedule) first() *scheduledMember {
	prompt, slow := s.prompt.first(), s.slow.first()
	if s.slowRunning >= max(1, s.cfg.MaxRunning/2) {
		slow = nil
	}
	if prompt == nil || slow != nil && slow.key < prompt.key {
		return slow
	}
	return prompt
}

// wait returns how long Next would wait at that time of the schedule.
func (s *ProbeSchedule) wait(at time.Duration) time.Duration {
	wait := time.Duration(-1)
	sooner := func(m *scheduledMember) {
		if m != nil && (wait < 0 || m.key-at < wait) {
			wait = max(0, m.key-at)
		}
	}
	if len(s.running.members) < s.cfg.MaxRunning {
		sooner(s.first())
	}
	sooner(s.running.first())
	return wait
}

// lose ends the probes that were outstanding for too long.
func (s *ProbeSchedule) lose(at time.Duration, now time.Time) {
	for m := s.running.first(); m != nil && m.key <= at; m = s.running.first() {
		s.release(m)
		m.health.Cancel(m.reservation, now) // which it notices by itself unless its clock stepped back
		m.timedOut = true
		s.again(m, at, now)
	}
}

// End says what a probe found at the instant now, and whether it timed out. It
// returns the state of its member after it, and whether the result counted. A
// result other than ProbePassed and ProbeFailed says that it found nothing.
func (s *ProbeSchedule) End(p ScheduledProbe, result ProbeResult, timedOut bool, now time.Time) (ActiveState, bool) {
	m := p.of
	if m == nil {
		return ActiveState{}, false
	}
	at := s.at(now)
	if m.in != &s.running || m.reservation != p.reservation {
		return s.state(m, now), false
	}
	s.release(m)
	counts := false
	switch result {
	case ProbePassed, ProbeFailed:
		_, counts = m.health.Complete(p.reservation, result == ProbePassed, now)
	default:
		counts = m.health.Cancel(p.reservation, now)
	}
	m.timedOut = timedOut
	s.again(m, at, now)
	return s.state(m, now), counts
}

// again has a member wait for its next probe.
func (s *ProbeSchedule) again(m *scheduledMember, at time.Duration, now time.Time) {
	state := m.health.State(now)
	if state.Condition != Unknown {
		m.undecided = 0
	} else {
		m.undecided++
	}
	s.waiting(m).push(m, s.due(m, state, at))
}

// due returns when a member that is not being probed is due.
func (s *ProbeSchedule) due(m *scheduledMember, state ActiveState, at time.Duration) time.Duration {
	interval := s.cfg.Health.Interval
	soonest := at + state.Due
	switch {
	case state.Condition == Unhealthy:
		interval = s.cfg.Health.UnhealthyInterval
	case state.Condition == Healthy:
	case m.undecided < 2*max(s.cfg.Health.HealthyThreshold, s.cfg.Health.UnhealthyThreshold):
		return soonest
	default:
		interval = max(interval, s.cfg.Health.UnknownInterval)
		soonest = max(soonest, at+interval/2)
	}
	high, _ := bits.Mul64(m.place, uint64(interval))
	over := (soonest - time.Duration(high)) % interval // since the last instant at its place
	if over <= 0 {
		over += interval
	}
	return soonest - over + interval
}

// Force sets the condition of a member at the instant now, as ActiveHealth.Force
// does. A member that is not there is refused with a [poise.FieldError] of
// ErrUnknownMember.
func (s *ProbeSchedule) Force(member uint64, condition Condition, now time.Time) error {
	m := s.members[member]
	if m == nil {
		return refuse("member", member, ErrUnknownMember)
	}
	if err := m.health.Force(condition, now); err != nil {
		return err
	}
	m.undecided = 0
	if m.in != &s.running {
		at := s.at(now)
		s.release(m)
		s.waiting(m).push(m, s.due(m, m.health.State(now), at))
	}
	return nil
}

// State returns the state of a member at the instant now, and whether it is there.
func (s *ProbeSchedule) State(member uint64, now time.Time) (ActiveState, bool) {
	m := s.members[member]
	if m == nil {
		return ActiveState{}, false
	}
	return s.state(m, now), true
}

// state is that of the ActiveHealth, with the schedule's own due time: of a probe
// that is running, when it is lost.
func (s *ProbeSchedule) state(m *scheduledMember, now time.Time) ActiveState {
	state := m.health.State(now)
	state.Running = m.in == &s.running
	if m.in != nil {
		state.Due = max(0, m.key-s.at(now))
	}
	return state
}

// Len returns the number of members.
func (s *ProbeSchedule) Len() int { return len(s.members) }

// Running returns the number of probes that are outstanding.
func (s *ProbeSchedule) Running() int { return len(s.running.members) }

// at returns the schedule's own time at the instant: it goes on with the clock, and
// stands where that steps back.
func (s *ProbeSchedule) at(now time.Time) time.Duration {
	if !s.begun {
		s.begun, s.zero = true, now
	}
	elapsed := now.Sub(s.zero)
	if elapsed < s.last {
		s.zero = s.zero.Add(elapsed - s.last)
		elapsed = s.last
	}
	s.last = elapsed
	return elapsed
}

// waiting returns the heap in which the member waits.
func (s *ProbeSchedule) waiting(m *scheduledMember) *memberHeap {
	if m.timedOut {
		return &s.slow
	}
	return &s.prompt
}

// release takes a member out of its heap.
func (s *ProbeSchedule) release(m *scheduledMember) {
	if m.in == &s.running && m.timedOut {
		s.slowRunning--
	}
	m.in.remove(m)
}
