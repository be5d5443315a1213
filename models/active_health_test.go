//go:build interleave

package models

import (
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/models/explore"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// probed is an ActiveHealth without jitter and three reservations of it, or a twin
// with a planted bug. Instants are nanoseconds.
type probed interface {
	reserve(a seq.Stamped) (wait int)
	complete(v seq.Verdict) (counts bool)
	force(a seq.Stamped)
	due(at int) int
	condition() int
}

type realProbed struct {
	*health.ActiveHealth
	// Each is its task's own.
	reservations *[3]health.Reservation
}

func newProbed(cfg seq.ProbingConfig) probed {
	h, err := health.NewActiveHealth(health.ActiveHealthConfig{
		UnknownInterval: time.Duration(cfg.Intervals[0]), Interval: time.Duration(cfg.Intervals[1]),
		UnhealthyInterval: time.Duration(cfg.Intervals[2]), Hold: time.Duration(cfg.Hold),
		HealthyThreshold: cfg.Good, UnhealthyThreshold: cfg.Bad,
	})
	if err != nil {
		panic(err)
	}
	return realProbed{h, new([3]health.Reservation)}
}

func (p realProbed) reserve(a seq.Stamped) int {
	r, wait, err := p.Reserve(time.Unix(0, int64(a.At)), nil)
	if err == nil {
		p.reservations[a.Number] = r
	}
	return int(wait)
}

func (p realProbed) complete(v seq.Verdict) bool {
	_, counts := p.Complete(p.reservations[v.Permit], !v.Failed, time.Unix(0, int64(v.At)))
	return counts
}

func (p realProbed) force(a seq.Stamped) {
	if err := p.Force(health.Condition(a.Number), time.Unix(0, int64(a.At))); err != nil {
		panic(err)
	}
}

func (p realProbed) due(at int) int { return int(p.Due(time.Unix(0, int64(at)))) }

func (p realProbed) condition() int { return int(p.State(time.Unix(0, 0)).Condition) }

// buggyProbed is an ActiveHealth whose results decide alone, with one unit between
// probes and a hold of two, in hooked cells.
type buggyProbed struct {
	mu                        explore.Mutex
	state, issued, out, ended explore.Int64
	since                     explore.Int64
	mine                      [3]int64 // each its task's own

	unlocked bool // Reserve looks before it locks
	anyone   bool // any reservation counts while one is out
	forgiven bool // Force leaves the reservation out
	forever  bool // a lost reservation stays out
}

func (p *buggyProbed) settle(at int64) {
	if p.out.Load() != 0 && at-p.since.Load() >= 2 && !p.forever {
		p.out.Store(0)
		p.ended.Store(p.since.Load() + 2)
	}
}

func (p *buggyProbed) left(at int64) int {
	switch {
	case p.out.Load() != 0:
		return int(3 - max(0, at-p.since.Load()))
	case p.ended.Load() != 0:
		return int(max(0, 1-max(0, at-p.ended.Load())))
	}
	return 0
}

func (p *buggyProbed) reserve(a seq.Stamped) int {
	at, wait := int64(a.At), 0
	if p.unlocked {
		wait = p.left(at)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.unlocked {
		p.settle(at)
		wait = p.left(at)
	}
	if wait == 0 {
		p.mine[a.Number] = p.issued.Add(1)
		p.out.Store(p.mine[a.Number])
		p.since.Store(at)
	}
	return wait
}

func (p *buggyProbed) complete(v seq.Verdict) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settle(int64(v.At))
	out := p.out.Load()
	if out == 0 || out != p.mine[v.Permit] && !p.anyone {
		return false
	}
	p.out.Store(0)
	p.ended.Store(int64(v.At))
	if v.Failed {
		p.state.Store(2)
	} else {
		p.state.Store(1)
	}
	return true
}

func (p *buggyProbed) force(a seq.Stamped) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settle(int64(a.At))
	p.state.Store(int64(a.Number))
	if !p.forgiven {
		p.out.Store(0)
	}
}

func (p *buggyProbed) due(at int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left(int64(at))
}

func (p *buggyProbed) condition() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(p.state.Load())
}

// probe is one probe whose result is known beforehand, reserved and completed at
// two instants.
func probe(id, at, ends int, failed bool) func(probed, *explore.T) {
	return func(p probed, h *explore.T) {
		h.Call("Reserve", seq.Stamped{Number: id, At: at}, func() any { return p.reserve(seq.Stamped{Number: id, At: at}) })
		v := seq.Verdict{Permit: id, At: ends, Failed: failed}
		h.Call("Complete", v, func() any { return p.complete(v) })
	}
}

