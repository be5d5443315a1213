//go:build interleave

package models

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/models/explore"
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// window is an OutcomeWindow of two outcomes, or a twin of it with a planted bug.
// Instants are nanoseconds.
type window interface {
	record(a seq.Stamped)
	stats() seq.Held
	penalty(at int) int
}

type realWindow struct{ *health.OutcomeWindow }

var windowZero = time.Unix(0, 0)

func newWindow(halfLife time.Duration) window {
	w, err := health.NewOutcomeWindow(health.OutcomeWindowConfig{Capacity: 2, HalfLife: halfLife}, windowZero)
	if err != nil {
		panic(err)
	}
	return realWindow{w}
}

func (w realWindow) record(a seq.Stamped) {
	w.Record(poise.Outcome(a.Number), windowZero.Add(time.Duration(a.At)))
}

func (w realWindow) stats() seq.Held {
	s := w.Stats(windowZero)
	return seq.Held{Successes: s.Successes, Failures: s.Failures, Overloaded: s.Overloaded}
}

func (w realWindow) penalty(at int) int {
	return seq.Penalty(w.Penalty(windowZero.Add(time.Duration(at))))
}

// buggyWindow holds two outcomes in hooked cells, 0 for none and else one more than
// the outcome.
type buggyWindow struct {
	mu         explore.Mutex
	older, new explore.Int64
	weight     explore.Int64 // of both

	unlocked bool // Record does not lock
	heavy    bool // what goes out leaves its weight
}

func (w *buggyWindow) record(a seq.Stamped) {
	if !w.unlocked {
		w.mu.Lock()
		defer w.mu.Unlock()
	}
	out := w.older.Load()
	w.older.Store(w.new.Load())
	w.new.Store(int64(a.Number) + 1)
	weight := w.weight.Load() + int64(a.Number)
	if !w.heavy {
		weight -= max(0, out-1)
	}
	w.weight.Store(weight)
}

func (w *buggyWindow) stats() seq.Held {
	w.mu.Lock()
	defer w.mu.Unlock()
	var held [4]int
	held[w.older.Load()]++
	held[w.new.Load()]++
	return seq.Held{Successes: held[1], Failures: held[2], Overloaded: held[3]}
}

func (w *buggyWindow) penalty(int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0.0
	for _, kind := range []int64{w.older.Load(), w.new.Load()} {
		if kind != 0 {
			n++
		}
	}
	return seq.Penalty(float64(w.weight.Load()) / max(1, n))
}

// records returns a task that records outcomes, one for each instant.
func records(name string, stamped ...seq.Stamped) explore.Task[window] {
	return explore.Task[window]{Name: name, Body: func(w window, h *explore.T) {
		for _, a := range stamped {
			h.Call("Record", a, func() any { w.record(a); return nil })
		}
	}}
}

// Claim: The window holds the last Capacity observations, whatever their order in time.
// Claim: The penalty is the weight of the failures held divided by the number of observations held.
func TestOutcomeWindow_RecordsAgainstReadings(t *testing.T) {
	explore.Check(t, explore.Model[window]{
		Name:     "outcome window: four outcomes by two callers into a window of two, against readings",
		NotShown: "Larger windows, whose arithmetic is tested as such.",
		New:      func() window { return newWindow(0) },
		Tasks: []explore.Task[window]{
			records("caller 0", seq.Stamped{Number: 1, At: 1}, seq.Stamped{Number: 0, At: 2}),
			records("caller 1", seq.Stamped{Number: 2, At: 3}, seq.Stamped{Number: 1, At: 4}),
			{Name: "reader", Body: func(w window, h *explore.T) {
				h.Call("Penalty", 0, func() any { return w.penalty(0) })
				h.Call("Stats", nil, func() any { return w.stats() })
			}},
		},
		Outcome: results[window],
		Spec:    seq.Outcomes(2, seq.Lasting),
		Bugs: []explore.Bug[window]{
			bug("records outside the lock", "history", func() window { return &buggyWindow{unlocked: true} }),
			bug("what goes out leaves its weight", "history", func() window { return &buggyWindow{heavy: true} }),
		},
	})
}

// buggyDecay publishes a weight and its instant as an OutcomeWindow does, with one
// line changed. Only failures are recorded, and one is held.
type buggyDecay struct {
	mu         explore.Mutex
	count      explore.Uint64
	weight, at [2]explore.Int64

	onePlace, noSecondLook bool
}

func (w *buggyDecay) place(count uint64) uint64 {
	if w.onePlace {
		return 0
	}
	return count % 2
}

func (w *buggyDecay) record(a seq.Stamped) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := w.count.Load() + 1
	w.weight[w.place(next)].Store(int64(a.Number))
	w.at[w.place(next)].Store(int64(a.At))
	w.count.Store(next)
}

func (w *buggyDecay) stats() seq.Held { return seq.Held{} }

func (w *buggyDecay) penalty(at int) int {
	for {
		count := w.count.Load()
		weight, since := w.weight[w.place(count)].Load(), w.at[w.place(count)].Load()
		if w.noSecondLook || w.count.Load() == count {
			return seq.Penalty(math.Ldexp(float64(weight), int(since)-max(at, int(since))))
		}
	}
}

