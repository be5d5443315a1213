package poise

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/copyleftdev/poise-go/pkg/internal/printable"
)

// Rule is the rule of a policy that decided a pick, in a few words in lower case, such
// as "its turn". Each policy states its own, as constants, so that a rule can label a
// metric; one of a user's own may have any.
//
// The zero value, RuleNone, decided nothing: the pick failed.
type Rule string

// RuleNone means that nothing was picked.
const RuleNone Rule = ""

// String returns the rule, or "none".
func (r Rule) String() string {
	if r == RuleNone {
		return "none"
	}
	return string(r)
}

// Measure is what the figures of a Decision are.
type Measure string

// The measures that are shown in a way of their own. A policy may have any other.
const (
	// MeasureLoad: loads, as their trackers told them. So is the zero value.
	MeasureLoad Measure = "load"
	// MeasureLoadByWeight: loads that were compared in relation to the weights.
	MeasureLoadByWeight Measure = "load by weight"
	// MeasureHash: hashes of the candidate with the key.
	MeasureHash Measure = "hash"
)

// Note is what one policy alone can say of a pick.
type Note struct {
	// Name says what the value is, in a few words, such as "table of the policy".
	Name string
	// Value is a number, or the index of a candidate.
	Value uint64
	// Candidate says that it is the index of one.
	Candidate bool
}

// Decision says why a pick went as it did. It is a small value that a pick fills
// if asked, and nothing is formatted before String.
//
// A number in it that would be larger than a uint64 stands there as the largest.
//
// The zero value describes no pick.
//
// # Contract
//
//   - String names the policy, the candidate that was chosen or why none was, and each candidate that was left out.
//   - Note finds what AddNote added, as long as there was room for it.
//   - A Decision with more notes than it has room for keeps the first.
//   - A Decision can be printed whatever a policy filled in.
//   - The text of a Decision has no control characters but its own line breaks.
//
// # Cost
//
// AddNote and Note are O(1) and allocate nothing. String is O(n) and is not for the
// request path.
//
// # Concurrency
//
// A Decision belongs to one goroutine at a time.
type Decision struct {
	// View is what was decided on. It names the candidates that were left out.
	View *View
	// Policy is the name of the policy.
	Policy string
	// Rule is the rule that decided.
	Rule Rule
	// Chosen is the index of the candidate, or -1 where the pick failed.
	Chosen int
	// Err is why the pick failed, or nil.
	Err error
	// Considered is how many candidates the rule looked at: those it measured,
	// hashed, or drew from.
	Considered int
	// Tried is how many eligible candidates were passed over as already tried.
	Tried int
	// Compared holds figures of candidates that were compared, the chosen one
	// first; ComparedLen of them are set.
	Compared    [2]Compared
	ComparedLen int
	// Scope is what a topology policy chose before an endpoint policy picked, or
	// before it rejected; the zero value where none did. Of topology policies one
	// inside another it is the outermost.
	Scope ScopeChoice
	// Measure is what the figures of Compared are.
	Measure Measure
	// Notes are what the policy says beyond this; those without a name are none.
	Notes [2]Note
}

// AddNote adds a note, as long as there is room for it.
func (d *Decision) AddNote(n Note) {
	for k := range d.Notes {
		if d.Notes[k].Name == "" {
			d.Notes[k] = n
			return
		}
	}
}

// Note returns the value of the note with the name.
func (d *Decision) Note(name string) (value uint64, found bool) {
	for _, n := range d.Notes {
		if n.Name == name && name != "" {
			return n.Value, true
		}
	}
	return 0, false
}

// ScopeChoice is the scope in which an endpoint policy picked.
type ScopeChoice struct {
	// Policy is the name of the topology policy.
	Policy string
	// Priority is the priority it chose.
	Priority uint32
	// Panic means that the priority panics: members that are not eligible were used
	// as well, or the pick was rejected.
	Panic bool
	// Locality is the locality it chose, if it distinguishes them; LocalityWeight is
	// the weight that was configured, and EffectiveWeight that weight times the
	// available part in millionths. Both weights are 0 if it does not.
	Locality        string
	LocalityWeight  uint32
	EffectiveWeight uint64
}

// String returns the choice in one line.
func (s ScopeChoice) String() string {
	text := fmt.Sprintf("%s chose priority %d", printable.Text(s.Policy), s.Priority)
	if s.Panic {
		text += " in panic"
	}
	if s.EffectiveWeight > 0 {
		text += fmt.Sprintf(", locality %q of weight %d (effective %d)", s.Locality, s.LocalityWeight, s.EffectiveWeight)
	}
	return text
}

// Compared is one candidate and the figure it was compared by.
type Compared struct {
	// Index is the candidate's.
	Index int
	// Figure is what the Measure of the decision says.
	Figure uint64
}

// String explains the decision in a few lines of text: what was chosen and by
// which rule, what was compared, and who was left out for what reason.
func (d Decision) String() string {
	if d.View == nil {
		return "no decision"
	}
	var b strings.Builder
	if d.Rule == RuleNone {
		fmt.Fprintf(&b, "%s chose nothing: %s", printable.Text(d.Policy), printable.Text(fmt.Sprint(d.Err)))
	} else {
		fmt.Fprintf(&b, "%s chose %s: %s", printable.Text(d.Policy), d.name(d.Chosen), printable.Text(string(d.Rule)))
	}
	if d.Scope.Policy != "" {
		fmt.Fprintf(&b, "\n  %s", d.Scope)
	}
	fmt.Fprintf(&b, "\n  of %d candidates %d are eligible, %d tried before, %d considered",
		d.View.Len(), d.View.EligibleLen(), d.Tried, d.Considered)
	for _, c := range d.Compared[:min(max(d.ComparedLen, 0), len(d.Compared))] {
		fmt.Fprintf(&b, "\n  compared %s: %s", d.name(c.Index), d.figure(c))
	}
	for _, n := range d.Notes {
		switch {
		case n.Name == "":
		case n.Candidate:
			fmt.Fprintf(&b, "\n  %s: %s", printable.Text(n.Name), d.name(int(min(n.Value, math.MaxInt))))
		default:
			fmt.Fprintf(&b, "\n  %s: %d", printable.Text(n.Name), n.Value)
		}
	}
	for i := range d.View.Len() {
		if reason := d.View.Reason(i); reason != NotExcluded {
			fmt.Fprintf(&b, "\n  left out %s: %s", d.name(i), reason)
		}
	}
	return b.String()
}

func (d Decision) name(index int) string {
	s, err := d.View.Sample(index)
	if err != nil {
		return "?"
	}
	// An identity with a line break could pass itself off as another line.
	if strings.ContainsFunc(s.ID, printable.IsOdd) {
		return strconv.Quote(s.ID)
	}
	return s.ID
}

func (d Decision) figure(c Compared) string {
	switch d.Measure {
	case "":
		return fmt.Sprintf("%s %d", MeasureLoad, c.Figure)
	case MeasureHash:
		return fmt.Sprintf("hash %016x", c.Figure)
	case MeasureLoadByWeight:
		if s, err := d.View.Sample(c.Index); err == nil {
			return fmt.Sprintf("load %d at weight %v", c.Figure, s.Weight)
		}
	}
	return fmt.Sprintf("%s %d", printable.Text(string(d.Measure)), c.Figure)
}
