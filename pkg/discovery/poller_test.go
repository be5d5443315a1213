package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/copyleftdev/poise-go/pkg/discovery"
)

var errDown = errors.New("the source is down")

// script is a source that answers as it is told.
type script struct {
	asked   int
	listing discovery.Listing[int]
	err     error
}

func (s *script) fetch(context.Context) (discovery.Listing[int], error) {
	s.asked++
	return s.listing, s.err
}

func newPoller(t testing.TB, cfg discovery.PollerConfig[int]) *discovery.Poller[int] {
	t.Helper()
	p, err := discovery.NewPoller(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNewPoller_RefusesBadSettings(t *testing.T) {
	s := open(t, newDirectory(t, discovery.Config[int]{}), "x")
	fetch := discovery.Static[int]()
	for _, row := range []struct {
		cfg   discovery.PollerConfig[int]
		field string
		err   error
	}{
		{discovery.PollerConfig[int]{Fetch: fetch}, "Session", discovery.ErrMissing},
		{discovery.PollerConfig[int]{Session: s}, "Fetch", discovery.ErrMissing},
		{discovery.PollerConfig[int]{Session: s, Fetch: fetch, Interval: -1}, "Interval", discovery.ErrOutOfRange},
		{discovery.PollerConfig[int]{Session: s, Fetch: fetch, Interval: math.MaxInt64}, "Interval", discovery.ErrOutOfRange},
		{discovery.PollerConfig[int]{Session: s, Fetch: fetch, Floor: -1}, "Floor", discovery.ErrOutOfRange},
		{discovery.PollerConfig[int]{Session: s, Fetch: fetch, Floor: time.Minute}, "Floor", discovery.ErrOutOfRange},
		{discovery.PollerConfig[int]{Session: s, Fetch: fetch, Backoff: -1}, "Backoff", discovery.ErrOutOfRange},
		{discovery.PollerConfig[int]{Session: s, Fetch: fetch, Backoff: time.Minute}, "Backoff", discovery.ErrOutOfRange},
		{discovery.PollerConfig[int]{Session: s, Fetch: fetch, Hold: -1}, "Hold", discovery.ErrOutOfRange},
		{discovery.PollerConfig[int]{Session: s, Fetch: fetch, Hold: math.MaxInt64}, "Hold", discovery.ErrOutOfRange},
		{discovery.PollerConfig[int]{Session: s, Fetch: fetch, MaxMembers: -1}, "MaxMembers", discovery.ErrOutOfRange},
		{discovery.PollerConfig[int]{Session: s, Fetch: fetch, MaxShrinkPercent: -1}, "MaxShrinkPercent", discovery.ErrOutOfRange},
		{discovery.PollerConfig[int]{Session: s, Fetch: fetch, MaxShrinkPercent: 101}, "MaxShrinkPercent", discovery.ErrOutOfRange},
		{discovery.PollerConfig[int]{Session: s, Fetch: fetch, ShrinkHold: -1}, "ShrinkHold", discovery.ErrOutOfRange},
		{discovery.PollerConfig[int]{Session: s, Fetch: fetch, ShrinkHold: math.MaxInt64}, "ShrinkHold", discovery.ErrOutOfRange},
	} {
		_, err := discovery.NewPoller(row.cfg)
		requireField(t, row.field, err, row.field, row.err)
	}
}

// Claim: A failure leaves the members of the last good list in place, and is returned and counted.
// Claim: A list without members is a failure unless AllowEmpty is set, and so is an error that matches ErrNotFound.
// Claim: A list that the Session refuses, or that exceeds MaxMembers, is a failure as a whole.
//
// Cases: B42, B48.
func TestPoller_KeepsTheLastGoodList(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	source := &script{}
	p := newPoller(t, discovery.PollerConfig[int]{Session: open(t, d, "x"), Fetch: source.fetch, MaxMembers: 2})
	now := start
	for i, row := range []struct {
		entries  []discovery.Entry[int]
		fails    error
		want     error
		ids      string
		failures uint64
	}{
		{nil, errDown, errDown, "", 1},
		{entries("a", "b"), nil, nil, "a b", 0},
		{nil, errDown, errDown, "a b", 1},
		{nil, nil, discovery.ErrEmptyList, "a b", 2},
		{entries("c", "c"), nil, discovery.ErrDuplicate, "a b", 3},
		{entries("a", "b", "c"), nil, discovery.ErrTooManyMembers, "a b", 4},
		{nil, discovery.ErrNotFound, discovery.ErrNotFound, "a b", 5},
		{entries("a"), nil, nil, "a (b)", 0},
	} {
		source.listing.Entries, source.err = row.entries, row.fails
		now = now.Add(time.Hour)
		_, err := p.Poll(t.Context(), now)
		failure, failed := errors.AsType[*discovery.PollError](err)
		if !errors.Is(err, row.want) || failed != (row.want != nil) || failed && (failure.Source != "x" || failure.ConsecutiveFailures != row.failures) {
			t.Errorf("row %d: %v", i, err)
		}
		if got := ids(d.Load()); got != row.ids {
			t.Errorf("row %d: %s, want %s", i, got, row.ids)
		}
		s := p.Status()
		if s.Polls != uint64(i)+1 || s.ConsecutiveFailures != row.failures || !errors.Is(s.Err, row.want) || row.want == nil && s.LastGood != now {
			t.Errorf("row %d: %+v", i, s)
		}
	}
	if s := p.Status(); s.Failures != 6 {
		t.Errorf("%d failures are counted", s.Failures)
	}
	for _, gone := range []*script{{}, {err: fmt.Errorf("no such name: %w", discovery.ErrNotFound)}} {
		d := newDirectory(t, discovery.Config[int]{})
		s := open(t, d, "x")
		reconcile(t, s, entries("a", "b"))
		empty := newPoller(t, discovery.PollerConfig[int]{Session: s, Fetch: gone.fetch, AllowEmpty: true, MaxShrinkPercent: 100})
		if _, err := empty.Poll(t.Context(), now); err != nil || ids(d.Load()) != "(a) (b)" {
			t.Errorf("an empty list that is allowed: %v, %s", err, ids(d.Load()))
		}
	}
	open(t, d, "x")
	if _, err := p.Poll(t.Context(), now.Add(time.Hour)); !errors.Is(err, discovery.ErrSessionEnded) || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("a session that was replaced: %v", err)
	}
}

// Claim: A Poll before its time asks nobody, and returns the time that is left.
// Claim: The next Poll is due after at least Floor, and after at most nine eighths of Interval.
// Claim: Failures in a row double the time to the next poll, up to Interval; a good list forgets them.
// Claim: A clock that steps back makes the next Poll due at once.
func TestPoller_LawOfItsTimes(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	session := open(t, d, "x")
	rapid.Check(t, func(t *rapid.T) {
		interval := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "interval"))
		floor := time.Duration(rapid.Int64Range(1, int64(interval)).Draw(t, "floor"))
		backoff := time.Duration(rapid.Int64Range(1, int64(interval)).Draw(t, "backoff"))
		source := &script{}
		p, err := discovery.NewPoller(discovery.PollerConfig[int]{
			Session: session, Fetch: source.fetch, Interval: interval, Floor: floor, Backoff: backoff,
			Seed: rapid.Uint64().Draw(t, "seed"),
		})
		if err != nil {
			t.Fatal(err)
		}
		now, due, failures := start, start, 0
		for range 20 {
			step := time.Duration(rapid.Int64Range(-int64(interval)/4, 2*int64(interval)).Draw(t, "step"))
			last := now
			now = now.Add(step)
			source.err = rapid.SampledFrom([]error{nil, errDown}).Draw(t, "error")
			source.listing = discovery.Listing[int]{Entries: entries("a"), ValidFor: time.Duration(rapid.Int64Range(0, 2*int64(interval)).Draw(t, "valid for"))}
			asked := source.asked
			wait, err := p.Poll(context.Background(), now)
			if source.asked == asked {
				if err != nil || !now.Before(due) || wait != due.Sub(now) {
					t.Fatalf("nobody is asked, %v are left, want %v (%v)", wait, due.Sub(now), err)
				}
				continue
			}
			if now.Before(due) && !now.Before(last) {
				t.Fatalf("the source is asked %v too soon", due.Sub(now))
			}
			base := interval
			if source.err != nil {
				base = backoff
				for range failures {
					base = min(2*base, interval)
				}
				failures++
			} else {
				failures = 0
				if v := source.listing.ValidFor; v > 0 {
					base = min(v, interval)
				}
			}
			base = max(base, floor)
			if wait < base || wait > base+base/8 || (err != nil) != (source.err != nil) {
				t.Fatalf("after %d failures the wait is %v, want %v and up to an eighth more", failures, wait, base)
			}
			due = now.Add(wait)
		}
	})
}

