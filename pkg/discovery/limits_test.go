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
