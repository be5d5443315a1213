package poisehttp_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// Claim: The text of a CallError names every endpoint that was tried, and has no control characters.
func TestCallError_TellsWhatAndWhere(t *testing.T) {
	failure := &poisehttp.CallError{Err: poise.ErrNoEligible}
	if text := failure.Error(); text != "poisehttp: not sent: poise: no eligible candidate" || failure.Endpoint() != "" {
		t.Error(text)
	}
	failure = &poisehttp.CallError{Attempts: []poisehttp.Attempted{
		{Endpoint: "a\r\nb", Outcome: poise.Unreachable, Err: errors.New("refused\x1b[2J")},
		{Endpoint: "c", Outcome: poise.Overloaded, Status: 503},
		{Endpoint: "d\u202e", Outcome: poise.Silent, Err: poisehttp.ErrAttemptTimeout},
	}, Err: poisehttp.ErrAttemptTimeout}
	want := `poisehttp: a\r\nb: refused\x1b[2J; c: status 503; d\u202e: poisehttp: no response header within the attempt timeout`
	if text := failure.Error(); text != want || failure.Endpoint() != "d\u202e" {
		t.Errorf("got %s", text)
	}
	failure.Err = errBroken
	if text := failure.Error(); text != want+"; then broken" {
		t.Errorf("got %s", text)
	}
	if (&poisehttp.CallError{Err: errBroken}).Timeout() {
		t.Error("every error is a timeout")
	}
	timeout := &poisehttp.CallError{Err: poisehttp.ErrAttemptTimeout}
	if !timeout.Timeout() || !timeout.Temporary() {
		t.Error("a timeout is none")
	}
}

// Claim: The text of a CallError names every endpoint that was tried, and has no control characters.
func TestCallError_NamesEveryEndpointOfARealCall(t *testing.T) {
	b := newTransport(t, poisehttp.Config{Loop: loop(off), Members: []poisehttp.Member{
		{ID: "first\n", Endpoint: failing(errBroken)}, {ID: "second", Endpoint: failing(notSent{})}, {ID: "third", Endpoint: failing(errBroken)},
	}})
	_, err := get(t, b)
	text := requireCallError(t, err).Error()
	for _, part := range []string{`first\n: broken`, "second: nothing was sent", "third: broken"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %s", part, text)
		}
	}
	if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' }) {
		t.Errorf("a control character is in %q", text)
	}
}

// Cases: B21.
func TestClassify_JudgesEveryOutcome(t *testing.T) {
	for _, row := range []struct {
		status int
		err    error
		want   poise.Outcome
	}{
		{0, errBroken, poise.Failure}, {0, notSent{}, poise.Unreachable}, {0, poisehttp.ErrAttemptTimeout, poise.Silent},
		{0, http.ErrSchemeMismatch, poise.Invalid},
		{200, nil, poise.Success}, {204, nil, poise.Success}, {101, nil, poise.Success}, {302, nil, poise.Success},
		{404, nil, poise.Success}, {499, nil, poise.Success}, {501, nil, poise.Success}, {505, nil, poise.Success},
		{429, nil, poise.Overloaded}, {503, nil, poise.Overloaded},
		{500, nil, poise.Failure}, {502, nil, poise.Failure}, {504, nil, poise.Failure}, {599, nil, poise.Failure},
	} {
		var resp *http.Response
		if row.err == nil {
			resp = &http.Response{StatusCode: row.status}
		}
		if got := poisehttp.Classify(resp, row.err); got.Outcome != row.want || got.Err != row.err {
			t.Errorf("%d, %v: %+v", row.status, row.err, got)
		}
	}
}
