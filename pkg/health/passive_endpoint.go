// Explorable.

package health

import (
	"math"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// The low bits of the word of a PassiveEndpoint; the epoch stands above them.
const (
	flagPlain   = 1 << iota // a success changes nothing but counts
	flagEjected             // the state is Ejected
	flagAccused             // other endpoints are asked
	flagRemoved

	epochShift = 8
)

const (
	// busyMargin is how many times busier than its peers an endpoint may be, and
	// busyLift how busy it may be in any case, without its share being lowered.
	busyMargin = 1.5
	busyLift   = 0.1
	// returnGrowth is by how much one success multiplies the share of a returning
	// endpoint, and returnRate what a second adds.
	returnGrowth = 1.5
	returnRate   = 0.3
	// returnOdds is how improbable the run of a returning endpoint must be.
	returnOdds = 50
	// servedLately is how many calls of the last second an endpoint must have served.
	servedLately = 0.5
	// memoryCalls is how many calls an endpoint is remembered by.
	memoryCalls = 256
	// latencySample: each so many successes one is measured; latencyWeight is that of
	// one measure, as one part in so many.
	latencySample = 8
	latencyWeight = 8
	// busyLatencies is how many mean times to the answer a run of "too busy" lasts.
	busyLatencies = 4
	// lateLatencies is how many of them a run of failures is old before a success of a
	// peer is one of a call that began after it, or at most lateTime and lateAtLeast.
	lateLatencies = 8
	lateAtLeast   = 2
	lateTime      = int64(500 * time.Millisecond)
	// partialSurely is how many standard deviations peers may do worse than they seem,
	// and partialPrior is how many remembered calls of theirs count beside those since.
	partialSurely = 1
	partialPrior  = 8
	// accusedRun is how many more failures end an accusation that nobody looks into.
	accusedRun = 20
	// guiltyOdds and innocentOdds end an accusation.
	guiltyOdds   = 1000
	innocentOdds = 100
	// exonerated is how long an endpoint is not accused again.
	exonerated = int64(30 * time.Second)
	// busySilences is how many times as long an endpoint must have been silent where its
	// peers are short of capacity.
	busySilences = 4
	// quietSlots is into how many parts the time of a silence is divided.
	quietSlots = 4
)

// PassiveEndpoint is one incarnation of one endpoint of a [PassiveHealth].
//
// A PassiveEndpoint is made by Add.
//
// # Contract
//
//   - Share is above 0 and at most 1, and 1 of an endpoint that is Serving and has not said "too busy".
//   - "Too busy" lowers Share, which time brings back to 1.
//   - Share of an endpoint that returns grows with each of its successes, and with time if it gets no call.
//   - Silence of an endpoint that answers others counts as "too busy", and lowers nothing where peers are short of capacity too.
//   - Silence of an endpoint whose peers are short of capacity is held against it after four times as long.
//   - Share is not lowered beside peers that answer nothing.
//   - RetryAfter lowers Share to MinShare for as long, up to MaxRetryAfter, unless peers are short of capacity too.
//   - A few calls that could not be sent, fewer than Misses in a row, do not eject an endpoint that served lately; one ejects any other.
//   - What becomes of a call counts for nothing after Remove.
//   - A probe that passes brings back an endpoint that nothing could be sent to.
//
// # Cost
//
// Ejected, Share, Serves, Accused, Full and Sound are one to three atomic loads; Full and
// Sound are four more of an endpoint that refused a call lately.
//
// # Concurrency
//
// A PassiveEndpoint is safe for concurrent use.
type PassiveEndpoint struct {
	health *PassiveHealth
	value  any
	number uint64 // in the order of Add
	phase  uint64 // of its batches

	// word is the epoch, which counts the ejections, and flags.
	word syncx.Uint64
	// started counts calls begun, answered those that succeeded, and spoke other
	// answers. latency is the mean time to the answer, 0 before the first.
	started, answered, spoke syncx.Uint64
	latency                  syncx.Int64
	// missing is what the share lacks to 1, as the bits of a float64.
	missing syncx.Uint64
	// room is how many calls it takes, and ended counts calls that ended without an answer.
	room  knownRoom
	ended syncx.Uint64

	// Guarded by health.mu.
	index   int // in health.endpoints
	removed bool
	state   PassiveState
	cause   EjectionCause
	epoch   uint32
	since   int64 // of the state
	settled int64 // when it last became Serving
	lastErr error
	failed  uint64 // failures that a success followed
	memory  record
	// What was remembered of answered and failed.
	rememberedServed, rememberedFailed uint64
	// The run of failures: how many, how many of them said "too busy", how many were
	// silent, when it began and what peers had done then.
	run, busyRun, silentRun int
	// runKeys counts each key of the run once, up to what failedKeys holds; sumKeys
	// does so for the cumulative sum.
	runKeys    int
	failedKeys keyMemory
	sumKeys    keyMemory
	runAt      int64
	runMark    peerMark
	// runLate is the same at the first failure after the calls had ended that peers were
	// at when the run began; late: there was one.
	runLate peerMark
	late    bool
	// The cumulative sum of evidence that it serves worse than its peers.
	// Unweighed: a failure is not part of it yet.
	sum       float64
	sumMark   peerMark
	unweighed bool
	// Silence: what was seen of it when it last spoke, how long ago that is, and how
	// many calls had begun at the ends of parts of that time.
	quietHeard, quietStarted, quietWaiting uint64
	quietAge, quietSlot                    int64
	quietBegun                             [quietSlots]uint64
	quietMark                              peerMark
	// The share: what was refused lately, the share of a returning endpoint and when
	// that was so, and until when the endpoint asked to be left alone.
	busy        busyRecord
	waits       bool // health.waiting counts it
	returnShare float64
	returnAt    int64
	restUntil   int64
	misses      int // how many of the last calls could not be sent
	// Ejection.
	rounds    uint
	backoff   time.Duration
	due       int64 // of the next trial, if queued
	preferred int64 // from when on a trial takes any call
	early     bool  // it is due sooner than its backoff said
	queued    int   // place in a queue of trials, -1 if in none
	freeTrial bool  // the queue is that of free trials
	link      ejectedLink
	trial     uint64 // the running trial, 0 if none
	trialAge  int64
	mute      bool // its last trial ended in silence
	successes int  // since it began to return
	// returnMark is what peers had done then.
	returnMark peerMark
	// Accusation.
	accused       bool
	accusation    uint64
	accusedOf     EjectionCause
	suspicion     float64 // logarithm of the odds that the calls are at fault
	suspectRate   float64 // its failures
	accusedFails  int
	exoneratedTil int64
}

// Value returns what Add was given.
func (e *PassiveEndpoint) Value() any { return e.value }

// Ejected reports whether calls other than trials should go elsewhere: one atomic load.
func (e *PassiveEndpoint) Ejected() bool { return e.word.Load()&flagEjected != 0 }

// Accused reports whether the endpoint is a suspect: it has failed so that it would be
// ejected, but its calls may be at fault. The next calls that a policy gives to it
// should go to another endpoint first, by its BeginFor. One atomic load; never true
// without PassiveHealthConfig.Divert.
func (e *PassiveEndpoint) Accused() bool { return e.word.Load()&flagAccused != 0 }

// Serves reports whether its last call succeeded and it is neither ejected nor
// returning nor a suspect: one atomic load and one more.
func (e *PassiveEndpoint) Serves() bool {
	return e.word.Load()&(flagPlain|flagAccused) == flagPlain && e.answered.Load() > 0
}

// Share is the part of its picks that it should take, in (0, 1]: 1 unless it returns or
// says that it is overloaded. A pick of an endpoint with share w is drawn again, a few
// times, with probability 1 − w, then taken. One atomic load.
func (e *PassiveEndpoint) Share(_ time.Time) float64 {
	return 1 - math.Float64frombits(e.missing.Load())
}

// Full reports whether the next call is likely to be refused: as many wait for an answer
// as when one was refused lately. A pick of it is drawn again. One atomic load, or five
// if it refused a call lately.
//
// # Contract
//
//   - An endpoint is Full while as many calls wait for an answer as waited when it last refused one.
//   - A refusal beside fewer calls than one was served beside lately makes no endpoint Full sooner.
//   - Full ends when a call is served beside as many, a second after the last refusal, and when callers wait in vain.
func (e *PassiveEndpoint) Full() bool {
	calls := e.room.calls.Load()
	return calls > 0 && int64(e.others(e.started.Load()+1, e.heard())) >= calls
}

// Sound reports whether it takes every pick: it is neither ejected nor a suspect, is not
// full, and has a share of 1. Three atomic loads, or seven if it refused a call lately.
func (e *PassiveEndpoint) Sound() bool {
	return e.word.Load()&(flagEjected|flagAccused) == 0 && e.missing.Load() == 0 && !e.Full()
}

// Begin notes that a call goes to the endpoint, which may be ejected: then it counts
// like a trial.
func (e *PassiveEndpoint) Begin(now time.Time) PassiveCall {
	if e.health.cfg.Off {
		return PassiveCall{}
	}
	word := e.word.Load()
	var at int64
	if word&flagEjected == 0 {
		at = e.health.instant(now)
	} else {
		at, word = e.beginEjected(now)
	}
	begun, heard := e.started.Add(1), e.heard()
	// Not by begin: a copy of what it returns is a good part of the cost.
	return PassiveCall{began: at, heard: heard, others: e.others(begun, heard), epoch: uint32(word >> epochShift), phase: callBegun}
}

// begin is Begin by the word, at an instant.
func (e *PassiveEndpoint) begin(word uint64, at int64) PassiveCall {
	begun, heard := e.started.Add(1), e.heard()
	return PassiveCall{began: at, heard: heard, others: e.others(begun, heard), epoch: uint32(word >> epochShift), phase: callBegun}
}

// others is how many calls wait for an answer beside the last of those that have begun.
func (e *PassiveEndpoint) others(begun, heard uint64) int16 {
	return int16(min(int64(begun-heard-e.ended.Load())-1, math.MaxInt16))
}

// beginEjected is Begin while the endpoint is ejected, or was a moment ago. It returns
// the instant and the word.
func (e *PassiveEndpoint) beginEjected(now time.Time) (at int64, word uint64) {
	at = e.health.enter(now)
	defer e.health.mu.Unlock()
	if e.state == Ejected {
		e.health.list.pushBack(e)
	}
	return at, e.word.Load()
}

// BeginFor is Begin of a call that the policy gave to the suspect and that goes here
// instead. What becomes of it is held for or against the suspect, too.
//
// # Contract
//
//   - A suspect is ejected when calls that failed there succeed elsewhere, and cleared when they fail there too.
func (e *PassiveEndpoint) BeginFor(suspect *PassiveEndpoint, now time.Time) PassiveCall {
	c := e.Begin(now)
	if suspect == e || suspect.health != e.health || !suspect.Accused() {
		return c
	}
	suspect.health.mu.Lock()
	// One that fails itself would speak for every suspect.
	if suspect.accused && e.Serves() {
		c.instead, c.number = suspect, suspect.accusation
	}
	suspect.health.mu.Unlock()
	return c
}

// heard is how many answers it gave.
func (e *PassiveEndpoint) heard() uint64 { return e.answered.Load() + e.spoke.Load() }

// Answered judges a call at the first byte of its answer; End of it then says nothing
// more, but for what came later in the body. It reports whether Ejected has changed of anybody.
func (e *PassiveEndpoint) Answered(c *PassiveCall, r poise.Result, now time.Time) (changed bool) {
	if c.phase != callBegun {
		return false
	}
	c.phase = callAnswered
	return e.judge(c, r, now)
}

// End ends a call. It reports whether Ejected has changed of anybody.
//
// # Contract
//
//   - A late answer of an endpoint that was ejected for silence brings it back.
//   - Any other result of a call that began before the last ejection changes nothing.
//   - What becomes of a body after a sound beginning is no run of failures, but counts as serving a part.
//   - In fleets of any size each success of a peer counts in the end.
func (e *PassiveEndpoint) End(c *PassiveCall, r poise.Result, now time.Time) (changed bool) {
	phase := c.phase
	c.phase = callEnded
	switch phase {
	case callBegun:
		return e.judge(c, r, now)
	case callAnswered:
		if r.Outcome == poise.Failure {
			return e.brokeOff(c, r, now)
		}
	}
	return false
}

// judge takes the result of a call.
func (e *PassiveEndpoint) judge(c *PassiveCall, r poise.Result, now time.Time) (changed bool) {
	word := e.word.Load()
	if r.Outcome == poise.Success && word&flagPlain != 0 && uint32(word>>epochShift) == c.epoch && c.instead == nil {
		e.count(c, now)
		return false
	}
	at := e.health.enter(now)
	defer e.health.mu.Unlock()
	if c.instead != nil {
		if r.Outcome != poise.Silent || e.heard() != c.heard {
			changed = c.instead.weigh(c, r, at)
		}
	}
	if e.removed {
		return changed
	}
	changed = e.conclude(c, r, now, at) || changed
	e.note()
	return changed
}

// count counts a success.
func (e *PassiveEndpoint) count(c *PassiveCall, now time.Time) {
	n := e.answered.Add(1)
	e.room.served(c.others)
	if n%latencySample == 1 {
		e.measure(e.health.instant(now) - c.began)
	}
	if batch := e.health.batch.Load(); (n+e.phase)&batch == 0 {
		e.health.served.Add(batch + 1)
	}
}

// measure notes a time to the answer. Of two at once one may be lost.
func (e *PassiveEndpoint) measure(took int64) {
	took = max(took, 1)
	mean := e.latency.Load()
	if mean == 0 {
		e.latency.Store(took)
		return
	}
	e.latency.Store(max(1, mean+(took-mean)/latencyWeight))
}

// conclude takes the result of a call under the lock. Requires mu.
func (e *PassiveEndpoint) conclude(c *PassiveCall, r poise.Result, now time.Time, at int64) (changed bool) {
	outcome := r.Outcome
	if outcome == poise.Success {
		e.health.succeeded(at)
		e.count(c, now)
	} else {
		if outcome == poise.Failure || outcome == poise.Overloaded {
			e.spoke.Add(1)
		} else {
			e.ended.Add(1)
		}
		if outcome.IsFailure() {
			e.health.lose()
			e.lastErr = r.Err
		}
	}
	switch {
	case c.epoch != e.epoch:
		// It was ejected since. An answer shows that it was not silent for ever.
		if outcome == poise.Success && e.state == Ejected && e.cause == EjectedSilent && c.epoch+1 == e.epoch {
			e.comeBack(at)
			return true
		}
		return false
	case e.state == Ejected:
		return e.tried(c, outcome, at)
	case outcome == poise.Success:
		e.serve(at)
		return false
	case outcome == poise.Unreachable:
		return e.unreachable(at)
	case outcome.IsFailure():
		return e.fail(c, r, at)
	}
	return false
}

// unreachable takes a call of which nothing could be sent. A few are an accident if it
// served lately. Requires mu.
func (e *PassiveEndpoint) unreachable(at int64) (changed bool) {
	e.busy.advance(at, e.answered.Load())
	e.misses++
	if e.busy.sound >= servedLately && e.misses < e.health.cfg.Misses {
		return false
	}
	e.eject(EjectedUnreachable, at)
	return true
}

// tried takes the result of a call to an ejected endpoint. Requires mu.
func (e *PassiveEndpoint) tried(c *PassiveCall, outcome poise.Outcome, at int64) (changed bool) {
	p := e.health
	if !c.Trial() || c.number != e.trial {
		c.number = 0 // no trial, or one that was taken for lost
	}
	if outcome == poise.Success {
		cause := e.cause
		e.comeBack(at)
		p.wakeLike(cause, at)
		return true
	}
	if c.number != 0 {
		e.endTrial(outcome == poise.Invalid || outcome == poise.Unreachable || outcome == poise.Overloaded && c.repeatable)
	}
	switch {
	case outcome.IsFailure() && (c.number != 0 || e.trial == 0 && at >= e.due):
		// A call that found nobody else counts like a trial if one was due.
		e.retry(outcome, at)
	case c.number != 0:
		e.put(at)
	}
	p.schedule()
	return false
}

// retry puts the next trial off after one that failed. Requires mu.
func (e *PassiveEndpoint) retry(outcome poise.Outcome, at int64) {
	p := e.health
	was := e.cause
	e.mute = outcome == poise.Silent
	if e.cause != EjectedPartial {
		e.cause = causeOf(outcome)
	}
	switch {
	case (was == EjectedUnreachable) != (e.cause == EjectedUnreachable):
		e.rounds = 0 // something else has gone wrong
	case p.serves(at) && !e.early:
		e.rounds++
	}
	if e.trial == 0 {
		e.put(at)
	}
}

// endTrial ends the running trial. One that cost no call is given back what it paid.
// Requires mu.
func (e *PassiveEndpoint) endTrial(free bool) {
	p := e.health
	e.trial = 0
	p.running--
	if free && !e.freeTrial {
		p.tokens = min(p.tokens+1, float64(p.cfg.Trials))
		p.dueServed.Store(0)
	}
}

// causeOf is the cause of an ejection whose trial came to the outcome.
func causeOf(outcome poise.Outcome) EjectionCause {
	switch outcome {
	case poise.Unreachable:
		return EjectedUnreachable
	case poise.Overloaded:
		return EjectedOverloaded
	case poise.Silent:
		return EjectedSilent
	}
	return EjectedFailures
}

// put sets the instant of the next trial. Requires mu.
func (e *PassiveEndpoint) put(at int64) {
	p := e.health
	e.backoff = p.cfg.Backoff
	if e.cause == EjectedUnreachable {
		e.backoff = p.cfg.UnreachableBackoff
	}
	for range e.rounds {
		if e.backoff > p.cfg.MaxBackoff/2 {
			e.backoff = p.cfg.MaxBackoff
			break
		}
		e.backoff *= 2
	}
	due := at + p.jittered(e.backoff)
	e.preferred, e.early = due+repeatableFirst, false
	p.enqueue(e, due)
}

// eject leaves the endpoint out. Requires mu.
func (e *PassiveEndpoint) eject(cause EjectionCause, at int64) {
	p := e.health
	if e.state == Returning || at-e.settled < 4*int64(e.backoff) {
		if p.serves(at) {
			e.rounds++
		}
	} else {
		e.rounds = 0
	}
	e.setRun(0)
	e.clear()
	e.state, e.cause, e.since = Ejected, cause, at
	e.epoch++
	e.accused, e.misses, e.mute = false, 0, false
	e.room.forget()
	e.noteWaits()
	p.ejected++
	p.ejectedAt = at
	if cause == EjectedPartial {
		p.partial++
	}
	p.list.pushBack(e)
	e.put(at)
	p.schedule()
	e.note()
}

// spare reports whether the endpoint is ejected and may be able to carry a part of the
// load: something can be sent to it, and its last trial did not end in silence. Where
// nobody serves that says less. Requires mu.
func (e *PassiveEndpoint) spare(nobodyServes bool) bool {
	return e.state == Ejected && e.cause != EjectedUnreachable && (nobodyServes || !e.mute)
}

// comeBack lets an ejected endpoint return. Requires mu.
func (e *PassiveEndpoint) comeBack(at int64) {
	p := e.health
	p.leave(e)
	e.state, e.cause, e.since = Returning, NotEjected, at
	e.successes, e.returnMark = 1, p.mark(e)
	e.setReturn(p.cfg.MinShare*returnGrowth, at)
	e.weighShare(at)
	p.schedule()
	e.note()
}

// setReturn sets the share of a returning endpoint. Requires mu.
func (e *PassiveEndpoint) setReturn(share float64, at int64) {
	e.returnShare, e.returnAt = min(share, 1), at
}

// returned is the share for returning at the instant. Requires mu.
func (e *PassiveEndpoint) returned(at int64) float64 {
	return min(1, e.returnShare+returnRate*float64(max(0, at-e.returnAt))/1e9)
}

// peersBusy is what was refused to the peers lately, as of the last call that was
// refused and the last look. Requires mu.
func (e *PassiveEndpoint) peersBusy() busyRecord { return e.health.busy.without(&e.busy) }

// peersAreBusy reports whether the peers were short of capacity lately. Requires mu.
func (e *PassiveEndpoint) peersAreBusy() bool {
	peers := e.peersBusy()
	return peers.lately() > notBusy
}

// weighShare works out the share at the instant. Requires mu.
func (e *PassiveEndpoint) weighShare(at int64) {
	share := 1.0
	if e.busy.odds(true) > busyLift {
		// Where the peers are short of capacity too, waiting is the fleet's, and lower
		// shares only move it.
		peers := e.peersBusy()
		waited := peers.lately() <= notBusy
		share = min(1, (busyMargin*peers.lossOdds(waited)+busyLift)/max(busyLift, e.busy.odds(waited)))
	}
	if e.state == Returning {
		share *= e.returned(at)
	}
	if at < e.restUntil {
		share = 0
	}
	missing := math.Float64bits(1 - max(share, e.health.cfg.MinShare))
	if missing != e.missing.Load() {
		e.missing.Store(missing)
	}
}

// clear forgets the evidence that it serves worse than its peers. Requires mu.
func (e *PassiveEndpoint) clear() { e.sum, e.unweighed = 0, false }

// setRun sets the length of the run of failures. Requires mu.
func (e *PassiveEndpoint) setRun(run int) {
	runs := &e.health.runs
	if e.run > 0 {
		runs[min(e.run, runLengths-1)]--
	}
	e.run = run
	if run > 0 {
		runs[min(run, runLengths-1)]++
		return
	}
	e.busyRun, e.silentRun, e.runKeys, e.failedKeys, e.late = 0, 0, 0, keyMemory{}, false
}

// note publishes the state for those that take no lock. Requires mu.
func (e *PassiveEndpoint) note() {
	word := uint64(e.epoch) << epochShift
	switch {
	case e.removed:
		word |= flagRemoved
	case e.state == Ejected:
		word |= flagEjected
	case e.state == Serving && e.run == 0 && e.sum == 0 && !e.unweighed && e.misses == 0:
		word |= flagPlain
	}
	if e.accused {
		word |= flagAccused
	}
	if word != e.word.Load() {
		e.word.Store(word)
	}
}

// serve takes a success. Requires mu.
func (e *PassiveEndpoint) serve(at int64) {
	p := e.health
	if e.run > 0 {
		e.failed += uint64(e.run)
		p.failed += uint64(e.run)
		e.setRun(0)
	}
	e.misses = 0
	e.add(false, at)
	if e.state == Returning {
		e.setReturn(e.returned(at)*returnGrowth, at)
		if e.successes++; e.successes >= p.cfg.ReturnSuccesses {
			e.state, e.since, e.settled = Serving, at, at
		}
		e.weighShare(at)
	}
}

// refuse takes a call that was refused, or waited in vain. Requires mu.
func (e *PassiveEndpoint) refuse(c *PassiveCall, r poise.Result, at int64) {
	p := e.health
	p.busy.advance(at, p.served.Load())
	e.busy.advance(at, e.answered.Load())
	switch {
	case r.Outcome == poise.Overloaded:
		e.busyRun++
		p.busy.addRefused()
		e.busy.addRefused()
		e.room.refused(c.others, at)
	case e.heard() == c.heard:
		e.silentRun++
		p.busy.addStuck()
		e.busy.addStuck()
	default:
		// It answered others while the caller waited.
		e.busyRun++
		e.measure(at - c.began)
		p.busy.addWaited()
		e.busy.addWaited()
	}
	if r.RetryAfter > 0 && !e.peersAreBusy() {
		e.restUntil = at + int64(min(r.RetryAfter, p.cfg.MaxRetryAfter))
	}
	e.noteWaits()
	e.weighShare(at)
}

// noteWaits counts the endpoint among those whose callers wait in vain, or not. Requires
// mu.
func (e *PassiveEndpoint) noteWaits() {
	waits := e.state != Ejected && !e.removed && e.busy.waits()
	if waits {
		// What its callers have left may still be there: who waits says nothing of room.
		e.room.forget()
	}
	if waits == e.waits {
		return
	}
	e.waits = waits
	if waits {
		e.health.waiting++
	} else {
		e.health.waiting--
	}
}

// fail takes a failure of an endpoint that is not ejected. Requires mu.
func (e *PassiveEndpoint) fail(c *PassiveCall, r poise.Result, at int64) (changed bool) {
	p := e.health
	if e.run == 0 {
		e.runAt, e.runMark = c.began, p.mark(e)
	}
	e.setRun(min(e.run+1, math.MaxInt32))
	if p.batch.Load() > 0 {
		p.resize()
	}
	if !e.late && at-e.runAt >= e.lateness() {
		e.runLate, e.late = p.mark(e), true
	}
	if e.failedKeys.add(c.key) {
		e.runKeys++
	}
	silent := e.silentRun
	if r.Outcome != poise.Failure {
		e.refuse(c, r, at)
	}
	if (r.Outcome == poise.Failure || e.silentRun != silent) && e.sumKeys.add(c.key) {
		e.add(true, at)
	}
	p.press(r.Outcome != poise.Failure, at)
	if cause := e.verdict(e.runKeys, at); cause != NotEjected {
		e.eject(cause, at)
		return true
	}
	if e.partial(at) {
		e.eject(EjectedPartial, at)
		return true
	}
	if e.accused {
		if e.accusedFails++; e.accusedFails >= accusedRun {
			e.eject(e.accusedOf, at)
			return true
		}
		return false
	}
	if e.run == e.runKeys {
		return false
	}
	if cause := e.verdict(e.run, at); cause != NotEjected {
		return e.accuse(cause, at)
	}
	return false
}

// brokeOff takes the end of an answer that had begun soundly. Requires mu not held.
func (e *PassiveEndpoint) brokeOff(c *PassiveCall, r poise.Result, now time.Time) (changed bool) {
	at := e.health.enter(now)
	defer e.health.mu.Unlock()
	if e.removed || c.epoch != e.epoch || e.state == Ejected {
		return false
	}
	e.lastErr = r.Err
	e.failed++
	e.health.failed++
	if e.sumKeys.add(c.key) {
		e.add(true, at)
	}
	if e.partial(at) {
		e.eject(EjectedPartial, at)
		changed = true
	}
	e.note()
	return changed
}

// add adds a call to the evidence that it serves worse than its peers. Requires mu.
func (e *PassiveEndpoint) add(failed bool, at int64) {
	if e.sum == 0 && !e.unweighed {
		if !failed {
			return
		}
		e.sumMark = e.health.mark(e)
	}
	if e.health.since(e.sumMark, e).served < 1 {
		// Until a peer has served since the first failure, everybody may fail alike: one
		// failure stands for all of that time, and a success is the end of it.
		e.unweighed = failed
		return
	}
	q := e.surePeerRate()
	p1 := (1 + q) / 2
	if e.unweighed {
		e.unweighed = false
		e.sum = math.Log(p1 / q)
	}
	if failed {
		e.sum += math.Log(p1 / q)
	} else {
		e.sum += math.Log((1 - p1) / (1 - q))
	}
	if e.sum <= 0 {
		e.clear()
	}
}

// surePeerRate is the worst that the share of failures of its peers may be: of what is
// remembered of them, or of what they did since, with some of that as a beginning.
// Requires mu.
func (e *PassiveEndpoint) surePeerRate() float64 {
	p := e.health
	rate, since := p.cfg.PeerRate, p.since(e.sumMark, e)
	if known := p.peerRecord(e); known.served > 0 {
		rate = max(rate, known.surely(partialSurely))
		since.failed += partialPrior * rate
		since.served += partialPrior * (1 - rate)
	}
	return min(max(rate, since.surely(partialSurely)), 0.999)
}

// verdict is the cause for which so many failures in a row eject it, if there is one.
// Requires mu.
func (e *PassiveEndpoint) verdict(run int, at int64) EjectionCause {
	cause := e.suspected(run, at)
	if cause != NotEjected && e.health.stale(at) {
		cause = e.suspected(run, at)
	}
	return cause
}

// suspected is verdict by what is remembered. Requires mu.
func (e *PassiveEndpoint) suspected(run int, at int64) EjectionCause {
	p := e.health
	if at < p.carryUntil {
		return NotEjected
	}
	since := p.since(e.runMark, e)
	lasted := at - e.runAt
	switch {
	case e.state == Returning:
		since = p.since(e.returnMark, e)
		if since.served < 1 || -float64(run)*math.Log(p.peerRate(e, since)) < math.Log(returnOdds) {
			return NotEjected
		}
		return e.runCause()
	case !e.late || e.run > 1 && p.since(e.runLate, e).served < 1:
		// What peers served since may be what they had begun before.
	case e.busyRun > 0 && lasted < max(int64(p.cfg.BusyTime), busyLatencies*e.meanLatency()):
	case e.silentRun > 0 && lasted < e.silenceBesidePeers():
	case p.convicts(e, run, since):
		return e.runCause()
	}
	return NotEjected
}

// runCause is the cause of an ejection for the run. Requires mu.
func (e *PassiveEndpoint) runCause() EjectionCause {
	switch {
	case e.silentRun == e.run:
		return EjectedSilent
	case e.busyRun*2 > e.run:
		return EjectedOverloaded
	}
	return EjectedFailures
}

// meanLatency is the longer of its own mean time to the answer and the fleet's.
func (e *PassiveEndpoint) meanLatency() int64 { return max(e.latency.Load(), e.health.latency) }

// lateness is how old a run is when no call is left that began before it.
func (e *PassiveEndpoint) lateness() int64 {
	mean := e.meanLatency()
	return min(lateLatencies*mean, max(lateAtLeast*mean, lateTime))
}

// silence is how long it must have been silent. Requires mu.
func (e *PassiveEndpoint) silence() int64 {
	cfg := &e.health.cfg
	return max(int64(cfg.Silence), int64(min(cfg.SilenceLatencies*float64(e.meanLatency()), float64(longest))))
}

// silenceBesidePeers is how long it must have been silent to be convicted for it: longer
// where its peers are short of capacity too, since waiting may be the fleet's.
// Requires mu.
func (e *PassiveEndpoint) silenceBesidePeers() int64 {
	if e.peersAreBusy() {
		return busySilences * min(e.silence(), int64(longest)/busySilences)
	}
	return e.silence()
}

// partial reports whether it is to be ejected because it serves worse than its peers.
// Requires mu.
func (e *PassiveEndpoint) partial(at int64) bool {
	p := e.health
	if at < p.carryUntil || e.sum < math.Log(p.cfg.Odds) || p.since(e.sumMark, e).served < 1 || e.answered.Load() == e.sumMark.ownServed {
		return false // or it serves nothing, which is for the run to say
	}
	return p.partial < max(1, len(p.endpoints)*p.cfg.MaxPartialPercent/100) && !e.peersAreBusy()
}

// accuse ejects the endpoint, or has other endpoints asked first. Requires mu.
func (e *PassiveEndpoint) accuse(cause EjectionCause, at int64) (changed bool) {
	p := e.health
	if at < e.exoneratedTil {
		return false
	}
	if !p.cfg.Divert {
		e.eject(cause, at)
		return true
	}
	p.accusation++
	e.accused, e.accusation, e.accusedOf, e.accusedFails = true, p.accusation, cause, 0
	e.suspicion = 0
	e.suspectRate = min(0.95, (float64(e.run)+0.5)/(float64(e.run)+1))
	return false
}

// weigh takes the result of a call that was meant for it and went elsewhere. Requires
// mu.
func (e *PassiveEndpoint) weigh(c *PassiveCall, r poise.Result, at int64) (changed bool) {
	if !e.accused || e.accusation != c.number || r.Outcome == poise.Unreachable || !r.Outcome.IsObservation() {
		return false
	}
	if r.Outcome == poise.Success && !e.failedKeys.has(c.key) {
		return false // calls of this key did not fail here either
	}
	q := min(e.surePeerRate(), e.suspectRate/2)
	if r.Outcome == poise.Success {
		e.suspicion += math.Log((1 - e.suspectRate) / (1 - q))
	} else {
		e.suspicion += math.Log(e.suspectRate / q)
	}
	switch {
	case e.suspicion <= -math.Log(guiltyOdds):
		e.eject(e.accusedOf, at)
		return true
	case e.suspicion >= math.Log(innocentOdds):
		e.accused, e.exoneratedTil = false, at+exonerated
		e.setRun(0)
		e.clear()
		e.note()
	}
	return false
}

// remember adds what was answered since the last look to what is remembered. Requires
// mu.
func (e *PassiveEndpoint) remember() {
	answered := e.answered.Load()
	served, failed := answered-e.rememberedServed, e.failed-e.rememberedFailed
	if served+failed > 0 {
		e.memory.forget(float64(served), float64(failed), memoryCalls)
		e.rememberedServed, e.rememberedFailed = answered, e.failed
	}
}

// look does what is due for the endpoint, elapsed after the last look; by is the fade of
// those looked at before. Requires mu.
func (e *PassiveEndpoint) look(by *fade, at, elapsed int64) (changed bool) {
	switch {
	case e.state != Ejected:
		changed = e.listen(at, elapsed)
	case e.trial != 0:
		if e.trialAge += elapsed; e.trialAge >= max(trialHold, e.silence()) {
			e.endTrial(false)
			e.retry(poise.Silent, at)
			e.health.schedule()
		}
	}
	e.busy.advanceBy(by, at, e.answered.Load())
	e.room.fade(at)
	e.noteWaits()
	if e.missing.Load() != 0 || e.state == Returning {
		e.weighShare(at)
	}
	return changed
}

// listen judges its silence. Requires mu.
func (e *PassiveEndpoint) listen(at, elapsed int64) (changed bool) {
	p := e.health
	heard, started := e.heard(), e.started.Load()
	if heard != e.quietHeard || started == e.quietStarted {
		e.quietHeard, e.quietStarted, e.quietAge, e.quietSlot = heard, started, 0, 0
		e.quietWaiting = started - heard - e.ended.Load()
		for i := range e.quietBegun {
			e.quietBegun[i] = started
		}
		e.quietMark = p.mark(e)
		return false
	}
	e.quietAge += elapsed
	e.quietSlot += elapsed
	silence := e.silenceBesidePeers()
	if e.quietSlot >= silence/(quietSlots-1) {
		e.quietSlot = 0
		copy(e.quietBegun[1:], e.quietBegun[:])
		e.quietBegun[0] = started
	}
	if e.quietAge < silence || at < p.carryUntil || e.accused {
		return false
	}
	// Calls that have waited that long, at least so many: others may have begun since,
	// or have waited already when it last spoke.
	begun := e.quietBegun[quietSlots-1]
	waiting := int64(started - heard - e.ended.Load())
	old := min(int64(begun-e.quietStarted), waiting-int64(e.quietWaiting)-int64(started-begun))
	run, mark := int(max(0, old)), e.quietMark
	if e.run > 0 {
		run, mark = run+e.run, e.runMark
	}
	if run == 0 || e.run > e.silentRun || !p.convicts(e, run, p.since(mark, e)) || p.stale(at) && !p.convicts(e, run, p.since(mark, e)) {
		return false
	}
	changed = e.accuse(EjectedSilent, at)
	e.note()
	return changed
}

// rebase moves its instants to 0. Requires mu.
func (e *PassiveEndpoint) rebase() {
	e.since, e.settled, e.runAt, e.due, e.preferred, e.exoneratedTil = 0, 0, 0, 0, 0, 0
	e.returnAt, e.restUntil, e.busy.at, e.room.at, e.room.since = 0, 0, 0, 0, 0
}

// Probe tells the result of an active probe. One that passes brings back an endpoint
// that nothing could be sent to or that was silent, and makes every other one due for
// a trial; one that fails changes nothing. It reports whether Ejected has changed of
// anybody.
func (e *PassiveEndpoint) Probe(passed bool, now time.Time) (changed bool) {
	if !passed || e.word.Load()&flagEjected == 0 {
		return false
	}
	p := e.health
	at := p.enter(now)
	defer p.mu.Unlock()
	switch {
	case e.state != Ejected:
		return false
	case e.cause == EjectedUnreachable || e.cause == EjectedSilent:
		e.comeBack(at)
		return true
	case e.queued >= 0 && e.due > at:
		e.early = true
		p.enqueue(e, at)
		p.schedule()
	}
	return false
}

// Inspect returns how the endpoint stands.
func (e *PassiveEndpoint) Inspect(now time.Time) PassiveInspection {
	p := e.health
	at := p.enter(now)
	defer p.mu.Unlock()
	i := PassiveInspection{
		State: e.state, Cause: e.cause, Share: e.Share(now),
		Since: now.Add(time.Duration(e.since - at)),
		Run:   e.run, Successes: e.successes, Ejections: uint64(e.epoch),
		TrialRunning: e.trial != 0, Accused: e.accused, LastError: e.lastErr,
	}
	if e.state == Ejected {
		i.Backoff = e.backoff
		if e.queued >= 0 {
			i.Until = now.Add(time.Duration(e.due - at))
		}
	}
	return i
}
