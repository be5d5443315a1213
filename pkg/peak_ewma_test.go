package poise_test

import (
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

var start = time.Unix(1_700_000_000, 0)

// reporter is what a helper needs of a test: *testing.T and *rapid.T have it.
type reporter interface {
	Helper()
	Fatalf(format string, args ...any)
}

func after(d time.Duration) time.Time { return start.Add(d) }

func newPeak(t reporter, initial, halfLife time.Duration) *poise.PeakEWMA {
	t.Helper()
	e, err := poise.NewPeakEWMA(poise.PeakEWMAConfig{Initial: initial, HalfLife: halfLife}, start)
	if err != nil {
		t.Fatalf("NewPeakEWMA: %v", err)
	}
	return e
}

// begin starts a call.
func begin(t reporter, e *poise.PeakEWMA, now time.Time) *poise.TimedLease {
	t.Helper()
	call, err := e.Start(now)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	return &call
}

// about reports whether two durations differ by at most the relative error.
func about(got, want time.Duration, relative float64) bool {
	return math.Abs(float64(got-want)) <= relative*math.Abs(float64(want))
}

func checkEstimate(t reporter, e *poise.PeakEWMA, at, want time.Duration) {
	t.Helper()
	if got := e.Estimate(after(at)); !about(got, want, 1e-4) {
		t.Fatalf("after %v the estimate is %v, want %v", at, got, want)
	}
}

func TestPeakEWMA_RefusesSettingsOutOfRange(t *testing.T) {
	for _, row := range []struct {
		cfg   poise.PeakEWMAConfig
		field string
	}{
		{poise.PeakEWMAConfig{}, "Initial"},
		{poise.PeakEWMAConfig{Initial: -1, HalfLife: 1}, "Initial"},
		{poise.PeakEWMAConfig{Initial: 1}, "HalfLife"},
		{poise.PeakEWMAConfig{Initial: 1, HalfLife: -1}, "HalfLife"},
		{poise.PeakEWMAConfig{Initial: 1, HalfLife: 1, InFlight: poise.NewInFlight(0), Limit: 1}, "Limit"},
	} {
		e, err := poise.NewPeakEWMA(row.cfg, start)
		var field *poise.FieldError
		if e != nil || !errors.As(err, &field) || field.Field != row.field || !errors.Is(err, poise.ErrOutOfRange) {
			t.Errorf("%+v: error is %v", row.cfg, err)
		}
	}
	if _, err := poise.NewPeakEWMA(poise.PeakEWMAConfig{Initial: 1, HalfLife: 1}, start); err != nil {
		t.Errorf("the smallest settings are refused: %v", err)
	}
}

// Cases: PK1, PK5, the unit tables of other implementations.
// Claim: The load of a PeakEWMA is the estimate times one more than the calls in flight.
func TestPeakEWMA_LoadCountsTheCallsInFlight(t *testing.T) {
	for _, row := range []struct {
		latency  time.Duration
		inFlight int
		want     uint64
	}{{20, 5, 120}, {30, 0, 30}, {50, 2, 150}, {10, 0, 10}} {
		e := newPeak(t, 10, time.Hour)
		e.Observe(row.latency, start)
		for range row.inFlight {
			begin(t, e, start)
		}
		if got, err := e.Load(start); got != row.want || err != nil {
			t.Errorf("%v with %d in flight: load %d (%v), want %d", row.latency, row.inFlight, got, err, row.want)
		}
	}
	e := newPeak(t, 100*time.Millisecond, time.Minute)
	idle, _ := e.Load(start)
	begin(t, e, start)
	busy, _ := e.Load(start)
	if idle != 100e6 || busy != 200e6 {
		t.Errorf("idle %d, with one call %d", idle, busy)
	}
	if e.Unit() != poise.CostNanoseconds || e.InFlight().Current() != 1 {
		t.Errorf("unit %v, %d in flight", e.Unit(), e.InFlight().Current())
	}
}

// Tower's second table, where its decay and this one agree; afterwards Tower falls
// towards 0 and this one to the initial cost.
func TestPeakEWMA_FollowsTowersTable(t *testing.T) {
	ms := time.Millisecond
	e := newPeak(t, 20*ms, 693_147_181*time.Nanosecond)
	r0 := begin(t, e, after(100*ms))
	r1 := begin(t, e, after(200*ms))
	load := func(at time.Duration, low, high float64) {
		t.Helper()
		if got, err := e.Load(after(at)); err != nil || float64(got) < low*1e6 || float64(got) > high*1e6 {
			t.Errorf("after %v the load is %d (%v), want %v to %v ms", at, got, err, low, high)
		}
	}
	r0.Done(poise.Success, after(300*ms))
	load(300*ms, 400, 400)
	r1.Done(poise.Success, after(400*ms))
	load(400*ms, 200, 200)
	load(1400*ms, 86.2, 86.3) // Tower: 73.58, under 100
	load(11400*ms, 20, 20.1)
}

// Cases: PK3, B16, and the other implementation's vector for 64 ms.
// Claim: A sample that is at least the estimate becomes the estimate at once.
func TestPeakEWMA_RisesAtOnce(t *testing.T) {
	ms := time.Millisecond
	e := newPeak(t, ms, 10*ms)
	e.Observe(64*ms, after(0))
	checkEstimate(t, e, 0, 64*ms)
	if got := e.Estimate(after(100 * ms)); got < ms || got > 10*ms {
		t.Errorf("after ten half-lives it is %v", got)
	}
	b16 := newPeak(t, ms, 10*ms)
	b16.Observe(100*ms, after(0))
	b16.Observe(500*ms, after(10*ms))
	checkEstimate(t, b16, 10*ms, 500*ms)

	// Between what is read and what was: the sample counts.
	between := newPeak(t, ms, time.Second)
	between.Observe(100*ms, after(0))
	checkEstimate(t, between, time.Second, 50500*time.Microsecond)
	between.Observe(51*ms, after(time.Second))
	checkEstimate(t, between, time.Second, 51*ms)

	// Rising from fast calls towards Initial is not knowledge: a sample ends it.
	rising := newPeak(t, 10*ms, time.Second)
	rising.Observe(ms, after(100*time.Second))
	checkEstimate(t, rising, 101*time.Second, 5500*time.Microsecond)
	rising.Observe(2*ms, after(101*time.Second))
	checkEstimate(t, rising, 101*time.Second, 2*ms)
}

// Cases: PK2, G9 (not an average downwards), B16.
// Claim: Under samples below it the estimate loses at least half of its excess over them in each half-life.
func TestPeakEWMA_FallsTowardsTheSamples(t *testing.T) {
	ms := time.Millisecond
	for _, initial := range []time.Duration{ms / 10, ms, 30 * ms, time.Second} {
		e := newPeak(t, initial, time.Second)
		e.Observe(100*ms, after(0))
		peak := e.Estimate(after(0)) - ms
		for k := 1; k <= 7000; k++ {
			at := time.Duration(k) * ms
			e.Observe(ms, after(at))
			if k%1000 != 0 {
				continue
			}
			excess := float64(e.Estimate(after(at)) - ms)
			if allowed := float64(peak) * math.Exp2(-float64(k)/1000); excess < 0 || excess > allowed*(1+1e-6)+1 {
				t.Errorf("initial %v: after %d half-lives %v ns of the excess are left, want at most %v", initial, k/1000, excess, allowed)
			}
		}
		if left := float64(e.Estimate(after(7*time.Second))-ms) / float64(peak); left >= 0.01 {
			t.Errorf("initial %v: after 7 half-lives %.4f of the excess are left", initial, left)
		}
	}
	// Exactly half where the samples are at most Initial.
	e := newPeak(t, ms, time.Second)
	e.Observe(101*ms, after(0))
	for k := range 8 {
		at := time.Duration(k) * time.Second
		checkEstimate(t, e, at, ms+100*ms>>k)
		e.Observe(ms, after(at))
	}
}

// Claim: An idle PeakEWMA returns to the initial cost, by half of the difference in each half-life.
func TestPeakEWMA_IdleReturnsToInitial(t *testing.T) {
	ms := time.Millisecond
	for latency, steps := range map[time.Duration][]time.Duration{
		90 * ms: {90 * ms, 50 * ms, 30 * ms, 20 * ms, 15 * ms},
		2 * ms:  {2 * ms, 6 * ms, 8 * ms, 9 * ms, 9500 * time.Microsecond},
	} {
		e := newPeak(t, 10*ms, time.Second)
		// The clock is set back in between, so that a sample below Initial is taken
		// at once.
		e.Observe(latency, after(1000*time.Second))
		for k, want := range steps {
			checkEstimate(t, e, 1000*time.Second+time.Duration(k)*time.Second, want)
		}
		checkEstimate(t, e, time.Hour, 10*ms)
	}
}

// Cases: B17, G9 (a failing candidate looked fast), E5, PK5.
// Claim: Only a call that succeeds is a sample.
func TestPeakEWMA_OnlySuccessIsASample(t *testing.T) {
	for _, outcome := range []poise.Outcome{poise.Failure, poise.Overloaded, poise.Cancelled, poise.Outcome(99)} {
		for _, took := range []time.Duration{time.Nanosecond, time.Hour} {
			e := newPeak(t, time.Second, time.Minute)
			call := begin(t, e, start)
			if !call.Done(outcome, after(took)) {
				t.Errorf("%v: Done returned false", outcome)
			}
			if got := e.Estimate(after(took)); got != time.Second || e.InFlight().Current() != 0 {
				t.Errorf("%v after %v: estimate %v, %d in flight", outcome, took, got, e.InFlight().Current())
			}
		}
	}
	e := newPeak(t, time.Second, time.Minute)
	if begin(t, e, start).Done(poise.Success, after(time.Minute)); e.Estimate(after(time.Minute)) != time.Minute {
		t.Errorf("a success is no sample: %v", e.Estimate(after(time.Minute)))
	}
}

// Claim: The first Done of a TimedLease ends the call and returns true; every later one returns false and changes nothing.
// Claim: Done of the zero TimedLease returns false.
func TestTimedLease_EndsOnce(t *testing.T) {
	e := newPeak(t, time.Second, time.Minute)
	call := begin(t, e, start)
	var wg sync.WaitGroup
	ended := make(chan bool, 8)
	for range 8 {
		wg.Go(func() { ended <- call.Done(poise.Cancelled, after(1)) })
	}
	wg.Wait()
	close(ended)
	times := 0
	for first := range ended {
		if first {
			times++
		}
	}
	if times != 1 || e.InFlight().Current() != 0 {
		t.Errorf("ended %d times, %d in flight", times, e.InFlight().Current())
	}
	if call.Done(poise.Success, after(time.Hour)); e.Estimate(after(time.Hour)) != time.Second {
		t.Error("a later Done is a sample")
	}
	var zero poise.TimedLease
	if zero.Done(poise.Success, start) {
		t.Error("the zero TimedLease ended something")
	}
}

// Claim: The first Answered before Done takes the sample and returns true; every other one returns false and changes nothing.
// Claim: A call whose answer begins is sampled then, and no more at its end.
func TestTimedLease_IsSampledWhenTheAnswerBegins(t *testing.T) {
	ms := time.Millisecond
	e := newPeak(t, ms, time.Hour)
	call := begin(t, e, start)
	if !call.Answered(poise.Success, after(10*ms)) || call.Answered(poise.Success, after(20*ms)) {
		t.Error("the answer did not begin once")
	}
	checkEstimate(t, e, 20*ms, 10*ms)
	if e.InFlight().Current() != 1 {
		t.Errorf("%d in flight while the answer is read", e.InFlight().Current())
	}
	if !call.Done(poise.Success, after(30*ms)) || call.Done(poise.Success, after(40*ms)) {
		t.Error("the call did not end once")
	}
	checkEstimate(t, e, 40*ms, 10*ms)
	if call.Answered(poise.Success, after(50*ms)) {
		t.Error("the answer began after the end")
	}
	checkEstimate(t, e, 50*ms, 10*ms)
	if e.InFlight().Current() != 0 {
		t.Errorf("%d in flight", e.InFlight().Current())
	}

	// An answer that is judged a failure is none of its successes later.
	failed := begin(t, e, start)
	if !failed.Answered(poise.Failure, after(time.Second)) || !failed.Done(poise.Success, after(time.Second)) {
		t.Error("it did not begin to answer and end")
	}
	checkEstimate(t, e, 50*ms, 10*ms)
	var zero poise.TimedLease
	if zero.Answered(poise.Success, start) {
		t.Error("the zero TimedLease was answered")
	}
}

// A balancer counts a call once, in the counter that admits it, and tells the
// PeakEWMA over it.
func TestPeakEWMA_LivesWithTheCounterOfAnother(t *testing.T) {
	ms := time.Millisecond
	inFlight := poise.NewInFlight(2)
	e, err := poise.NewPeakEWMA(poise.PeakEWMAConfig{Initial: ms, HalfLife: time.Hour, InFlight: inFlight}, start)
	if err != nil {
		t.Fatal(err)
	}
	if e.InFlight() != inFlight {
		t.Fatal("it has a counter of its own")
	}
	lease, err := inFlight.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	e.Began(start)
	if load, err := e.Load(start); load != uint64(2*ms) || err != nil {
		t.Errorf("with one call the load is %d, %v", load, err)
	}
	for _, r := range []poise.Result{{Outcome: poise.Failure}, {Outcome: poise.Overloaded}, {Outcome: poise.Cancelled}} {
		e.Answered(r, start, after(time.Second))
		e.Ended(r, false, start, after(time.Second))
		e.Ended(poise.Result{}, true, start, after(time.Second))
	}
	checkEstimate(t, e, 0, ms)
	e.Answered(poise.Result{}, start, after(5*ms))
	checkEstimate(t, e, 5*ms, 5*ms)
	e.Ended(poise.Result{}, false, start, after(9*ms))
	checkEstimate(t, e, 9*ms, 9*ms)
	lease.Release()
	if load, err := e.Load(after(9 * ms)); load != uint64(9*ms) || err != nil {
		t.Errorf("idle the load is %d, %v", load, err)
	}
	call := begin(t, e, start)
	if inFlight.Current() != 1 || !call.Done(poise.Cancelled, start) || inFlight.Current() != 0 {
		t.Error("a call of its own is not counted there")
	}
}

// Claim: The calls that a PeakEWMA admits never exceed its limit.
func TestPeakEWMA_KeepsItsLimit(t *testing.T) {
	e, err := poise.NewPeakEWMA(poise.PeakEWMAConfig{Initial: 1, HalfLife: 1, Limit: 3}, start)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for range 500 {
				call, err := e.Start(start)
				if used := e.InFlight().Current(); used > 3 {
					t.Errorf("%d in flight", used)
				}
				var full *poise.CapacityError
				if err == nil {
					call.Done(poise.Success, start)
				} else if !errors.As(err, &full) || full.Limit != 3 {
					t.Errorf("refused by %v", err)
				}
			}
		})
	}
	wg.Wait()
	for range 3 {
		begin(t, e, start)
	}
	call, err := e.Start(start)
	if !errors.Is(err, poise.ErrAtCapacity) || call.Done(poise.Success, start) || e.InFlight().Current() != 3 {
		t.Errorf("a fourth call: %v, %d in flight", err, e.InFlight().Current())
	}
}

