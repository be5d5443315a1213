package fuzz

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// scripted is an endpoint that reads and answers as the next byte of a script says.
type scripted struct {
	script *[]byte
	id     string
	seen   *[]string // "id: what was read", one for each call
	sent   *int      // calls of which something left

	answered, again bool // it has answered, and was asked once more
}

var errScripted = errors.New("scripted")

// unsent promises that nothing was sent.
type unsent struct{}

func (unsent) Error() string        { return "unsent" }
func (unsent) Is(target error) bool { return target == poisehttp.ErrNotSent }

func (s *scripted) RoundTrip(req *http.Request) (*http.Response, error) {
	s.again = s.again || s.answered
	op := byte(0)
	if len(*s.script) > 0 {
		op = (*s.script)[0]
		*s.script = (*s.script)[1:]
	}
	var read []byte
	if op&8 != 0 {
		read, _ = io.ReadAll(req.Body)
	}
	if op&16 != 0 {
		_ = req.Body.Close()
	}
	*s.seen = append(*s.seen, s.id+": "+string(read))
	if op%8 != 1 {
		*s.sent++
	}
	s.answered = op%8 == 0 || op%8 > 3
	switch op % 8 {
	case 1:
		return nil, unsent{}
	case 2, 3:
		return nil, errScripted
	case 4, 5:
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody}, nil
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func (s *scripted) Close() error { return nil }

// countedBody is a request body that knows whether it was read and how often closed.
type countedBody struct {
	io.Reader
	closes int
}

func (c *countedBody) Close() error {
	c.closes++
	return nil
}

// Claim: A request that is not repeatable is sent again only if nothing of it was sent.
//
// Claim: A request is sent again only with a body that can be replayed.
//
// Claim: A retry goes to an endpoint that was not tried while an eligible one is left, and never to one that answered.
//
// Cases: B49.
func FuzzTransport(f *testing.F) {
	f.Add(true, true, uint8(3), []byte{2, 5 | 8 | 16, 0})
	f.Add(false, false, uint8(2), []byte{1, 1 | 16, 1 | 8, 0})
	f.Fuzz(func(t *testing.T, idempotent, replayable bool, endpoints uint8, script []byte) {
		var seen []string
		var sent int
		var members []poisehttp.Member
		for i := range int(endpoints%5) + 1 {
			id := string(rune('a' + i))
			members = append(members, poisehttp.Member{ID: id, Endpoint: &scripted{script: &script, id: id, seen: &seen, sent: &sent}})
		}
		b, err := poisehttp.New(poisehttp.Config{
			Members: members,
			Loop: dispatch.LoopConfig{
				Policy: new(policy.RoundRobin), Passive: health.PassiveHealthConfig{Off: true},
				Retry: dispatch.RetryConfig{Attempts: 4},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		bodies := []*countedBody{{Reader: strings.NewReader("body")}}
		method := http.MethodPost
		if idempotent {
			method = http.MethodPut
		}
		req, err := http.NewRequest(method, "http://service.example.com/", bodies[0])
		if err != nil {
			t.Fatal(err)
		}
		if replayable {
			req.GetBody = func() (io.ReadCloser, error) {
				bodies = append(bodies, &countedBody{Reader: strings.NewReader("body")})
				return bodies[len(bodies)-1], nil
			}
		}
		resp, err := b.RoundTrip(req)
		var failure *poisehttp.CallError
		if (resp == nil) != errors.As(err, &failure) {
			t.Fatalf("the call ended with %v and %v", resp, err)
		}
		if failure != nil && len(failure.Attempts) != len(seen) {
			t.Fatalf("%d attempts are said, of %q", len(failure.Attempts), seen)
		}
		if !idempotent && sent > 1 {
			t.Fatalf("a request that must not be repeated was sent %d times: %q", sent, seen)
		}
		for _, m := range members {
			if m.Endpoint.(*scripted).again {
				t.Fatalf("%s answered and was asked again: %q", m.ID, seen)
			}
		}
		for i, call := range seen {
			if _, read, _ := strings.Cut(call, ": "); read != "" && read != "body" {
				t.Fatalf("call %d read %q", i, read)
			}
			if !replayable && i+1 < len(seen) && strings.HasSuffix(call, "body") {
				t.Fatalf("it was sent again although its body was gone: %q", seen)
			}
			for _, earlier := range seen[:min(i, len(members))] {
				if i < len(members) && earlier[0] == call[0] {
					t.Fatalf("a retry went where it had been: %q", seen)
				}
			}
		}
		for i, body := range bodies {
			// An endpoint that answers may close the body later; these never do.
			if body.closes > 1 || failure != nil && body.closes == 0 {
				t.Fatalf("body %d was closed %d times: %q", i, body.closes, seen)
			}
		}
		for _, state := range b.Endpoints() {
			if state.InFlight != 0 {
				t.Fatalf("%s holds %d slots", state.ID, state.InFlight)
			}
		}
	})
}
