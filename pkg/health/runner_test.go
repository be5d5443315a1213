package health_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/copyleftdev/poise-go/pkg/health"
)

var errRefused = errors.New("refused")

// scene is a Runner in a bubble, whose probes a test answers.
type scene struct {
	*health.Runner
	health *health.ActiveHealth
	began  time.Time
	cancel context.CancelFunc
	ended  chan error

	mu      sync.Mutex
	reports []string // what was found and when, written by Observe
	sent    []time.Duration
}

// times returns when probes were sent, and told what was reported.
func (s *scene) times() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

func (s *scene) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.reports)
}

func (s *scene) elapsed() time.Duration { return time.Since(s.began) }

// newScene returns a scene whose probes do what the function says.
func newScene(t *testing.T, health0 health.ActiveHealthConfig, cfg health.RunnerConfig, probe func(context.Context) error) *scene {
	t.Helper()
	s := &scene{health: newActive(t, health0), began: time.Now(), ended: make(chan error, 1)}
	cfg.Health = s.health
	cfg.Probe = func(ctx context.Context) error {
		s.mu.Lock()
		s.sent = append(s.sent, s.elapsed())
		s.mu.Unlock()
		return probe(ctx)
	}
	if cfg.Observe == nil {
		cfg.Observe = func(r health.ProbeReport) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.reports = append(s.reports, fmt.Sprintf("%v %v", s.elapsed(), r.Result))
		}
	}
	var err error
	if s.Runner, err = health.NewRunner(cfg); err != nil {
		t.Fatal(err)
	}
	return s
}

// run begins Run; stop ends it and returns how long that took.
func (s *scene) run() {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() { s.ended <- s.Run(ctx) }()
}

func (s *scene) stop(t *testing.T) time.Duration {
	t.Helper()
	stopped := time.Now()
	s.cancel()
	if err := <-s.ended; !errors.Is(err, context.Canceled) {
		t.Fatalf("Run returns %v", err)
	}
	return time.Since(stopped)
}

// after lets the time of the bubble pass.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func hang(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

func requireList[T comparable](t *testing.T, what string, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// Claim: Run probes whenever one is due until its context ends, and returns the context's error.
//
// Claim: Observe is told each probe that was recorded, in order, and nothing after Run has returned.
func TestRunner_ProbesWheneverOneIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []error{nil, nil, errRefused, errRefused, errRefused, nil}
		next := 0
		s := newScene(t, health.ActiveHealthConfig{UnhealthyInterval: time.Second}, health.RunnerConfig{}, func(context.Context) error {
			<-time.After(time.Second)
			next++
			return answers[(next-1)%len(answers)]
		})
		s.run()
		after(60 * time.Second)
		if took := s.stop(t); took != 0 {
			t.Fatalf("stopping took %v", took)
		}
		after(time.Hour)
		requireList(t, "sent at", s.times(), 0, 11*time.Second, 22*time.Second, 33*time.Second, 44*time.Second, 46*time.Second,
			48*time.Second, 59*time.Second)
		requireList(t, "reports", s.told(), "1s passed", "12s passed", "23s failed", "34s failed", "45s failed",
			"47s passed", "49s passed", "1m0s passed")
	})
}

// Claim: RunOnce waits until a probe is due and sends one.
func TestRunner_RunOnceSendsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int32
		s := newScene(t, health.ActiveHealthConfig{}, health.RunnerConfig{Observe: func(health.ProbeReport) { told.Add(1) }},
			func(context.Context) error { return errRefused })
		for _, want := range []time.Duration{0, 10 * time.Second, 20 * time.Second} {
			report, err := s.RunOnce(context.Background())
			if err != nil || report.Result != health.ProbeFailed || !errors.Is(report.Err, errRefused) || report.TimedOut {
				t.Fatalf("the report is %+v, and the error %v", report, err)
			}
			if s.elapsed() != want || report.State != s.health.State(time.Now()) {
				t.Fatalf("at %v the report's state is %+v", s.elapsed(), report.State)
			}
		}
		requireState(t, s.health, time.Now(), health.Unhealthy, 0, 3)
		if told.Load() != 0 {
			t.Fatal("Observe was told")
		}
	})
}

