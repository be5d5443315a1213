package poise

import "fmt"

// marshalWord returns the text of a value of an enumeration, or a FieldError of
// ErrUnknownWord for a value that it does not have.
func marshalWord[E interface {
	~uint8
	fmt.Stringer
}](v E) ([]byte, error) {
	if text := v.String(); text != E(unknown).String() {
		return []byte(text), nil
	}
	return nil, &FieldError{Field: fmt.Sprintf("%T", v), Value: uint8(v), Err: ErrUnknownWord}
}

// unmarshalWord sets v to the value with the text, or leaves it as it is and answers
// a FieldError of ErrUnknownWord.
func unmarshalWord[E interface {
	~uint8
	fmt.Stringer
}](v *E, text []byte) error {
	for candidate := E(0); candidate.String() != E(unknown).String(); candidate++ {
		if candidate.String() == string(text) {
			*v = candidate
			return nil
		}
	}
	return &FieldError{Field: fmt.Sprintf("%T", *v), Value: string(text), Err: ErrUnknownWord}
}

// unknown is a value that no enumeration has.
const unknown = 255

// MarshalText returns the text of the status, as String does.
func (s Status) MarshalText() ([]byte, error) { return marshalWord(s) }

// UnmarshalText sets the status by its text.
func (s *Status) UnmarshalText(text []byte) error { return unmarshalWord(s, text) }

// MarshalText returns the text of the reason, as String does.
func (r Reason) MarshalText() ([]byte, error) { return marshalWord(r) }

// UnmarshalText sets the reason by its text.
func (r *Reason) UnmarshalText(text []byte) error { return unmarshalWord(r, text) }

// MarshalText returns the text of the outcome, as String does.
func (o Outcome) MarshalText() ([]byte, error) { return marshalWord(o) }

// UnmarshalText sets the outcome by its text.
func (o *Outcome) UnmarshalText(text []byte) error { return unmarshalWord(o, text) }

// MarshalText returns the text of the unit, as String does.
func (u LoadUnit) MarshalText() ([]byte, error) { return marshalWord(u) }

// UnmarshalText sets the unit by its text.
func (u *LoadUnit) UnmarshalText(text []byte) error { return unmarshalWord(u, text) }
