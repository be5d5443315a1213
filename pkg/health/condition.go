package health

import "github.com/copyleftdev/poise-go/pkg/internal/enum"

// Condition is what active probing knows of a candidate.
//
// The zero value is Unknown.
type Condition uint8

const (
	// Unknown: too few probes in a row have agreed so far.
	Unknown Condition = iota
	// Healthy: enough probes in a row succeeded.
	Healthy
	// Unhealthy: enough probes in a row failed.
	Unhealthy
	conditions
)

var conditionNames = []string{"unknown", "healthy", "unhealthy"}

// String returns it in lower case.
func (c Condition) String() string { return enum.String(c, conditionNames, "no condition") }

// MarshalText returns String, or ErrOutOfRange for a number outside the enumeration.
func (c Condition) MarshalText() ([]byte, error) {
	return enum.Marshal(c, conditionNames, ErrOutOfRange)
}

// UnmarshalText reads what MarshalText wrote.
func (c *Condition) UnmarshalText(text []byte) error {
	return enum.Unmarshal(c, text, conditionNames, ErrOutOfRange)
}
