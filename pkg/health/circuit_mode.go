package health

import "github.com/copyleftdev/poise-go/pkg/internal/enum"

// CircuitMode is what a circuit does with calls.
//
// The zero value is Closed.
type CircuitMode uint8

const (
	// Closed lets every call through.
	Closed CircuitMode = iota
	// Open lets no call through until its time is over.
	Open
	// HalfOpen lets a few calls through, to see whether they succeed.
	HalfOpen
)

var circuitModeNames = []string{"closed", "open", "half-open"}

// String returns it in lower case.
func (m CircuitMode) String() string { return enum.String(m, circuitModeNames, "unknown mode") }

// MarshalText returns String, or ErrOutOfRange for a number outside the enumeration.
func (m CircuitMode) MarshalText() ([]byte, error) {
	return enum.Marshal(m, circuitModeNames, ErrOutOfRange)
}

// UnmarshalText reads what MarshalText wrote.
func (m *CircuitMode) UnmarshalText(text []byte) error {
	return enum.Unmarshal(m, text, circuitModeNames, ErrOutOfRange)
}
