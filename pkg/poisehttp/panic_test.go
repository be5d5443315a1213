package poisehttp_test

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// served is an Endpoint that runs a function.
type served func(*http.Request) (*http.Response, error)

func (s served) RoundTrip(req *http.Request) (*http.Response, error) { return s(req) }
func (served) Close() error                                          { return nil }

// severalErrors cannot be compared.
type severalErrors []error

func (e severalErrors) Error() string { return errors.Join(e...).Error() }

// wraps can be compared as a type, and not with this inside.
type wraps struct{ error }

// Claim: The text of a CallError names every endpoint that was tried, and has no control characters.
func TestCallError_HasATextWhateverTheCause(t *testing.T) {
	s := served(func(*http.Request) (*http.Response, error) {
		return nil, severalErrors{errors.New("one"), errors.New("two")}
	})
	_, err := newTransport(t, poisehttp.Config{}, &s).RoundTrip(newRequest(t, http.MethodGet, nil))
	if err == nil || !strings.Contains(err.Error(), "one") || strings.Contains(err.Error(), "then") {
		t.Errorf("the text is %v", err)
	}
	wrapped := &poisehttp.CallError{Err: wraps{severalErrors{io.EOF}}, Attempts: []poisehttp.Attempted{{Err: wraps{severalErrors{io.EOF}}}}}
	if text := wrapped.Error(); strings.Contains(text, "then") {
		t.Errorf("a struct that cannot be compared reads %q", text)
	}
	if text := new(poisehttp.CallError).Error(); text == "" {
		t.Error("the zero CallError has no text")
	}
}

// answersPanic is a tracker that panics when an answer has begun.
type answersPanic struct{ *poise.InFlight }

func (answersPanic) Began(time.Time)                                {}
func (answersPanic) Answered(poise.Result, time.Time, time.Time)    { panic("boom") }
func (answersPanic) Ended(poise.Result, bool, time.Time, time.Time) {}

// Claim: A panic of a callback, a policy or an endpoint during a call leaves no slot held.
func TestTransport_APanicOfATrackerLeavesNoSlotHeld(t *testing.T) {
	closed := 0
	s := served(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: closes{strings.NewReader("served"), &closed}}, nil
	})
	tr := newTransport(t, poisehttp.Config{Loop: dispatch.LoopConfig{
		Load: func(calls *poise.InFlight) (poise.LoadTracker, error) { return answersPanic{calls}, nil },
	}}, &s)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not pass through")
			}
		}()
		_, _ = tr.RoundTrip(newRequest(t, http.MethodGet, nil))
	}()
	if n := tr.Endpoints()[0].InFlight; n != 0 {
		t.Errorf("%d slots are held", n)
	}
}

type closes struct {
	io.Reader
	n *int
}

func (c closes) Close() error {
	*c.n++
	return nil
}

// Claim: A request that net/http would refuse to send, and one that was cancelled before, is sent nowhere.
func TestTransport_SendsNothingForNobody(t *testing.T) {
	sent := 0
	s := served(func(*http.Request) (*http.Response, error) {
		sent++
		return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
	})
	tr := newTransport(t, poisehttp.Config{}, &s)
	noName := newRequest(t, http.MethodGet, nil)
	noName.URL.Scheme, noName.URL.Host = "https", ":443"
	if _, err := tr.RoundTrip(noName); !errors.Is(err, poisehttp.ErrBadRequest) {
		t.Errorf("a URL without a host: %v", err)
	}
	late := newRequest(t, http.MethodGet, nil)
	done := make(chan struct{})
	close(done)
	//lint:ignore SA1019 the claim holds for callers that still use it
	late.Cancel = done
	if _, err := tr.RoundTrip(late); err == nil {
		t.Error("a request that was cancelled before is answered")
	}
	if sent != 0 {
		t.Errorf("%d requests were sent", sent)
	}
}

// Claim: A caller who leaves, a request body that fails and a pause of this process say nothing about the endpoint.
//
// Cases: B90.
func TestTransport_AServerNameThatNobodyHasEjectsNobody(t *testing.T) {
	plain := httptest.NewTLSServer(nil)
	certificate := plain.TLS.Certificates[0]
	roots := plain.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	plain.Close()
	var endpoints []poisehttp.Endpoint
	for range 3 {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") }))
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.TLS = &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if hello.ServerName != "example.com" {
				return nil, errors.New("no certificate of this name")
			}
			return &certificate, nil
		}}
		server.StartTLS()
		t.Cleanup(server.Close)
		e, err := poisehttp.NewHTTPEndpoint(poisehttp.HTTPEndpointConfig{
			Address: server.Listener.Addr().String(), Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}},
		})
		if err != nil {
			t.Fatal(err)
		}
		endpoints = append(endpoints, e)
	}
	tr := newTransport(t, poisehttp.Config{}, endpoints...)
	get := func(url string) error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := tr.RoundTrip(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			err = resp.Body.Close()
		}
		return err
	}
	for range 20 {
		if err := get("https://example.com/"); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		if err := get("https://other.example.org/"); err == nil {
			t.Error("a name that nobody has was served")
		}
	}
	for _, state := range tr.Endpoints() {
		if state.Reason != poise.NotExcluded {
			t.Errorf("%s is %v", state.ID, state.Reason)
		}
	}
}