// Cases: B22, G9 (time ran back, decay was applied twice).
// Claim: An instant before that of the last sample counts as that one.
// Claim: A clock that is set back by more than ten half-lives makes a PeakEWMA start anew at the initial cost.
// Claim: A call that ends before it began is no sample.
func TestPeakEWMA_KeepsTimeGoingForward(t *testing.T) {
	ms := time.Millisecond
	e := newPeak(t, ms, time.Second)
	e.Observe(101*ms, after(20*time.Second))
	checkEstimate(t, e, 19*time.Second, 101*ms)
	checkEstimate(t, e, 10*time.Second, 101*ms)
	// A sample that is late by ten half-lives: time stays where it was.
	e.Observe(ms, after(10*time.Second))
	checkEstimate(t, e, 20*time.Second, 101*ms)
	checkEstimate(t, e, 21*time.Second, 51*ms)
	// One nanosecond more, and the clock was set back.
	checkEstimate(t, e, 10*time.Second-1, ms)
	e.Observe(31*ms, after(10*time.Second-1))
	checkEstimate(t, e, 10*time.Second-1, 31*ms)
	checkEstimate(t, e, 11*time.Second-1, 16*ms)

	backward := begin(t, e, after(12*time.Second))
	before := e.Estimate(after(12 * time.Second))
	backward.Done(poise.Success, after(11*time.Second))
	if got := e.Estimate(after(12 * time.Second)); got != before || e.InFlight().Current() != 0 {
		t.Errorf("a call that ended before it began: %v, then %v", before, got)
	}
	instantly := newPeak(t, ms, time.Second)
	instantly.Observe(0, after(time.Second))
	checkEstimate(t, instantly, time.Second, ms/2)
}

