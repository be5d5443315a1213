package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/pkg/discovery"
)

func named(n int) []discovery.Entry[int] {
	list := make([]discovery.Entry[int], n)
	for i := range list {
		list[i] = discovery.Entry[int]{ID: fmt.Sprint("m", i)}
	}
	return list
}

// requireLimit requires an error about a limit, with both numbers.
func requireLimit(t *testing.T, err error, found, limit int64, reason error) {
	t.Helper()
	e, ok := errors.AsType[*discovery.LimitError](err)
	if !ok || e.Found != found || e.Limit != limit || !errors.Is(err, reason) {
		t.Errorf("want %d over %d because of %v, got %v", found, limit, reason, err)
	}
}

// Claim: A change that would leave more than MaxMembers members is refused with a LimitError and changes nothing, unless it leaves no more than there were.
// Code: Directory.change
func TestDirectory_BoundsItsMembers(t *testing.T) {
	for _, atOnce := range []bool{false, true} {
		d, err := discovery.New(discovery.Config[int]{Equal: sameInt, MaxMembers: 3, RemoveImmediately: atOnce})
		if err != nil {
			t.Fatal(err)
		}
		first, _ := d.Open("first")
		second, _ := d.Open("second")
		if _, err := first.Reconcile(named(3)); err != nil {
			t.Fatal(err)
		}
		before := d.Load()
		_, err = first.Reconcile(named(4))
		requireLimit(t, err, 4, 3, discovery.ErrTooManyMembers)
		_, err = second.Upsert("another", 0)
		requireLimit(t, err, 4, 3, discovery.ErrTooManyMembers)
		_, err = second.Apply(discovery.Change[int]{Op: discovery.Upsert, ID: "x"}, discovery.Change[int]{Op: discovery.Upsert, ID: "y"})
		requireLimit(t, err, 5, 3, discovery.ErrTooManyMembers)
		if d.Load() != before || second.Claims() != 0 || first.Claims() != 3 {
			t.Error("a refused change has changed something")
		}
		// What is there may change, be claimed and leave.
		if _, err := second.Reconcile([]discovery.Entry[int]{{ID: "m1", Value: 7}}); err != nil {
			t.Error(err)
		}
		if _, err := first.Upsert("m1", 5); err != nil {
			t.Error(err)
		}
		// Who drains counts, until the drain has ended.
		swapped := []discovery.Entry[int]{{ID: "m1"}, {ID: "m2"}, {ID: "m3"}}
		_, err = first.Reconcile(swapped)
		if atOnce {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		requireLimit(t, err, 4, 3, discovery.ErrTooManyMembers)
		if _, err := first.Reconcile(swapped[:2]); err != nil {
			t.Error(err)
		}
		if _, err := d.FinishDrains(time.Time{}, nil); err != nil {
			t.Error(err)
		}
		if _, err := first.Reconcile(swapped); err != nil {
			t.Error(err)
		}
	}
	_, err := discovery.New(discovery.Config[int]{Equal: sameInt, MaxMembers: -1})
	requireField(t, "a limit below zero", err, "MaxMembers", discovery.ErrOutOfRange)
}

// A source that has gone mad: a million members, or one where there were ten thousand.
// The last good list serves, and the status says why.
func TestPoller_TheLastGoodListOutlivesAMadSource(t *testing.T) {
	d, err := discovery.New(discovery.Config[int]{Equal: sameInt})
	if err != nil {
		t.Fatal(err)
	}
	session, err := d.Open("mad")
	if err != nil {
		t.Fatal(err)
	}
	answer := named(10_000)
	poller, err := discovery.NewPoller(discovery.PollerConfig[int]{Session: session, Seed: 1, Fetch: func(context.Context) (discovery.Listing[int], error) {
		return discovery.Listing[int]{Entries: answer}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1, 0)
	if _, err := poller.Poll(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	good := d.Load()
	for _, row := range []struct {
		n     int
		limit int64
		err   error
	}{{1_000_000, 100_000, discovery.ErrTooManyMembers}, {1, 1000, discovery.ErrShrunk}} {
		answer = named(row.n)
		now = now.Add(time.Minute)
		_, err := poller.Poll(t.Context(), now)
		requireLimit(t, err, int64(row.n), row.limit, row.err)
		if d.Load() != good || !errors.Is(poller.Status().Err, row.err) {
			t.Errorf("after %d members the list has %d, and the status is %v", row.n, d.Load().Len(), poller.Status().Err)
		}
	}
}

func TestLimitError_SaysWhichSideTheLimitIsOn(t *testing.T) {
	for _, row := range []struct {
		err  *discovery.LimitError
		want string
	}{
		{&discovery.LimitError{Err: discovery.ErrShrunk, Found: 2, Limit: 5}, discovery.ErrShrunk.Error() + ": 2, at least 5 are expected"},
		{&discovery.LimitError{Err: discovery.ErrTooLarge, Found: 9, Limit: 8}, discovery.ErrTooLarge.Error() + ": 9, at most 8 are taken"},
	} {
		if got := row.err.Error(); got != row.want {
			t.Errorf("it says %q, want %q", got, row.want)
		}
	}
}

// The least and the greatest legal values are taken.
func TestConfigs_TakeTheirExtremes(t *testing.T) {
	const century = 100 * 365 * 24 * time.Hour
	d, err := discovery.New(discovery.Config[int]{Equal: sameInt, MaxMembers: 1})
	if err != nil {
		t.Fatal(err)
	}
	session, err := d.Open("a source")
	if err != nil {
		t.Fatal(err)
	}
	fetch := func(context.Context) (discovery.Listing[int], error) { return discovery.Listing[int]{}, nil }
	var poller *discovery.Poller[int]
	for _, cfg := range []discovery.PollerConfig[int]{
		{Interval: 1, MaxMembers: 1, MaxShrinkPercent: 1, ShrinkHold: 1},
		{Interval: century, Floor: century, Backoff: century, Hold: century, MaxShrinkPercent: 100, ShrinkHold: century},
		{Interval: century},
	} {
		cfg.Session, cfg.Fetch = session, fetch
		if poller, err = discovery.NewPoller(cfg); err != nil {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	for _, timeout := range []time.Duration{0, 1, century} {
		if _, err := discovery.NewPollerRunner(discovery.PollerRunnerConfig[int]{Poller: poller, Timeout: timeout}); err != nil {
			t.Errorf("a timeout of %v: %v", timeout, err)
		}
	}
}

func TestDelta_IsEmptyWhereAllOfItIs(t *testing.T) {
	one := make([]discovery.Member[int], 1)
	all := []discovery.Delta[int]{
		{Joined: one}, {Left: one}, {Changed: make([]discovery.Changed[int], 1)}, {DrainStarted: one}, {Revived: one},
		{Joined: one, Left: one}, {Joined: one, Changed: make([]discovery.Changed[int], 1)}, {Joined: one, DrainStarted: one}, {Joined: one, Revived: one},
	}
	for i, d := range all {
		if d.Empty() {
			t.Errorf("%d is empty: %+v", i, d)
		}
	}
	if !(discovery.Delta[int]{}).Empty() {
		t.Error("nothing is not empty")
	}
}
