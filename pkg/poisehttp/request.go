package poisehttp

import (
	"net/http"
	"net/textproto"
	"strings"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// checkRequest refuses what net/http would refuse to send, before an endpoint is
// picked: a caller's mistake must not count against a backend.
func checkRequest(req *http.Request) error {
	refuse := func(field string, value any) error {
		return &poise.FieldError{Field: "Request." + field, Value: value, Err: ErrBadRequest}
	}
	switch {
	case req.URL == nil:
		return refuse("URL", nil)
	case req.URL.Scheme != "http" && req.URL.Scheme != "https":
		return refuse("URL.Scheme", req.URL.Scheme)
	case req.URL.Host == "":
		return refuse("URL.Host", "")
	case req.Header == nil:
		return refuse("Header", nil)
	case req.Method != "" && !isToken(req.Method):
		return refuse("Method", req.Method)
	case hasControl(req.URL.RawQuery), hasControl(req.URL.Opaque):
		return refuse("URL", withheld)
	case req.Body == nil && req.ContentLength != 0:
		return refuse("ContentLength", req.ContentLength)
	}
	for name := range req.Trailer {
		switch textproto.CanonicalMIMEHeaderKey(name) {
		case "Transfer-Encoding", "Trailer", "Content-Length":
			return refuse("Trailer", name)
		}
	}
	for _, header := range []http.Header{req.Header, req.Trailer} {
		for name, values := range header {
			if !isToken(name) {
				return refuse("Header", name)
			}
			for _, value := range values {
				if !isFieldValue(value) {
					return refuse("Header["+textproto.CanonicalMIMEHeaderKey(name)+"]", withheld)
				}
			}
		}
	}
	return nil
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