func TestPoller_ADefaultAsksEveryHalfMinute(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	p := newPoller(t, discovery.PollerConfig[int]{Session: open(t, d, "x"), Fetch: discovery.Static(entries("a")...)})
	wait, err := p.Poll(t.Context(), start)
	if err != nil || wait < 30*time.Second || wait > 34*time.Second || ids(d.Load()) != "a" {
		t.Fatalf("wait %v, %v", wait, err)
	}
	if left, err := p.Poll(t.Context(), start.Add(time.Second)); err != nil || left != wait-time.Second {
		t.Errorf("left %v, %v", left, err)
	}
	if again, err := p.Poll(t.Context(), start.Add(-time.Hour)); err != nil || again < 30*time.Second || p.Status().Polls != 2 {
		t.Errorf("after the clock stepped back: %v, %v", again, err)
	}
}

// Claim: A Poll whose own context was cancelled says nothing about the source: it is not counted, and the next one is due.
//
// Cases: B104.
func TestPoller_ACancelledPollSaysNothing(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	var end func()
	ctx := t.Context()
	source := &script{}
	p := newPoller(t, discovery.PollerConfig[int]{Session: open(t, d, "x"), Fetch: func(ctx context.Context) (discovery.Listing[int], error) {
		if end != nil {
			end()
			source.err = ctx.Err()
		}
		return source.fetch(ctx)
	}})
	source.err = errDown
	wait, _ := p.Poll(ctx, start)
	before, now := p.Status(), start.Add(wait)
	cancelled, cancel := context.WithCancel(ctx)
	end = cancel
	if wait, err := p.Poll(cancelled, now); wait != 0 || err != context.Canceled || p.Status() != before {
		t.Errorf("a cancelled poll: wait %v, %v, %+v", wait, err, p.Status())
	}
	// Time that is over is the source's: it was too slow.
	late, stop := context.WithDeadline(ctx, time.Unix(0, 0))
	defer stop()
	end = func() {}
	if _, err := p.Poll(late, now); !errors.Is(err, context.DeadlineExceeded) || p.Status().ConsecutiveFailures != 2 {
		t.Errorf("a poll that took too long: %v, %+v", err, p.Status())
	}
}

