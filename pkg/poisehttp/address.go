package poisehttp

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isAddress reports whether the text is host:port with a port that can be
// connected to. The host is an IP address or a name; a URL and its parts are none.
func isAddress(text string) bool {
	host, port, err := net.SplitHostPort(text)
	if err != nil || !isHost(host) {
		return false
	}
	number, err := strconv.ParseUint(port, 10, 16)
	return err == nil && number > 0
}

// isHost reports whether the text is an IP address, perhaps with a zone, or may be
// the name of a host: labels of letters, digits, hyphens and underscores, in any
// script, between single dots.
func isHost(text string) bool {
	if strings.Contains(text, ":") {
		address, err := netip.ParseAddr(text)
		return err == nil && isZone(address.Zone())
	}
	text = strings.TrimSuffix(text, ".")
	if text == "" || len(text) > 253 || !utf8.ValidString(text) {
		return false
	}
	for label := range strings.SplitSeq(text, ".") {
		if label == "" || strings.ContainsFunc(label, isNoLetter) {
			return false
		}
	}
	return true
}

// isNoLetter reports whether a character stands in no label of a name.
func isNoLetter(c rune) bool {
	if c < utf8.RuneSelf {
		return !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_')
	}
	return !unicode.In(c, unicode.L, unicode.M, unicode.Nd)
}

func isZone(zone string) bool { return !strings.ContainsFunc(zone, isOdd) }

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