// Cases: G9 (the estimate panicked at the longest duration).
func TestPeakEWMA_NoInputPanics(t *testing.T) {
	extremes := []time.Time{start, {}, time.Unix(-1<<40, 0), time.Unix(1<<60, 0), after(math.MaxInt64), after(math.MinInt64), after(1)}
	durations := []time.Duration{1, 2, time.Second, math.MaxInt64}
	for _, initial := range durations {
		for _, halfLife := range durations {
			for _, origin := range extremes {
				e, err := poise.NewPeakEWMA(poise.PeakEWMAConfig{Initial: initial, HalfLife: halfLife}, origin)
				if err != nil {
					t.Fatal(err)
				}
				for _, at := range extremes {
					for _, latency := range []time.Duration{math.MinInt64, -1, 0, 1, math.MaxInt64} {
						e.Observe(latency, at)
						for _, read := range extremes {
							got := e.Estimate(read)
							load, err := e.Load(read)
							if got < 0 || err != nil || float64(load) < float64(got)*(1-1e-15) {
								t.Fatalf("read %v, load %d (%v)", got, load, err)
							}
						}
						// To within the rounding of the larger of the two.
						if latency >= 0 && float64(e.Estimate(at)) < float64(latency)-1e-15*float64(max(latency, initial)) {
							t.Fatalf("after %v it reads %v", latency, e.Estimate(at))
						}
					}
				}
			}
		}
	}
}

