// Explorable.

package health

import (
	"container/heap"
	"math"
	"math/bits"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

const (
	// passiveTick is the time from one look at the fleet to the next while calls are
	// made, and passiveIdle the same while none are.
	passiveTick = 100 * time.Millisecond
	passiveIdle = time.Second
	// servesNow is how long after its last success a fleet is taken to serve.
	servesNow = int64(time.Second)
	// silentFleet is how long a fleet must have served nothing, and lostCalls how many
	// calls in a row it must have lost, before a success wakes everybody.
	silentFleet = int64(500 * time.Millisecond)
	lostCalls   = 4
	// wakeAlike and wakeAll bound when the endpoints are due that a success woke: of
	// the same cause, and all.
	wakeAlike = int64(200 * time.Millisecond)
	wakeAll   = int64(500 * time.Millisecond)
	// Where two thirds of at least so many peers fail, which costs more than a wrong ejection
	// does, the odds need be so many times smaller.
	manyPeers = 3
	mostFail  = 100
	// rememberedFor is for how long what is remembered need not be looked at again.
	rememberedFor = int64(time.Millisecond)
	// lostShare is how many trials a call pays for that is refused or waits in vain, and
	// any failed call after lostRun and lostRounds for each endpoint were lost in a row or
	// while more than shortOf of all are refused; then all are due once in pressAgain.
	lostShare  = 0.1
	lostRun    = 10
	lostRounds = 2
	shortOf    = 0.25
	pressAgain = int64(time.Second)
	// carriesRun is how many failures in a row an endpoint may have that is taken to
	// serve; carriesLess is by how much more those must lose than is out, and
	// carriesAfter for how long. The ejected are back for carriesFor, which doubles up to
	// carriesMost if they are needed again within carriesAgain of its end.
	carriesRun   = 4
	carriesLess  = 0.05
	carriesAfter = int64(time.Second)
	// carriesSettled is how long nobody was ejected before that.
	carriesSettled = int64(2 * time.Second)
	carriesFor     = int64(5 * time.Second)
	carriesMost    = int64(80 * time.Second)
	carriesAgain   = int64(10 * time.Second)
	// repeatableFirst is how long a due trial waits for a call that may be repeated.
	repeatableFirst = int64(250 * time.Millisecond)
	// skipped is how much later a trial is due that a call could not make.
	skipped = int64(20 * time.Millisecond)
	// trialsAsked bounds how many due trials one call is asked about.
	trialsAsked = 8
	// trialHold is how long a trial may run before it counts as silent; or as long as
	// silence takes for the endpoint.
	trialHold = int64(2 * time.Second)
	// stepBack is how far instants may be out of order without the clock having
	// stepped.
	stepBack = int64(time.Second)
	// farthest bounds instants, so that no sum overflows.
	farthest = int64(1)<<61 - 1
	// runLengths is how many lengths of runs are told apart.
	runLengths = 64
	// batchedFrom is the fleet size from which successes are counted in batches.
	batchedFrom = 32
	// largestBatch bounds the batches.
	largestBatch = 64
	// notBusy is the part of "too busy" answers up to which a fleet is not short of
	// capacity.
	notBusy = 0.05
)

// PassiveHealth judges the endpoints of one fleet by the ends of calls.
//
// A PassiveHealth is made by NewPassiveHealth; its zero value is not for use.
//
// # Contract
//
//   - What fails everywhere alike ejects nobody.
//   - An endpoint that serves nothing is ejected while others serve, however many of the fleet are out.
//   - An endpoint that fails more often than its peers is ejected although it serves, unless as many as MaxPartialPercent are out for that.
//   - Cancelled and Invalid change nothing.
//   - LeastRecentlyTried returns an ejected endpoint while there is one that allow lets through.
//   - At most one trial of an endpoint runs at once.
//   - An ejected endpoint whose trial succeeds is Returning, and Serving after ReturnSuccesses.
//   - A late Advance ejects nobody.
//   - A clock that steps freezes nothing: what waits for a time waits at most once more.
//   - Used by one goroutine, equal seeds and equal inputs give equal results.
//
// # Cost
//
// A call that succeeds is O(1). A failure is O(log n), where n is the size of the fleet;
// one that ejects is O(n), at most once in a millisecond. What lets all ejected
// endpoints be tried again is O(n), and so is Advance. Nothing but Add allocates.
//
// # Concurrency
//
// Calls to sound endpoints that succeed take no lock. Everything else is one
// critical section of the fleet.
type PassiveHealth struct {
	cfg PassiveHealthConfig

	// served is how many calls succeeded; batch is the mask of the batches that are
	// counted in it, and base an instant that was heard of once, shift what is added to
	// the time since then.
	served syncx.Uint64
	batch  syncx.Uint64
	shift  syncx.Int64
	base   syncx.Pointer[time.Time]
	// dueFree is the instant of the next trial of an endpoint that nothing could be sent
	// to, due that of any other, and dueServed how many calls must have succeeded for it.
	dueFree   syncx.Int64
	due       syncx.Int64
	dueServed syncx.Uint64

	mu syncx.Mutex
	// Guarded by mu.
	chance     *poise.Generator
	latest     int64 // instant
	endpoints  []*PassiveEndpoint
	added      uint64
	queue      trialQueue // of those whose trials cost a call
	free       trialQueue // of those that nothing can be sent to
	running    int        // trials
	waiting    int        // endpoints that are not ejected and whose callers wait in vain
	list       ejectedList
	ejected    int   // how many
	ejectedAt  int64 // instant of the last ejection
	partial    int   // ejected for EjectedPartial
	runs       [runLengths]int
	failed     uint64 // failures of endpoints that succeeded afterwards
	peers      record // sum of what the endpoints remember, as of the instant remembered
	remembered int64
	busy       busyRecord
	latency    int64 // mean of all, as of the last look
	// lost is how many calls in a row were lost, lostServed the successes before them,
	// servedAt when a success was last noticed and servedSeen how many there were then.
	lost       int
	lostServed uint64
	servedAt   int64
	servedSeen uint64
	// overloaded is for how long those that are left have lost too much; nobody is
	// convicted until carryUntil, which is carryFor from when it began.
	overloaded, carryUntil, carryFor int64
	pressed                          int64                 // instant of the last pressing
	woken                            [ejectionCauses]int64 // instant of the last waking of a cause
	trials                           uint64                // claimed so far
	accusation                       uint64                // the last
	tokens                           float64
	tokensAt                         uint64 // served, up to which they were earned
	looked                           int64  // instant of the last Advance
	started                          uint64 // calls begun, as of the last look
}

// NewPassiveHealth returns a PassiveHealth of no endpoints, or a [poise.FieldError].
//
// # Contract
//
//   - Off judges nothing.
func NewPassiveHealth(cfg PassiveHealthConfig) (*PassiveHealth, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &PassiveHealth{cfg: cfg}
	if cfg.Seed != 0 {
		p.chance = poise.NewGenerator(cfg.Seed)
	}
	p.due.Store(never)
	p.dueFree.Store(never)
	return p, nil
}

// instant returns how long after the base now is.
func (p *PassiveHealth) instant(now time.Time) int64 {
	return max(-farthest, min(int64(now.Sub(*p.base.Load())), farthest)) + p.shift.Load()
}

// enter locks and returns the instant, which is never more than a moment before one
// that was returned before.
func (p *PassiveHealth) enter(now time.Time) int64 {
	p.mu.Lock()
	base := p.base.Load()
	if base == nil {
		p.count(now)
		return 0
	}
	if since := int64(now.Sub(*base)); since > farthest || since < -farthest {
		// From here on the base is too far away to count from.
		p.count(now)
		p.shift.Store(p.latest)
	}
	at := p.instant(now)
	switch {
	case at > farthest:
		p.rebase(at)
		return 0
	case at > p.latest:
		p.latest = at
	case at < p.latest-stepBack:
		// The clock stepped back: time goes on from where it was.
		p.shift.Add(p.latest - at)
		return p.latest
	}
	return at
}

// count has instants count from now. Requires mu.
func (p *PassiveHealth) count(now time.Time) { p.base.Store(&now) }

// rebase begins a new time at 0, after steps that add up to decades. What waits is
// due. Requires mu.
func (p *PassiveHealth) rebase(at int64) {
	p.shift.Add(-at)
	p.latest, p.looked, p.servedAt, p.busy.at, p.remembered = 0, 0, 0, 0, -rememberedFor
	p.woken, p.pressed, p.carryUntil, p.ejectedAt = [ejectionCauses]int64{}, 0, 0, 0
	for _, e := range p.endpoints {
		e.rebase()
	}
	heap.Init(&p.queue)
	heap.Init(&p.free)
	p.schedule()
}

// Add brings an endpoint into the fleet. value is opaque, and comes back from Trial and
// LeastRecentlyTried.
func (p *PassiveHealth) Add(value any, now time.Time) *PassiveEndpoint {
	at := p.enter(now)
	defer p.mu.Unlock()
	p.added++
	e := &PassiveEndpoint{
		health: p, value: value, number: p.added, index: len(p.endpoints),
		phase: poise.Mix64(p.added), since: at, settled: at, queued: -1,
	}
	e.word.Store(flagPlain)
	if p.cfg.Off {
		return e
	}
	p.endpoints = append(p.endpoints, e)
	p.resize()
	return e
}

// Remove takes it out; results of its calls count no more.
func (p *PassiveHealth) Remove(e *PassiveEndpoint, now time.Time) {
	p.enter(now)
	defer p.mu.Unlock()
	if e.removed || p.cfg.Off {
		return
	}
	e.setRun(0)
	if e.state == Ejected {
		p.leave(e)
	}
	e.state, e.cause, e.removed, e.accused = Serving, NotEjected, true, false
	e.noteWaits()
	last := len(p.endpoints) - 1
	p.endpoints[e.index] = p.endpoints[last]
	p.endpoints[e.index].index = e.index
	p.endpoints[last] = nil
	p.endpoints = p.endpoints[:last]
	e.note()
	p.resize()
	p.schedule()
}

// resize fits the batches to the size of the fleet, and to how many of it fail: where
// few serve, each of their successes says much. Requires mu.
func (p *PassiveHealth) resize() {
	n := len(p.endpoints)
	failing := p.ejected + p.runsFrom(1)
	batch := uint64(1)
	if n >= batchedFrom && (4*failing < n && p.batch.Load() > 0 || 8*failing < n) {
		batch = min(largestBatch, uint64(1)<<bits.Len64(uint64(n)/batchedFrom))
	}
	if p.batch.Load() != batch-1 {
		p.batch.Store(batch - 1)
	}
}

// schedule publishes when Trial has something to do. Requires mu.
func (p *PassiveHealth) schedule() {
	p.dueServed.Store(0)
	p.due.Store(p.queue.first())
	p.dueFree.Store(p.free.first())
}

// earn adds the tokens for the calls that were served. Requires mu.
func (p *PassiveHealth) earn() {
	served := p.served.Load()
	p.tokens = min(p.tokens+float64(served-p.tokensAt)*p.cfg.TrialShare, float64(p.cfg.Trials))
	p.tokensAt = served
}

// Trial claims an ejected endpoint that is due for a trial call, if the budget of trials
// has one. allow says whether this call may go to it (eligible otherwise, untried, of its
// scope). repeatable calls are preferred. The claim is ended by End of the PassiveCall.
// The common case, nobody ejected, is one atomic load.
//
// # Contract
//
//   - While the fleet serves and no call is refused or waits in vain, trials that cost a call are at most TrialShare of the calls that succeed.
//   - Calls that must not be sent twice leave a due trial to others for a moment.
//   - A trial that does not end counts as silent after a while, so that the next can begin.
//   - Each time out is the backoff of its cause, doubled with each failed trial while the fleet serves, up to MaxBackoff, and at most a quarter more or less.
//   - The first success after nobody served makes every ejected endpoint due within half a second, if it ends a run of failures or a trial.
func (p *PassiveHealth) Trial(repeatable bool, allow func(value any) bool, now time.Time) (e *PassiveEndpoint, call PassiveCall, ok bool) {
	free, due := p.dueFree.Load(), p.due.Load()
	if free == never && due == never {
		return nil, PassiveCall{}, false
	}
	if at := p.instant(now); at < free && (at < due || p.served.Load() < p.dueServed.Load()) {
		return nil, PassiveCall{}, false
	}
	at := p.enter(now)
	defer p.mu.Unlock()
	if p.running >= p.cfg.Trials {
		return nil, PassiveCall{}, false
	}
	e = p.claim(&p.free, true, allow, at)
	if e == nil && p.affords() {
		if e = p.claim(&p.queue, repeatable, allow, at); e != nil {
			p.tokens--
		}
	}
	if e == nil {
		return nil, PassiveCall{}, false
	}
	p.trials++
	p.running++
	e.trial, e.trialAge = p.trials, 0
	call = e.begin(e.word.Load(), at)
	call.number, call.repeatable = e.trial, repeatable
	return e, call, true
}

// affords reports whether a trial that fails can be paid for, and puts off asking again
// if not. Requires mu.
func (p *PassiveHealth) affords() bool {
	p.earn()
	if p.tokens < 1 {
		p.dueServed.Store(p.served.Load() + uint64(math.Ceil((1-p.tokens)/p.cfg.TrialShare)))
		return false
	}
	p.dueServed.Store(0)
	return true
}

// claim takes an endpoint out of the queue that the call may try, nil if there is
// none. Requires mu.
func (p *PassiveHealth) claim(q *trialQueue, repeatable bool, allow func(value any) bool, at int64) (claimed *PassiveEndpoint) {
	for range min(trialsAsked, len(*q)) {
		e := (*q)[0]
		if e.due > at {
			break
		}
		wait := skipped
		switch {
		case !allow(e.value):
		case !repeatable && at < e.preferred:
			wait = e.preferred - at
		default:
			q.remove(e)
			p.list.pushBack(e)
			claimed = e
		}
		if claimed != nil {
			break
		}
		e.due = at + wait
		heap.Fix(q, 0)
	}
	p.due.Store(p.queue.first())
	p.dueFree.Store(p.free.first())
	return claimed
}

// LeastRecentlyTried returns the best of the ejected for a call that finds nobody else:
// one that serves a part if there is one, and else the one that was not tried for the
// longest time.
//
// # Contract
//
//   - LeastRecentlyTried prefers those that serve a part, and of others the one that no call was sent to for the longest time.
func (p *PassiveHealth) LeastRecentlyTried(allow func(value any) bool, now time.Time) (e *PassiveEndpoint, ok bool) {
	p.enter(now)
	defer p.mu.Unlock()
	for candidate := range p.list.all {
		partial := candidate.cause == EjectedPartial
		if e != nil && !partial || !allow(candidate.value) {
			continue
		}
		e = candidate
		if partial || p.partial == 0 {
			break
		}
	}
	return e, e != nil
}

// OverloadedShare is the part of recent calls that were refused for want of capacity; or,
// while callers of more than a third of the endpoints wait in vain, a multiple of the part
// that ended in silence, if that is more: retries after Overloaded and Silent stop while it is over a
// quarter. Calls to ejected endpoints do not count.
//
// # Contract
//
//   - OverloadedShare is near 1 where all is refused, and silence of one endpoint of several does not raise it.
func (p *PassiveHealth) OverloadedShare(now time.Time) float64 {
	at := p.enter(now)
	defer p.mu.Unlock()
	p.busy.advance(at, p.served.Load())
	return p.busy.pressure(3*p.waiting > len(p.endpoints)-p.ejected)
}

// Advance does what is due at the instant: silence, shares, trials that do not end. It
// returns when it is to be called again (zero: not before the next Add), and whether
// Ejected has changed of anybody. late is by how much the caller came later than it was
// asked to: a pause of the process blames nobody.
//
// # Contract
//
//   - Where those that are left lose a greater part of their calls for seconds than the part of the fleet that is out, all are back for a time but those that are unreachable or whose last trial ended in silence.
func (p *PassiveHealth) Advance(now time.Time, late time.Duration) (next time.Time, changed bool) {
	at := p.enter(now)
	defer p.mu.Unlock()
	if len(p.endpoints) == 0 {
		return time.Time{}, false
	}
	elapsed := max(0, min(at-p.looked, 2*int64(passiveTick)))
	if late > passiveTick {
		elapsed = 0
	}
	p.looked = max(p.looked, at)
	if served := p.served.Load(); served != p.servedSeen {
		p.servedSeen, p.servedAt = served, at
	}
	p.busy.advance(at, p.served.Load())
	p.remember(at)
	latency, known, started := 0.0, 0.0, uint64(0)
	for _, e := range p.endpoints {
		if mean := e.latency.Load(); mean > 0 {
			latency += float64(mean)
			known++
		}
		started += e.started.Load()
	}
	p.latency = int64(latency / max(known, 1))
	by := fade{elapsed: -1}
	var carried busyRecord // by those that serve
	for _, e := range p.endpoints {
		changed = e.look(&by, at, elapsed) || changed
		if e.state != Ejected && e.run <= carriesRun {
			carried.merge(&e.busy)
		}
	}
	changed = p.carry(&carried, at, elapsed) || changed
	wait := passiveIdle
	if started != p.started {
		wait = passiveTick
	}
	p.started = started
	p.resize()
	return now.Add(wait), changed
}

// remember brings what is remembered of all up to date. Requires mu.
func (p *PassiveHealth) remember(at int64) {
	p.remembered, p.peers = at, record{}
	for _, e := range p.endpoints {
		e.remember()
		if e.state != Ejected {
			p.peers.served += e.memory.served
			p.peers.failed += e.memory.failed
		}
	}
}

// stale brings what is remembered up to date before it convicts somebody. It reports
// whether that may have changed anything. Requires mu.
func (p *PassiveHealth) stale(at int64) bool {
	if at-p.remembered < rememberedFor {
		return false
	}
	p.remember(at)
	return true
}

// carry ends ejections that cost more than they save: where those that are left have
// lost a greater part of their calls for a while than the part of the fleet that is out,
// everybody is back who may be able to carry a part of the load, and nobody is convicted
// for a time that doubles when it was in vain. Requires mu.
func (p *PassiveHealth) carry(by *busyRecord, at, elapsed int64) (changed bool) {
	lost := p.lost >= lostRun+lostRounds*len(p.endpoints) && at-p.servedAt >= servesNow
	out, some := 0, len(p.endpoints)
	for _, e := range p.endpoints {
		switch {
		case e.spare(lost):
			out++
		case e.state == Ejected:
			some--
		}
	}
	if out == 0 || at-p.ejectedAt < carriesSettled || !lost && by.loss() <= float64(out)/float64(some)+carriesLess {
		p.overloaded = 0
		return false
	}
	if p.overloaded += elapsed; p.overloaded < carriesAfter {
		return false
	}
	p.overloaded = 0
	if at-p.carryUntil < carriesAgain {
		p.carryFor = min(2*p.carryFor, carriesMost)
	} else {
		p.carryFor = carriesFor
	}
	p.carryUntil = at + p.carryFor
	for _, e := range p.endpoints {
		if e.spare(lost) {
			e.comeBack(at)
			e.state, e.settled = Serving, at
			e.weighShare(at)
			e.note()
			changed = true
		}
	}
	return changed
}

// mark returns the record as it stands for the endpoint. Requires mu.
func (p *PassiveHealth) mark(e *PassiveEndpoint) peerMark {
	return peerMark{p.served.Load(), p.failed, e.answered.Load(), e.failed}
}

// since returns what the peers of the endpoint did since the mark. Requires mu.
func (p *PassiveHealth) since(m peerMark, e *PassiveEndpoint) record {
	served := float64(p.served.Load()-m.served) - float64(e.answered.Load()-m.ownServed)
	failed := float64(p.failed-m.failed) - float64(e.failed-m.ownFailed)
	return record{max(0, served), max(0, failed)}
}

// peerRecord returns what is remembered of the peers of the endpoint. Requires mu.
func (p *PassiveHealth) peerRecord(e *PassiveEndpoint) record {
	return record{max(0, p.peers.served-e.memory.served), max(0, p.peers.failed-e.memory.failed)}
}

// convicts reports whether a run of so many failures since the mark is too long for
// an endpoint that does as well as the peers that served since then. Requires mu.
//
// The evidence is the logarithm of how improbable the run is, and of how many others
// fail in the same way for each that serves.
func (p *PassiveHealth) convicts(e *PassiveEndpoint, run int, since record) bool {
	if since.served < 1 {
		return false
	}
	alike, failing := p.ejected+p.runsFrom((run+1)/2), p.ejected+p.runsFrom(1)
	if e.run > 0 {
		failing--
		if e.run >= (run+1)/2 {
			alike--
		}
	}
	bad, peers := float64(alike), float64(len(p.endpoints)-1)
	good := max(1, min(peers-float64(failing), since.served))
	limit := math.Log(p.cfg.Odds)
	if peers >= manyPeers && 3*bad >= 2*peers {
		limit -= math.Log(mostFail)
	}
	return -float64(run)*math.Log(p.peerRate(e, since))+math.Log((bad+0.5)/(good+0.5)) >= limit
}

// peerRate is the share of failures of the peers, at its worst. Requires mu.
func (p *PassiveHealth) peerRate(e *PassiveEndpoint, since record) float64 {
	rate := max(p.cfg.PeerRate, since.rate())
	if known := p.peerRecord(e); known.served > 0 {
		rate = max(rate, known.rate())
	}
	return rate
}

// runsFrom is how many endpoints that are not ejected have at least so long a run.
// Requires mu.
func (p *PassiveHealth) runsFrom(run int) int {
	count := 0
	for _, n := range p.runs[min(run, runLengths-1):] {
		count += n
	}
	return count
}

// jittered is the time with up to a quarter more or less. Requires mu.
func (p *PassiveHealth) jittered(d time.Duration) int64 {
	return int64(d) - int64(d)/4 + int64(p.chance.Below(uint64(d)/2+1))
}

// serves reports whether the fleet served lately. Requires mu.
func (p *PassiveHealth) serves(at int64) bool {
	return p.served.Load() != p.servedSeen || at-p.servedAt <= servesNow
}

// lose notes a call that was lost. Requires mu.
func (p *PassiveHealth) lose() {
	if served := p.served.Load(); served != p.lostServed {
		p.lost, p.lostServed = 0, served
	}
	p.lost++
}

// press lets lost calls pay for trials: what nobody else serves the ejected may as well
// be asked for. Where those that are left serve nothing or refuse much, all are due.
// short: the call was lost because there was no room for it. Requires mu.
func (p *PassiveHealth) press(short bool, at int64) {
	much := p.lost >= lostRun+lostRounds*len(p.endpoints) || p.busy.pressure(false) > shortOf
	if p.ejected == 0 || !short && !much {
		return
	}
	p.earn()
	p.tokens = min(p.tokens+lostShare, float64(p.cfg.Trials))
	p.dueServed.Store(0)
	if much && at-p.pressed >= pressAgain {
		p.pressed = at
		p.wake(at, wakeAll, func(*PassiveEndpoint) bool { return true })
	}
}

// succeeded notes a success that is told under the lock, before it is counted. Requires
// mu.
func (p *PassiveHealth) succeeded(at int64) {
	served := p.served.Load()
	silent := p.lost >= lostCalls && served == p.lostServed && served == p.servedSeen && at-p.servedAt >= silentFleet
	p.lost = 0
	p.servedAt = max(p.servedAt, at)
	if silent {
		p.wake(at, wakeAll, func(*PassiveEndpoint) bool { return true })
	}
}

// wakeLike makes those due soon that are out for the cause. Requires mu.
func (p *PassiveHealth) wakeLike(cause EjectionCause, at int64) {
	if last := p.woken[cause]; last != 0 && at-last < wakeAlike {
		return
	}
	p.woken[cause] = at
	p.wake(at, wakeAlike, func(e *PassiveEndpoint) bool { return e.cause == cause })
}

// wake makes the endpoints due within the time. Requires mu.
func (p *PassiveHealth) wake(at, within int64, who func(*PassiveEndpoint) bool) {
	for _, q := range []*trialQueue{&p.free, &p.queue} {
		for _, e := range *q {
			if who(e) {
				if due := at + int64(p.chance.Below(uint64(within))); due < e.due {
					e.due, e.early = due, true
				}
				e.preferred = e.due
			}
		}
		heap.Init(q)
	}
	p.schedule()
}

// enqueue sets the instant of the next trial of the endpoint. Requires mu.
func (p *PassiveHealth) enqueue(e *PassiveEndpoint, due int64) {
	p.dequeue(e)
	if e.cause == EjectedUnreachable {
		p.free.add(e, due)
	} else {
		p.queue.add(e, due)
	}
}

// dequeue takes the endpoint out of the queue that it is in. Requires mu.
func (p *PassiveHealth) dequeue(e *PassiveEndpoint) {
	if e.queued >= 0 {
		if e.freeTrial {
			p.free.remove(e)
		} else {
			p.queue.remove(e)
		}
	}
	e.freeTrial = e.cause == EjectedUnreachable
}

// leave takes the endpoint out of what holds the ejected. Requires mu.
func (p *PassiveHealth) leave(e *PassiveEndpoint) {
	p.dequeue(e)
	p.list.remove(e)
	p.ejected--
	if e.cause == EjectedPartial {
		p.partial--
	}
	if e.trial != 0 {
		e.endTrial(true)
	}
}
