// Package printable writes texts that came from outside so that they cannot change
// what a reader of a log or a terminal sees around them.
package printable

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsOdd reports whether a character may change how the characters around it are
// shown: controls, formats, separators, and what is no character.
func IsOdd(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) }

// Text returns the text with every odd character written as an escape. A text
// without any is returned as it is.
func Text(text string) string {
	if !strings.ContainsFunc(text, IsOdd) {
		return text
	}
	escaped := make([]byte, 0, len(text)+8)
	for i, c := range text {
		switch {
		case !IsOdd(c):
			escaped = utf8.AppendRune(escaped, c)
		case c == utf8.RuneError:
			_, size := utf8.DecodeRuneInString(text[i:])
			quoted := strconv.Quote(text[i : i+size])
			escaped = append(escaped, quoted[1:len(quoted)-1]...)
		default:
			quoted := strconv.QuoteRune(c)
			escaped = append(escaped, quoted[1:len(quoted)-1]...)
		}
	}
	return string(escaped)
}
