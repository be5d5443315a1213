package health_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// Claim: The Observer gets the event of every transition once and in order, under no lock.
// Code: Circuit.deliver
func TestCircuit_TellsItsObserver(t *testing.T) {
	var events []health.CircuitEvent
	c := newCircuit(t, health.CircuitConfig{
		Failures: 2, Window: 3, OpenFor: 1, MaxOpenFor: 1, Successes: 2,
		Observer: func(e health.CircuitEvent) { events = append(events, e) },
	})
	at := func(n int) time.Time { return noon.Add(time.Duration(n)) }
	call(t, c, poise.Failure, at(0))
	call(t, c, poise.Failure, at(1)) // opens
	call(t, c, poise.Success, at(2)) // half-open
	call(t, c, poise.Failure, at(3)) // opens
	call(t, c, poise.Success, at(4)) // half-open
	call(t, c, poise.Success, at(5)) // closes
	call(t, c, poise.Failure, at(6))
	call(t, c, poise.Success, at(6))
	call(t, c, poise.Failure, at(7)) // opens: two of three
	c.ForceOpen(at(8))
	c.ForceClose(at(9))
	want := []health.CircuitEvent{
		{From: health.Closed, To: health.Open, Cause: health.CauseFailures, At: at(1), OpenFor: 1},
		{From: health.Open, To: health.HalfOpen, Cause: health.CauseTime, At: at(2)},
		{From: health.HalfOpen, To: health.Open, Cause: health.CauseTrialFailed, At: at(3), OpenFor: 1},
		{From: health.Open, To: health.HalfOpen, Cause: health.CauseTime, At: at(4)},
		{From: health.HalfOpen, To: health.Closed, Cause: health.CauseTrialsSucceeded, At: at(5)},
		{From: health.Closed, To: health.Open, Cause: health.CauseFailureRate, At: at(7), OpenFor: 1},
		{From: health.Open, To: health.Open, Cause: health.CauseForced, At: at(8), OpenFor: 1},
		{From: health.Open, To: health.Closed, Cause: health.CauseForced, At: at(9)},
	}
	for i := range want {
		want[i].Epoch = uint64(i + 1)
	}
	if !slices.Equal(events, want) {
		t.Errorf("events are\n%+v\nwant\n%+v", events, want)
	}
}

