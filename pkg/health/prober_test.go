package health_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// probing is a Prober in a bubble.
type probing struct {
	*health.Prober
	t      *testing.T
	began  time.Time
	cancel context.CancelFunc
	ended  chan error

	mu   sync.Mutex
	told []string // guarded by mu: what was observed and when
}

func newProbing(t *testing.T, cfg health.ProberConfig) *probing {
	t.Helper()
	p := &probing{t: t, began: time.Now(), ended: make(chan error, 1)}
	if cfg.Observe == nil {
		cfg.Observe = func(r health.ProbeReport) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.told = append(p.told, fmt.Sprintf("%v %d %v", time.Since(p.began), r.Member, r.Result))
		}
	}
	cfg.Schedule.Seed = 1
	var err error
	if p.Prober, err = health.NewProber(cfg); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *probing) add(member uint64, probe func(context.Context) error) {
	p.t.Helper()
	if err := p.Add(member, probe); err != nil {
		p.t.Fatal(err)
	}
}

func (p *probing) run() {
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	go func() { p.ended <- p.Run(ctx) }()
	synctest.Wait()
}

func (p *probing) stop() time.Duration {
	p.t.Helper()
	stopped := time.Now()
	p.cancel()
	if err := <-p.ended; err != context.Canceled {
		p.t.Fatalf("Run returns %v", err)
	}
	return time.Since(stopped)
}

// observed returns what was observed since the last time.
func (p *probing) observed() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	told := p.told
	p.told = nil
	return told
}

func (p *probing) state(member uint64) health.ActiveState {
	p.t.Helper()
	state, there := p.State(member)
	if !there {
		p.t.Fatalf("%d is not there", member)
	}
	return state
}

func well(context.Context) error { return nil }

// deaf returns a probe that does not look at its context and takes so long.
func deaf(takes time.Duration, calls *atomic.Int64) func(context.Context) error {
	return func(context.Context) error {
		calls.Add(1)
		<-time.After(takes)
		return nil
	}
}

// Claim: Run probes whenever a member is due until its context ends, and returns the context's error.
// Code: Prober.Run, Prober.send
//
// Cases: B110.
func TestProber_ProbesWheneverAMemberIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbing(t, health.ProberConfig{Schedule: health.ProbeScheduleConfig{Health: health.ActiveHealthConfig{Unknown: health.DenyUnknown}}})
		p.add(1, well)
		p.run()
		after(time.Second)
		if got := p.observed(); !slices.Equal(got, []string{"0s 1 passed", "100ms 1 passed"}) || p.state(1).Excluded != poise.NotExcluded {
			t.Errorf("after a second: %v, %+v", got, p.state(1))
		}
		p.add(2, func(context.Context) error { return errRefused })
		synctest.Wait()
		after(time.Second)
		if got := p.observed(); !slices.Equal(got, []string{"1s 2 failed", "1.1s 2 failed", "1.2s 2 failed"}) || p.state(2).Condition != health.Unhealthy {
			t.Errorf("who joins: %v, %+v", got, p.state(2))
		}
		after(100 * time.Second)
		if got := p.observed(); len(got) < 19 || len(got) > 21 {
			t.Errorf("in ten intervals two members have %d probes", len(got))
		}
		if took := p.stop(); took != 0 || len(p.observed()) > 0 {
			t.Errorf("leaving takes %v", took)
		}
		// And it can be run again.
		p.run()
		after(11 * time.Second)
		if got := p.observed(); len(got) < 2 {
			t.Errorf("a second Run probes %v", got)
		}
		p.stop()
	})
}

