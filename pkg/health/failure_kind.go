package health

import "github.com/copyleftdev/poise-go/pkg/internal/enum"

// FailureKind is where a failure came from.
//
// The zero value is MemberFailure.
type FailureKind uint8

const (
	// MemberFailure: the member answered, and failed.
	MemberFailure FailureKind = iota
	// GatewayFailure: the member answered as a gateway does that reaches nobody.
	GatewayFailure
	// LocalFailure: there was no answer, as when dialing or the TLS handshake fails
	// or the time is over.
	LocalFailure
)

var failureKindNames = []string{"member failure", "gateway failure", "local failure"}

// String returns it in lower case.
func (k FailureKind) String() string { return enum.String(k, failureKindNames, "unknown failure") }

// MarshalText returns String, or ErrOutOfRange for a number outside the enumeration.
func (k FailureKind) MarshalText() ([]byte, error) {
	return enum.Marshal(k, failureKindNames, ErrOutOfRange)
}

// UnmarshalText reads what MarshalText wrote.
func (k *FailureKind) UnmarshalText(text []byte) error {
	return enum.Unmarshal(k, text, failureKindNames, ErrOutOfRange)
}

// FailureKindOf returns the kind of a failure over HTTP: with an error it is a
// LocalFailure, with status 502, 503 or 504 a GatewayFailure.
func FailureKindOf(status int, err error) FailureKind {
	if err != nil {
		return LocalFailure
	}
	switch status {
	case 502, 503, 504:
		return GatewayFailure
	}
	return MemberFailure
}