// Somebody else's reservation refuses RunOnce at once, and Run waits for its end.
func TestRunner_SomebodyElseHasReserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, health.ActiveHealthConfig{}, health.RunnerConfig{}, func(context.Context) error { return nil })
		r := reserve(t, s.health, time.Now())
		if _, err := s.RunOnce(context.Background()); !errors.Is(err, health.ErrProbeRunning) || s.elapsed() != 0 {
			t.Fatalf("RunOnce answers %v after %v", err, s.elapsed())
		}
		s.run()
		after(3 * time.Second)
		s.health.Cancel(r, time.Now())
		after(10 * time.Second)
		s.stop(t)
		requireList(t, "sent at", s.times(), 13*time.Second)
	})
}

// Claim: A probe that does not answer within Timeout is recorded at that moment, as OnTimeout says.
//
// Cases: B28.
func TestRunner_ATimeoutIsRecorded(t *testing.T) {
	for _, row := range []struct {
		policy    health.TimeoutPolicy
		finding   health.ProbeResult
		unhealthy int
	}{
		{health.TimeoutUnhealthy, health.ProbeFailed, 1},
		{health.TimeoutCancels, health.ProbeCancelled, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t, health.ActiveHealthConfig{}, health.RunnerConfig{Timeout: 2 * time.Second, OnTimeout: row.policy}, hang)
			report, err := s.RunOnce(context.Background())
			if err != nil || report.Result != row.finding || !report.TimedOut || report.Err != health.ErrTimedOut {
				t.Fatalf("%v: the report is %+v, and the error %v", row.policy, report, err)
			}
			requireState(t, s.health, time.Now(), health.Unknown, 0, row.unhealthy)
			if report.State.Due != 10*time.Second || s.elapsed() != 2*time.Second {
				t.Fatalf("%v: after %v the state is %+v", row.policy, s.elapsed(), report.State)
			}
		})
	}
}

// An answer before the timeout is no timeout, though it speaks of a deadline.
func TestRunner_TheProbesOwnDeadlineIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, health.ActiveHealthConfig{}, health.RunnerConfig{OnTimeout: health.TimeoutCancels}, func(context.Context) error {
			return context.DeadlineExceeded
		})
		report, err := s.RunOnce(context.Background())
		if err != nil || report.TimedOut || report.Result != health.ProbeFailed {
			t.Fatalf("the report is %+v, and the error %v", report, err)
		}
	})
}

// Claim: A probe is not sent while the one before still runs, and times out if that does not return within Timeout.
//
// Claim: At most one call of Probe is running at any instant.
//
// The candidate answers after 10 s and the probe ignores its context.
//
// Cases: B28.
func TestRunner_ASlowCandidateIsFoundUnhealthyAtTheThirdTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most int
		s := newScene(t, health.ActiveHealthConfig{Interval: 5 * time.Second, UnhealthyThreshold: 3}, health.RunnerConfig{Timeout: 2 * time.Second},
			func(context.Context) error {
				running++
				most = max(most, running)
				<-time.After(10 * time.Second)
				running--
				return nil
			})
		if err := s.health.Force(health.Healthy, time.Now()); err != nil {
			t.Fatal(err)
		}
		s.run()
		after(16*time.Second - 1)
		requireState(t, s.health, time.Now(), health.Healthy, 0, 2)
		after(1)
		requireState(t, s.health, time.Now(), health.Unhealthy, 0, 3)
		after(time.Hour)
		if s.stop(t) > 2*time.Second || most != 1 {
			t.Fatalf("%d probes ran at once", most)
		}
		// The probe of 0 s is still there at 7 s, and has gone by 14 s.
		requireList(t, "reports", s.told()[:3], "2s failed", "9s failed", "16s failed")
		requireList(t, "sent at", s.times()[:2], 0, 14*time.Second)
		after(time.Minute)
	})
}

// A probe that comes back late makes room for the next, which has its whole time.
func TestRunner_TheNextProbeHasItsWholeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		s := newScene(t, health.ActiveHealthConfig{Interval: time.Second}, health.RunnerConfig{Timeout: 3 * time.Second},
			func(context.Context) error {
				if wait := 5 * time.Second; first {
					first = false
					<-time.After(wait) // until 5 s
					return nil
				}
				<-time.After(2900 * time.Millisecond)
				return nil
			})
		s.run()
		after(10 * time.Second)
		s.stop(t)
		requireList(t, "sent at", s.times(), 0, 5*time.Second, 8900*time.Millisecond)
		requireList(t, "reports", s.told(), "3s failed", "7.9s passed")
		after(time.Minute)
	})
}

