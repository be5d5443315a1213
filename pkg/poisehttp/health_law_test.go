package poisehttp_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
	"pgregory.net/rapid"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// Claim: A permit of a circuit is given back on every path on which its call ends.
//
// Claim: No health signal brings back or hides an endpoint that is draining or unavailable.
//
// Cases: B18, G19.
func TestBalancer_LawOfHealth(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		script := rapid.SliceOfN(rapid.Uint16(), 0, 120).Draw(r, "script")
		if fault := playHealth(t, script, new(seenReasons)); fault != "" {
			r.Fatal(fault)
		}
	})
}

// Claim: A permit of a circuit is given back on every path on which its call ends.
func TestBalancer_LawOfHealthByGopter(t *testing.T) {
	laws := gopter.NewProperties(gopterParameters(t))
	laws.Property("slots, permits and reasons agree with the calls", prop.ForAll(
		func(script []uint16) string { return playHealth(t, script, new(seenReasons)) }, gen.SliceOf(gen.UInt16())))
	laws.TestingRun(t)
}

// seenReasons is which reasons were met.
type seenReasons [poise.ExcludedEjected + 1]bool

// Where one never occurred, the laws would show little.
func TestHealthLaws_MeetEveryReason(t *testing.T) {
	var seen seenReasons
	chance := poise.NewGenerator(1)
	for range 30 {
		script := make([]uint16, 100)
		for i := range script {
			script[i] = uint16(chance.Uint64())
		}
		if fault := playHealth(t, script, &seen); fault != "" {
			t.Fatal(fault)
		}
	}
	for _, reason := range []poise.Reason{
		poise.NotExcluded, poise.ExcludedDraining, poise.ExcludedUnavailable, poise.ExcludedUnhealthy,
		poise.ExcludedCircuitOpen, poise.ExcludedOutlier,
	} {
		if !seen[reason] {
			t.Errorf("nobody was ever %s", reason)
		}
	}
}

// playHealth plays a script in a bubble and returns what was wrong.
func playHealth(t *testing.T, script []uint16, seen *seenReasons) (fault string) {
	synctest.Test(t, func(t *testing.T) {
		w := newFleet(t)
		defer w.leave()
		fault = lawfully(func(f failer) { w.play(f, script, seen) })
	})
	return fault
}

// fleet is a Balancer over three endpoints with every health signal, and all calls
// that are under way.
type fleet struct {
	b      *poisehttp.Balancer
	list   []poisehttp.Member
	said   []poise.Status
	calls  []*playedCall
	trials int
	// strange is an error that a call must not end with.
	strange atomic.Pointer[error]
}

// playedEndpoint hands every call that it gets to the script.
type playedEndpoint struct {
	*patient
	fleet *fleet
	held  atomic.Int64 // calls
}

// playedCall is a call that is under way, or was refused.
type playedCall struct {
	cancel context.CancelFunc
	sent   atomic.Bool // and not ended
	end    chan int    // the status to answer; 0 is an error, -1 a panic
}

type playedKey struct{}

func (e *playedEndpoint) RoundTrip(req *http.Request) (*http.Response, error) {
	call := req.Context().Value(playedKey{}).(*playedCall)
	call.sent.Store(true)
	e.held.Add(1)
	defer func() { call.sent.Store(false); e.held.Add(-1) }()
	select {
	case status := <-call.end:
		switch status {
		case 0:
			return nil, errBroken
		case -1:
			panic(errBroken)
		}
		return &http.Response{StatusCode: status, Body: http.NoBody}, nil
	case <-req.Context().Done():
		return nil, context.Cause(req.Context())
	}
}

func newFleet(t *testing.T) *fleet {
	f := &fleet{said: make([]poise.Status, 3), trials: 2}
	for i := range f.said {
		f.list = append(f.list, poisehttp.Member{ID: string(rune('a' + i)), Endpoint: f.endpoint(), Limit: uint64(i) * 2})
	}
	circuit := circuits()
	circuit.Trials, circuit.Successes = f.trials, 2
	detection := outliers()
	detection.Detector = health.OutlierConfig{FailuresInRow: 1}
	f.b = newBalancer(t, poisehttp.Config{
		Members: f.list, Attempts: 2, Quarantine: noQuarantine, Seed: 1,
		Health: poisehttp.HealthConfig{
			Probes: &poisehttp.ProbesConfig{
				Probe: func(m poisehttp.Member) (func(context.Context) error, error) {
					return m.Endpoint.(*playedEndpoint).probe, nil
				},
				Active:  health.ActiveHealthConfig{Interval: time.Second, HealthyThreshold: 2, UnhealthyThreshold: 2, Hold: time.Second},
				Timeout: 200 * time.Millisecond,
			},
			Circuit: circuit, Outliers: detection, Window: &health.OutcomeWindowConfig{},
		},
	})
	return f
}

func (f *fleet) endpoint() *playedEndpoint { return &playedEndpoint{patient: newPatient(), fleet: f} }

// leave ends what is under way.
func (f *fleet) leave() {
	for _, call := range f.calls {
		call.cancel()
	}
	synctest.Wait()
}