// Claim: The weight of a failure is halved by each HalfLife that passes after it.
// Claim: Penalty and Load neither write nor lock, and never wait.
func TestOutcomeWindow_ReadingsAreOfOneRecord(t *testing.T) {
	newDecay := func() window {
		w, err := health.NewOutcomeWindow(health.OutcomeWindowConfig{Capacity: 1, HalfLife: 1}, windowZero)
		if err != nil {
			panic(err)
		}
		return realWindow{w}
	}
	explore.Check(t, explore.Model[window]{
		Name:     "outcome window with a half-life: three failures of one caller and two readings",
		NotShown: "Several callers, whom a lock orders.",
		New:      newDecay,
		Tasks: []explore.Task[window]{
			records("caller", seq.Stamped{Number: 1, At: 1}, seq.Stamped{Number: 2, At: 3}, seq.Stamped{Number: 1, At: 4}),
			{Name: "reader", Body: func(w window, h *explore.T) {
				for _, at := range []int{4, 6} {
					h.Call("Penalty", at, func() any { return w.penalty(at) })
				}
			}},
		},
		Outcome: results[window],
		Spec:    seq.Outcomes(1, seq.Halving),
		Bugs: []explore.Bug[window]{
			bug("one place for every record", "history", func() window { return &buggyDecay{onePlace: true} }),
			bug("no second look at the count", "history", func() window { return &buggyDecay{noSecondLook: true} }),
		},
	})
}

// runs are the runs of one member: both numbers are 2.
type runs interface{ record(kind int) bool }

type realRuns struct{ *health.OutlierSubject }

func (r realRuns) record(kind int) bool {
	if kind == seq.Succeeded {
		return r.Begin().Record(poise.Success, health.MemberFailure)
	}
	return r.Begin().Record(poise.Failure, health.FailureKind(kind-1))
}

// buggyRuns looks first and counts second.
type buggyRuns struct{ all, local explore.Int64 }

func (r *buggyRuns) record(kind int) (just bool) {
	for _, run := range []struct {
		cell   *explore.Int64
		counts bool
	}{{&r.all, kind != seq.Succeeded}, {&r.local, kind == seq.FailedHere}} {
		next := int64(0)
		if run.counts {
			next = run.cell.Load() + 1
		}
		run.cell.Store(next)
		just = just || next == 2
	}
	return just
}

// Claim: Record returns true exactly for the failure with which a run reaches its number.
func TestOutlierSubject_RunsAgainstASuccess(t *testing.T) {
	explore.Check(t, explore.Model[runs]{
		Name:     "outlier subject: two callers that fail and one that succeeds",
		NotShown: "Longer runs, which are counted alike.",
		New: func() runs {
			c, err := health.NewOutlierController(health.OutlierControllerConfig{Detector: health.OutlierConfig{
				FailuresInRow: 2, GatewayFailuresInRow: 9, LocalFailuresInRow: 2,
			}})
			if err != nil {
				panic(err)
			}
			return realRuns{c.Subject()}
		},
		Tasks: []explore.Task[runs]{
			runsTask("caller 0", seq.FailedHere),
			runsTask("caller 1", seq.FailedHere),
			runsTask("caller 2", seq.Succeeded),
		},
		Outcome: results[runs],
		Spec:    seq.Runs(2, 9, 2),
		Bugs:    []explore.Bug[runs]{bug("looks first and counts second", "history", func() runs { return new(buggyRuns) })},
	})
}

func runsTask(name string, kinds ...int) explore.Task[runs] {
	return explore.Task[runs]{Name: name, Body: func(r runs, h *explore.T) {
		for _, kind := range kinds {
			h.Call("Record", kind, func() any { return r.record(kind) })
		}
	}}
}

// ejecting is an OutlierController of two members of which one may be ejected, each
// by one failure and for one nanosecond, or a twin with a planted bug.
type ejecting interface {
	// begin begins a call to a member and returns what ends it with a failure.
	begin(member int) (fail func())
	sweep(at int)
	ejected(member int) bool
}

type realEjecting struct {
	*health.OutlierController
	members [2]health.OutlierMember
}

func newEjecting() ejecting {
	c, err := health.NewOutlierController(health.OutlierControllerConfig{
		Detector: health.OutlierConfig{FailuresInRow: 1}, BaseTime: 1, MaxTime: 1, Jitter: 1, Interval: time.Hour,
	})
	if err != nil {
		panic(err)
	}
	e := &realEjecting{OutlierController: c}
	for i := range e.members {
		e.members[i].Subject = c.Subject()
	}
	return e
}

func (e *realEjecting) begin(member int) func() {
	call := e.members[member].Subject.Begin()
	return func() { call.Record(poise.Failure, health.MemberFailure) }
}

func (e *realEjecting) sweep(at int) {
	// A generator of its own draws the same jitter for every sweep.
	if _, err := e.Sweep(time.Unix(0, int64(at)), e.members[:], poise.NewGenerator(1)); err != nil {
		panic(err)
	}
}

