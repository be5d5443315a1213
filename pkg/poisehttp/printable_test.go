package poisehttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/pkg/discovery/target"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// hostile is an identity as a source that is not to be trusted may send it: it would
// begin a line of its own, clear a terminal, and turn the text around.
const hostile = "a\r\nb\x1b[2J\x7f\u202e\u2028"

// requirePlain requires a text without any character that is not to be printed.
func requirePlain(t *testing.T, what, text string) {
	t.Helper()
	if text == "" || strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
		t.Errorf("%s: %q", what, text)
	}
}

// Every error type of the library, made with a hostile identity or text, as far as the
// library itself lets such a thing in.
//
// Claim: The text of a CallError names every endpoint that was tried, and has no control characters.
func TestErrors_PrintNoControlCharacters(t *testing.T) {
	odd := errors.New(hostile)
	all := []error{
		&poise.FieldError{Field: hostile, Value: hostile, Err: odd},
		&poise.FieldError{Field: "x", Value: poise.Rule(hostile), Err: odd},
		&poise.FieldError{Field: "x", Value: []string{hostile}, Err: poise.ErrOutOfRange},
		&poise.FieldError{Field: "x", Value: odd, Err: poise.ErrOutOfRange},
		&poise.RangeError{Min: 1, Max: 2},
		&poise.CapacityError{Limit: 3},
		&discovery.LimitError{Err: discovery.ErrShrunk},
		&discovery.PollError{Source: hostile, Err: odd},
		&discovery.SessionError{Source: hostile},
		&discovery.SessionError{Source: hostile, Replaced: true},
		&discovery.StaleError{Source: hostile},
		&dispatch.MemberError{ID: hostile, Err: odd},
		&health.CircuitError{Err: poise.ErrAtCapacity},
		&health.PanicError{Value: odd},
		&poisehttp.CallError{Err: odd},
		&poisehttp.CallError{Attempts: []poisehttp.Attempted{{Endpoint: hostile, Err: odd}}, Err: errBroken},
		&poisehttp.HostError{Host: hostile, From: hostile},
		&poisehttp.HostError{Host: hostile},
	}
	for _, err := range all {
		requirePlain(t, reflect.TypeOf(err).String(), err.Error())
	}
	// None is forgotten: the list of exported names has them all.
	names, err := os.ReadFile("../../drift/api.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(names)) {
		_, method, _ := strings.Cut(strings.TrimSpace(line), ", method (*")
		name, ok := strings.CutSuffix(method, ") Error() string")
		if ok && !slices.ContainsFunc(all, func(err error) bool { return reflect.TypeOf(err).Elem().Name() == name }) {
			t.Errorf("%s is not among the errors", strings.TrimSpace(line))
		}
	}
}

// The same identities, on their way through the whole loop.
func TestErrors_AHostileIdentityReachesNoTextRaw(t *testing.T) {
	directory, err := discovery.New(discovery.Config[string]{Equal: func(a, b string) bool { return a == b }})
	if err != nil {
		t.Fatal(err)
	}
	session, err := directory.Open(hostile)
	if err != nil {
		t.Fatal(err)
	}
	twice := []discovery.Entry[string]{{ID: hostile}, {ID: hostile}}
	_, err = session.Reconcile(twice)
	requirePlain(t, "an identity twice", err.Error())
	_, err = session.Remove(hostile)
	requirePlain(t, "an unknown identity", err.Error())
	_, err = poise.NewView([]poise.Candidate{poise.Sample{ID: hostile}, poise.Sample{ID: hostile}})
	requirePlain(t, "a candidate twice", err.Error())
	for _, text := range []string{hostile, "static:" + hostile, "dns:" + hostile + ":80", "dns+srv:" + hostile, "file://" + hostile} {
		_, err := target.Parse(text)
		requirePlain(t, "a target", err.Error())
	}
	fetch, err := discovery.File(discovery.FileConfig[string]{
		Files: fstest.MapFS{"list": {Data: []byte("a:80\nb\x1b[2J\u202e:80\n")}}, Name: "list",
		Parse: discovery.Lines(func(line string) (discovery.Entry[string], error) {
			return discovery.Entry[string]{}, errors.New("what is " + line)
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	poller, err := discovery.NewPoller(discovery.PollerConfig[string]{Session: session, Fetch: fetch})
	if err != nil {
		t.Fatal(err)
	}
	_, err = poller.Poll(t.Context(), time.Unix(1, 0))
	requirePlain(t, "a line of a file", err.Error())

	// A policy, an endpoint and a probe that say it.
	var panicking any
	prepare := fixed{func(v *poise.View) (poise.Picker, error) {
		if panicking != nil {
			panic(panicking)
		}
		return new(policy.RoundRobin).Prepare(v)
	}}
	b := newTransport(t, poisehttp.Config{
		Loop: loop(by(prepare)), Explain: func(*http.Request) bool { return true },
		Members: []poisehttp.Member{{ID: hostile, Endpoint: failing(errors.New(hostile))}},
	})
	_, err = get(t, b)
	failure := requireCallError(t, err)
	requirePlain(t, "a call", err.Error())
	for _, line := range strings.Split(failure.Decision.String(), "\n") {
		requirePlain(t, "a decision", line)
	}
	decision := poise.Decision{View: failure.Decision.View, Policy: hostile, Err: errors.New(hostile), Measure: hostile, ComparedLen: 1, Notes: [2]poise.Note{{Name: hostile}}}
	decision.Scope = poise.ScopeChoice{Policy: hostile, Locality: hostile, EffectiveWeight: 1}
	for _, line := range strings.Split(decision.String(), "\n") {
		requirePlain(t, "a decision of a policy", line)
	}
	state, err := json.Marshal(struct {
		ID, Source string
		Passive    health.PassiveInspection
	}{hostile, session.Source(), b.Endpoints()[0].Passive})
	if err != nil || strings.ContainsFunc(string(state), func(c rune) bool { return c < ' ' || c == '\u2028' }) {
		t.Errorf("%q, %v", state, err)
	}
	requirePlain(t, "an unknown member", b.SetStatus(hostile+"?", poise.Draining).Error())
	panicking = hostile
	requirePlain(t, "a policy that panics", b.Update(nil).Error())
	panicking = nil
}

// What a backend sends reaches the text of a probe's error escaped.
func TestHTTPProbe_PrintsNoControlCharacters(t *testing.T) {
	said := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, hostile) }))
	defer said.Close()
	err := newHTTPProbe(t, poisehttp.HTTPProbeConfig{URL: said.URL, Body: "sound, and long enough"}).Probe(t.Context())
	requirePlain(t, "a body", err.Error())
	for _, answer := range []string{"HTTP/1.1 200 OK\r\nbad\x1b[2J\u202e\r\n\r\n", hostile + "\r\n\r\n", "HTTP/1.1 302 F\r\nLocation: http://a\x1b[2J/\u202e\r\nContent-Length: 0\r\n\r\n"} {
		backend := newPiped(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = conn.Write([]byte(answer))
				_ = conn.Close()
			}
		})
		transport := &http.Transport{DialContext: backend.dial, DisableKeepAlives: true}
		err := newHTTPProbe(t, poisehttp.HTTPProbeConfig{URL: "http://service.example.com/", Redirects: 1, Transport: transport}).Probe(context.Background())
		if err == nil {
			t.Errorf("%q is taken", answer)
			continue
		}
		requirePlain(t, "an answer", err.Error())
	}
}