// Claim: At most one call of a member's probe is running at any instant, and at most MaxRunning of all members that have not timed out.
// Code: Prober.start, Prober.waitingFor
//
// Cases: B103, B110.
func TestProber_TenThousandMembersDoNotHaveAGoroutineEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, most = 10_000, 100
		before := runtime.NumGoroutine()
		var running, peak, goroutines atomic.Int64
		var seconds [10]atomic.Int64
		steady := time.Now().Add(20 * time.Second)
		probe := func(context.Context) error {
			now := running.Add(1)
			defer running.Add(-1)
			for was := peak.Load(); now > was && !peak.CompareAndSwap(was, now); was = peak.Load() {
			}
			if i := time.Since(steady) / time.Second; i >= 0 && i < 10 && time.Since(steady) >= 0 {
				seconds[i].Add(1)
				goroutines.Store(max(goroutines.Load(), int64(runtime.NumGoroutine()-before)))
			}
			<-time.After(5 * time.Millisecond)
			return nil
		}
		ready := make(chan struct{})
		unknown := int64(n)
		p := newProbing(t, health.ProberConfig{
			Schedule: health.ProbeScheduleConfig{MaxRunning: most},
			Observe: func(r health.ProbeReport) {
				if r.State.Condition == health.Healthy && r.State.ConsecutiveSuccesses == 2 {
					if unknown--; unknown == 0 {
						close(ready)
					}
				}
			},
		})
		for id := range uint64(n) {
			p.add(id, probe)
		}
		began := time.Now()
		p.run()
		<-ready
		known := time.Since(began)
		after(time.Until(steady.Add(10 * time.Second)))
		p.stop()
		least, largest := int64(math.MaxInt64), int64(0)
		for i := range seconds {
			least, largest = min(least, seconds[i].Load()), max(largest, seconds[i].Load())
		}
		t.Logf("%d members are known after %v; at most %d probes at once, %d goroutines while all is well; %d to %d probes a second",
			n, known, peak.Load(), goroutines.Load(), least, largest)
		if peak.Load() > most || goroutines.Load() > 20 || least < 950 || largest > 1050 || known > 2*time.Second {
			t.Errorf("%d probes at once, %d goroutines, %d to %d probes a second, known after %v", peak.Load(), goroutines.Load(), least, largest, known)
		}
	})
}

// Claim: A probe that does not answer within Timeout is recorded at that moment, as OnTimeout says, and its context ends.
// Code: Prober.record
//
// Cases: B28.
func TestProber_AProbePastItsTimeoutIsRecordedThen(t *testing.T) {
	for policy, want := range map[health.TimeoutPolicy]string{health.TimeoutUnhealthy: "2s 1 failed", health.TimeoutCancels: "2s 1 cancelled"} {
		synctest.Test(t, func(t *testing.T) {
			var last health.ProbeReport
			var ended time.Duration
			p := newProbing(t, health.ProberConfig{Timeout: 2 * time.Second, OnTimeout: policy})
			p.add(1, func(ctx context.Context) error {
				<-ctx.Done()
				ended = time.Since(p.began)
				return nil // too late
			})
			p.run()
			after(2 * time.Second)
			if got := p.observed(); !slices.Equal(got, []string{want}) || ended != 2*time.Second {
				t.Errorf("%v: %v, its context ended after %v", policy, got, ended)
			}
			p.stop()

			q := newProbing(t, health.ProberConfig{Timeout: 2 * time.Second, OnTimeout: policy, Observe: func(r health.ProbeReport) { last = r }})
			q.add(1, hang)
			q.run()
			after(2 * time.Second)
			q.stop()
			if !last.TimedOut || last.Err != health.ErrTimedOut {
				t.Errorf("%v: %+v", policy, last)
			}
		})
	}
}

// Claim: A probe is not sent while the last one of its member still runs, and times out if that does not return within Timeout.
// Code: Prober.start, Prober.waitingFor
func TestProber_ADeafProbeIsNotSentTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		p := newProbing(t, health.ProberConfig{Timeout: 2 * time.Second})
		p.add(1, deaf(9*time.Second, &calls))
		p.run()
		after(8900 * time.Millisecond)
		// Probes at 0 s, 2.1 s, 4.2 s and so on; the first of them still runs.
		if got := p.observed(); !slices.Equal(got, []string{"2s 1 failed", "4.1s 1 failed", "6.2s 1 failed"}) || calls.Load() != 1 {
			t.Errorf("%v after %d calls", got, calls.Load())
		}
		after(100 * time.Second)
		p.stop()
		if calls.Load() < 5 {
			t.Errorf("a probe that returned is not sent again: %d calls", calls.Load())
		}
		after(10 * time.Second)
	})
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		p := newProbing(t, health.ProberConfig{Timeout: 2 * time.Second})
		p.add(1, func(ctx context.Context) error { // the first call is late, the others are not
			if calls.Add(1) == 1 {
				<-time.After(3 * time.Second)
			}
			return ctx.Err()
		})
		p.run()
		after(3200 * time.Millisecond)
		if got := p.observed(); !slices.Equal(got, []string{"2s 1 failed", "3s 1 passed", "3.1s 1 passed"}) {
			t.Errorf("the probe that waited for the first: %v", got)
		}
		p.stop()
	})
}

