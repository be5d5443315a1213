package poisehttp

import (
	"net/http"
	"slices"
	"strings"
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