// forced sets the condition and looks whether it stays.
func forced(condition, at int) func(probed, *explore.T) {
	return func(p probed, h *explore.T) {
		a := seq.Stamped{Number: condition, At: at}
		h.Call("Force", a, func() any { p.force(a); return nil })
		h.Call("Condition", nil, func() any { return p.condition() })
	}
}

var quick = seq.ProbingConfig{Intervals: [3]int{1, 1, 1}, Hold: 2, Good: 1, Bad: 1}

// Claim: At most one reservation is outstanding at any instant.
// Claim: Only the outstanding reservation has effect: one that was completed, cancelled, voided or lost before is reported as such and changes nothing.
func TestActiveHealth_ForceAgainstALateCompletion(t *testing.T) {
	explore.Check(t, explore.Model[probed]{
		Name:     "active health: two who want to probe, against a force",
		NotShown: "Jitter and the longer waits, which are arithmetic and tested as such.",
		New:      func() probed { return newProbed(quick) },
		Tasks: []explore.Task[probed]{
			{Name: "prober 0", Body: probe(0, 1, 2, true)},
			{Name: "prober 1", Body: probe(1, 1, 2, true)},
			{Name: "control", Body: forced(1, 1)},
		},
		Outcome: results[probed],
		Spec:    seq.Probing(quick),
		Sometimes: []explore.Pred[probed]{
			{Name: "Forced", Holds: func(p probed) bool { return p.condition() == 1 }},
			{Name: "Found", Holds: func(p probed) bool { return p.condition() == 2 }},
		},
		Bugs: []explore.Bug[probed]{
			bug("reserve looks before it locks", "history", func() probed { return &buggyProbed{unlocked: true} }),
			bug("any reservation counts", "history", func() probed { return &buggyProbed{anyone: true} }),
			bug("force leaves the reservation out", "history", func() probed { return &buggyProbed{forgiven: true} }),
		},
	})
}

// Claim: A reservation that is not ended within Hold is lost, and counts as cancelled at the instant its Hold ended.
// Claim: Due, State and Excluded change nothing.
func TestActiveHealth_ALostReservationAgainstTheNext(t *testing.T) {
	explore.Check(t, explore.Model[probed]{
		Name:     "active health: a probe that ends late, against the next and a look",
		NotShown: "Jitter and the longer waits.",
		New:      func() probed { return newProbed(quick) },
		Tasks: []explore.Task[probed]{
			{Name: "prober 0", Body: probe(0, 1, 3, true)},
			{Name: "prober 1", Body: probe(1, 4, 5, false)},
			{Name: "control", Body: func(p probed, h *explore.T) {
				h.Call("Due", 3, func() any { return p.due(3) })
			}},
		},
		Outcome: results[probed],
		Spec:    seq.Probing(quick),
		Bugs: []explore.Bug[probed]{
			bug("a lost reservation stays out", "history", func() probed { return &buggyProbed{forever: true} }),
		},
	})
}

// Claim: The condition becomes Healthy or Unhealthy exactly when that many probes in a row as its threshold says have agreed, and otherwise stays.
func TestActiveHealth_ResultsInARow(t *testing.T) {
	steady := seq.ProbingConfig{Intervals: [3]int{1, 3, 2}, Hold: 4, Good: 2, Bad: 2}
	explore.Check(t, explore.Model[probed]{
		Name:     "active health: three probes of which two in a row decide",
		NotShown: "More than three probes.",
		New:      func() probed { return newProbed(steady) },
		Tasks: []explore.Task[probed]{
			{Name: "prober 0", Body: probe(0, 1, 1, true)},
			{Name: "prober 1", Body: probe(1, 2, 2, true)},
			{Name: "prober 2", Body: probe(2, 3, 3, false)},
		},
		Outcome: results[probed],
		Spec:    seq.Probing(steady),
		Sometimes: []explore.Pred[probed]{
			{Name: "Unhealthy", Holds: func(p probed) bool { return p.condition() == 2 }},
		},
		Bugs: []explore.Bug[probed]{
			bug("one failure is enough", "history", func() probed { return newProbed(quick) }),
		},
	})
}