// Claim: A probe that panics or ends its goroutine has failed, and the Runner goes on.
func TestRunner_APanicIsAFailedProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []health.ProbeReport
		probes := []func() error{
			func() error { panic("a bug") },
			func() error { runtime.Goexit(); return nil },
			func() error { return nil },
		}
		s := newScene(t, health.ActiveHealthConfig{}, health.RunnerConfig{Observe: func(r health.ProbeReport) { reports = append(reports, r) }},
			func(context.Context) error {
				next := probes[len(reports)%len(probes)]
				return next()
			})
		s.run()
		after(25 * time.Second)
		s.stop(t)
		if len(reports) != 3 || reports[2].Result != health.ProbePassed {
			t.Fatalf("the reports are %+v", reports)
		}
		for i, want := range []string{"health: the probe panicked: a bug", "health: the probe ended its goroutine"} {
			var failure *health.PanicError
			if r := reports[i]; r.Result != health.ProbeFailed || !errors.As(r.Err, &failure) || failure.Error() != want {
				t.Errorf("report %d is %+v, want %q", i, r, want)
			}
			if hasStack := len(failure.Stack) > 0; hasStack != (i == 0) {
				t.Errorf("report %d has a stack of %d bytes", i, len(failure.Stack))
			}
		}
		if s.health.State(time.Now()).Running {
			t.Fatal("a reservation is left")
		}
	})
}

// Claim: When Run or RunOnce has returned or panicked, none of its reservations is outstanding.
func TestRunner_LeavesNoReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, health.ActiveHealthConfig{}, health.RunnerConfig{}, hang)
		ctx, cancel := context.WithCancel(context.Background())
		go func() { _, err := s.RunOnce(ctx); s.ended <- err }()
		after(time.Second)
		if !s.health.State(time.Now()).Running {
			t.Fatal("no probe is running")
		}
		cancel()
		if err := <-s.ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("RunOnce returns %v", err)
		}
		state := s.health.State(time.Now())
		if state.Running || state.Due != 10*time.Second || state.ConsecutiveFailures != 0 {
			t.Fatalf("RunOnce leaves %+v", state)
		}
		if _, err := s.RunOnce(ctx); !errors.Is(err, context.Canceled) || s.health.State(time.Now()) != state {
			t.Fatalf("with a context that has ended it returns %v", err)
		}
	})
}

func TestRunner_APanicOfObserveLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, health.ActiveHealthConfig{}, health.RunnerConfig{Observe: func(health.ProbeReport) { panic("an observer's bug") }},
			func(context.Context) error { return nil })
		func() {
			defer func() {
				if recover() == nil {
					t.Error("Run does not panic")
				}
			}()
			_ = s.Run(context.Background())
		}()
		if s.health.State(time.Now()).Running {
			t.Fatal("a reservation is left")
		}
		if _, err := s.RunOnce(context.Background()); err != nil {
			t.Fatalf("the Runner is no longer of use: %v", err)
		}
	})
}

// Claim: After its context has ended, Run returns at once if the probe honours its context, and within one Timeout whatever the probe does.
//
// Cases: B30.
func TestRunner_StopsWithinOneTimeout(t *testing.T) {
	deaf := func(until time.Duration) func(context.Context) error {
		return func(context.Context) error { <-time.After(until); return nil }
	}
	for _, row := range []struct {
		name  string
		probe func(context.Context) error
		stop  time.Duration // when
		most  time.Duration // how long that may take
	}{
		{"asleep", func(context.Context) error { return nil }, time.Second, 0},
		{"an obedient probe", hang, time.Second, 0},
		{"an obedient probe at its timeout", hang, 2*time.Second - 1, 0},
		{"a deaf probe", deaf(time.Hour), time.Second, 2 * time.Second},
		{"a deaf probe past its timeout", deaf(time.Hour), 7 * time.Second, 2 * time.Second},
		{"a probe that waits for a deaf one", deaf(time.Hour), 13 * time.Second, 2 * time.Second},
		{"a deaf probe about to return", deaf(1500 * time.Millisecond), time.Second, 500 * time.Millisecond},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, health.ActiveHealthConfig{}, health.RunnerConfig{Timeout: 2 * time.Second}, row.probe)
				s.run()
				after(row.stop)
				if took := s.stop(t); took != row.most {
					t.Fatalf("it took %v, want %v", took, row.most)
				}
				if s.health.State(time.Now()).Running {
					t.Fatal("a reservation is left")
				}
				told := len(s.told())
				after(2 * time.Hour) // and the bubble ends only when no goroutine is left
				if len(s.told()) != told {
					t.Fatal("something was reported after Run had returned")
				}
			})
		})
	}
}

