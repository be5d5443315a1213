package poisehttp_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// stepped has the loop of a Transport call real servers at instants that a test gives.
type stepped struct {
	loop *dispatch.Loop
	now  time.Time
	due  time.Time
}

func newStepped(t *testing.T, name string, endpoints []poisehttp.Endpoint) *stepped {
	t.Helper()
	l, err := dispatch.NewLoop(dispatch.LoopConfig{Policy: policyOf(t, name), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := &stepped{loop: l, now: time.Unix(1_000_000, 0)}
	list := make([]dispatch.Spec, len(endpoints))
	for i, e := range endpoints {
		list[i] = dispatch.Spec{Sample: poise.Sample{ID: fmt.Sprintf("b%02d", i), Incarnation: uint64(i + 1)}, Value: e}
	}
	if err := l.Update(list, s.now); err != nil {
		t.Fatal(err)
	}
	return s
}

// pass lets time go by, and does what is due then.
func (s *stepped) pass(t *testing.T, d time.Duration) {
	t.Helper()
	s.now = s.now.Add(d)
	if s.due.IsZero() || !s.now.Before(s.due) {
		var err error
		if s.due, err = s.loop.Advance(s.now); err != nil {
			t.Fatal(err)
		}
	}
}

// begin sends a call.
func (s *stepped) begin(t *testing.T, key uint64) (c *dispatch.Call, r poise.Result) {
	t.Helper()
	c = new(dispatch.Call)
	if err := s.loop.Acquire(c, dispatch.Query{Key: poise.Uint64Key(key), Now: s.now}); err != nil {
		t.Fatal(err)
	}
	resp, err := c.Value().(poisehttp.Endpoint).RoundTrip(newRequest(t, http.MethodGet, nil))
	if err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	return c, poisehttp.Classify(resp, err)
}

// A clock that is set, and a process that stops, while calls are under way at each
// server. Those whose bound has passed meanwhile are Invalid, as a Transport has it.
//
// Cases: B22, B101, B108.
func TestAvailability_NobodyIsBlamedForAClockOrAPause(t *testing.T) {
	t.Parallel()
	var endpoints []poisehttp.Endpoint
	for range 3 {
		endpoints = append(endpoints, serve(t, ok))
	}
	for _, name := range shown {
		for _, by := range []time.Duration{time.Hour, -time.Hour, 10 * time.Second, -500 * time.Millisecond, time.Second, 3 * time.Second, time.Minute} {
			s := newStepped(t, name, endpoints)
			key := uint64(0)
			calls := func(n int) {
				for range n {
					key++
					c, r := s.begin(t, key)
					if r.Outcome != poise.Success {
						t.Fatal(r.Err)
					}
					s.pass(t, 5*time.Millisecond)
					c.End(r, s.now)
					s.pass(t, 5*time.Millisecond)
				}
			}
			for range 2 {
				calls(50)
				// Under way are calls at each server, or at one alone.
				for _, alone := range []bool{false, true} {
					var open []*dispatch.Call
					var results []poise.Result
					for tries := 0; tries < 60 && (len(open) < 6 || !alone && len(open) < 18); tries++ {
						key++
						c, r := s.begin(t, key)
						if alone && c.ID() != "b00" {
							c.End(r, s.now)
							continue
						}
						if len(open)%6 > 0 && by > 0 {
							r = poise.Result{Outcome: poise.Invalid, Err: poisehttp.ErrAttemptTimeout}
						}
						open, results = append(open, c), append(results, r)
					}
					s.pass(t, by)
					for i, c := range open {
						c.End(results[i], s.now)
					}
					calls(50)
				}
			}
			calls(100)
			for _, m := range s.loop.Inspect(s.now).Members {
				if m.Passive.Ejections > 0 || m.Reason != poise.NotExcluded || m.InFlight > 0 {
					t.Errorf("%s, %v: %s is %v after %d ejections", name, by, m.ID, m.Reason, m.Passive.Ejections)
				}
			}
		}
	}
}
