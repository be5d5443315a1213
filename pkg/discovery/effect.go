package discovery

import (
	"strconv"

	"github.com/copyleftdev/poise-go/pkg/internal/enum"
)

// Effect is what became of one change.
type Effect uint8

// The effects. Each says whether it costs a revision.
const (
	// Unchanged means that the directory was so before. No revision.
	Unchanged Effect = iota
	// Inserted means that the member joined, at the end and as a new incarnation.
	// A revision.
	Inserted
	// Updated means that the member's value is another one now. A revision.
	Updated
	// Revived means that a draining member is back, in its place and as the same
	// incarnation. A revision.
	Revived
	// Replaced means that the incarnation has left and another one has joined in
	// its stead, at the end. A revision.
	Replaced
	// Claimed means that the member, which another source claimed before, is
	// claimed by this one as well. No revision.
	Claimed
	// Kept means that the source has no claim to the member any more, and that
	// another source has. No revision.
	Kept
	// DrainStarted means that nobody claims the member any more and it drains. A
	// revision.
	DrainStarted
	// AlreadyDraining means that the member was draining before. No revision.
	AlreadyDraining
	// DrainFinished means that the member has left after its drain. A revision.
	DrainFinished
	// NotDraining means that a member which does not drain was not removed. No
	// revision.
	NotDraining
	// StillBusy means that a draining member which has work was not removed. No
	// revision.
	StillBusy
	// Removed means that the member has left without a drain. A revision.
	Removed

	effects = iota
)

var effectNames = [effects]string{
	"unchanged", "inserted", "updated", "revived", "replaced", "claimed", "kept",
	"drain started", "already draining", "drain finished", "not draining", "still busy", "removed",
}

// String returns the effect in words.
func (e Effect) String() string {
	if e >= effects {
		return "effect " + strconv.Itoa(int(e))
	}
	return effectNames[e]
}

// MarshalText returns the effect in words, or ErrOutOfRange for a number outside the enumeration.
func (e Effect) MarshalText() ([]byte, error) { return enum.Marshal(e, effectNames[:], ErrOutOfRange) }

// UnmarshalText reads what MarshalText wrote.
func (e *Effect) UnmarshalText(text []byte) error {
	return enum.Unmarshal(e, text, effectNames[:], ErrOutOfRange)
}

// Changed reports whether the effect costs a revision.
func (e Effect) Changed() bool {
	switch e {
	case Inserted, Updated, Revived, Replaced, DrainStarted, DrainFinished, Removed:
		return true
	default:
		return false
	}
}