// Claim: A report names what a probe found only if it counted.
//
// Cases: G18.
func TestRunner_AReportNeverShowsADiscardedResult(t *testing.T) {
	for name, probe := range map[string]func(context.Context) error{
		"success": func(context.Context) error { <-time.After(time.Second); return nil },
		"failure": func(context.Context) error { <-time.After(time.Second); return errRefused },
		"timeout": hang,
	} {
		for _, policy := range []health.TimeoutPolicy{health.TimeoutUnhealthy, health.TimeoutCancels} {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, health.ActiveHealthConfig{}, health.RunnerConfig{OnTimeout: policy}, probe)
				go func() {
					<-time.After(time.Second / 2)
					_ = s.health.Force(health.Healthy, time.Now())
				}()
				report, err := s.RunOnce(context.Background())
				if err != nil || report.Result != health.ProbeDiscarded || report.Err != nil || report.State.Condition != health.Healthy {
					t.Fatalf("%s: the report is %+v, and the error %v", name, report, err)
				}
			})
		}
	}
}

// Claim: Force, and the end of a probe that somebody else reserved, wake a Runner that waits.
//
// Cases: G18.
func TestRunner_ForceWakesTheSleeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, health.ActiveHealthConfig{Interval: time.Hour, UnhealthyInterval: time.Second}, health.RunnerConfig{},
			func(context.Context) error { return nil })
		s.run()
		after(10 * time.Second)
		if err := s.health.Force(health.Unhealthy, time.Now()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		requireList(t, "sent at", s.times(), 0, 10*time.Second)
		after(time.Second)
		s.stop(t)
		requireList(t, "sent at", s.times(), 0, 10*time.Second, 11*time.Second)
	})
}

// Nobody has to observe.
func TestRunner_RunsWithoutAnObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 55*time.Second)
		defer cancel()
		h := newActive(t, health.ActiveHealthConfig{})
		r, err := health.NewRunner(health.RunnerConfig{Health: h, Probe: func(context.Context) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Run returns %v", err)
		}
		requireState(t, h, time.Now(), health.Healthy, 6, 0)
	})
}

// An answer that comes when the time is over comes too late, whatever it says.
func TestRunner_AnAnswerAtTheTimeoutIsTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, health.ActiveHealthConfig{}, health.RunnerConfig{Timeout: time.Second}, func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		})
		for range 50 {
			if report, err := s.RunOnce(t.Context()); err != nil || !report.TimedOut || report.Result != health.ProbeFailed {
				t.Fatalf("the report is %+v, and the error %v", report, err)
			}
		}
	})
}

// A second call does not share the goroutine's state.
func TestRunner_RefusesASecondCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, health.ActiveHealthConfig{}, health.RunnerConfig{}, func(context.Context) error { return nil })
		s.run()
		after(time.Second)
		if err := s.Run(context.Background()); !errors.Is(err, health.ErrProbeRunning) {
			t.Fatalf("a second Run returns %v", err)
		}
		if _, err := s.RunOnce(context.Background()); !errors.Is(err, health.ErrProbeRunning) {
			t.Fatalf("RunOnce beside Run returns %v", err)
		}
		s.stop(t)
		if _, err := s.RunOnce(context.Background()); err != nil {
			t.Fatalf("RunOnce after Run returns %v", err)
		}
	})
}

