// Package enum gives enumerations their text form: a value is written as its name
// and read back from it.
package enum

import "fmt"

// String returns the name of the value, or otherwise for a value that has none.
func String[E ~uint8](value E, names []string, otherwise string) string {
	if int(value) < len(names) {
		return names[value]
	}
	return otherwise
}

// Marshal returns the name of the value, or bad, wrapped, for a value that has none.
func Marshal[E ~uint8](value E, names []string, bad error) ([]byte, error) {
	if int(value) < len(names) {
		return []byte(names[value]), nil
	}
	return nil, fmt.Errorf("%w: no name for %d", bad, value)
}

// Unmarshal sets the value whose name the text is. Any other text is bad, wrapped,
// and leaves the value as it was.
func Unmarshal[E ~uint8](value *E, text []byte, names []string, bad error) error {
	for i, name := range names {
		if name == string(text) {
			*value = E(i)
			return nil
		}
	}
	return fmt.Errorf("%w: no value %q", bad, text)
}
