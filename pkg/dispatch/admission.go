package dispatch

import (
	"errors"
	"fmt"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/observe"
)

// redraws is how often a pick of a member that is full, or takes only a share of its
// picks, is drawn again.
const redraws = 8

// admission finds a member for an attempt and takes a slot of it. It belongs to the
// request path, and takes no lock.
type admission struct {
	*core
	publication *publication[published]
	chance      *poise.Generator
	picks       int // how many picks an attempt may lose before it looks for room by itself
}

// attempt is one search for a member.
type attempt struct {
	*admission
	call  *Call
	query Query
	asked poise.Query
	// own: asked.Tried belongs to this search, and names who refused it too.
	own     bool
	refused error // the last refusal, a capacity error if any was
}

// acquire fills the call with an attempt, or returns why there is none.
func (a *admission) acquire(c *Call, q *Query) error {
	p := a.publication.load()
	if p == nil || p.closed {
		return ErrClosed
	}
	asked := poise.Query{Key: q.Key, Tried: q.Attempts.set(), Why: q.Why, Now: q.Now}
	i, err := ask(p, asked)
	if err == nil && p.ejected == 0 && a.enterAtOnce(p.members[i], c, q) {
		return nil
	}
	s := attempt{admission: a, call: c, query: *q, asked: asked}
	return s.search(p, i, err)
}

// enterAtOnce fills the call with an attempt at a member that is sound, and of which
// there is a slot: the way that nearly all calls go.
func (a *admission) enterAtOnce(m *member, c *Call, q *Query) bool {
	if m.passive != nil && !m.passive.Sound() || m.calls != nil {
		return false
	}
	if m.slots.take() != nil {
		return false
	}
	place, number, ok := q.Attempts.claim(m, observe.Picked)
	if !ok {
		m.giveBack()
		return false
	}
	if m.passive != nil {
		c.passive = m.passive.Begin(q.Now)
	}
	c.set(m, observe.Picked, place, number, q)
	return true
}

// search looks for a member: by the policy, which has picked one already, then for
// room, then among those tried, last among the ejected.
func (s *attempt) search(p *published, first int, err error) error {
	var failed error
	for k := range s.picks {
		i := first
		if k > 0 {
			i, err = ask(p, s.asked)
		}
		if err == nil {
			i, err = s.redraw(p, i)
		}
		if err != nil {
			failed = err
			break
		}
		m := p.members[i]
		if s.asked.Tried == nil && p.ejected > 0 && s.trial(p, p.priority(i)) {
			return nil
		}
		if m.accused() && s.divert(p, m) || s.enter(m, observe.Picked, nil) {
			return nil
		}
		s.skip(m)
		if p = s.publication.load(); p.closed {
			return ErrClosed
		}
	}
	switch {
	case failed == nil || errors.Is(failed, poise.ErrAllTried) && s.own:
		if s.room(p) {
			return nil
		}
	case errors.Is(failed, poise.ErrPanicRejected):
		return failed // whoever chose that rule wants it so
	case !errors.Is(failed, poise.ErrAllTried) && !errors.Is(failed, poise.ErrNoEligible) && !errors.Is(failed, poise.ErrAtCapacity):
		return failed // the policy's own, or nobody is there
	}
	if s.returned(p) || s.goBack(p) || s.lastResort(p) {
		return nil
	}
	return s.failure(failed)
}

// redraw hands the pick of a member that is full on, and of one that takes only a share
// of its picks with what is left of the probability, a few times.
func (s *attempt) redraw(p *published, first int) (int, error) {
	if s.passive == nil || p.members[first].passive.Sound() {
		return first, nil
	}
	i, least := first, first
	asked := s.asked
	asked.Tried = nil
	for range redraws {
		m := p.members[i]
		full := m.passive.Full()
		if !full && s.chance.Below(1<<53) < uint64(m.passive.Share(s.query.Now)*(1<<53)) {
			return i, nil
		}
		if !full && p.members[least].passive.Full() {
			least = i
		}
		if asked.Tried == nil {
			asked.Tried = s.query.Attempts.copied()
		}
		asked.Tried.Add(m.id, m.incarnation)
		next, err := ask(p, asked)
		if err != nil {
			break // nobody else is left
		}
		if i = next; p.members[i].passive.Sound() {
			return i, nil
		}
	}
	if s.query.Why != nil && least == first {
		return ask(p, s.asked)
	}
	return least, nil
}

