package observe

import poise "github.com/copyleftdev/poise-go/pkg"

// AttemptKind is how an attempt ended. It is a fixed enumeration, so it can label a
// metric; kinds to come are added at its end.
//
// The zero value is AttemptSuccess.
type AttemptKind uint8

const (
	// AttemptSuccess is poise.Success.
	AttemptSuccess AttemptKind = iota
	// AttemptFailure is poise.Failure.
	AttemptFailure
	// AttemptOverloaded is poise.Overloaded.
	AttemptOverloaded
	// AttemptCancelled is poise.Cancelled.
	AttemptCancelled
	// AttemptOther is an Outcome that has no kind here.
	AttemptOther
	// AttemptUnreachable is poise.Unreachable.
	AttemptUnreachable
	// AttemptSilent is poise.Silent.
	AttemptSilent
	// AttemptInvalid is poise.Invalid.
	AttemptInvalid
	attemptKinds
)

var attemptKindNames = [attemptKinds]string{
	"success", "failure", "overloaded", "cancelled", "other", "unreachable", "silent", "invalid",
}

// String returns the kind in lower case.
func (k AttemptKind) String() string { return name(attemptKindNames[:], k, "unknown attempt") }

// MarshalText returns String, or ErrUnknownName for a number outside the enumeration.
func (k AttemptKind) MarshalText() ([]byte, error) { return marshal(attemptKindNames[:], k) }

// UnmarshalText reads what MarshalText wrote.
func (k *AttemptKind) UnmarshalText(text []byte) error {
	return unmarshal(attemptKindNames[:], k, text)
}

var attemptKindsOf = [...]AttemptKind{
	poise.Success: AttemptSuccess, poise.Failure: AttemptFailure, poise.Overloaded: AttemptOverloaded,
	poise.Cancelled: AttemptCancelled, poise.Unreachable: AttemptUnreachable, poise.Silent: AttemptSilent,
	poise.Invalid: AttemptInvalid,
}

// AttemptKindOf returns the kind of an outcome.
func AttemptKindOf(o poise.Outcome) AttemptKind {
	if int(o) < len(attemptKindsOf) {
		return attemptKindsOf[o]
	}
	return AttemptOther
}