func TestPeakEWMA_AllocatesNothing(t *testing.T) {
	e := newPeak(t, time.Second, time.Second)
	at := start
	if allocs := testing.AllocsPerRun(100, func() {
		at = at.Add(time.Millisecond)
		call, err := e.Start(at)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Load(at); err != nil {
			t.Fatal(err)
		}
		call.Done(poise.Success, at.Add(time.Millisecond))
	}); allocs != 0 {
		t.Errorf("%v allocations a call", allocs)
	}
}

func TestNewView_RefusesANilPeakEWMAAndMixedUnits(t *testing.T) {
	view := func(trackers ...poise.LoadTracker) error {
		candidates := make([]poise.Candidate, len(trackers))
		for i, tracker := range trackers {
			candidates[i] = poise.Sample{ID: string(rune('a' + i)), Load: tracker}
		}
		_, err := poise.NewView(candidates)
		return err
	}
	peak := newPeak(t, 1, 1)
	for name, row := range map[string]struct{ err, want error }{
		"nil":                   {view(peak, (*poise.PeakEWMA)(nil)), poise.ErrNilTracker},
		"mixed":                 {view(peak, poise.NewInFlight(0)), poise.ErrMixedLoad},
		"mixed the other way":   {view(poise.NewInFlight(0), peak), poise.ErrMixedLoad},
		"one kind":              {view(peak, peak), nil},
		"its calls, not itself": {view(peak.InFlight(), poise.NewInFlight(0)), nil},
	} {
		if !errors.Is(row.err, row.want) {
			t.Errorf("%s: error is %v, want %v", name, row.err, row.want)
		}
	}
}

func BenchmarkPeakEWMA(b *testing.B) {
	e, err := poise.NewPeakEWMA(poise.PeakEWMAConfig{Initial: time.Millisecond, HalfLife: time.Second}, start)
	if err != nil {
		b.Fatal(err)
	}
	e.Observe(time.Second, start)
	at := after(100 * time.Millisecond)
	b.Run("op=load", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := e.Load(at); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("op=observe", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			at = at.Add(time.Microsecond)
			e.Observe(time.Millisecond, at)
		}
	})
	b.Run("op=call", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			at = at.Add(time.Microsecond)
			call, err := e.Start(at)
			if err != nil {
				b.Fatal(err)
			}
			if !call.Done(poise.Success, at) {
				b.Fatal("the call had ended")
			}
		}
	})
}
