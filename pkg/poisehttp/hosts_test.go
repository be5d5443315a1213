package poisehttp_test

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// Claim: A request for a host that the Transport does not stand for is sent nowhere.
//
// Cases: B90.
func TestTransport_SendsNoOtherHostsRequest(t *testing.T) {
	for _, row := range []struct {
		name  string
		hosts []string
		url   string
		sent  bool
	}{
		{"a listed host", []string{"a.example", "service.example.com"}, "http://service.example.com/", true},
		{"in other letters, with a dot and a port", []string{"Service.Example.com"}, "http://SERVICE.example.com.:81/", true},
		{"another host", []string{"a.example"}, "http://service.example.com/", false},
		{"a part of a name", []string{"example.com"}, "http://service.example.com/", false},
		{"any host", []string{"a.example", "*"}, "http://service.example.com/", true},
		{"no list", nil, "http://service.example.com/", true},
		{"an IPv6 address", []string{"[2001:db8::1]"}, "http://[2001:db8::1]:80/", true},
	} {
		e := answering(200)
		b := newTransport(t, poisehttp.Config{Hosts: row.hosts}, e)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, row.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = do(b, req)
		if (err == nil) != row.sent || (e.calls.Load() == 1) != row.sent || errors.Is(err, poisehttp.ErrHost) == row.sent {
			t.Errorf("%s: got %v after %d calls", row.name, err, e.calls.Load())
		}
	}
	_, err := poisehttp.New(poisehttp.Config{Hosts: []string{"a b"}})
	requireField(t, err, "Hosts", poisehttp.ErrBadHost)
}

// Claim: A request for a host that the Transport does not stand for is sent nowhere.
//
// Cases: B90.
func TestTransport_FollowsNoRedirectToAnotherHost(t *testing.T) {
	var asked []string
	e := &fake{answer: func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.String())
		resp := reply(302, "")
		switch r.URL.Path {
		case "/here":
			resp.Header.Set("Location", "/there")
		case "/away":
			resp.Header.Set("Location", "http://secret.example.org/?token=1")
		default:
			resp.StatusCode = 200
		}
		return resp, nil
	}}
	for _, row := range []struct {
		name  string
		hosts []string
		path  string
		sound bool
		asked int
	}{
		{"on the same host", nil, "/here", true, 2},
		{"to another host", nil, "/away", false, 1},
		{"to a listed host", []string{"service.example.com", "secret.example.org"}, "/away", true, 2},
		{"to any host", []string{"*"}, "/away", true, 2},
		{"to one that is not listed", []string{"service.example.com"}, "/away", false, 1},
	} {
		asked = nil
		b := newTransport(t, poisehttp.Config{Hosts: row.hosts}, e)
		resp, err := (&http.Client{Transport: b}).Get("http://service.example.com" + row.path)
		if err == nil {
			_ = resp.Body.Close()
		}
		failure, refused := errors.AsType[*poisehttp.HostError](err)
		if (err == nil) != row.sound || refused == row.sound || len(asked) != row.asked {
			t.Errorf("%s: got %v, asked for %v", row.name, err, asked)
		}
		if refused && (failure.Host != "secret.example.org" || strings.Contains(failure.Error(), "token")) {
			t.Errorf("%s: got %v", row.name, failure)
		}
		if b.Endpoints()[0].Passive.State != health.Serving {
			t.Errorf("%s: the redirect is held against the endpoint", row.name)
		}
	}
}

// Claim: A request that net/http would refuse to send, and one that was cancelled before, is sent nowhere.
//
// Cases: B89.
func TestTransport_RefusesAHostThatCannotBeWritten(t *testing.T) {
	e := answering(200)
	b := newTransport(t, poisehttp.Config{}, e)
	for name, spoil := range map[string]func(*http.Request){
		"in the URL":    func(r *http.Request) { r.URL.Host = "xn--ü.example" },
		"in the header": func(r *http.Request) { r.Host = "xn--ü.example" },
	} {
		req := newRequest(t, http.MethodGet, nil)
		spoil(req)
		_, err := do(b, req)
		requireField(t, err, "Request.Host", poisehttp.ErrBadRequest)
		if n := len(requireCallError(t, err).Attempts); n != 0 || e.calls.Load() != 0 {
			t.Errorf("%s: %d attempts", name, n)
		}
	}
	req := newRequest(t, http.MethodGet, nil)
	req.URL.Host, req.Host = "bücher.example:80", "bücher.example"
	if _, err := do(b, req); err != nil {
		t.Errorf("a name in another script: %v", err)
	}
}

// What a caller wants and a backend is may not fit together; that is nobody's ill
// health, and fails alike wherever it is sent.
//
// Claim: A caller who leaves, a request body that fails and a pause of this process say nothing about the endpoint.
//
// Cases: B90.
func TestTransport_HoldsNoMismatchAgainstAnEndpoint(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(ok))
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.HandlerFunc(ok))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	// A server of another kind answers plain text with an alert.
	alerting, _ := resets(t, func(conn net.Conn) { _, _ = conn.Write([]byte{21, 3, 1, 0, 2, 2, 10}) })
	trusting := secure.Client().Transport.(*http.Transport)
	to := func(address string, template *http.Transport) poisehttp.Endpoint {
		e, err := poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{Address: address, Transport: template})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for _, row := range []struct {
		name, url string
		endpoint  poisehttp.Endpoint
	}{
		{"https to a plain server", "https://example.com/", to(plain.Listener.Addr().String(), nil)},
		{"http to a TLS server", "http://example.com/", alerting},
		{"a name that the certificate lacks", "https://example.org/", to(secure.Listener.Addr().String(), trusting)},
		{"an authority that nobody trusts", "https://example.com/", to(secure.Listener.Addr().String(), nil)},
	} {
		t.Run(row.name, func(t *testing.T) {
			var events record
			b := newTransport(t, poisehttp.Config{Observe: events.observe}, row.endpoint, answering(200))
			for range 5 {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, row.url, nil)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = do(b, req)
			}
			for _, got := range events.all() {
				if got != "a#1 invalid" && got != "b#1 success" {
					t.Errorf("the observer was told %s: %v", got, events.events[0].Result.Err)
				}
			}
			if state := b.Endpoints()[0]; state.Passive.State != health.Serving || state.Reason != poise.NotExcluded {
				t.Errorf("the endpoint is %v", state.Reason)
			}
		})
	}
}
