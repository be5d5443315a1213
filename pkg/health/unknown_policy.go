package health

import "github.com/copyleftdev/poise-go/pkg/internal/enum"

// UnknownPolicy is whether a candidate may be chosen while nobody knows how it is.
//
// The zero value is AllowUnknown.
type UnknownPolicy uint8

const (
	// AllowUnknown takes it for available until probes have found it unhealthy.
	AllowUnknown UnknownPolicy = iota
	// DenyUnknown leaves it out until probes have found it healthy.
	DenyUnknown
	unknownPolicies
)

var unknownPolicyNames = []string{"allow unknown", "deny unknown"}

// String returns it in lower case.
func (p UnknownPolicy) String() string { return enum.String(p, unknownPolicyNames, "no policy") }

// MarshalText returns String, or ErrOutOfRange for a number outside the enumeration.
func (p UnknownPolicy) MarshalText() ([]byte, error) {
	return enum.Marshal(p, unknownPolicyNames, ErrOutOfRange)
}

// UnmarshalText reads what MarshalText wrote.
func (p *UnknownPolicy) UnmarshalText(text []byte) error {
	return enum.Unmarshal(p, text, unknownPolicyNames, ErrOutOfRange)
}
