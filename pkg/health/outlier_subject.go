// Explorable.

package health

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// OutlierSubject is one life of a member as outlier detection sees it. A member that
// comes back as a new incarnation gets a new one, which has no past.
//
// It is made by [OutlierController.Subject]. A nil *OutlierSubject is never ejected.
//
// # Contract
//
//   - A subject is excluded exactly while it is ejected.
//   - A call that began while its subject was ejected, or before the last ejection, counts nothing after.
//   - A cancelled or unknown outcome counts nothing.
//   - A success ends every run of failures, and a failure those of the other kinds but not that of all failures.
//   - Record returns true exactly for the failure with which a run reaches its number.
//
// # Cost
//
// Every method is O(1). Excluded and Begin read one atomic value, a success adds
// to one and reads another. Nothing is looked up, locked or allocated.
//
// # Concurrency
//
// Every method may be called at any time. The outcomes counted and the runs are
// each one atomic step, one after the other.
type OutlierSubject struct {
	of *OutlierController
	// current counts what happens until the next ejection; nil while ejected. A call
	// keeps the one in which it began, so that its result finds no other.
	current syncx.Pointer[period]

	// Guarded by of.mu.
	round     uint64     // the last Sweep that listed it
	out       bool       // it is ejected: current is nil, or is about to be
	judged    callCounts // what was counted when rates were last judged
	settled   bool       // it has not been ejected since then
	ejections int        // those that are not forgotten
	since     time.Time
	wait      time.Duration // how long it is ejected, counted from since
	cause     OutlierCause
}

// callCounts counts calls.
type callCounts struct{ successes, failures uint64 }

// period is what a subject does from one readmission to the next ejection.
type period struct {
	of                  *OutlierController
	successes, failures syncx.Uint64
	// runs holds three counts of 20 bits: of failures in a row, of gateway failures
	// and of local ones.
	runs syncx.Uint64
}

// The places of the counts in period.runs.
const (
	runBits    = 20
	gatewayRun = runBits
	localRun   = 2 * runBits
)

// Excluded returns ExcludedOutlier while the subject is ejected, else NotExcluded.
func (s *OutlierSubject) Excluded() poise.Reason {
	if s == nil || s.current.Load() != nil {
		return poise.NotExcluded
	}
	return poise.ExcludedOutlier
}

// Begin returns what the result of a call that begins now is given to.
func (s *OutlierSubject) Begin() OutlierCall {
	if s == nil {
		return OutlierCall{}
	}
	return OutlierCall{s.current.Load()}
}

// OutlierCall is one call to an OutlierSubject. Its result is given to Record once.
//
// The zero value counts nothing.
type OutlierCall struct{ of *period }

// Record counts the outcome; the kind matters for a failure only. It reports
// whether a Sweep is now worth making before its time, because a run of failures
// has just become long enough.
func (c OutlierCall) Record(outcome poise.Outcome, kind FailureKind) (sweep bool) {
	s := c.of
	switch {
	case s == nil || outcome > poise.Overloaded:
		return false
	case outcome == poise.Success:
		s.successes.Add(1)
		if s.runs.Load() != 0 {
			s.runs.Store(0)
		}
		return false
	}
	s.failures.Add(1)
	for {
		before := s.runs.Load()
		after := extend(before, kind)
		if s.runs.CompareAndSwap(before, after) {
			return s.of.long(after)&^s.of.long(before) != 0
		}
	}
}

// extend returns the runs with one more failure.
func extend(runs uint64, kind FailureKind) uint64 {
	after := lengthened(runs, 0)
	switch kind {
	case GatewayFailure:
		after |= lengthened(runs, gatewayRun)
	case LocalFailure:
		after |= lengthened(runs, localRun)
	}
	return after
}

// lengthened returns one count of runs, in its place, plus one, if there is room.
func lengthened(runs uint64, place int) uint64 {
	return min(runs>>place&longestRun+1, longestRun) << place
}

// long returns which of the runs have reached their number.
func (c *OutlierController) long(runs uint64) (causes OutlierCause) {
	cfg := &c.detector.cfg
	for _, r := range [...]struct {
		cause  OutlierCause
		place  int
		number int
	}{
		{LocalFailuresInRow, localRun, cfg.LocalFailuresInRow},
		{GatewayFailuresInRow, gatewayRun, cfg.GatewayFailuresInRow},
		{FailuresInRow, 0, cfg.FailuresInRow},
	} {
		if runs>>r.place&longestRun >= uint64(r.number) {
			causes |= r.cause
		}
	}
	return causes &^ cfg.Off
}
