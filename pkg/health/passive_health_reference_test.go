package health_test

import (
	"math"
	"slices"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// slowPassive is a PassiveHealth of a few endpoints, worked out anew from lists of
// everything that happened at each question. Silence is too long to be judged, and no
// call has a key. Chance is not known: what is drawn must lie within its bounds, and is
// taken over.
type slowPassive struct {
	cfg       health.PassiveHealthConfig // with every field set
	endpoints []*slowEndpoint
	successes []int // the endpoint of each, in order
	confirmed []int // the endpoint of each failure that a success followed
	fleet     slowBusy
	latency   int64
	remember  int64 // instant
	lost      int
	lostAfter int // successes before the lost ones
	servedAt  int64
	seen      int // successes at the last look
	over      int64
	until     int64 // nobody is convicted
	span      int64
	pressed   int64
	ejectedAt int64
	woken     map[health.EjectionCause]int64
	tokens    float64
	earned    int // successes up to which tokens were earned
	looked    int64
	tries     int // order of trying
	claims    int
}

type slowEndpoint struct {
	state            health.PassiveState
	cause            health.EjectionCause
	epoch            int
	settled          int64
	answered, spoke  int
	waiting          int // calls without an answer
	room             int // beside how many it refuses, 0 if that is not known
	roomAt           int64
	beside           []int // how many waited beside each call served since others were forgotten
	besideBefore     []int // the same before that
	besideAt         int64
	mean             int64
	run, busy, quiet int
	runAt            int64
	mark, late       slowMark
	isLate           bool
	sum              float64
	sumMark          slowMark
	first            bool       // a failure that is not in the sum yet
	memory           [2]float64 // served, failed
	known            slowMark   // what is in the memory
	counts           bool       // the memory does: it was not ejected when it was looked at
	record           slowBusy
	back             float64
	backAt           int64
	backMark         slowMark
	successes        int
	misses           int
	rounds           int
	backoff          time.Duration
	free             bool // its trials are
	due, preferred   int64
	early            bool // woken
	mute             bool // its last trial ended in silence
	queued           bool
	trial            int
	trialAge         int64
	tried            int // order of its last try, if ejected
	share            float64
}

// slowMark is how long the lists were.
type slowMark struct{ successes, confirmed int }

// slowBusy is refused, stuck, waited and sound of the last second, and busy and sound of
// the last ten.
type slowBusy struct {
	at     int64
	recent [4]float64
	long   [2]float64
	seen   int
}

type slowPassiveCall struct {
	real       health.PassiveCall
	endpoint   int
	began      int64
	heard      int
	others     int
	epoch      int
	trial      int
	repeatable bool
	phase      int // 0 ended, 1 begun, 2 answered
}

func newSlowPassive(cfg health.PassiveHealthConfig, n int) *slowPassive {
	s := &slowPassive{cfg: cfg, woken: map[health.EjectionCause]int64{}}
	for range n {
		s.endpoints = append(s.endpoints, &slowEndpoint{share: 1})
	}
	return s
}

func (s *slowPassive) now() slowMark { return slowMark{len(s.successes), len(s.confirmed)} }

func others(list []int, i int) (n float64) {
	for _, who := range list {
		if who != i {
			n++
		}
	}
	return n
}

// since is what the peers of i did since the mark.
func (s *slowPassive) since(m slowMark, i int) (served, failed float64) {
	return others(s.successes[m.successes:], i), others(s.confirmed[m.confirmed:], i)
}

// of counts i in a list.
func of(list []int, i int) (n int) { return len(list) - int(others(list, i)) }

// peersRemember is the memories of those peers that were not ejected when it was looked at.
func (s *slowPassive) peersRemember(i int) (served, failed float64) {
	for _, e := range s.endpoints {
		if e.counts {
			served += e.memory[0]
			failed += e.memory[1]
		}
	}
	own := s.endpoints[i].memory
	return max(0, served-own[0]), max(0, failed-own[1])
}

func rateOf(served, failed float64) float64 { return (failed + 1) / (served + failed + 2) }

func surelyOf(served, failed float64) float64 {
	rate := rateOf(served, failed)
	return rate + math.Sqrt(rate*(1-rate)/(served+failed+1))
}

func (s *slowPassive) rate(i int, m slowMark) float64 {
	rate := max(s.cfg.PeerRate, rateOf(s.since(m, i)))
	if served, failed := s.peersRemember(i); served > 0 {
		rate = max(rate, rateOf(served, failed))
	}
	return rate
}

// lookBack brings the memories up to date.
func (s *slowPassive) lookBack(at int64) {
	s.remember = at
	for i, e := range s.endpoints {
		now := slowMark{of(s.successes, i), of(s.confirmed, i)}
		served, failed := float64(now.successes-e.known.successes), float64(now.confirmed-e.known.confirmed)
		if served+failed > 0 {
			keep := 256 / (256 + served + failed)
			e.memory = [2]float64{(e.memory[0] + served) * keep, (e.memory[1] + failed) * keep}
		}
		e.known, e.counts = now, e.state != health.Ejected
	}
}

func (b *slowBusy) advance(at int64, served int) {
	if d := at - b.at; d > 0 {
		short, long := math.Exp(-float64(d)/1e9), math.Exp(-float64(d)/1e10)
		for i := range b.recent {
			b.recent[i] *= short
		}
		for i := range b.long {
			b.long[i] *= long
		}
		b.at = at
	}
	b.recent[3] += float64(served - b.seen)
	b.long[1] += float64(served - b.seen)
	b.seen = served
}

func (b slowBusy) pressure() float64 {
	return min(1, b.recent[0]/(b.recent[0]+b.recent[1]+b.recent[2]+b.recent[3]+10))
}

func (b slowBusy) odds(waited bool) float64 {
	bad := b.recent[0]
	if waited {
		bad += b.recent[2]
	}
	return bad / (b.recent[3] + 10)
}

// beside is the record of the peers of i.
func (s *slowPassive) beside(i int) (b slowBusy) {
	own := s.endpoints[i].record
	for k := range b.recent {
		b.recent[k] = max(0, s.fleet.recent[k]-own.recent[k])
	}
	for k := range b.long {
		b.long[k] = max(0, s.fleet.long[k]-own.long[k])
	}
	return b
}

func (b slowBusy) lately() float64 { return b.long[0] / (b.long[0] + b.long[1] + 10) }

func (s *slowPassive) weigh(i int, at int64) {
	e := s.endpoints[i]
	e.share = 1
	if e.record.odds(true) > 0.1 {
		peers := s.beside(i)
		waited := peers.lately() <= 0.05
		e.share = min(1, (1.5*(peers.odds(waited)+peers.recent[1]/(peers.recent[3]+10))+0.1)/max(0.1, e.record.odds(waited)))
	}
	if e.state == health.Returning {
		e.share *= min(1, e.back+0.3*float64(at-e.backAt)/1e9)
	}
	e.share = max(e.share, s.cfg.MinShare)
}

func (e *slowEndpoint) forgetRoom() { e.room, e.beside, e.besideBefore = 0, nil, nil }

func (e *slowEndpoint) full() bool { return e.room > 0 && e.waiting >= e.room }

// waits reports whether its callers wait in vain.
func (e *slowEndpoint) waits() bool {
	silent := e.record.recent[1] + e.record.recent[2]
	return silent > 0.3 && silent > 0.01*(silent+e.record.recent[0]+e.record.recent[3])
}

func (e *slowEndpoint) measure(took int64) {
	if took = max(took, 1); e.mean == 0 {
		e.mean = took
		return
	}
	e.mean = max(1, e.mean+(took-e.mean)/8)
}

// wake has those who are queued due within a time.
func (s *slowPassive) wake(real *realPassive, at, within int64, who func(*slowEndpoint) bool) {
	for i, e := range s.endpoints {
		if e.queued && who(e) {
			due, queued := real.due(i)
			if !queued {
				continue // it came back at once
			}
			if due > e.due || due < e.due && (due < at || due >= at+within) {
				real.t.Fatalf("endpoint %d, due at %d, was woken at %d for %d", i, e.due, at, due)
			}
			e.early = e.early || due < e.due
			e.due, e.preferred = due, due
		}
	}
}

func (s *slowPassive) serves(at int64) bool {
	return len(s.successes) != s.seen || at-s.servedAt <= int64(time.Second)
}

// put draws when the next trial is due.
func (s *slowPassive) put(real *realPassive, i int, at int64) {
	e := s.endpoints[i]
	e.backoff = s.cfg.Backoff
	if e.free = e.cause == health.EjectedUnreachable; e.free {
		e.backoff = s.cfg.UnreachableBackoff
	}
	for range e.rounds {
		if e.backoff > s.cfg.MaxBackoff/2 {
			e.backoff = s.cfg.MaxBackoff
			break
		}
		e.backoff *= 2
	}
	d := int64(e.backoff)
	if e.due, e.queued = real.due(i); !e.queued || e.due < at+d-d/4 || e.due > at+d-d/4+d/2 {
		real.t.Fatalf("endpoint %d, out at %d for %v, is due at %d", i, at, e.backoff, e.due)
	}
	e.preferred, e.early = e.due+int64(250*time.Millisecond), false
}

func (s *slowPassive) eject(real *realPassive, i int, cause health.EjectionCause, at int64) {
	e := s.endpoints[i]
	if e.state == health.Returning || at-e.settled < 4*int64(e.backoff) {
		if s.serves(at) {
			e.rounds++
		}
	} else {
		e.rounds = 0
	}
	e.endRun()
	e.sum, e.first, e.misses, e.mute = 0, false, 0, false
	e.forgetRoom()
	e.state, e.cause = health.Ejected, cause
	e.epoch++
	s.ejectedAt = at
	s.tries++
	e.tried = s.tries
	s.put(real, i, at)
}

func (e *slowEndpoint) endRun() { e.run, e.busy, e.quiet, e.isLate = 0, 0, 0, false }

func (s *slowPassive) comeBack(i int, at int64) {
	e := s.endpoints[i]
	if e.trial != 0 {
		e.trial = 0
		if !e.free {
			s.tokens = min(s.tokens+1, float64(s.cfg.Trials))
		}
	}
	e.queued = false
	e.state, e.cause = health.Returning, health.NotEjected
	e.successes, e.backMark = 1, s.now()
	e.back, e.backAt = min(1, s.cfg.MinShare*1.5), at
	s.weigh(i, at)
}

func (s *slowPassive) count(c *slowPassiveCall, at int64) {
	e := s.endpoints[c.endpoint]
	e.answered++
	if e.room > 0 {
		e.beside = append(e.beside, c.others)
		e.room = max(e.room, c.others+1)
	}
	if e.answered%8 == 1 {
		e.measure(at - c.began)
	}
	s.successes = append(s.successes, c.endpoint)
}

// end takes the result of a call, which it has not before.
func (s *slowPassive) end(real *realPassive, c *slowPassiveCall, r poise.Result, at int64) (changed bool) {
	i, o := c.endpoint, r.Outcome
	e := s.endpoints[i]
	e.waiting--
	plain := e.state == health.Serving && e.run == 0 && e.sum == 0 && !e.first && e.misses == 0
	if o == poise.Success && plain && c.epoch == e.epoch {
		s.count(c, at)
		return false
	}
	switch {
	case o == poise.Success:
		n := len(s.successes)
		silent := s.lost >= 4 && n == s.lostAfter && n == s.seen && at-s.servedAt >= int64(500*time.Millisecond)
		s.lost, s.servedAt = 0, max(s.servedAt, at)
		if silent {
			s.wake(real, at, int64(500*time.Millisecond), func(*slowEndpoint) bool { return true })
		}
		s.count(c, at)
	case o == poise.Failure || o == poise.Overloaded:
		e.spoke++
		s.lose()
	case o.IsFailure():
		s.lose()
	}
	switch {
	case c.epoch != e.epoch:
		if o == poise.Success && e.state == health.Ejected && e.cause == health.EjectedSilent && c.epoch+1 == e.epoch {
			s.comeBack(i, at)
			return true
		}
		return false
	case e.state == health.Ejected:
		return s.tried(real, c, o, at)
	case o == poise.Success:
		s.serve(i, at)
	case o == poise.Unreachable:
		e.record.advance(at, e.answered)
		if e.misses++; e.record.recent[3] >= 0.5 && e.misses < s.cfg.Misses {
			return false
		}
		s.eject(real, i, health.EjectedUnreachable, at)
		return true
	case o.IsFailure():
		return s.fail(real, c, o, at)
	}
	return false
}

func (s *slowPassive) lose() {
	if n := len(s.successes); n != s.lostAfter {
		s.lost, s.lostAfter = 0, n
	}
	s.lost++
}

func (s *slowPassive) tried(real *realPassive, c *slowPassiveCall, o poise.Outcome, at int64) (changed bool) {
	e := s.endpoints[c.endpoint]
	trial := c.trial != 0 && c.trial == e.trial
	if o == poise.Success {
		cause := e.cause
		s.comeBack(c.endpoint, at)
		if last := s.woken[cause]; last == 0 || at-last >= int64(200*time.Millisecond) {
			s.woken[cause] = at
			s.wake(real, at, int64(200*time.Millisecond), func(e *slowEndpoint) bool { return e.cause == cause })
		}
		return true
	}
	if trial {
		e.trial = 0
		if !e.free && (o == poise.Invalid || o == poise.Unreachable || o == poise.Overloaded && c.repeatable) {
			s.tokens = min(s.tokens+1, float64(s.cfg.Trials))
		}
	}
	switch {
	case o.IsFailure() && (trial || e.trial == 0 && at >= e.due):
		was := e.cause
		e.mute = o == poise.Silent
		if e.cause != health.EjectedPartial {
			e.cause = map[poise.Outcome]health.EjectionCause{
				poise.Unreachable: health.EjectedUnreachable, poise.Overloaded: health.EjectedOverloaded,
				poise.Silent: health.EjectedSilent, poise.Failure: health.EjectedFailures,
			}[o]
		}
		if (was == health.EjectedUnreachable) != (e.cause == health.EjectedUnreachable) {
			e.rounds = 0
		} else if s.serves(at) && !e.early {
			e.rounds++
		}
		s.put(real, c.endpoint, at)
	case trial:
		s.put(real, c.endpoint, at)
	}
	return false
}

func (s *slowPassive) serve(i int, at int64) {
	e := s.endpoints[i]
	for range e.run {
		s.confirmed = append(s.confirmed, i)
	}
	e.endRun()
	e.misses = 0
	s.add(i, false)
	if e.state == health.Returning {
		e.back, e.backAt = min(1, min(1, e.back+0.3*float64(at-e.backAt)/1e9)*1.5), at
		if e.successes++; e.successes >= s.cfg.ReturnSuccesses {
			e.state, e.settled = health.Serving, at
		}
		s.weigh(i, at)
	}
}

func (s *slowPassive) add(i int, failed bool) {
	e := s.endpoints[i]
	if e.sum == 0 && !e.first {
		if !failed {
			return
		}
		e.sumMark = s.now()
	}
	q := s.cfg.PeerRate
	served, broken := s.since(e.sumMark, i)
	if served < 1 {
		e.first = failed
		return
	}
	if known, lost := s.peersRemember(i); known > 0 {
		q = max(q, surelyOf(known, lost))
		served, broken = served+8*(1-q), broken+8*q
	}
	q = min(max(q, surelyOf(served, broken)), 0.999)
	p := (1 + q) / 2
	if e.first {
		e.sum, e.first = math.Log(p/q), false
	}
	if failed {
		e.sum += math.Log(p / q)
	} else {
		e.sum += math.Log((1 - p) / (1 - q))
	}
	e.sum = max(0, e.sum)
}

func (s *slowPassive) fail(real *realPassive, c *slowPassiveCall, o poise.Outcome, at int64) (changed bool) {
	i := c.endpoint
	e := s.endpoints[i]
	if e.run == 0 {
		e.runAt, e.mark = c.began, s.now()
	}
	e.run++
	mean := max(e.mean, s.latency)
	if !e.isLate && at-e.runAt >= min(8*mean, max(2*mean, int64(500*time.Millisecond))) {
		e.isLate, e.late = true, s.now()
	}
	counts := o == poise.Failure
	if o != poise.Failure {
		s.fleet.advance(at, len(s.successes))
		e.record.advance(at, e.answered)
		kind := 0
		switch {
		case o == poise.Overloaded:
			e.busy++
		case e.answered+e.spoke == c.heard:
			kind, counts = 1, true
			e.quiet++
		default:
			kind = 2
			e.busy++
			e.measure(at - c.began)
		}
		for _, b := range []*slowBusy{&s.fleet, &e.record} {
			b.recent[kind]++
			if kind != 1 {
				b.long[0]++
			}
		}
		if kind == 0 && c.others > 0 {
			e.room, e.roomAt = c.others, at
			for _, others := range slices.Concat(e.beside, e.besideBefore) {
				e.room = max(e.room, others+1)
			}
		}
		if e.waits() {
			e.forgetRoom()
		}
		s.weigh(i, at)
	}
	if counts {
		s.add(i, true)
	}
	s.press(real, o != poise.Failure, at)
	cause := s.verdict(i, at)
	if cause == health.NotEjected && at >= s.until && e.sum >= math.Log(s.cfg.Odds) && s.partial(i) {
		cause = health.EjectedPartial
	}
	if cause == health.NotEjected {
		return false
	}
	s.eject(real, i, cause, at)
	return true
}

func (s *slowPassive) ejected(which func(*slowEndpoint) bool) (n int) {
	for _, e := range s.endpoints {
		if e.state == health.Ejected && which(e) {
			n++
		}
	}
	return n
}

func (s *slowPassive) partial(i int) bool {
	mark := s.endpoints[i].sumMark
	served, _ := s.since(mark, i)
	if of(s.successes[mark.successes:], i) == 0 {
		return false
	}
	out := s.ejected(func(e *slowEndpoint) bool { return e.cause == health.EjectedPartial })
	return served >= 1 && out < max(1, len(s.endpoints)*s.cfg.MaxPartialPercent/100) && s.beside(i).lately() <= 0.05
}

func (s *slowPassive) press(real *realPassive, short bool, at int64) {
	out := s.ejected(func(*slowEndpoint) bool { return true })
	much := s.lost >= 10+2*len(s.endpoints) || s.fleet.pressure() > 0.25
	if out == 0 || !short && !much {
		return
	}
	s.earn()
	s.tokens = min(s.tokens+0.1, float64(s.cfg.Trials))
	if much && at-s.pressed >= int64(time.Second) {
		s.pressed = at
		s.wake(real, at, int64(500*time.Millisecond), func(*slowEndpoint) bool { return true })
	}
}

func (s *slowPassive) earn() {
	s.tokens = min(s.tokens+float64(len(s.successes)-s.earned)*s.cfg.TrialShare, float64(s.cfg.Trials))
	s.earned = len(s.successes)
}

func (s *slowPassive) verdict(i int, at int64) health.EjectionCause {
	cause := s.suspect(i, at)
	if cause != health.NotEjected && at-s.remember >= int64(time.Millisecond) {
		s.lookBack(at)
		cause = s.suspect(i, at)
	}
	return cause
}

func (s *slowPassive) suspect(i int, at int64) health.EjectionCause {
	e := s.endpoints[i]
	guilty := false
	mean := max(e.mean, s.latency)
	switch {
	case at < s.until:
	case e.state == health.Returning:
		served, _ := s.since(e.backMark, i)
		guilty = served >= 1 && -float64(e.run)*math.Log(s.rate(i, e.backMark)) >= math.Log(50)
	case !e.isLate || e.quiet > 0 || e.busy > 0 && at-e.runAt < max(int64(s.cfg.BusyTime), 4*mean):
	default:
		after, _ := s.since(e.late, i)
		served, _ := s.since(e.mark, i)
		if e.run > 1 && after < 1 || served < 1 {
			break
		}
		bad, failing, peers := 0.0, 0.0, float64(len(s.endpoints)-1)
		for k, other := range s.endpoints {
			switch {
			case k == i:
			case other.state == health.Ejected:
				bad++
				failing++
			case other.run > 0:
				failing++
				if other.run >= (e.run+1)/2 {
					bad++
				}
			}
		}
		good := max(1, min(peers-failing, served))
		limit := math.Log(s.cfg.Odds)
		if peers >= 3 && 3*bad >= 2*peers {
			limit -= math.Log(100)
		}
		guilty = -float64(e.run)*math.Log(s.rate(i, e.mark))+math.Log((bad+0.5)/(good+0.5)) >= limit
	}
	switch {
	case !guilty:
		return health.NotEjected
	case e.quiet == e.run:
		return health.EjectedSilent
	case 2*e.busy > e.run:
		return health.EjectedOverloaded
	}
	return health.EjectedFailures
}

// brokeOff takes the end of an answer that was sound at first.
func (s *slowPassive) brokeOff(real *realPassive, c *slowPassiveCall, at int64) (changed bool) {
	i := c.endpoint
	e := s.endpoints[i]
	if c.epoch != e.epoch || e.state == health.Ejected {
		return false
	}
	s.confirmed = append(s.confirmed, i)
	s.add(i, true)
	if at < s.until || e.sum < math.Log(s.cfg.Odds) || !s.partial(i) {
		return false
	}
	s.eject(real, i, health.EjectedPartial, at)
	return true
}

// advance is Advance that comes in time.
func (s *slowPassive) advance(real *realPassive, at int64) (changed bool) {
	elapsed := min(at-s.looked, int64(200*time.Millisecond))
	s.looked = at
	if n := len(s.successes); n != s.seen {
		s.seen, s.servedAt = n, at
	}
	s.fleet.advance(at, len(s.successes))
	s.lookBack(at)
	sum, known := 0.0, 0.0
	for _, e := range s.endpoints {
		if e.mean > 0 {
			sum += float64(e.mean)
			known++
		}
	}
	s.latency = int64(sum / max(known, 1))
	var carried slowBusy
	for i, e := range s.endpoints {
		if e.state == health.Ejected && e.trial != 0 {
			if e.trialAge += elapsed; e.trialAge >= max(int64(2*time.Second), int64(s.cfg.Silence)) {
				e.trial = 0
				was := e.cause
				e.mute = true
				if e.cause != health.EjectedPartial {
					e.cause = health.EjectedSilent
				}
				if was == health.EjectedUnreachable {
					e.rounds = 0
				} else if s.serves(at) && !e.early {
					e.rounds++
				}
				s.put(real, i, at)
			}
		}
		e.record.advance(at, e.answered)
		if at-e.roomAt > int64(time.Second) || e.state != health.Ejected && e.waits() {
			e.forgetRoom()
		} else if e.room > 0 && at-e.besideAt > int64(200*time.Millisecond) {
			e.beside, e.besideBefore, e.besideAt = nil, e.beside, at
		}
		if e.share != 1 || e.state == health.Returning {
			s.weigh(i, at)
		}
		if e.state != health.Ejected && e.run <= 4 {
			for k := range carried.recent {
				carried.recent[k] += e.record.recent[k]
			}
		}
	}
	return s.carry(carried, at, elapsed)
}

func (s *slowPassive) carry(by slowBusy, at, elapsed int64) (changed bool) {
	loss := (by.recent[0] + by.recent[1] + by.recent[2]) / (by.recent[0] + by.recent[1] + by.recent[2] + by.recent[3] + 10)
	lost := s.lost >= 10+2*len(s.endpoints) && at-s.servedAt >= int64(time.Second)
	spare := func(e *slowEndpoint) bool {
		return e.state == health.Ejected && e.cause != health.EjectedUnreachable && (lost || !e.mute)
	}
	out := s.ejected(spare)
	hopeless := s.ejected(func(e *slowEndpoint) bool { return !spare(e) })
	if out == 0 || at-s.ejectedAt < int64(2*time.Second) || !lost && loss <= float64(out)/float64(len(s.endpoints)-hopeless)+0.05 {
		s.over = 0
		return false
	}
	if s.over += elapsed; s.over < int64(time.Second) {
		return false
	}
	s.over = 0
	span := int64(5 * time.Second)
	if at-s.until < int64(10*time.Second) {
		span = min(2*s.span, int64(80*time.Second))
	}
	s.span, s.until = span, at+span
	for i, e := range s.endpoints {
		if spare(e) {
			s.comeBack(i, at)
			e.state, e.settled = health.Serving, at
			s.weigh(i, at)
			changed = true
		}
	}
	return changed
}

// claim is who a trial goes to, -1 for nobody.
func (s *slowPassive) claim(repeatable bool, at int64) int {
	running := s.ejected(func(e *slowEndpoint) bool { return e.trial != 0 })
	if running >= s.cfg.Trials {
		return -1
	}
	for _, free := range []bool{true, false} {
		var queue []int
		for i, e := range s.endpoints {
			if e.state == health.Ejected && e.queued && e.free == free && e.due <= at {
				queue = append(queue, i)
			}
		}
		slices.SortStableFunc(queue, func(a, b int) int { return int(min(1, max(-1, s.endpoints[a].due-s.endpoints[b].due))) })
		if !free && len(queue) > 0 {
			if s.earn(); s.tokens < 1 {
				return -1
			}
		}
		for _, i := range queue {
			e := s.endpoints[i]
			if !free && !repeatable && at < e.preferred {
				e.due = e.preferred
				continue
			}
			if !free {
				s.tokens--
			}
			s.claims++
			s.tries++
			e.trial, e.trialAge, e.queued, e.tried = s.claims, 0, false, s.tries
			return i
		}
	}
	return -1
}

// leastRecentlyTried is who a call of last resort goes to, -1 for nobody.
func (s *slowPassive) leastRecentlyTried() int {
	best := -1
	for i, e := range s.endpoints {
		if e.state != health.Ejected {
			continue
		}
		partial := e.cause == health.EjectedPartial
		switch {
		case best < 0:
		case partial != (s.endpoints[best].cause == health.EjectedPartial):
			if !partial {
				continue
			}
		case e.tried > s.endpoints[best].tried:
			continue
		}
		best = i
	}
	return best
}