// Claim: The Observer may use the circuit; an event that it causes arrives after it has returned.
//
// Cases: B24.
func TestCircuit_ObserverMayUseTheCircuit(t *testing.T) {
	var c *health.Circuit
	var told []health.CircuitMode
	inside := false
	c = newCircuit(t, health.CircuitConfig{Failures: 1, OpenFor: 1, Observer: func(e health.CircuitEvent) {
		if inside {
			t.Error("an event arrived inside another")
		}
		inside = true
		defer func() { inside = false }()
		told = append(told, e.To)
		if len(told) > 1 { // those that the first one causes
			return
		}
		if state := c.State(noon); state.Mode != health.Open || state.Epoch != 1 || c.Available(noon) {
			t.Errorf("inside the event it sees %+v", state)
		}
		call(t, c, poise.Success, noon.Add(1)) // makes two more
		requireMode(t, c, noon, health.Closed)
	}})
	call(t, c, poise.Failure, noon)
	if want := []health.CircuitMode{health.Open, health.HalfOpen, health.Closed}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

// Claim: The Observer gets the event of every transition once and in order, under no lock.
func TestCircuit_TellsInOrderWhoeverCaused(t *testing.T) {
	const forcers, each = 8, 200
	var epochs []uint64 // one is told at a time, so no lock
	c := newCircuit(t, health.CircuitConfig{Observer: func(e health.CircuitEvent) { epochs = append(epochs, e.Epoch) }})
	var group sync.WaitGroup
	for range forcers {
		group.Go(func() {
			for range each {
				c.ForceOpen(noon)
			}
		})
	}
	group.Wait()
	for i, epoch := range epochs {
		if epoch != uint64(i+1) {
			t.Fatalf("event %d is of epoch %d", i, epoch)
		}
	}
	if len(epochs) != forcers*each {
		t.Errorf("%d events of %d", len(epochs), forcers*each)
	}
}

// An Observer that is slow holds up the events behind it, and no call.
//
// Claim: The Observer gets the event of every transition once and in order, under no lock.
func TestCircuit_SlowObserverHoldsUpNoCall(t *testing.T) {
	entered, leave, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var told []uint64
	c := newCircuit(t, health.CircuitConfig{Failures: 1, OpenFor: 1, Observer: func(e health.CircuitEvent) {
		if e.Epoch == 1 {
			close(entered)
			<-leave
		}
		told = append(told, e.Epoch)
	}})
	go func() {
		defer close(done)
		call(t, c, poise.Failure, noon)
	}()
	<-entered
	call(t, c, poise.Success, noon.Add(1))
	requireMode(t, c, noon, health.Closed)
	close(leave)
	<-done
	if !slices.Equal(told, []uint64{1, 2, 3}) {
		t.Errorf("told %v", told)
	}
}

// panicsIn reports whether f panics with the text.
func panicsIn(f func(), text string) (panics bool) {
	defer func() { panics = recover() == text }()
	f()
	return false
}

// Claim: A panic of the Observer reaches the caller, loses no other event and leaves no permit out.
// Code: Circuit.deliver
func TestCircuit_ObserverMayPanic(t *testing.T) {
	var c *health.Circuit
	var told []uint64
	c = newCircuit(t, health.CircuitConfig{Failures: 1, OpenFor: 1, Observer: func(e health.CircuitEvent) {
		told = append(told, e.Epoch)
		switch e.Epoch {
		case 1: // with two events behind it
			c.ForceOpen(noon)
			c.ForceOpen(noon)
			panic("first")
		case 2: // with another behind it, which panics too
			panic("second")
		case 4: // of Acquire
			panic("fourth")
		}
	}})
	p := acquire(t, c, noon)
	if !panicsIn(func() { _ = c.End(p, poise.Failure, noon) }, "second") {
		t.Error("End does not panic with the last of them")
	}
	if !slices.Equal(told, []uint64{1, 2, 3}) {
		t.Fatalf("told %v", told)
	}
	if !panicsIn(func() { _, _ = c.Acquire(noon.Add(1)) }, "fourth") {
		t.Error("Acquire does not panic")
	}
	if state := c.State(noon); state.Mode != health.HalfOpen || state.Trials != 0 {
		t.Fatalf("a permit that nobody has is out: %+v", state)
	}
	call(t, c, poise.Success, noon.Add(1))
	if !slices.Equal(told, []uint64{1, 2, 3, 4, 5}) {
		t.Errorf("told %v", told)
	}
}

// Claim: A panic of the Observer reaches the caller, loses no other event and leaves no permit out.
func TestCircuit_ObserverMayEndItsGoroutine(t *testing.T) {
	told := 0
	c := newCircuit(t, health.CircuitConfig{OpenFor: 1, Observer: func(e health.CircuitEvent) {
		if told++; e.Cause == health.CauseTime {
			runtime.Goexit()
		}
	}})
	c.ForceOpen(noon)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.Acquire(noon.Add(1))
		t.Error("the goroutine went on")
	}()
	<-done
	if state := c.State(noon); state.Trials != 0 {
		t.Errorf("%+v", state)
	}
	c.ForceClose(noon)
	if told != 3 {
		t.Errorf("told %d events", told)
	}
}

// A caller that is refused may be the one who delivers, and has no permit to give
// back when that panics.
func TestCircuit_ObserverMayPanicInARefusedAcquire(t *testing.T) {
	var c *health.Circuit
	told := 0
	c = newCircuit(t, health.CircuitConfig{Observer: func(health.CircuitEvent) {
		if told++; told == 1 {
			if _, err := c.Acquire(noon); err == nil {
				t.Error("an open circuit admits")
			}
			panic("told")
		}
	}})
	if !panicsIn(func() { c.ForceOpen(noon) }, "told") || told != 1 {
		t.Errorf("told %d events", told)
	}
}
