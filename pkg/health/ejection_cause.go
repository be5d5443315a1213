package health

// EjectionCause is why an endpoint of a [PassiveHealth] was ejected.
//
// The zero value is NotEjected.
type EjectionCause uint8

const (
	// NotEjected: it is not ejected.
	NotEjected EjectionCause = iota
	// EjectedUnreachable: nothing could be sent to it.
	EjectedUnreachable
	// EjectedFailures: a run of failures that its peers did not have.
	EjectedFailures
	// EjectedOverloaded: a run of refusals for want of capacity that its peers did not
	// have, too long for an endpoint that works.
	EjectedOverloaded
	// EjectedSilent: it answered nothing while its peers did.
	EjectedSilent
	// EjectedPartial: it serves, but fails more often than its peers.
	EjectedPartial
	ejectionCauses
)

var ejectionCauseNames = [ejectionCauses]string{
	"not ejected", "unreachable", "failures", "overloaded", "silent", "partial",
}

// String returns the cause in lower case.
func (c EjectionCause) String() string {
	if c < ejectionCauses {
		return ejectionCauseNames[c]
	}
	return "no cause"
}

// MarshalText returns what String does. A cause that does not exist is an error.
func (c EjectionCause) MarshalText() ([]byte, error) { return textOf(uint8(c), ejectionCauseNames[:]) }

// UnmarshalText sets the cause that has the name.
func (c *EjectionCause) UnmarshalText(text []byte) error {
	n, err := numberOf(text, ejectionCauseNames[:])
	if err == nil {
		*c = EjectionCause(n)
	}
	return err
}
