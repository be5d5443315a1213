package printable_test

import (
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/internal/printable"
	"pgregory.net/rapid"
)

func TestText_EscapesWhatIsOdd(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		`orders "1" \ ä 日本`:         `orders "1" \ ä 日本`,
		"a\r\nb":                    `a\r\nb`,
		"\x1b[2J\x00\x7f":           `\x1b[2J\x00\x7f`,
		"d\u202e\u2028\u00a0\ufeff": `d\u202e\u2028\u00a0\ufeff`,
		"bad \xff byte":             `bad \xff byte`,
		"\ufffd":                    "\ufffd",
		"say \"hi\"\n":              `say "hi"\n`,
	} {
		if got := printable.Text(text); got != want {
			t.Errorf("%q became %s, want %s", text, got, want)
		}
	}
}

func TestText_LawLeavesNothingOdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		once := printable.Text(text)
		if strings.ContainsFunc(once, func(c rune) bool { return c != '\ufffd' && printable.IsOdd(c) }) || strings.ContainsAny(once, "\r\n\x1b") {
			t.Fatalf("%q became %q", text, once)
		}
	})
}
