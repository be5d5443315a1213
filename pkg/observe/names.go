package observe

// name returns the text of a value of an enumeration.
func name[E ~uint8](names []string, of E, otherwise string) string {
	if int(of) < len(names) {
		return names[of]
	}
	return otherwise
}

func marshal[E ~uint8](names []string, of E) ([]byte, error) {
	if int(of) >= len(names) {
		return nil, ErrUnknownName
	}
	return []byte(names[of]), nil
}

func unmarshal[E ~uint8](names []string, into *E, text []byte) error {
	for i, n := range names {
		if n == string(text) {
			*into = E(i)
			return nil
		}
	}
	return ErrUnknownName
}

// text returns the text of an error, empty for none.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
