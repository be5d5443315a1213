package health_test

import (
	"container/heap"
	"math"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// simFleet is a small simulation of a fleet in virtual time: calls come, a policy
// and the ladder choose, servers answer. One goroutine, one seed, one run.
type simFleet struct {
	t        testing.TB
	setup    fleetSetup
	random   *poise.Generator
	now      time.Duration
	events   fleetEvents
	order    uint64
	health   *health.PassiveHealth
	servers  []*fleetServer
	cursor   int
	budget   float64
	budgetAt time.Duration
	result   fleetResult
	paused   time.Duration // until when this process stands still
}

// policyKind is the policy of a fleet.
type policyKind uint8

const (
	roundRobin policyKind = iota
	twoChoices
	keyed
	policyKinds
)

func (p policyKind) String() string { return [...]string{"round robin", "two choices", "keyed"}[p] }

// fleetSetup is what a fleet is run with.
type fleetSetup struct {
	seed     uint64
	policy   policyKind
	off      bool // no ladder
	noRetry  bool
	rate     func(at time.Duration) float64 // calls a second
	duration time.Duration
	posts    bool          // calls that must not be sent twice
	timeout  time.Duration // of an attempt, 0 none
	deadline time.Duration // of a call, 0 none
	servers  []serverSetup
	// badKeys of keys, in a thousand, are answered by everybody with a failure.
	badKeys int
	// pauseAt stops the process for pauseFor.
	pauseAt, pauseFor time.Duration
	config            health.PassiveHealthConfig
	// step is the width of the series, default 1 s.
	step time.Duration
}

// serverSetup is what a server does at an instant.
type serverSetup struct {
	mood func(at time.Duration) mood
	// slots is how many calls it serves at once, 0 any number.
	slots int
	// queues: it lets others wait, and else refuses them.
	queues bool
	// abandons: it notices that callers have left the queue.
	abandons bool
	service  time.Duration // mean
	fixed    bool          // else exponential
	priority int
	weight   int
}

// mood is how a server behaves.
type mood struct {
	kind   moodKind
	share  float64 // of calls that fail, for fails
	slower float64 // factor, 0 is 1
}

type moodKind uint8

const (
	sound moodKind = iota
	refuses
	busy
	fails
	hangs
)

type fleetServer struct {
	setup    serverSetup
	index    int
	endpoint *health.PassiveEndpoint
	inFlight int // as the client sees it
	serving  int
	waiting  []*fleetAttempt
	sent     int
}

type fleetCall struct {
	key       uint64
	bad       bool
	post      bool
	began     time.Duration
	tried     []*fleetServer
	sent      int
	free      int
	ejected   int // tries of servers known to be out
	done      bool
	attempt   *fleetAttempt
	lastTrial bool
}

type fleetAttempt struct {
	call    *fleetCall
	server  *fleetServer
	passive health.PassiveCall
	ended   bool
	left    bool // the caller has left
}

type fleetResult struct {
	calls, failed     []int // by second
	ok, failures      int
	sent, dials       int
	soundEjected      int
	ejections         int
	perServer         [][]int // successes by second
	firstSuccess      time.Duration
	failedTrialCalls  int
	cause             [6]int
	trials            int
	badFailed, badAll int
}

type fleetEvent struct {
	at    time.Duration
	order uint64
	do    func()
}

type fleetEvents []fleetEvent

func (e fleetEvents) Len() int { return len(e) }
func (e fleetEvents) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e fleetEvents) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *fleetEvents) Push(x any)   { *e = append(*e, x.(fleetEvent)) }
func (e *fleetEvents) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last] = fleetEvent{}
	*e = (*e)[:last]
	return x
}

func (f *simFleet) after(d time.Duration, do func()) {
	f.order++
	heap.Push(&f.events, fleetEvent{f.now + d, f.order, do})
}

func (f *simFleet) float() float64 { return float64(f.random.Uint64()>>11) / (1 << 53) }

func (f *simFleet) exponential(mean time.Duration) time.Duration {
	return time.Duration(-math.Log(1-f.float()) * float64(mean))
}

func (f *simFleet) instant() time.Time { return fleetStart.Add(f.now) }

var fleetStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// runFleet runs a fleet to its end.
func runFleet(t testing.TB, setup fleetSetup) *simFleet {
	t.Helper()
	f := &simFleet{t: t, setup: setup, random: poise.NewGenerator(setup.seed), budget: 10}
	if f.setup.step == 0 {
		f.setup.step = time.Second
	}
	cfg := setup.config
	cfg.Off, cfg.Seed, cfg.Divert = setup.off, setup.seed+1, setup.policy == keyed
	var err error
	if f.health, err = health.NewPassiveHealth(cfg); err != nil {
		t.Fatal(err)
	}
	for i, s := range setup.servers {
		server := &fleetServer{setup: s, index: i}
		server.endpoint = f.health.Add(server, f.instant())
		f.servers = append(f.servers, server)
	}
	steps := int(setup.duration/f.setup.step) + 1
	f.result.calls, f.result.failed = make([]int, steps), make([]int, steps)
	f.result.perServer = make([][]int, len(f.servers))
	for i := range f.result.perServer {
		f.result.perServer[i] = make([]int, steps)
	}
	f.result.firstSuccess = -1
	f.arrive()
	f.tick(f.instant())
	for len(f.events) > 0 {
		e := heap.Pop(&f.events).(fleetEvent)
		if e.at > setup.duration+10*time.Second {
			break
		}
		f.now = max(f.now, e.at)
		if setup.pauseFor > 0 && f.now >= setup.pauseAt && f.paused == 0 {
			f.paused = setup.pauseAt + setup.pauseFor
			f.now = f.paused
		}
		e.do()
	}
	return f
}

