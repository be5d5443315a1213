package poise

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Rule is the rule of a policy that decided a pick. It is a fixed enumeration, so
// it can label a metric.
//
// The zero value, RuleNone, decided nothing: the pick failed.
type Rule uint8

const (
	// RuleNone: nothing was picked.
	RuleNone Rule = iota
	// RuleOnly: only one candidate was left to choose.
	RuleOnly
	// RuleTurn: it was the candidate's turn.
	RuleTurn
	// RuleDraw: the candidate was drawn at random.
	RuleDraw
	// RuleLeastLoad: no other eligible candidate had a smaller load.
	RuleLeastLoad
	// RuleLessOfTwo: of two drawn at random it had the smaller load.
	RuleLessOfTwo
	// RuleTieOfTwo: of two drawn at random, equal in load, it was drawn first.
	RuleTieOfTwo
	// RuleHighestHash: its hash with the key was the highest.
	RuleHighestHash
	// RuleFallback: the query had no key, and the policy for that case chose.
	RuleFallback
	// RuleCustom: a rule that is not in this list, of a policy that is not this
	// library's.
	RuleCustom
	// RuleWeightedHash: its hash with the key was the best for its weight.
	RuleWeightedHash
	// RuleOwner: the key belongs to it, and it had room.
	RuleOwner
	// RuleSpilled: the owner of the key had no room, and of those with room it was
	// the best.
	RuleSpilled
	// RuleRing: the next point on the ring was its own.
	RuleRing
	// RuleTable: the slot of the key in the table was its own.
	RuleTable
	// RuleWalked: the key's place on the ring or in the table led to tried
	// candidates first.
	RuleWalked
	// RuleLessOfTwoByWeight: of two drawn by weight it had the smaller load in
	// relation to its weight.
	RuleLessOfTwoByWeight
	// RuleTieOfTwoByWeight: of two drawn by weight, equal in load in relation to
	// their weights, it was drawn first.
	RuleTieOfTwoByWeight
	rules
)

var ruleNames = [rules]string{
	"none", "only one left", "its turn", "drawn at random", "least load",
	"less loaded of two", "tie of two", "highest hash", "fallback without key",
	"a custom rule", "best hash for its weight", "owner of the key", "spilled from the owner",
	"next on the ring", "slot in the table", "next untried from the key's place",
	"less loaded of two by weight", "tie of two by weight",
}

// String returns the rule in lower case.
func (r Rule) String() string {
	if r < rules {
		return ruleNames[r]
	}
	return "unknown rule"
}

// Decision says why a pick went as it did. It is a small value that a pick fills
// if asked, and nothing is formatted before String.
//
// The zero value describes no pick.
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
	// Generation is the number of the table that decided, counted by its policy
	// from 1; 0 where no table decides.
	Generation uint64
	// Capacity is how much load the bounded-load rule allowed the chosen candidate;
	// 0 where that rule was not asked.
	Capacity uint64
	// Spilled says that the key belongs to another candidate, Owner, which had no
	// room. Without it Owner means nothing.
	Spilled bool
	Owner   int
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
	text := fmt.Sprintf("%s chose priority %d", s.Policy, s.Priority)
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
	// Figure is its load, its hash with the key, its place on the ring, or a slot of
	// the table; the rule tells which.
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
		fmt.Fprintf(&b, "%s chose nothing: %v", d.Policy, d.Err)
	} else {
		fmt.Fprintf(&b, "%s chose %s: %s", d.Policy, d.name(d.Chosen), d.Rule)
	}
	if d.Scope.Policy != "" {
		fmt.Fprintf(&b, "\n  %s", d.Scope)
	}
	fmt.Fprintf(&b, "\n  of %d candidates %d are eligible, %d tried before, %d considered",
		d.View.Len(), d.View.EligibleLen(), d.Tried, d.Considered)
	for _, c := range d.Compared[:min(max(d.ComparedLen, 0), len(d.Compared))] {
		fmt.Fprintf(&b, "\n  compared %s: %s", d.name(c.Index), d.figure(c))
	}
	if d.Generation != 0 {
		fmt.Fprintf(&b, "\n  by table %d of the policy", d.Generation)
	}
	if d.Capacity != 0 {
		fmt.Fprintf(&b, "\n  allowed a load under %d", d.Capacity)
	}
	if d.Spilled {
		fmt.Fprintf(&b, "\n  the key belongs to %s", d.name(d.Owner))
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
	if strings.ContainsFunc(s.ID, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
		return strconv.Quote(s.ID)
	}
	return s.ID
}

func (d Decision) figure(c Compared) string {
	switch d.Rule {
	case RuleHighestHash, RuleWeightedHash:
		return fmt.Sprintf("hash %016x", c.Figure)
	case RuleRing, RuleTable, RuleWalked:
		return fmt.Sprintf("place %d", c.Figure)
	case RuleLessOfTwoByWeight, RuleTieOfTwoByWeight:
		if s, err := d.View.Sample(c.Index); err == nil {
			return fmt.Sprintf("load %d at weight %v", c.Figure, s.Weight)
		}
	}
	return fmt.Sprintf("load %d", c.Figure)
}
