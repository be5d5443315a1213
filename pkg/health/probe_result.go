package health

import "github.com/copyleftdev/poise-go/pkg/internal/enum"

// ProbeResult is what one probe found.
//
// The zero value is ProbeCancelled.
type ProbeResult uint8

const (
	// ProbeCancelled: the probe was cancelled, or timed out under TimeoutCancels. It
	// found nothing.
	ProbeCancelled ProbeResult = iota
	// ProbePassed: the probe succeeded, and counts.
	ProbePassed
	// ProbeFailed: the probe failed, and counts.
	ProbeFailed
	// ProbeDiscarded: the condition was forced meanwhile, or the reservation was lost,
	// so whatever the probe found has no effect.
	ProbeDiscarded
)

var probeResultNames = []string{"cancelled", "passed", "failed", "discarded"}

// String returns the result in lower case.
func (r ProbeResult) String() string { return enum.String(r, probeResultNames, "no result") }

// MarshalText returns String, or ErrOutOfRange for a number outside the enumeration.
func (r ProbeResult) MarshalText() ([]byte, error) {
	return enum.Marshal(r, probeResultNames, ErrOutOfRange)
}

// UnmarshalText reads what MarshalText wrote.
func (r *ProbeResult) UnmarshalText(text []byte) error {
	return enum.Unmarshal(r, text, probeResultNames, ErrOutOfRange)
}
