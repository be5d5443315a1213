package poisehttp

import (
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

// checkRequest refuses what net/http would refuse to send, before an endpoint is
// picked: a caller's mistake must not count against a backend.
func checkRequest(req *http.Request) error {
	switch {
	case req.URL == nil:
		return malformed("URL", nil)
	case req.URL.Scheme != "http" && req.URL.Scheme != "https":
		return malformed("URL.Scheme", req.URL.Scheme)
	case req.URL.Host == "", req.URL.Host[0] == ':':
		return malformed("URL.Host", req.URL.Host)
	case req.Header == nil:
		return malformed("Header", nil)
	case req.Method != "" && req.Method != http.MethodGet && !isToken(req.Method):
		return malformed("Method", req.Method)
	case hasControl(req.URL.RawQuery), hasControl(req.URL.Opaque):
		return malformed("URL", withheld)
	case req.Body == nil && req.ContentLength != 0:
		return malformed("ContentLength", req.ContentLength)
	case !isEncodable(req.URL.Host), req.Host != req.URL.Host && !isEncodable(req.Host):
		return malformed("Host", withheld)
	}
	if len(req.Trailer) > 0 { // to range over a nil map costs more than to look
		for name := range req.Trailer {
			switch textproto.CanonicalMIMEHeaderKey(name) {
			case "Transfer-Encoding", "Trailer", "Content-Length":
				return malformed("Trailer", name)
			}
		}
		if err := checkHeader(req.Trailer); err != nil {
			return err
		}
	}
	if len(req.Header) > 0 {
		return checkHeader(req.Header)
	}
	return nil
}

func checkHeader(header http.Header) error {
	for name, values := range header {
		if !isToken(name) {
			return malformed("Header", name)
		}
		for _, value := range values {
			if !isFieldValue(value) {
				return malformed("Header["+textproto.CanonicalMIMEHeaderKey(name)+"]", withheld)
			}
		}
	}
	return nil
}

// malformed is the error of a request whose field cannot be sent.
func malformed(field string, value any) error {
	return refuse("Request."+field, value, ErrBadRequest)
}

// isEncodable reports whether net/http can write the host: it has to encode a name
// that is not of ASCII, and fails at some.
func isEncodable(host string) bool {
	for i := 0; i < len(host); i++ {
		if host[i] >= 0x80 {
			probe := http.Request{Method: http.MethodHead, URL: &url.URL{Path: "/"}, Host: host, Header: http.Header{}}
			return probe.Write(io.Discard) == nil
		}
	}
	return true
}

// withheld stands for a value that may be a secret: errors end up in logs.
const withheld = "withheld"

// isToken reports whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// isFieldValue reports whether s holds no control character but tabs, as RFC
// 9110, section 5.5 wants field values.
func isFieldValue(s string) bool {
	return !hasControl(s) || !hasControl(strings.ReplaceAll(s, "\t", ""))
}

func hasControl(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] == 0x7f {
			return true
		}
	}
	return false
}