func (f *simFleet) arrive() {
	f.after(f.exponential(time.Duration(float64(time.Second)/f.setup.rate(f.now))), func() {
		if f.now < f.setup.duration {
			f.begin()
			f.arrive()
		}
	})
}

func (f *simFleet) tick(want time.Time) {
	late := f.instant().Sub(want)
	before := f.health
	next, _ := before.Advance(f.instant(), late)
	if f.now < f.setup.duration+5*time.Second && !next.IsZero() {
		f.after(next.Sub(f.instant()), func() { f.tick(next) })
	}
}

func (f *simFleet) begin() {
	c := &fleetCall{key: f.random.Uint64(), began: f.now, post: f.setup.posts}
	c.bad = int(c.key%1000) < f.setup.badKeys
	if c.bad {
		c.key = 7 // one URL
	}
	if f.setup.deadline > 0 {
		want := f.now + f.setup.deadline
		f.after(f.setup.deadline, func() {
			if c.done {
				return
			}
			outcome := poise.Silent
			if f.now > want+100*time.Millisecond {
				outcome = poise.Invalid
			}
			if a := c.attempt; a != nil && !a.ended {
				f.leave(a, outcome)
			}
			f.finish(c, false)
		})
	}
	f.try(c)
}

func (c *fleetCall) has(s *fleetServer) bool {
	for _, t := range c.tried {
		if t == s {
			return true
		}
	}
	return false
}

// choose is the policy, among the servers that are allowed.
func (f *simFleet) choose(c *fleetCall, allow func(*fleetServer) bool) *fleetServer {
	var eligible []*fleetServer
	best := 1 << 30
	for _, s := range f.servers {
		if allow(s) {
			if s.setup.priority < best {
				best = s.setup.priority
				eligible = eligible[:0]
			}
			if s.setup.priority == best {
				eligible = append(eligible, s)
			}
		}
	}
	if len(eligible) == 0 {
		return nil
	}
	switch f.setup.policy {
	case roundRobin:
		for {
			s := f.servers[f.cursor%len(f.servers)]
			f.cursor++
			for _, e := range eligible {
				if e == s {
					return s
				}
			}
		}
	case twoChoices:
		if len(eligible) == 1 {
			return eligible[0]
		}
		i, j := f.random.Pair(uint64(len(eligible)))
		if eligible[j].inFlight < eligible[i].inFlight {
			return eligible[j]
		}
		return eligible[i]
	}
	var owner *fleetServer
	var most uint64
	for _, s := range eligible {
		if score := poise.Mix64(c.key ^ poise.Mix64(uint64(s.index)+1)); owner == nil || score > most {
			owner, most = s, score
		}
	}
	return owner
}

// try makes the next attempt of a call.
func (f *simFleet) try(c *fleetCall) {
	if len(c.tried) == 0 {
		e, passive, ok := f.health.Trial(!c.post, func(v any) bool { return !c.has(v.(*fleetServer)) }, f.instant())
		if ok {
			c.lastTrial = true
			f.result.trials++
			f.send(c, e.Value().(*fleetServer), passive)
			return
		}
	}
	c.lastTrial = false
	allow := func(s *fleetServer) bool { return !c.has(s) && !s.endpoint.Ejected() }
	var s, suspect *fleetServer
	for range 4 {
		s = f.choose(c, allow)
		if s == nil {
			break
		}
		if share := s.endpoint.Share(f.instant()); share >= 1 || f.float() < share {
			break
		}
	}
	if s != nil && s.endpoint.Accused() {
		if other := f.choose(c, func(o *fleetServer) bool { return allow(o) && !o.endpoint.Accused() }); other != nil {
			s, suspect = other, s
		}
	}
	if s == nil {
		if c.ejected >= 2 && len(c.tried) > 0 {
			f.finish(c, false)
			return
		}
		e, ok := f.health.LeastRecentlyTried(func(v any) bool { return !c.has(v.(*fleetServer)) }, f.instant())
		if !ok {
			f.finish(c, false)
			return
		}
		c.ejected++
		s = e.Value().(*fleetServer)
	}
	if suspect != nil {
		f.send(c, s, s.endpoint.BeginFor(suspect.endpoint, f.instant()))
		return
	}
	f.send(c, s, s.endpoint.Begin(f.instant()))
}