// Claim: A list that leaves fewer members than MaxShrinkPercent permits is a failure, until the source has repeated it for ShrinkHold.
func TestPoller_DoesNotBelieveThatMostAreGone(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{RemoveImmediately: true})
	source := &script{}
	p := newPoller(t, discovery.PollerConfig[int]{
		Session: open(t, d, "x"), Fetch: source.fetch, Interval: time.Minute, Backoff: time.Minute, MaxShrinkPercent: 75, ShrinkHold: 10 * time.Minute,
	})
	now := start
	for i, row := range []struct {
		members int
		after   time.Duration
		least   int64 // that the refusal names; 0 for none
		left    int
	}{
		{100, 0, 0, 100},
		{25, 2 * time.Minute, 0, 25}, // exactly the share that may go
		{6, 2 * time.Minute, 7, 25},
		{6, 9 * time.Minute, 7, 25},
		{24, 2 * time.Minute, 0, 24}, // what was repeated is forgotten
		{5, 2 * time.Minute, 6, 24},
		{3, 5 * time.Minute, 6, 24},
		{-1, 2 * time.Minute, 0, 24}, // a failure of another kind is no answer
		{5, 3 * time.Minute, 0, 5},
		{1, 2 * time.Minute, 2, 5},
		{1, -time.Hour, 2, 5}, // the clock steps back
		{1, 9 * time.Minute, 2, 5},
		{1, 2 * time.Minute, 0, 1},
	} {
		now = now.Add(row.after)
		source.err, source.listing.Entries = nil, nil
		if row.members < 0 {
			source.err = errDown
		} else {
			source.listing.Entries = many(row.members)
		}
		_, err := p.Poll(t.Context(), now)
		limit, limited := errors.AsType[*discovery.LimitError](err)
		if limited != (row.least > 0) || limited && *limit != (discovery.LimitError{Err: discovery.ErrShrunk, Found: int64(row.members), Limit: row.least}) || d.Load().Len() != row.left {
			t.Errorf("row %d: %d members are left (%v)", i, d.Load().Len(), err)
		}
	}
}

