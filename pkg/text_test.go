package poise_test

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// requireWords requires that the known values of an enumeration survive text and
// JSON, and that no other value or text passes.
func requireWords[E interface {
	~uint8
	fmt.Stringer
	encoding.TextMarshaler
}, P interface {
	*E
	encoding.TextUnmarshaler
}](t *testing.T, known int) {
	t.Helper()
	for v := range 256 {
		text, err := E(v).MarshalText()
		if v >= known {
			if text != nil || !errors.Is(err, poise.ErrUnknownWord) {
				t.Errorf("%T(%d) is %q, %v", E(0), v, text, err)
			}
			continue
		}
		if err != nil || string(text) != E(v).String() {
			t.Errorf("%T(%d) is %q, %v", E(0), v, text, err)
		}
		var back, fromJSON E
		if err := P(&back).UnmarshalText(text); err != nil || back != E(v) {
			t.Errorf("%q is %v, %v", text, back, err)
		}
		quoted, err := json.Marshal(map[string]E{"is": E(v)})
		if want := fmt.Sprintf(`{"is":%q}`, text); err != nil || string(quoted) != want {
			t.Errorf("the JSON is %s, %v, want %s", quoted, err, want)
		}
		if err := json.Unmarshal(fmt.Appendf(nil, "%q", text), &fromJSON); err != nil || fromJSON != E(v) {
			t.Errorf("from JSON %q is %v, %v", text, fromJSON, err)
		}
	}
	last := E(known - 1)
	for _, text := range []string{"", "READY", " ready", E(255).String()} {
		err := P(&last).UnmarshalText([]byte(text))
		requireFieldError(t, err, fmt.Sprintf("%T", last), text, poise.ErrUnknownWord)
		if last != E(known-1) {
			t.Errorf("%q changed it to %v", text, last)
		}
	}
}

// Cases: B114.
func TestEnumerations_AreWordsInText(t *testing.T) {
	requireWords[poise.Status](t, 3)
	requireWords[poise.Reason](t, 10)
	requireWords[poise.Outcome](t, 7)
	requireWords[poise.LoadUnit](t, 2)
}