// ask picks once.
func ask(p *published, q poise.Query) (int, error) {
	selection, err := p.picker.Pick(q)
	if err != nil {
		return -1, err
	}
	return p.view.Index(selection)
}

// peersAsked bounds how many members a call looks at for one that serves in place of
// a suspect.
const peersAsked = 256

// divert has a member that serves take a call that the policy gave to a suspect: if
// the call fails there too, the suspect is not to blame. Members that may be suspects
// themselves say nothing about it.
func (s *attempt) divert(p *published, suspect *member) bool {
	asked := s.asked
	asked.Tried = s.query.Attempts.copied()
	asked.Tried.Add(suspect.id, suspect.incarnation)
	for range s.picks {
		i, err := ask(p, asked)
		if err != nil {
			return false
		}
		m := p.members[i]
		if m.serves() && s.enter(m, observe.Diverted, suspect) {
			return true
		}
		asked.Tried.Add(m.id, m.incarnation)
	}
	n := p.view.EligibleLen()
	from := int(s.chance.Below(uint64(n)))
	for k := range min(n, peersAsked) {
		m := p.members[p.view.Eligible((from+k)%n)]
		if !asked.Tried.Has(m.id, m.incarnation) && m.serves() && s.enter(m, observe.Diverted, suspect) {
			s.explain(p, m, "in place of a suspect")
			return true
		}
	}
	return false
}

// enter takes a slot of the member and fills the call. An ejected member is entered
// as a last resort only.
func (s *attempt) enter(m *member, choice observe.Choice, suspect *member) bool {
	if choice != observe.LastResort && m.out() {
		s.note(poise.ErrNoEligible)
		return false
	}
	if err := m.slots.take(); err != nil {
		s.note(err)
		m.refused()
		return false
	}
	place, number, ok := s.query.Attempts.claim(m, choice)
	if !ok { // an attempt that overlaps this one has been there
		m.giveBack()
		return false
	}
	var begun health.PassiveCall
	switch {
	case m.passive == nil:
	case suspect != nil:
		begun = m.passive.BeginFor(suspect.passive, s.query.Now)
	default:
		begun = m.passive.Begin(s.query.Now)
	}
	s.fill(m, choice, place, number, begun)
	s.call.suspect = suspect
	return true
}

// fill makes the call an attempt at the member, whose slot is taken.
func (s *attempt) fill(m *member, choice observe.Choice, place, number int, begun health.PassiveCall) {
	now := s.query.Now
	if m.calls != nil {
		s.begin(m, now, begun)
	}
	c := s.call
	c.passive = begun
	c.set(m, choice, place, number, &s.query)
}

// begin tells the tracker, and gives everything back if it panics.
func (s *attempt) begin(m *member, now time.Time, begun health.PassiveCall) {
	sound := false
	defer func() {
		if !sound {
			if m.passive != nil {
				m.passive.End(&begun, poise.Result{Outcome: poise.Invalid}, now)
			}
			m.giveBack()
		}
	}()
	m.calls.Began(now)
	sound = true
}

// note keeps the refusal that says most.
func (s *attempt) note(err error) {
	if s.refused == nil || errors.Is(err, poise.ErrAtCapacity) {
		s.refused = err
	}
}

// skip has the policy skip a member that refused.
func (s *attempt) skip(m *member) {
	if !s.own {
		s.asked.Tried, s.own = s.query.Attempts.copied(), true
	}
	s.asked.Tried.Add(m.id, m.incarnation)
}

// trial gives the attempt to an ejected member that is due for one, of a priority
// that is in use.
func (s *attempt) trial(p *published, priority uint32) bool {
	e, begun, ok := s.passive.Trial(s.query.Repeatable, func(value any) bool {
		i := p.index(value.(*member))
		return i >= 0 && p.view.Reason(i) == poise.ExcludedEjected && p.priority(i) <= priority
	}, s.query.Now)
	if !ok {
		return false
	}
	m := e.Value().(*member)
	if err := m.slots.take(); err != nil {
		e.End(&begun, poise.Result{Outcome: poise.Invalid, Err: err}, s.query.Now)
		m.refused()
		return false
	}
	place, number, ok := s.query.Attempts.claim(m, observe.Trial)
	if !ok {
		e.End(&begun, poise.Result{Outcome: poise.Cancelled}, s.query.Now)
		m.giveBack()
		return false
	}
	s.fill(m, observe.Trial, place, number, begun)
	s.explain(p, m, "trial of an ejected member")
	return true
}

