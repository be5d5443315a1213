package health

import "github.com/copyleftdev/poise-go/pkg/internal/enum"

// TimeoutPolicy is what a probe past its timeout says.
//
// The zero value is TimeoutUnhealthy.
type TimeoutPolicy uint8

const (
	// TimeoutUnhealthy records it as a failed probe.
	TimeoutUnhealthy TimeoutPolicy = iota
	// TimeoutCancels records nothing.
	TimeoutCancels
	timeoutPolicies
)

var timeoutPolicyNames = []string{"timeout is unhealthy", "timeout cancels"}

// String returns the policy in lower case.
func (p TimeoutPolicy) String() string { return enum.String(p, timeoutPolicyNames, "no policy") }

// MarshalText returns String, or ErrOutOfRange for a number outside the enumeration.
func (p TimeoutPolicy) MarshalText() ([]byte, error) {
	return enum.Marshal(p, timeoutPolicyNames, ErrOutOfRange)
}

// UnmarshalText reads what MarshalText wrote.
func (p *TimeoutPolicy) UnmarshalText(text []byte) error {
	return enum.Unmarshal(p, text, timeoutPolicyNames, ErrOutOfRange)
}