// A hundred candidates hang, half of them are removed, then all.
//
// Cases: B30.
func TestRunner_NoGoroutineIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const candidates = 100
		var running, most atomic.Int32
		release := make(chan struct{})
		ctx, closeAll := context.WithCancel(context.Background())
		var cancels []context.CancelFunc
		var runs sync.WaitGroup
		for range candidates {
			s := newScene(t, health.ActiveHealthConfig{Interval: time.Second}, health.RunnerConfig{Timeout: time.Second}, func(context.Context) error {
				most.Store(max(most.Load(), running.Add(1)))
				<-release
				running.Add(-1)
				return nil
			})
			mine, cancel := context.WithCancel(ctx)
			cancels = append(cancels, cancel)
			runs.Go(func() { _ = s.Run(mine) })
		}
		after(time.Minute)
		for _, cancel := range cancels[:candidates/2] {
			cancel()
			cancel()
		}
		after(time.Minute)
		closeAll()
		closeAll()
		stopped := time.Now()
		runs.Wait()
		if took := time.Since(stopped); took > time.Second {
			t.Fatalf("closing took %v", took)
		}
		if got := running.Load(); got != candidates || most.Load() != candidates {
			t.Fatalf("%d probes hang, at most %d at once, want %d", got, most.Load(), candidates)
		}
		close(release)
		synctest.Wait()
		if got := running.Load(); got != 0 {
			t.Fatalf("%d probes are left", got)
		}
		for _, cancel := range cancels {
			cancel()
		}
	})
}

// Equal seeds probe at equal times, and jitter keeps two seeds apart.
//
// Cases: G18, B31.
func TestRunner_JittersBySeed(t *testing.T) {
	sent := func(seed uint64) (times []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t, health.ActiveHealthConfig{Jitter: 50}, health.RunnerConfig{Seed: seed}, func(context.Context) error { return nil })
			s.run()
			after(time.Minute)
			s.stop(t)
			times = s.times()
		})
		return times
	}
	first := sent(1)
	requireList(t, "the same seed", sent(1), first...)
	if slices.Equal(first, sent(2)) || len(first) < 6 || len(first) > 13 {
		t.Fatalf("another seed probes at the same times: %v", first)
	}
	if slices.Equal(sent(0), sent(0)) {
		t.Fatal("two without a seed probe at the same times")
	}
}

func TestNewRunner_RefusesWhatCannotWork(t *testing.T) {
	h := newActive(t, health.ActiveHealthConfig{Hold: 30 * time.Second})
	probe := func(context.Context) error { return nil }
	for _, row := range []struct {
		cfg   health.RunnerConfig
		want  error
		field string
		value any
	}{
		{health.RunnerConfig{Probe: probe}, health.ErrMissing, "Health", nil},
		{health.RunnerConfig{Health: h}, health.ErrMissing, "Probe", nil},
		{health.RunnerConfig{Health: h, Probe: probe, Timeout: -1}, health.ErrOutOfRange, "Timeout", time.Duration(-1)},
		{health.RunnerConfig{Health: h, Probe: probe, Timeout: 10*time.Second + 1}, health.ErrOutOfRange, "Timeout", 10*time.Second + 1},
		{health.RunnerConfig{Health: newActive(t, health.ActiveHealthConfig{Hold: 2}), Probe: probe}, health.ErrOutOfRange, "Timeout", time.Duration(0)},
		{health.RunnerConfig{Health: h, Probe: probe, OnTimeout: 2}, health.ErrOutOfRange, "OnTimeout", health.TimeoutPolicy(2)},
	} {
		r, err := health.NewRunner(row.cfg)
		requireField(t, err, row.want, row.field, row.value)
		if r != nil {
			t.Errorf("%s: an error and a Runner", row.field)
		}
	}
	if _, err := health.NewRunner(health.RunnerConfig{Health: h, Probe: probe, Timeout: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
}

func TestRunner_TheDefaultTimeoutFitsTheHold(t *testing.T) {
	for hold, want := range map[time.Duration]time.Duration{0: 5 * time.Second, time.Minute: 5 * time.Second, 3 * time.Second: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t, health.ActiveHealthConfig{Hold: hold}, health.RunnerConfig{}, hang)
			if _, err := s.RunOnce(context.Background()); err != nil || s.elapsed() != want {
				t.Fatalf("a hold of %v: %v after %v, want after %v", hold, err, s.elapsed(), want)
			}
		})
	}
}
