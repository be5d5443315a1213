package discovery_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/copyleftdev/poise-go/pkg/discovery"
)

func newPollerRunner(t *testing.T, cfg discovery.PollerRunnerConfig[int]) *discovery.PollerRunner[int] {
	t.Helper()
	r, err := discovery.NewPollerRunner(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNewPollerRunner_RefusesBadSettings(t *testing.T) {
	s := open(t, newDirectory(t, discovery.Config[int]{}), "x")
	p := newPoller(t, discovery.PollerConfig[int]{Session: s, Fetch: discovery.Static[int]()})
	_, err := discovery.NewPollerRunner(discovery.PollerRunnerConfig[int]{})
	requireField(t, "no poller", err, "Poller", discovery.ErrMissing)
	for _, timeout := range []time.Duration{-1, 1<<63 - 1} {
		_, err = discovery.NewPollerRunner(discovery.PollerRunnerConfig[int]{Poller: p, Timeout: timeout})
		requireField(t, timeout.String(), err, "Timeout", discovery.ErrOutOfRange)
	}
}

// Claim: Run polls whenever the Poller is due, until its context ends, and returns the error of the context.
// Claim: Observe is told each poll that was counted, in order, and nothing after Run has returned.
// Claim: A second Run at the same time is refused with ErrRunning and changes nothing.
func TestPollerRunner_PollsUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirectory(t, discovery.Config[int]{})
		source := &script{listing: discovery.Listing[int]{Entries: entries("a")}}
		p := newPoller(t, discovery.PollerConfig[int]{Session: open(t, d, "x"), Interval: 10 * time.Second, Backoff: 10 * time.Second, Fetch: func(ctx context.Context) (discovery.Listing[int], error) {
			if source.err = nil; source.asked == 1 {
				source.err = errDown
			}
			return source.fetch(ctx)
		}})
		var told []error
		r := newPollerRunner(t, discovery.PollerRunnerConfig[int]{Poller: p, Observe: func(err error) { told = append(told, err) }})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		began := time.Now()
		go func() { ended <- r.Run(ctx) }()
		synctest.Wait()
		if ids(d.Load()) != "a" || time.Since(began) != 0 {
			t.Fatalf("the first poll is not at once: %s after %v", ids(d.Load()), time.Since(began))
		}
		if err := r.Run(t.Context()); err != discovery.ErrRunning {
			t.Errorf("a second Run: %v", err)
		}
		<-time.After(2 * 11260 * time.Millisecond)
		synctest.Wait()
		cancel()
		if err := <-ended; err != context.Canceled {
			t.Errorf("Run ends with %v", err)
		}
		if len(told) != 3 || told[0] != nil || !errors.Is(told[1], errDown) || told[2] != nil || source.asked != 3 {
			t.Errorf("%d polls, told %v", source.asked, told)
		}
		// Whoever has left can come again.
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		if err := r.Run(ctx); err != context.Canceled || len(told) != 3 {
			t.Errorf("another Run: %v, told %v", err, told)
		}
	})
}

// Claim: An answer that takes longer than Timeout is a failure of the source.
//
// Cases: B104.
func TestPollerRunner_BoundsHowLongASourceMayTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirectory(t, discovery.Config[int]{})
		p := newPoller(t, discovery.PollerConfig[int]{
			Session: open(t, d, "x"), Interval: time.Minute,
			Fetch: func(ctx context.Context) (discovery.Listing[int], error) {
				<-ctx.Done()
				return discovery.Listing[int]{}, ctx.Err()
			},
		})
		told := 0
		r := newPollerRunner(t, discovery.PollerRunnerConfig[int]{Poller: p, Timeout: 3 * time.Second, Observe: func(error) { told++ }})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		<-time.After(3 * time.Second)
		synctest.Wait()
		if s := p.Status(); s.Failures != 1 || !errors.Is(s.Err, context.DeadlineExceeded) || told != 1 {
			t.Errorf("after the timeout: %+v, told %d", s, told)
		}
		<-time.After(1200 * time.Millisecond) // within the next poll
		before := p.Status()
		cancel()
		if err := <-ended; err != context.Canceled || p.Status() != before || told != 1 {
			t.Errorf("a poll that Run's caller cancelled: %v, %+v, told %d", err, p.Status(), told)
		}
	})
}

// Claim: Run returns the PollError after which no other Poll is of use: the Session has ended, or the Directory is closed.
func TestPollerRunner_EndsWithItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, end := range map[error]func(*discovery.Directory[int], *discovery.Session[int]){
			discovery.ErrClosed:       func(d *discovery.Directory[int], _ *discovery.Session[int]) { d.Close() },
			discovery.ErrSessionEnded: func(_ *discovery.Directory[int], s *discovery.Session[int]) { s.Close() },
		} {
			d := newDirectory(t, discovery.Config[int]{})
			s := open(t, d, "x")
			r := newPollerRunner(t, discovery.PollerRunnerConfig[int]{
				Poller: newPoller(t, discovery.PollerConfig[int]{Session: s, Fetch: discovery.Static(entries("a")...)}),
			})
			ended := make(chan error)
			go func() { ended <- r.Run(t.Context()) }()
			synctest.Wait()
			end(d, s)
			err := <-ended
			if failure, ok := errors.AsType[*discovery.PollError](err); !errors.Is(err, want) || !ok || failure.Source != "x" {
				t.Errorf("got %v, want %v", err, want)
			}
		}
	})
}