// Claim: A member that answers leave out stays until Hold after the first answer without it, and an answer with it in between ends that time.
//
// Cases: B94.
func TestPoller_HoldsWhoAnswersLeaveOut(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{RemoveImmediately: true})
	source := &script{}
	p := newPoller(t, discovery.PollerConfig[int]{
		Session: open(t, d, "x"), Fetch: source.fetch, Interval: time.Second, Hold: 3 * time.Minute, MaxMembers: 4, MaxShrinkPercent: 100,
	})
	now := start
	for i, row := range []struct {
		answer string
		ids    string
		held   int
	}{
		{"a b c", "a b c", 0},
		{"a c", "a b c", 1},
		{"c d", "a b c d", 2},
		{"b c d", "a b c d", 1},
		{"c d", "a b c d", 2}, // b's time begins anew
		{"-", "a b c d", 2},   // a failure is no answer, yet time goes on
		{"c d", "b c d", 1},   // four minutes after the first answer without a
		{"c d", "c d", 0},
		{"e f g h", "e f g h", 0}, // no room for those that would be held
	} {
		now = now.Add(time.Minute)
		source.err, source.listing.Entries = nil, entries(strings.Fields(row.answer)...)
		if row.answer == "-" {
			source.err = errDown
		}
		if _, err := p.Poll(t.Context(), now); (err != nil) != (source.err != nil) {
			t.Fatalf("row %d: %v", i, err)
		}
		if got := ids(d.Load()); got != row.ids || p.Status().Held != row.held {
			t.Errorf("row %d: %s are there and %d held, want %s and %d", i, got, p.Status().Held, row.ids, row.held)
		}
	}
}

func TestPoller_ASeedReplaysAndNoneDoesNot(t *testing.T) {
	waits := func(seed uint64) (all []time.Duration) {
		d := newDirectory(t, discovery.Config[int]{})
		p := newPoller(t, discovery.PollerConfig[int]{Session: open(t, d, "x"), Fetch: discovery.Static(entries("a")...), Seed: seed})
		now := start
		for range 8 {
			wait, err := p.Poll(t.Context(), now)
			if err != nil {
				t.Fatal(err)
			}
			now = now.Add(wait)
			all = append(all, wait)
		}
		return all
	}
	if a, b := waits(7), waits(7); !slices.Equal(a, b) {
		t.Errorf("one seed gave %v and %v", a, b)
	}
	if a, b := waits(7), waits(8); slices.Equal(a, b) {
		t.Errorf("two seeds gave %v", a)
	}
	if a, b := waits(0), waits(0); slices.Equal(a, b) {
		t.Errorf("without a seed both are %v", a)
	}
	want := []time.Duration{31461861556, 30062956104, 33377852553, 32185988599, 31696657106, 30935368208, 31754823766, 31230287772}
	if got := waits(7); !slices.Equal(got, want) {
		t.Errorf("the seed 7 gives %#v", got)
	}
}

func TestPoller_StatusIsReadDuringPolls(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	source := &script{listing: discovery.Listing[int]{Entries: entries("a")}}
	p := newPoller(t, discovery.PollerConfig[int]{Session: open(t, d, "x"), Fetch: source.fetch, Hold: time.Second})
	done := make(chan struct{})
	go func() {
		defer close(done)
		now := start
		for i := range 200 {
			now = now.Add(time.Hour)
			source.err = nil
			if i%2 > 0 {
				source.err = errDown
			}
			_, _ = p.Poll(context.Background(), now)
		}
	}()
	last := discovery.PollerStatus{}
	for {
		s := p.Status()
		if s.Polls < last.Polls || s.Failures != s.Polls/2 || s.ConsecutiveFailures != (s.Polls+1)%2 && s.Polls > 0 || (s.Err == nil) == (s.ConsecutiveFailures > 0) {
			t.Fatalf("after %+v came %+v", last, s)
		}
		if last = s; s.Polls == 200 {
			break
		}
	}
	<-done
}

func TestPollError_EscapesWhatCannotBePrinted(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	bad := entries("a\r\nX-Evil: 1\x1b[31m", "a\r\nX-Evil: 1\x1b[31m")
	for _, fetch := range []discovery.Fetch[int]{
		discovery.Static(bad...),
		func(context.Context) (discovery.Listing[int], error) {
			return discovery.Listing[int]{}, errors.New("no \"such\" name\r\nX-Evil: 1\xff\u202e\x00")
		},
	} {
		_, err := newPoller(t, discovery.PollerConfig[int]{Session: open(t, d, "x\n"), Fetch: fetch}).Poll(t.Context(), start)
		if err == nil || strings.ContainsFunc(err.Error(), func(r rune) bool { return !strconv.IsPrint(r) || r == '\ufffd' }) || !strings.Contains(err.Error(), `\r\nX-Evil: 1\x`) {
			t.Errorf("got %q", err)
		}
	}
}