func (f *simFleet) send(c *fleetCall, s *fleetServer, passive health.PassiveCall) {
	a := &fleetAttempt{call: c, server: s, passive: passive}
	c.attempt = a
	c.tried = append(c.tried, s)
	s.inFlight++
	if f.setup.timeout > 0 {
		want := f.now + f.setup.timeout
		f.after(f.setup.timeout, func() {
			if a.ended {
				return
			}
			outcome := poise.Silent
			if f.now > want+100*time.Millisecond {
				outcome = poise.Invalid
			}
			f.leave(a, outcome)
			f.retry(c, outcome)
		})
	}
	m := s.setup.mood(f.now)
	f.result.dials++
	if m.kind != refuses {
		f.result.sent++
		s.sent++
	}
	switch m.kind {
	case refuses:
		f.after(500*time.Microsecond, func() { f.answer(a, poise.Unreachable) })
	case busy:
		f.after(time.Millisecond, func() { f.answer(a, poise.Overloaded) })
	case hangs:
	case fails:
		if c.bad || f.float() < m.share {
			f.after(f.exponential(s.setup.service)/4, func() { f.answer(a, poise.Failure) })
			break
		}
		f.serve(s, a)
	default:
		if c.bad {
			f.after(f.exponential(s.setup.service), func() { f.answer(a, poise.Failure) })
			break
		}
		f.serve(s, a)
	}
}

// serve gives the attempt to the server.
func (f *simFleet) serve(s *fleetServer, a *fleetAttempt) {
	if s.setup.slots > 0 && s.serving >= s.setup.slots {
		if !s.setup.queues {
			f.after(time.Millisecond, func() { f.answer(a, poise.Overloaded) })
			return
		}
		s.waiting = append(s.waiting, a)
		return
	}
	f.work(s, a)
}

func (f *simFleet) work(s *fleetServer, a *fleetAttempt) {
	s.serving++
	took := s.setup.service
	if !s.setup.fixed {
		took = f.exponential(took)
	}
	if slower := s.setup.mood(f.now).slower; slower > 0 {
		took = time.Duration(float64(took) * slower)
	}
	f.after(took, func() {
		s.serving--
		f.answer(a, poise.Success)
		for len(s.waiting) > 0 {
			next := s.waiting[0]
			s.waiting = s.waiting[1:]
			if next.left && s.setup.abandons {
				continue
			}
			f.work(s, next)
			break
		}
	})
}

// answer takes what a server answered.
func (f *simFleet) answer(a *fleetAttempt, outcome poise.Outcome) {
	if a.ended {
		return
	}
	f.end(a, outcome)
	if outcome == poise.Success {
		step := int(f.now / f.setup.step)
		if step < len(f.result.calls) {
			f.result.perServer[a.server.index][step]++
		}
		f.budget = min(f.budget+0.2, 10)
		f.finish(a.call, true)
		return
	}
	f.retry(a.call, outcome)
}

func (f *simFleet) leave(a *fleetAttempt, outcome poise.Outcome) {
	a.left = true
	f.end(a, outcome)
}

func (f *simFleet) end(a *fleetAttempt, outcome poise.Outcome) {
	a.ended = true
	a.server.inFlight--
	before := a.server.endpoint.Ejected()
	a.server.endpoint.End(&a.passive, poise.Result{Outcome: outcome}, f.instant())
	if after := a.server.endpoint.Ejected(); after && !before {
		f.result.ejections++
		f.result.cause[a.server.endpoint.Inspect(f.instant()).Cause]++
		if a.server.setup.mood(f.now).kind == sound {
			f.result.soundEjected++
		}
	}
}

// retry decides whether the call is sent again.
func (f *simFleet) retry(c *fleetCall, outcome poise.Outcome) {
	if c.done {
		return
	}
	if outcome == poise.Unreachable {
		f.try(c)
		return
	}
	c.sent++
	again := !c.post && !f.setup.noRetry && c.sent < 3 && outcome != poise.Failure && outcome != poise.Invalid
	if (outcome == poise.Overloaded || outcome == poise.Silent) && f.health.OverloadedShare(f.instant()) > 0.25 {
		again = false
	}
	if again {
		f.budget = min(10, f.budget+3*(f.now-f.budgetAt).Seconds())
		f.budgetAt = f.now
		if again = f.budget >= 1; again {
			f.budget--
		}
	}
	if !again {
		f.finish(c, false)
		return
	}
	f.try(c)
}

func (f *simFleet) finish(c *fleetCall, ok bool) {
	if c.done {
		return
	}
	c.done = true
	step := int(c.began / f.setup.step)
	if c.bad {
		f.result.badAll++
		if !ok {
			f.result.badFailed++
		}
		return
	}
	f.result.calls[step]++
	if ok {
		f.result.ok++
		if f.result.firstSuccess < 0 {
			f.result.firstSuccess = f.now
		}
		return
	}
	f.result.failures++
	f.result.failed[step]++
	if c.lastTrial {
		f.result.failedTrialCalls++
	}
}
