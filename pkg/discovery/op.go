package discovery

import "github.com/copyleftdev/poise-go/pkg/internal/enum"

// Op is what a Change does.
type Op uint8

// The operations.
const (
	// Upsert claims the identity with a value.
	Upsert Op = iota
	// Add is Upsert for an identity that the source does not claim; if it does, the
	// batch is refused.
	Add
	// Replace is Upsert for a new incarnation of the identity: its old one leaves at
	// once and another one joins at the end.
	Replace
	// Remove drops the source's claim.
	Remove

	ops = iota
)

var opNames = []string{"upsert", "add", "replace", "remove"}

// String returns the operation in lower case.
func (o Op) String() string { return enum.String(o, opNames, "no operation") }

// MarshalText returns String, or ErrOutOfRange for a number outside the enumeration.
func (o Op) MarshalText() ([]byte, error) { return enum.Marshal(o, opNames, ErrOutOfRange) }

// UnmarshalText reads what MarshalText wrote.
func (o *Op) UnmarshalText(text []byte) error {
	return enum.Unmarshal(o, text, opNames, ErrOutOfRange)
}
