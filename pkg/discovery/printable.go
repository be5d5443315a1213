package discovery

import (
	"strconv"
	"strings"
	"unicode"
)

// printable returns the text with everything escaped that a terminal or a log would
// not print as it is. Texts of sources are not to be trusted.
func printable(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r == unicode.ReplacementChar || !strconv.IsPrint(r) }) < 0 {
		return text
	}
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
