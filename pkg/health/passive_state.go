package health

import "fmt"

// PassiveState is where an endpoint of a [PassiveHealth] stands.
//
// The zero value is Serving.
type PassiveState uint8

const (
	// Serving endpoints get their full share, or less while they say that they are
	// overloaded.
	Serving PassiveState = iota
	// Returning endpoints come back step by step.
	Returning
	// Ejected endpoints get trials only.
	Ejected
	passiveStates
)

var passiveStateNames = [passiveStates]string{"serving", "returning", "ejected"}

// String returns the state in lower case.
func (s PassiveState) String() string {
	if s < passiveStates {
		return passiveStateNames[s]
	}
	return "no state"
}

// MarshalText returns what String does. A state that does not exist is an error.
func (s PassiveState) MarshalText() ([]byte, error) { return textOf(uint8(s), passiveStateNames[:]) }

// UnmarshalText sets the state that has the name.
func (s *PassiveState) UnmarshalText(text []byte) error {
	n, err := numberOf(text, passiveStateNames[:])
	if err == nil {
		*s = PassiveState(n)
	}
	return err
}

// textOf returns the name of a value of an enumeration.
func textOf(value uint8, names []string) ([]byte, error) {
	if int(value) >= len(names) {
		return nil, fmt.Errorf("%w: %d is not one of %q", ErrOutOfRange, value, names)
	}
	return []byte(names[value]), nil
}

// numberOf returns the value that has the name.
func numberOf(text []byte, names []string) (uint8, error) {
	for i, name := range names {
		if name == string(text) {
			return uint8(i), nil
		}
	}
	return 0, fmt.Errorf("%w: %q is not one of %q", ErrOutOfRange, text, names)
}