// room looks at every eligible member once, from a random place on, for one that
// has room and was not tried.
func (s *attempt) room(p *published) bool {
	n := p.view.EligibleLen()
	if n == 0 {
		return false
	}
	tried := s.query.Attempts.set()
	from := int(s.chance.Below(uint64(n)))
	for k := range n {
		m := p.members[p.view.Eligible((from+k)%n)]
		if m.slots.room() && !m.out() && !tried.Has(m.id, m.incarnation) && s.enter(m, observe.Room, nil) {
			s.explain(p, m, "room where the policy found none")
			return true
		}
	}
	return false
}

// returned goes to a member that has come back since the publication left it out.
func (s *attempt) returned(p *published) bool {
	if p.ejected == 0 {
		return false
	}
	tried := s.query.Attempts.set()
	n := len(p.members)
	from := int(s.chance.Below(uint64(n)))
	for k := range n {
		i := (from + k) % n
		m := p.members[i]
		if p.view.Reason(i) == poise.ExcludedEjected && !m.out() && m.slots.room() &&
			!tried.Has(m.id, m.incarnation) && s.enter(m, observe.Room, nil) {
			s.explain(p, m, "come back since the publication")
			return true
		}
	}
	return false
}

// goBack goes to the least recently tried of those who may be tried again.
func (s *attempt) goBack(p *published) bool {
	for range s.picks {
		m, place, number := s.query.Attempts.again(func(m *member) bool {
			return p.reason(m) == poise.NotExcluded && !m.out() && m.slots.room()
		})
		if m == nil {
			return false
		}
		if err := m.slots.take(); err != nil {
			s.note(err)
			s.query.Attempts.undo(place)
			m.refused()
			continue
		}
		var begun health.PassiveCall
		if m.passive != nil {
			begun = m.passive.Begin(s.query.Now)
		}
		s.fill(m, observe.Again, place, number, begun)
		s.explain(p, m, "least recently tried")
		return true
	}
	return false
}

// lastResort goes to the least recently tried of the ejected: passive health orders
// members and refuses no call. Where others have no room, it goes to nobody who
// cannot be reached.
func (s *attempt) lastResort(p *published) bool {
	if s.passive == nil {
		return false
	}
	full := errors.Is(s.refused, poise.ErrAtCapacity)
	tried := s.query.Attempts.set()
	for range s.picks {
		// It runs under a lock of passive health, and asks it nothing.
		e, ok := s.passive.LeastRecentlyTried(func(value any) bool {
			m := value.(*member)
			switch p.reason(m) {
			case poise.ExcludedEjected:
				if full && m.unreachable.Load() {
					return false
				}
			case poise.NotExcluded: // ejected since the publication
				if full || !m.out() {
					return false
				}
			default:
				return false
			}
			return !tried.Has(m.id, m.incarnation) && m.slots.room()
		}, s.query.Now)
		if !ok {
			return false
		}
		m := e.Value().(*member)
		if s.enter(m, observe.LastResort, nil) {
			s.explain(p, m, "nobody else was left: least recently tried of the ejected")
			return true
		}
	}
	return false
}

// explain says how the attempt came to a member that the policy did not pick.
func (s *attempt) explain(p *published, m *member, rule poise.Rule) {
	if s.query.Why == nil {
		return
	}
	*s.query.Why = poise.Decision{
		View: p.view, Policy: "dispatch", Rule: rule, Chosen: p.index(m), Considered: p.view.Len(),
	}
}

// failure is the error of an attempt for which nobody was found.
func (s *attempt) failure(failed error) error {
	switch {
	case errors.Is(s.refused, poise.ErrAtCapacity):
		return s.refused
	case s.refused != nil && s.refused != poise.ErrNoEligible:
		return fmt.Errorf("%w: %w", poise.ErrNoEligible, s.refused)
	case s.own || failed == nil:
		return poise.ErrNoEligible
	}
	return failed
}
