package poisehttp

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isOdd reports whether a character may change what a reader of a text sees of the
// characters around it: controls, formats, separators, and what is no character.
func isOdd(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) }

// printable returns the text with its controls, and whatever else is not to be
// printed, written as escapes. What came from outside goes through it before it
// becomes a part of an error.
func printable(text string) string {
	if !strings.ContainsFunc(text, isOdd) {
		return text
	}
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}
