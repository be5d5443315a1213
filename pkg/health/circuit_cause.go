package health

import "github.com/copyleftdev/poise-go/pkg/internal/enum"

// CircuitCause is why a circuit had a transition. It is a fixed enumeration, so it
// can label a metric.
type CircuitCause uint8

const (
	// CauseForced: ForceOpen or ForceClose.
	CauseForced CircuitCause = iota
	// CauseFailures: failures in a row.
	CauseFailures
	// CauseFailureRate: the share of failures in the window.
	CauseFailureRate
	// CauseTime: the time open is over, and a call asked for a permit.
	CauseTime
	// CauseTrialFailed: a trial failed.
	CauseTrialFailed
	// CauseTrialsSucceeded: enough trials succeeded.
	CauseTrialsSucceeded
)

var circuitCauseNames = []string{"forced", "failures in a row", "failure rate", "time open is over", "trial failed", "trials succeeded"}

// String returns it in lower case.
func (c CircuitCause) String() string { return enum.String(c, circuitCauseNames, "unknown cause") }

// MarshalText returns String, or ErrOutOfRange for a number outside the enumeration.
func (c CircuitCause) MarshalText() ([]byte, error) {
	return enum.Marshal(c, circuitCauseNames, ErrOutOfRange)
}

// UnmarshalText reads what MarshalText wrote.
func (c *CircuitCause) UnmarshalText(text []byte) error {
	return enum.Unmarshal(c, text, circuitCauseNames, ErrOutOfRange)
}
