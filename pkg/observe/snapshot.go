package observe

import (
	"encoding/json"
	"iter"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Snapshot is what a Metrics had counted at one time.
//
// The zero value has counted nothing.
//
// # Contract
//
//   - The JSON of a Snapshot has a field for each counter, by the names of the text format without its prefix and suffix.
//
// # Concurrency
//
// A Snapshot never changes.
type Snapshot struct {
	decisions [decisionKinds]uint64
	scopes    [scopeKinds]uint64
	decided   Histogram
	attempts  [attemptKinds]uint64
	attempted Histogram
	late      [attemptKinds]uint64
	choices   [choices]uint64
	retries   uint64
	refusals  [refusalCauses]uint64

	readinessFailures uint64
	publications      uint64
	became            [reasons]uint64
	members, eligible uint64
}

// Decisions returns how many decisions came out so; 0 for a kind that there is not.
func (s Snapshot) Decisions(k DecisionKind) uint64 { return of(s.decisions[:], k) }

// Scopes returns how many decisions were made there.
func (s Snapshot) Scopes(k ScopeKind) uint64 { return of(s.scopes[:], k) }

// DecisionTime returns how long those decisions took that were measured.
func (s Snapshot) DecisionTime() Histogram { return s.decided }

// Attempts returns how many attempts ended so.
func (s Snapshot) Attempts(k AttemptKind) uint64 { return of(s.attempts[:], k) }

// AttemptTime returns how long attempts took, from admission to their end.
func (s Snapshot) AttemptTime() Histogram { return s.attempted }

// Late returns how many answers that had begun came to such an end.
func (s Snapshot) Late(k AttemptKind) uint64 { return of(s.late[:], k) }

// Choices returns how many attempts came to their member so.
func (s Snapshot) Choices(c Choice) uint64 { return of(s.choices[:], c) }

// Retries returns how many attempts were not the first of their call.
func (s Snapshot) Retries() uint64 { return s.retries }

// Refusals returns how many calls were refused for the cause.
func (s Snapshot) Refusals(c RefusalCause) uint64 { return of(s.refusals[:], c) }

// ReadinessFailures returns how often a candidate could not be made ready.
func (s Snapshot) ReadinessFailures() uint64 { return s.readinessFailures }

// Publications returns how many publications there were.
func (s Snapshot) Publications() uint64 { return s.publications }

// Became returns how often a publication gave a member that Reason: how many were
// ejected, and, of poise.NotExcluded, how many came back.
func (s Snapshot) Became(r poise.Reason) uint64 { return of(s.became[:], r) }

// Members returns how many members the last publication had, and Eligible how many of
// them were eligible.
func (s Snapshot) Members() uint64 { return s.members }

// Eligible returns how many members of the last publication were eligible.
func (s Snapshot) Eligible() uint64 { return s.eligible }

func of[K ~uint8](counts []uint64, k K) uint64 {
	if int(k) < len(counts) {
		return counts[k]
	}
	return 0
}

// family is one metric with all its values.
type family struct {
	name, help string
	label      string // what the values are told apart by; empty for a single one
	values     []string
	level      bool // it goes down, too
	read       func(*Snapshot) []uint64
}

// families are all but the histograms, in the order in which they are written.
var families = []family{
	{"decisions", "Decisions, by how they came out.", "kind", decisionKindNames[:], false, func(s *Snapshot) []uint64 { return s.decisions[:] }},
	{"scopes", "Decisions, by where among the priorities they were made.", "scope", scopeKindNames[:], false, func(s *Snapshot) []uint64 { return s.scopes[:] }},
	{"attempts", "Attempts, by how they were judged.", "kind", attemptKindNames[:], false, func(s *Snapshot) []uint64 { return s.attempts[:] }},
	{"late", "Answers that had begun, by what became of them.", "kind", attemptKindNames[:], false, func(s *Snapshot) []uint64 { return s.late[:] }},
	{"choices", "Attempts, by how they came to their member.", "choice", choiceNames[:], false, func(s *Snapshot) []uint64 { return s.choices[:] }},
	{"retries", "Attempts that were not the first of their call.", "", nil, false, func(s *Snapshot) []uint64 { return []uint64{s.retries} }},
	{"refusals", "Calls for which nobody was found, by cause.", "cause", refusalCauseNames[:], false, func(s *Snapshot) []uint64 { return s.refusals[:] }},
	{"readiness_failures", "Candidates that could not be made ready.", "", nil, false, func(s *Snapshot) []uint64 { return []uint64{s.readinessFailures} }},
	{"publications", "Publications of a new picker.", "", nil, false, func(s *Snapshot) []uint64 { return []uint64{s.publications} }},
	{"changes", "Members that a publication gave another reason, by that reason.", "reason", reasonNames(), false, func(s *Snapshot) []uint64 { return s.became[:] }},
	{"members", "Members of the last publication.", "", nil, true, func(s *Snapshot) []uint64 { return []uint64{s.members} }},
	{"eligible", "Eligible members of the last publication.", "", nil, true, func(s *Snapshot) []uint64 { return []uint64{s.eligible} }},
}

// durations are the histograms.
var durations = []struct {
	name, help string
	read       func(*Snapshot) Histogram
}{
	{"decision_duration", "Time of decisions that were measured.", func(s *Snapshot) Histogram { return s.decided }},
	{"attempt_duration", "Time of attempts from admission to the end.", func(s *Snapshot) Histogram { return s.attempted }},
}

func reasonNames() []string {
	names := make([]string, reasons)
	for i := range names {
		names[i] = poise.Reason(i).String()
	}
	return names
}

// Count is one number of a Snapshot.
type Count struct {
	_ struct{}
	// Name is what is counted, such as "decisions".
	Name string
	// Label and Value tell it apart from others of its name, such as "kind" and
	// "no eligible"; empty where there is one.
	Label, Value string
	// Level says that it goes down, too.
	Level bool
	// Number is the number.
	Number uint64
}

// Counts returns every number but the histograms, always the same ones in the same
// order.
func (s Snapshot) Counts() iter.Seq[Count] {
	return func(yield func(Count) bool) {
		for _, f := range families {
			for i, n := range f.read(&s) {
				c := Count{Name: f.name, Label: f.label, Level: f.level, Number: n}
				if f.label != "" {
					c.Value = f.values[i]
				}
				if !yield(c) {
					return
				}
			}
		}
	}
}

// MarshalJSON writes all that was counted, by name and by value.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	all := make(map[string]any)
	for c := range s.Counts() {
		if c.Label == "" {
			all[c.Name] = c.Number
			continue
		}
		values, _ := all[c.Name].(map[string]uint64)
		if values == nil {
			values = make(map[string]uint64)
			all[c.Name] = values
		}
		values[c.Value] = c.Number
	}
	for _, t := range durations {
		all[t.name] = t.read(&s)
	}
	return json.Marshal(all)
}
