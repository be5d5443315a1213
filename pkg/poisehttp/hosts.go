package poisehttp

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/copyleftdev/poise-go/pkg/internal/printable"
)

// hosts are the hosts that a Transport stands for, in lower case and without ports.
// The zero value lets every host through, but no redirect from one to another.
type hosts struct {
	any  bool
	list []string
}

// newHosts returns the hosts of a list, in which "*" is every host.
func newHosts(list []string) (h hosts, err error) {
	for _, name := range list {
		if name == "*" {
			h.any = true
			continue
		}
		if !isHost(strings.Trim(name, "[]")) {
			return h, refuse("Hosts", name, ErrBadHost)
		}
		h.list = append(h.list, canonicalHost(name))
	}
	return h, nil
}

// check refuses a request for a host that the Transport does not stand for.
func (h *hosts) check(req *http.Request) error {
	switch {
	case h.any:
		return nil
	case h.list != nil:
		if host := canonicalHost(req.URL.Hostname()); !slices.Contains(h.list, host) {
			return &HostError{Host: host}
		}
	case req.Response != nil && req.Response.Request != nil && req.Response.Request.URL != nil:
		// An http.Client follows a redirect.
		host, from := canonicalHost(req.URL.Hostname()), canonicalHost(req.Response.Request.URL.Hostname())
		if host != from {
			return &HostError{Host: host, From: from}
		}
	}
	return nil
}

// canonicalHost is the host as hosts are compared: DNS knows no case, and a dot at the
// end changes nothing.
func canonicalHost(host string) string {
	return strings.ToLower(strings.Trim(strings.TrimSuffix(host, "."), "[]"))
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

func isZone(zone string) bool { return !strings.ContainsFunc(zone, printable.IsOdd) }