func (f *fleet) play(t failer, script []uint16, seen *seenReasons) {
	for step, word := range script {
		f.do(t, word)
		synctest.Wait()
		f.check(t, step, seen)
	}
	f.leave()
	f.check(t, len(script), seen)
	for i := range f.list {
		if err := f.b.SetStatus(f.list[i].ID, poise.Ready); err != nil {
			t.Fatalf("SetStatus: %v", err)
		}
		f.said[i] = poise.Ready
		f.list[i].Endpoint.(*playedEndpoint).recovers()
	}
	// However ill they were: without a call or an operator all of them come back.
	pass(10 * time.Minute)
	for _, s := range f.b.Endpoints() {
		if s.Reason != poise.NotExcluded || s.InFlight != 0 || s.Circuit.Trials != 0 {
			t.Fatalf("at the end %s is %+v", s.ID, s)
		}
	}
}

// do does one thing.
func (f *fleet) do(t failer, word uint16) {
	i := int(word>>4) % len(f.list)
	m := &f.list[i]
	e := m.Endpoint.(*playedEndpoint)
	switch word & 15 {
	case 0, 1, 2, 3:
		f.begin()
	case 4, 5, 6:
		statuses := []int{200, 200, 500, 502, 0, 0, -1}
		f.end(word>>4, statuses[int(word>>8)%len(statuses)])
	case 7:
		if len(f.calls) > 0 {
			f.calls[int(word>>4)%len(f.calls)].cancel()
		}
	case 8:
		e.falls([]string{"fails", "hangs", "panics"}[int(word>>8)%3])
	case 9:
		e.recovers()
	case 10, 11:
		pass(time.Duration(word>>4) * 10 * time.Millisecond)
	case 12:
		f.said[i] = poise.Status(word >> 8 % 3)
		if f.said[i] > poise.Unavailable {
			f.said[i] = poise.Ready
		}
		if err := f.b.SetStatus(m.ID, f.said[i]); err != nil {
			t.Fatalf("SetStatus: %v", err)
		}
	case 13:
		if err := f.b.ForceCircuit(m.ID, health.CircuitMode(word>>8%2)); err != nil {
			t.Fatalf("ForceCircuit: %v", err)
		}
	case 14:
		if err := f.b.ForceCondition(m.ID, health.Condition(word>>8%3)); err != nil {
			t.Fatalf("ForceCondition: %v", err)
		}
	case 15:
		if word>>8%2 == 0 {
			m.Endpoint, f.said[i] = f.endpoint(), poise.Ready // another life
		}
		if err := f.b.Update(f.list); err != nil {
			t.Fatalf("Update: %v", err)
		}
	}
}

// begin begins a call, and goes on while it is under way.
func (f *fleet) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	call := &playedCall{cancel: cancel, end: make(chan int)}
	f.calls = append(f.calls, call)
	req, _ := http.NewRequestWithContext(context.WithValue(ctx, playedKey{}, call), http.MethodGet, "http://service.example.com/", nil)
	go func() {
		defer func() { _ = recover() }() // that of the endpoint
		_, err := f.b.RoundTrip(req)
		var failure *poisehttp.CallError
		if err != nil && !errors.As(err, &failure) {
			f.strange.Store(&err)
		}
	}()
}

// end ends the attempt of a call that is under way.
func (f *fleet) end(which uint16, status int) {
	var open []*playedCall
	for _, call := range f.calls {
		if call.sent.Load() {
			open = append(open, call)
		}
	}
	if len(open) > 0 {
		open[int(which)%len(open)].end <- status
	}
}

// check compares what the Balancer shows with the calls and with itself.
func (f *fleet) check(t failer, step int, seen *seenReasons) {
	ejected := 0
	for i, s := range f.b.Endpoints() {
		seen[s.Reason] = true
		if held := f.list[i].Endpoint.(*playedEndpoint).held.Load(); s.InFlight != uint64(held) {
			t.Fatalf("step %d: %s holds %d slots and %d calls", step, s.ID, s.InFlight, held)
		}
		if s.Circuit.Trials > f.trials || s.Circuit.Trials > int(s.InFlight) {
			t.Fatalf("step %d: %s has %d trials out of %d, with %d calls", step, s.ID, s.Circuit.Trials, f.trials, s.InFlight)
		}
		if s.Ejection.Cause != health.NoOutlier {
			ejected++
		}
		if want, other := f.reason(i, s); s.Reason != want && s.Reason != other {
			t.Fatalf("step %d: %s is %s, want %s: %+v", step, s.ID, s.Reason, want, s)
		}
	}
	if ejected > len(f.list)/2 {
		t.Fatalf("step %d: %d are ejected", step, ejected)
	}
	if err := f.b.PublishError(); err != nil {
		t.Fatalf("step %d: %v", step, err)
	}
	if err := f.strange.Load(); err != nil {
		t.Fatalf("step %d: a call ended with %v, which is no CallError", step, *err)
	}
}

// reason returns why the endpoint must be left out. All trials of a half-open
// circuit may be out before anybody was refused: until then nobody knows.
func (f *fleet) reason(i int, s poisehttp.EndpointState) (want, other poise.Reason) {
	rest := poise.NotExcluded
	if s.Ejection.Cause != health.NoOutlier {
		rest = poise.ExcludedOutlier
	}
	switch {
	case f.said[i] == poise.Draining:
		want = poise.ExcludedDraining
	case f.said[i] == poise.Unavailable:
		want = poise.ExcludedUnavailable
	case s.Condition == health.Unhealthy:
		want = poise.ExcludedUnhealthy
	case s.Circuit.Mode == health.Open && s.Circuit.RetryAfter > 0:
		want = poise.ExcludedCircuitOpen
	case s.Circuit.Mode == health.HalfOpen && s.Circuit.Trials == f.trials:
		return poise.ExcludedCircuitOpen, rest
	default:
		want = rest
	}
	return want, want
}
