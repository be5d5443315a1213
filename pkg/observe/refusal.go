package observe

import (
	"encoding/json"
	"errors"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Refusal is a call for which nobody was found.
type Refusal struct {
	_ struct{}
	// At is the instant of the call.
	At time.Time
	// Attempt is the number that the attempt would have had in its call, from 1.
	Attempt int
	// Cause is the kind of the refusal, and Err the error that the caller got.
	Cause RefusalCause
	Err   error
	// Members is how many members there were, and Eligible how many of them were
	// eligible.
	Members, Eligible int
}

// MarshalJSON writes the event with its error as a text.
func (r Refusal) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		At                time.Time
		Attempt           int
		Cause             RefusalCause
		Err               string
		Members, Eligible int
	}{r.At, r.Attempt, r.Cause, text(r.Err), r.Members, r.Eligible})
}

// RefusalCause is the kind of a refusal. It is a fixed enumeration, so it can label
// a metric.
//
// The zero value is RefusedByPolicy.
type RefusalCause uint8

const (
	// RefusedByPolicy: the policy answered with an error of its own.
	RefusedByPolicy RefusalCause = iota
	// RefusedEmpty: there are no members.
	RefusedEmpty
	// RefusedNoEligible: there are members, and none is eligible.
	RefusedNoEligible
	// RefusedAtCapacity: every eligible member is at its limit.
	RefusedAtCapacity
	// RefusedAllTried: the call was sent to every eligible member already.
	RefusedAllTried
	// RefusedClosed: the loop was closed.
	RefusedClosed
	refusalCauses
)

var refusalCauseNames = [refusalCauses]string{"by policy", "empty", "no eligible", "at capacity", "all tried", "closed"}

// String returns the cause in lower case.
func (c RefusalCause) String() string { return name(refusalCauseNames[:], c, "unknown cause") }

// MarshalText returns String, or ErrUnknownName for a number outside the enumeration.
func (c RefusalCause) MarshalText() ([]byte, error) { return marshal(refusalCauseNames[:], c) }

// UnmarshalText reads what MarshalText wrote.
func (c *RefusalCause) UnmarshalText(text []byte) error {
	return unmarshal(refusalCauseNames[:], c, text)
}

// RefusalCauseOf returns the cause that an error of a pick stands for.
func RefusalCauseOf(err error) RefusalCause {
	switch {
	case errors.Is(err, poise.ErrAtCapacity):
		return RefusedAtCapacity
	case errors.Is(err, poise.ErrEmpty):
		return RefusedEmpty
	case errors.Is(err, poise.ErrAllTried):
		return RefusedAllTried
	case errors.Is(err, poise.ErrNoEligible):
		return RefusedNoEligible
	}
	return RefusedByPolicy
}
