package observe

import (
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// Metrics counts what a loop tells, and what Policies and Attempts tell. What it counts
// is fixed: no identity, key or error text is ever part of it.
//
// The zero value has counted nothing. A Metrics must not be copied.
//
// # Contract
//
//   - Every event that a Metrics is told moves each counter it belongs to by exactly one.
//   - A counter of a Metrics never shows a smaller number than before, and stays at the largest once it is there.
//   - What a Metrics counts has the same counters whatever it was told.
//   - String of a Metrics is the JSON of its Snapshot, as expvar wants it.
//
// # Cost
//
// To be told is O(1) and allocates nothing; of a publication it is O(changes). A
// Metrics takes about a kilobyte.
//
// # Concurrency
//
// A Metrics is safe for concurrent use. A Snapshot reads one counter after the other.
type Metrics struct {
	decisions [decisionKinds]counter
	scopes    [scopeKinds]counter
	decided   histogram
	attempts  [attemptKinds]counter
	attempted histogram
	late      [attemptKinds]counter
	choices   [choices]counter
	retries   counter
	refusals  [refusalCauses]counter

	readinessFailures counter
	publications      counter
	became            [reasons]counter
	// levels are the members, in the upper half, and the eligible ones: both of one
	// publication.
	levels syncx.Uint64
}

// reasons is how many values a poise.Reason has.
const reasons = int(poise.ExcludedOutOfScope) + 1

var (
	_ Observer         = (*Metrics)(nil)
	_ DecisionObserver = (*Metrics)(nil)
	_ AttemptObserver  = (*Metrics)(nil)
)

// Decided counts a decision.
func (m *Metrics) Decided(d Decided) {
	count(m.decisions[:], d.Kind, DecidedFailed)
	count(m.scopes[:], d.Scope, ScopeUnknown)
	if d.Took > 0 {
		m.decided.observe(d.Took, &decisionTimes)
	}
}

// Attempted counts an attempt.
func (m *Metrics) Attempted(a Attempted) {
	count(m.attempts[:], a.Kind, AttemptOther)
	m.attempted.observe(a.Took, &attemptTimes)
}

// ReadinessFailed counts a candidate that could not be made ready for work.
func (m *Metrics) ReadinessFailed() { m.readinessFailures.add(1) }

// Refused counts a call for which nobody was found: a decision, and a refusal.
func (m *Metrics) Refused(r Refusal) {
	count(m.refusals[:], r.Cause, RefusedByPolicy)
	kind := DecisionKindOf(r.Err)
	if r.Cause == RefusedClosed {
		kind = DecidedClosed
	}
	count(m.decisions[:], kind, DecidedFailed)
}

// Ended counts an attempt that has ended: a decision that selected, and an attempt.
func (m *Metrics) Ended(e Ended) {
	m.decisions[Selected].add(1)
	count(m.choices[:], e.Choice, Picked)
	if e.Attempt > 1 {
		m.retries.add(1)
	}
	if !e.Answered.IsZero() {
		count(m.late[:], AttemptKindOf(e.Late.Outcome), AttemptOther)
	}
	m.Attempted(Attempted{Kind: AttemptKindOf(e.Result.Outcome), Took: e.At.Sub(e.Began)})
}

// Published counts a publication, and each member whose Reason it changed.
func (m *Metrics) Published(p Published) {
	m.publications.add(1)
	for _, c := range p.Changed {
		count(m.became[:], c.Is, poise.ExcludedByUser)
	}
	m.levels.Store(uint64(p.Members)<<32 | uint64(uint32(p.Eligible)))
}

// count counts a value of an enumeration; one that is not of it counts as otherwise.
func count[K ~uint8](counters []counter, value, otherwise K) {
	if int(value) >= len(counters) {
		value = otherwise
	}
	counters[value].add(1)
}

// Snapshot returns what was counted so far.
func (m *Metrics) Snapshot() Snapshot {
	levels := m.levels.Load()
	s := Snapshot{
		decided: m.decided.read(&decisionTimes), attempted: m.attempted.read(&attemptTimes),
		retries: m.retries.load(), readinessFailures: m.readinessFailures.load(), publications: m.publications.load(),
		members: levels >> 32, eligible: uint64(uint32(levels)),
	}
	read(s.decisions[:], m.decisions[:])
	read(s.scopes[:], m.scopes[:])
	read(s.attempts[:], m.attempts[:])
	read(s.late[:], m.late[:])
	read(s.choices[:], m.choices[:])
	read(s.refusals[:], m.refusals[:])
	read(s.became[:], m.became[:])
	return s
}

func read(into []uint64, from []counter) {
	for i := range from {
		into[i] = from[i].load()
	}
}

// String returns the Snapshot in JSON, which makes a Metrics an expvar.Var.
func (m *Metrics) String() string {
	text, _ := m.Snapshot().MarshalJSON() // it holds nothing that JSON cannot say
	return string(text)
}
