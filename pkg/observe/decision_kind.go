package observe

import (
	"errors"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// DecisionKind is how a decision came out. It is a fixed enumeration, so it can label a
// metric; kinds to come are added at its end.
//
// The zero value is Selected.
type DecisionKind uint8

const (
	// Selected: a candidate was chosen.
	Selected DecisionKind = iota
	// DecidedEmpty: there are no candidates.
	DecidedEmpty
	// DecidedNoEligible: there are candidates, and none is eligible.
	DecidedNoEligible
	// DecidedWeightOverflow: the weights are too large together for the policy.
	DecidedWeightOverflow
	// DecidedDuplicateIdentity: two candidates bear one identity.
	DecidedDuplicateIdentity
	// DecidedTooMany: more candidates than a View, or a table of the policy, can hold.
	DecidedTooMany
	// DecidedFailed: an error that is none of the others, such as a policy's own.
	DecidedFailed
	// DecidedLoadOverflow: a load that had to be compared cannot be told.
	DecidedLoadOverflow
	// DecidedPanicRejected: too few are eligible, and the policy rejects rather than use
	// the others.
	DecidedPanicRejected
	// DecidedInconsistentTopology: one locality has two weights.
	DecidedInconsistentTopology
	// DecidedAllTried: every eligible candidate was tried before.
	DecidedAllTried
	// DecidedNoKey: a keyed policy was asked without a key.
	DecidedNoKey
	// DecidedAtCapacity: every eligible candidate is at its limit.
	DecidedAtCapacity
	// DecidedClosed: the loop was closed.
	DecidedClosed
	decisionKinds
)

var decisionKindNames = [decisionKinds]string{
	"selected", "empty", "no eligible", "weight overflow", "duplicate identity", "too many", "other failure",
	"load overflow", "panic rejected", "inconsistent topology", "all tried", "no key", "at capacity", "closed",
}

// String returns the kind in lower case.
func (k DecisionKind) String() string { return name(decisionKindNames[:], k, "unknown decision") }

// MarshalText returns String, or ErrUnknownName for a number outside the enumeration.
func (k DecisionKind) MarshalText() ([]byte, error) { return marshal(decisionKindNames[:], k) }

// UnmarshalText reads what MarshalText wrote.
func (k *DecisionKind) UnmarshalText(text []byte) error {
	return unmarshal(decisionKindNames[:], k, text)
}

// decisionKindsOf are the sentinels of the kinds, those that match others first.
var decisionKindsOf = []struct {
	err  error
	kind DecisionKind
}{
	{poise.ErrEmpty, DecidedEmpty},
	{poise.ErrPanicRejected, DecidedPanicRejected},
	{poise.ErrNoEligible, DecidedNoEligible},
	{poise.ErrAllTried, DecidedAllTried},
	{poise.ErrAtCapacity, DecidedAtCapacity},
	{poise.ErrNoKey, DecidedNoKey},
	{poise.ErrLoadOverflow, DecidedLoadOverflow},
	{poise.ErrWeightOverflow, DecidedWeightOverflow},
	{poise.ErrDuplicateIdentity, DecidedDuplicateIdentity},
	{poise.ErrTooMany, DecidedTooMany},
	{poise.ErrInconsistentTopology, DecidedInconsistentTopology},
}

// DecisionKindOf returns the kind that the error of a pick, or of making a View or a
// Picker, stands for; Selected for nil.
func DecisionKindOf(err error) DecisionKind {
	if err == nil {
		return Selected
	}
	for _, of := range decisionKindsOf {
		if errors.Is(err, of.err) {
			return of.kind
		}
	}
	return DecidedFailed
}
