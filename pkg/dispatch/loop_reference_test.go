package dispatch_test

import (
	"errors"
	"slices"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// slowLoop is a loop without passive health that knows its members as a plain list,
// counts every call in it, and says of each answer of a real one whether it is right.
// It chooses nobody itself: any member that it would admit is right.
type slowLoop struct {
	members  []*slowMember
	last     uint64 // incarnation
	ended    []any  // values that are to be released
	closed   bool
	holding  []*slowCall
	attempts []*slowAttempts
}

type slowMember struct {
	spec     dispatch.Spec
	operator poise.Status
	offline  bool
	sick     poise.Reason
	calls    uint64
	removed  bool
}

type slowCall struct {
	call dispatch.Call
	of   *slowMember
	by   *slowAttempts
}

type slowAttempts struct {
	real  dispatch.Attempts
	tried []*slowMember
	spent []*slowMember // not to be tried again
	open  []*slowMember
}

func (m *slowMember) draining() bool {
	return m.removed || m.spec.Status == poise.Draining || m.operator == poise.Draining
}

func (m *slowMember) reason() poise.Reason {
	switch {
	case m.draining():
		return poise.ExcludedDraining
	case m.spec.Status == poise.Unavailable || m.operator == poise.Unavailable:
		return poise.ExcludedUnavailable
	case m.spec.Excluded != poise.NotExcluded:
		return m.spec.Excluded
	case m.offline:
		return poise.ExcludedNotReady
	}
	return m.sick
}

func (m *slowMember) room() bool { return m.spec.Limit == 0 || m.calls < m.spec.Limit }

// may says who may get an attempt: those untried with room, and else those that may
// be tried again.
func (l *slowLoop) may(a *slowAttempts) (who []*slowMember) {
	for _, m := range l.members {
		if m.reason() == poise.NotExcluded && m.room() && (a == nil || !slices.Contains(a.tried, m)) {
			who = append(who, m)
		}
	}
	if who != nil || a == nil {
		return who
	}
	for _, m := range a.tried { // least recently tried first
		if m.reason() == poise.NotExcluded && m.room() && !slices.Contains(a.spent, m) && !slices.Contains(a.open, m) {
			return []*slowMember{m}
		}
	}
	return nil
}

// refusal is the error of a call that nobody may get.
func (l *slowLoop) refusal(a *slowAttempts) []error {
	switch {
	case l.closed:
		return []error{dispatch.ErrClosed}
	case len(l.members) == 0:
		return []error{poise.ErrEmpty}
	}
	eligible, full := false, false
	for _, m := range l.members {
		if m.reason() == poise.NotExcluded && (a == nil || !slices.Contains(a.tried, m)) {
			full = full || !m.room()
		}
		eligible = eligible || m.reason() == poise.NotExcluded
	}
	switch {
	case !eligible:
		return []error{poise.ErrNoEligible}
	case full:
		return []error{poise.ErrAtCapacity}
	}
	return []error{poise.ErrAllTried, poise.ErrAtCapacity, poise.ErrNoEligible}
}

// loopScript plays a script of bytes on a Loop and on its slow twin.
type loopScript struct {
	t    failer
	real *dispatch.Loop
	slow slowLoop
	now  time.Time
	// released is what the real loop has released.
	released []any
}

func playLoop(t failer, script []byte) {
	t.Helper()
	l, err := dispatch.NewLoop(dispatch.LoopConfig{Policy: new(policy.RoundRobin), Seed: 1, Passive: noPassive()})
	if err != nil {
		t.Fatalf("%v", err)
	}
	s := &loopScript{t: t, real: l, now: epoch}
	next := func() byte {
		if len(script) == 0 {
			return 0
		}
		b := script[0]
		script = script[1:]
		return b
	}
	for len(script) > 0 {
		s.now = s.now.Add(time.Duration(next()%4) * 5 * time.Millisecond)
		s.step(next)
		s.settle()
		s.check()
	}
	s.finish()
}

func (s *loopScript) step(next func() byte) {
	switch next() % 12 {
	case 0:
		s.update(next)
	case 1, 2, 3, 4:
		s.acquire(next)
	case 5, 6, 7:
		s.end(next)
	case 8:
		if m := s.pick(next); m != nil {
			m.operator = poise.Status(next() % 3)
			s.must(s.real.SetStatus(m.spec.ID, m.operator, s.now))
		}
	case 9:
		if m := s.pick(next); m != nil {
			m.offline = next()%2 == 0
			s.must(s.real.SetConnected(m.spec.Incarnation, !m.offline, s.now))
		}
	case 10:
		if m := s.pick(next); m != nil {
			m.sick = poise.NotExcluded
			if next()%2 == 0 {
				m.sick = poise.ExcludedUnhealthy
			}
			s.must(s.real.Report(m.spec.Incarnation, m.sick, s.now))
		}
	case 11:
		a := new(slowAttempts)
		a.real.Sequential = len(s.slow.attempts)%2 == 1 // every other one: nothing else may differ
		s.slow.attempts = append(s.slow.attempts, a)
	}
}

// settle publishes what waits.
func (s *loopScript) settle() {
	for range 10 {
		next, err := s.real.Advance(s.now)
		s.must(err)
		if next.IsZero() {
			return
		}
		s.now = next
	}
	s.t.Fatalf("Advance never comes to an end")
}

func (s *loopScript) must(err error) {
	s.t.Helper()
	if err != nil && !(s.slow.closed && errors.Is(err, dispatch.ErrClosed)) {
		s.t.Fatalf("%v", err)
	}
}

func (s *loopScript) pick(next func() byte) *slowMember {
	if len(s.slow.members) == 0 {
		return nil
	}
	return s.slow.members[int(next())%len(s.slow.members)]
}

// update takes some out, edits some and brings some in.
func (s *loopScript) update(next func() byte) {
	var list []dispatch.Spec
	var members []*slowMember
	for _, m := range s.slow.members {
		switch next() % 4 {
		case 0:
			m.removed = true
			continue
		case 1:
			m.spec.Limit = uint64(next() % 3)
		case 2:
			m.spec.Status = poise.Status(next() % 3)
			if next()%4 == 0 {
				m.spec.Excluded = poise.ExcludedByUser
			} else {
				m.spec.Excluded = poise.NotExcluded
			}
		}
		members, list = append(members, m), append(list, m.spec)
	}
	for range next() % 3 {
		s.slow.last++
		m := &slowMember{spec: dispatch.Spec{
			Sample: poise.Sample{ID: string(rune('a' + s.slow.last%26)), Incarnation: s.slow.last},
			Limit:  uint64(next() % 3), Value: s.slow.last,
		}}
		if slices.ContainsFunc(members, func(other *slowMember) bool { return other.spec.ID == m.spec.ID }) {
			continue
		}
		members, list = append(members, m), append(list, m.spec)
	}
	for _, m := range s.slow.members {
		if m.removed && m.calls == 0 {
			s.slow.ended = append(s.slow.ended, m.spec.Value)
		}
	}
	s.slow.members = members
	s.must(s.real.Update(list, s.now))
}

func (s *loopScript) acquire(next func() byte) {
	c := &slowCall{}
	q := dispatch.Query{Now: s.now}
	if len(s.slow.attempts) > 0 && next()%2 == 0 {
		c.by = s.slow.attempts[int(next())%len(s.slow.attempts)]
		q.Attempts = &c.by.real
	}
	may := s.slow.may(c.by)
	err := s.real.Acquire(&c.call, q)
	if err != nil {
		if len(may) > 0 {
			s.t.Fatalf("a call is refused with %v, and %d members have room", err, len(may))
		}
		if !slices.ContainsFunc(s.slow.refusal(c.by), func(want error) bool { return errors.Is(err, want) }) {
			s.t.Fatalf("a call is refused with %v, want one of %v", err, s.slow.refusal(c.by))
		}
		return
	}
	at := slices.IndexFunc(may, func(m *slowMember) bool { return m.spec.Incarnation == c.call.Incarnation() })
	if at < 0 {
		s.t.Fatalf("a call went to %s/%d, of those who may get it: %d", c.call.ID(), c.call.Incarnation(), len(may))
	}
	c.of = may[at]
	if c.call.Value() != c.of.spec.Value {
		s.t.Fatalf("a call to %s got the value %v", c.call.ID(), c.call.Value())
	}
	c.of.calls++
	if c.by != nil {
		c.by.tried = append(slices.DeleteFunc(c.by.tried, func(m *slowMember) bool { return m == c.of }), c.of)
		c.by.open = append(c.by.open, c.of)
	}
	s.slow.holding = append(s.slow.holding, c)
}

func (s *loopScript) end(next func() byte) {
	if len(s.slow.holding) == 0 {
		return
	}
	i := int(next()) % len(s.slow.holding)
	c := s.slow.holding[i]
	s.slow.holding = slices.Delete(s.slow.holding, i, i+1)
	r := poise.Result{Outcome: poise.Outcome(next() % 7)}
	answered := next()%3 == 0
	if answered && (!c.call.Answered(r, s.now) || c.call.Answered(r, s.now)) {
		s.t.Fatalf("the first Answered counts, and no other")
	}
	if !c.call.End(r, s.now) || c.call.End(r, s.now) || c.call.Answered(r, s.now) {
		s.t.Fatalf("the first End counts, and nothing after it")
	}
	c.of.calls--
	if c.of.removed && c.of.calls == 0 {
		s.slow.ended = append(s.slow.ended, c.of.spec.Value)
	}
	if c.by == nil {
		return
	}
	c.by.open = slices.DeleteFunc(c.by.open, func(m *slowMember) bool { return m == c.of })
	if answered || r.Outcome == poise.Overloaded || r.Outcome == poise.Unreachable {
		c.by.spent = append(c.by.spent, c.of)
	}
}

// check compares what can be seen.
func (s *loopScript) check() {
	in := s.real.Inspect(s.now)
	if len(in.Members) != len(s.slow.members) {
		s.t.Fatalf("there are %d members, want %d", len(in.Members), len(s.slow.members))
	}
	for i, m := range s.slow.members {
		is := in.Members[i]
		if is.ID != m.spec.ID || is.Incarnation != m.spec.Incarnation || is.InFlight != m.calls || is.Limit != m.spec.Limit {
			s.t.Fatalf("member %d is %s/%d with %d of %d calls, want %s/%d with %d of %d", i,
				is.ID, is.Incarnation, is.InFlight, is.Limit, m.spec.ID, m.spec.Incarnation, m.calls, m.spec.Limit)
		}
		if is.Reason != m.reason() {
			s.t.Fatalf("%s is left out as %v, want %v", is.ID, is.Reason, m.reason())
		}
		if (is.Admission != dispatch.Open) != m.draining() {
			s.t.Fatalf("%s is %v", is.ID, is.Admission)
		}
	}
	s.released = append(s.released, s.real.Released()...)
	if !slices.Equal(sorted(s.released), sorted(s.slow.ended)) {
		s.t.Fatalf("released are %v, want %v", s.released, s.slow.ended)
	}
}

// finish closes the loop, ends what it holds, and looks that nothing is left.
func (s *loopScript) finish() {
	s.real.Close(s.now)
	s.slow.closed = true
	for _, m := range s.slow.members {
		m.removed = true
		if m.calls == 0 {
			s.slow.ended = append(s.slow.ended, m.spec.Value)
		}
	}
	s.slow.members = nil
	s.acquire(func() byte { return 1 })
	s.check()
	for len(s.slow.holding) > 0 {
		s.end(func() byte { return 0 })
		s.check()
	}
}

func sorted(values []any) []uint64 {
	var list []uint64
	for _, v := range values {
		list = append(list, v.(uint64))
	}
	slices.Sort(list)
	return list
}