func (e *realEjecting) ejected(member int) bool {
	return e.members[member].Subject.Excluded() != poise.NotExcluded
}

// buggyEjecting is the same in hooked cells.
type buggyEjecting struct {
	mu           explore.Mutex
	failed, out  [2]explore.Int64
	epoch, since [2]explore.Int64

	unlocked  bool // Sweep does not lock
	anyEpoch  bool // a result counts whenever its call began
	ejectsOne bool // the limit is looked at before the first ejection alone
}

func (e *buggyEjecting) begin(member int) func() {
	epoch := e.epoch[member].Load()
	return func() {
		if e.anyEpoch || e.out[member].Load() == 0 && e.epoch[member].Load() == epoch {
			e.failed[member].Add(1)
		}
	}
}

func (e *buggyEjecting) sweep(at int) {
	if !e.unlocked {
		e.mu.Lock()
		defer e.mu.Unlock()
	}
	room := int64(1)
	for i := range e.out {
		if e.out[i].Load() != 0 && int64(at)-e.since[i].Load() >= 2 {
			e.out[i].Store(0)
			if !e.anyEpoch {
				e.failed[i].Store(0)
			}
		}
		room -= e.out[i].Load()
	}
	for i := range e.out {
		if e.failed[i].Load() == 0 || e.out[i].Load() != 0 || room <= 0 {
			continue
		}
		if !e.ejectsOne {
			room--
		}
		e.failed[i].Store(0)
		e.since[i].Store(int64(at))
		e.epoch[i].Add(1)
		e.out[i].Store(1)
	}
}

func (e *buggyEjecting) ejected(member int) bool { return e.out[member].Load() != 0 }

// Claim: No Sweep leaves more of its members ejected than MaxEjectedPercent of them, rounded down, or one.
func TestOutlierController_SweepsAtOnceKeepTheLimit(t *testing.T) {
	both := func(e ejecting) int {
		n := 0
		for i := range 2 {
			if e.ejected(i) {
				n++
			}
		}
		return n
	}
	explore.Check(t, explore.Model[ejecting]{
		Name:     "outlier controller: two sweeps at once, and a failure of each of two members of which one may go",
		NotShown: "Larger groups, and the arithmetic of the limits, which is tested as such.",
		New:      newEjecting,
		Tasks: []explore.Task[ejecting]{
			{Name: "member 0", Body: func(e ejecting, _ *explore.T) { e.begin(0)(); e.sweep(1) }},
			{Name: "member 1", Body: func(e ejecting, _ *explore.T) { e.begin(1)(); e.sweep(1) }},
		},
		Always:    []explore.Pred[ejecting]{{Name: "at most one is ejected", Holds: func(e ejecting) bool { return both(e) <= 1 }}},
		Sometimes: []explore.Pred[ejecting]{{Name: "one is ejected", Holds: func(e ejecting) bool { return both(e) == 1 }}},
		Final: func(e ejecting, _ *explore.Run) error {
			if n := both(e); n != 1 {
				return fmt.Errorf("%d of two failing members are ejected", n)
			}
			return nil
		},
		Outcome: func(e ejecting, _ *explore.Run) string { return fmt.Sprint(e.ejected(0), e.ejected(1)) },
		Bugs: []explore.Bug[ejecting]{
			bug("sweeps outside the lock", "always at most one is ejected", func() ejecting { return &buggyEjecting{unlocked: true} }),
			bug("the limit is looked at once", "always at most one is ejected", func() ejecting { return &buggyEjecting{ejectsOne: true} }),
		},
	})
}

// Claim: A call that began while its subject was ejected, or before the last ejection, counts nothing after.
func TestOutlierController_LateResultsAgainstTheReturn(t *testing.T) {
	explore.Check(t, explore.Model[ejecting]{
		Name:     "outlier controller: a failure, its ejection and a late failure, against a return",
		NotShown: "More than one return.",
		New:      newEjecting,
		Tasks: []explore.Task[ejecting]{
			{Name: "late", Body: func(e ejecting, _ *explore.T) {
				fail := e.begin(0)
				e.begin(0)()
				e.sweep(1) // ejects, unless another has
				fail()
			}},
			{Name: "control", Body: func(e ejecting, _ *explore.T) { e.sweep(9) }},
		},
		Sometimes: []explore.Pred[ejecting]{
			{Name: "ejected", Holds: func(e ejecting) bool { return e.ejected(0) }},
		},
		Final: func(e ejecting, _ *explore.Run) error {
			if e.sweep(20); e.ejected(0) { // every ejection of before is over by then
				return errors.New("a late failure ejects it once more")
			}
			return nil
		},
		Outcome: func(e ejecting, _ *explore.Run) string { return fmt.Sprint(e.ejected(0)) },
		Bugs: []explore.Bug[ejecting]{
			bug("a late failure counts", "final", func() ejecting { return &buggyEjecting{anyEpoch: true} }),
		},
	})
}