// Claim: A probe that panics or ends its goroutine has failed, and the Prober goes on.
// Code: Prober.ask
func TestProber_APanicOfAProbeIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failures []error
		p := newProbing(t, health.ProberConfig{Observe: func(r health.ProbeReport) {
			if r.Member == 1 && r.Result == health.ProbeFailed {
				failures = append(failures, r.Err)
			}
		}})
		calls := 0
		p.add(1, func(context.Context) error {
			switch calls++; calls {
			case 1:
				panic("a bug")
			case 2:
				runtime.Goexit()
			}
			return nil
		})
		p.run()
		after(time.Second)
		p.stop()
		if len(failures) != 2 || calls < 4 || p.state(1).Condition != health.Healthy {
			t.Fatalf("%d calls, failures %v, %+v", calls, failures, p.state(1))
		}
		first, _ := errors.AsType[*health.PanicError](failures[0])
		second, _ := errors.AsType[*health.PanicError](failures[1])
		if first == nil || first.Value != "a bug" || len(first.Stack) == 0 || second == nil || second.Value != nil {
			t.Errorf("failures %v", failures)
		}
	})
}

// Claim: A second Run at the same time, also while the first one is leaving, is refused with ErrRunning and changes nothing.
// Code: Prober.begin, Prober.end
// Claim: When Run has returned or panicked, no probe is outstanding, and those that honour their context have returned.
// Code: Prober.leave, Prober.returned
// Claim: Run returns within one Timeout after its context has ended, whatever the probes do.
// Code: Prober.leave
func TestProber_LeavesWithinOneTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls, back atomic.Int64
		p := newProbing(t, health.ProberConfig{Timeout: 3 * time.Second})
		p.add(1, deaf(4*time.Second, &calls))
		p.add(2, func(ctx context.Context) error { <-ctx.Done(); back.Add(1); return ctx.Err() })
		p.run()
		after(time.Second)
		if err := p.Run(t.Context()); err != health.ErrRunning {
			t.Errorf("a second Run: %v", err)
		}
		go func() {
			<-time.After(time.Second) // the first one is leaving
			if err := p.Run(t.Context()); err != health.ErrRunning {
				t.Errorf("a Run while another is leaving: %v", err)
			}
		}()
		if took := p.stop(); took != 3*time.Second || back.Load() != 1 {
			t.Errorf("leaving takes %v, %d probes are back", took, back.Load())
		}
		for id := range uint64(2) {
			if state := p.state(id + 1); state.Running || state.ConsecutiveFailures > 0 {
				t.Errorf("%d is left as %+v", id+1, state)
			}
		}
		if got := p.observed(); len(got) > 0 {
			t.Errorf("observed is %v", got)
		}
		after(time.Minute) // the deaf one returns
		p.run()            // and whoever left can come again
		after(5 * time.Second)
		if p.stop(); calls.Load() < 2 {
			t.Errorf("%d calls", calls.Load())
		}
		after(10 * time.Second)
	})
}

// Cases: B104.
func TestProber_TheTimeOfRunIsNotTheMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbing(t, health.ProberConfig{Timeout: 5 * time.Second})
		p.add(1, hang)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if err := p.Run(ctx); err != context.DeadlineExceeded || len(p.observed()) > 0 || p.state(1).ConsecutiveFailures > 0 {
			t.Errorf("Run returns %v, the member is %+v", err, p.state(1))
		}
	})
}

// Claim: Observe is told each probe that was recorded, in order, and nothing of a member that was removed or after Run has returned.
// Code: Prober.deliver, Prober.record
func TestProber_TellsNothingOfWhoWasRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []uint64
		var cancelled atomic.Bool
		var p *probing
		p = newProbing(t, health.ProberConfig{Observe: func(r health.ProbeReport) {
			if told = append(told, r.Member); r.Member == 1 && !p.Remove(2) { // 2 was recorded at the same instant
				t.Error("2 is not there")
			}
		}})
		now := make(chan struct{})
		for id := range uint64(2) {
			p.add(id+1, func(context.Context) error { <-now; return nil })
		}
		p.add(3, func(ctx context.Context) error { <-ctx.Done(); cancelled.Store(true); return ctx.Err() })
		p.run()
		close(now)
		synctest.Wait()
		if told[0] == 1 && !slices.Equal(told, []uint64{1}) || told[0] == 2 && !slices.Equal(told, []uint64{2, 1}) {
			t.Errorf("told of %v", told)
		}
		if !p.Remove(3) || p.Remove(3) {
			t.Error("3 was there once")
		}
		synctest.Wait()
		if _, there := p.State(3); there || !cancelled.Load() || p.Len() != 1 {
			t.Errorf("3 is there: %v, its probe was cancelled: %v", there, cancelled.Load())
		}
		p.stop()
	})
}

func TestProber_APanicOfObserveEndsRunWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbing(t, health.ProberConfig{Observe: func(health.ProbeReport) { panic("an observer's bug") }})
		p.add(1, well)
		p.add(2, hang)
		func() {
			defer func() {
				if v := recover(); v != "an observer's bug" {
					t.Errorf("Run panics with %v", v)
				}
			}()
			_ = p.Run(t.Context())
		}()
		if p.state(1).Running || p.state(2).Running || p.state(2).ConsecutiveFailures > 0 {
			t.Errorf("left are %+v and %+v", p.state(1), p.state(2))
		}
	})
}

func TestProber_AForcedConditionDiscardsTheProbeThatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbing(t, health.ProberConfig{Schedule: health.ProbeScheduleConfig{Health: health.ActiveHealthConfig{UnhealthyInterval: time.Second}}})
		p.add(1, func(context.Context) error { <-time.After(time.Second); return nil })
		p.run()
		if err := p.Force(1, health.Unhealthy); err != nil {
			t.Error(err)
		}
		after(time.Second)
		if got := p.observed(); !slices.Equal(got, []string{"1s 1 discarded"}) || p.state(1).Condition != health.Unhealthy {
			t.Errorf("observed %v, %+v", got, p.state(1))
		}
		after(6 * time.Second)
		if p.state(1).Condition != health.Healthy {
			t.Errorf("the probes that follow leave %+v", p.state(1))
		}
		if err := p.Force(2, health.Healthy); !errors.Is(err, health.ErrUnknownMember) {
			t.Error(err)
		}
		p.stop()
	})
}

func TestProber_IsReadAndChangedWhileItRuns(t *testing.T) {
	p, err := health.NewProber(health.ProberConfig{Schedule: health.ProbeScheduleConfig{
		MaxRunning: 4, Health: health.ActiveHealthConfig{Interval: time.Microsecond},
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Run(ctx) }()
	var changes sync.WaitGroup
	for worker := range uint64(4) {
		changes.Go(func() {
			for i := range uint64(100) {
				id := worker*1000 + i
				if err := p.Add(id, well); err != nil {
					t.Error(err)
				}
				for probed := false; !probed; {
					state, there := p.State(id)
					if probed = state.Condition != health.Unknown; !there {
						t.Errorf("%d is not there", id)
					}
					if i%3 == 0 {
						_ = p.Force(id, health.Condition(i%2)+1)
					}
					runtime.Gosched()
				}
				if !p.Remove(id) {
					t.Errorf("%d was removed", id)
				}
			}
		})
	}
	changes.Wait()
	cancel()
	if err := <-ended; err != context.Canceled || p.Len() != 0 {
		t.Errorf("Run returns %v with %d members", err, p.Len())
	}
}

func TestNewProber_RefusesBadSettings(t *testing.T) {
	for field, cfg := range map[string]health.ProberConfig{
		"Schedule.MaxRunning":      {Schedule: health.ProbeScheduleConfig{MaxRunning: -1}},
		"Schedule.Health.Interval": {Schedule: health.ProbeScheduleConfig{Health: health.ActiveHealthConfig{Interval: -1}}},
		"Timeout":                  {Timeout: 30 * time.Second},
		"OnTimeout":                {OnTimeout: 2},
	} {
		_, err := health.NewProber(cfg)
		if refused, ok := errors.AsType[*poise.FieldError](err); !ok || refused.Field != field || !errors.Is(err, health.ErrOutOfRange) {
			t.Errorf("%s: %v", field, err)
		}
	}
	p, err := health.NewProber(health.ProberConfig{Schedule: health.ProbeScheduleConfig{Health: health.ActiveHealthConfig{Hold: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Add(1, nil); !errors.Is(err, health.ErrMissing) || p.Len() != 0 {
		t.Errorf("no probe: %v", err)
	}
	if err := errors.Join(p.Add(1, well), p.Add(1, well)); !errors.Is(err, health.ErrDuplicate) || p.Len() != 1 {
		t.Errorf("twice: %v", err)
	}
}

// after lets the time of the bubble pass.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func hang(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

var errRefused = errors.New("connection refused")
