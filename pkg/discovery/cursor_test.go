package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/copyleftdev/poise-go/pkg/discovery"
)

func next(t testing.TB, c *discovery.Cursor[int]) uint64 {
	t.Helper()
	s, err := c.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.Revision()
}

// Claim: The first item of a Cursor is the current snapshot, even of a closed Directory.
// Claim: The first item of CursorAfter is the newest snapshot whose revision is higher than the given one.
// Claim: A Cursor returns the newest snapshot, and skips all that were published in between.
// Claim: A Cursor returns the last snapshot of a closed Directory before it ends, and then stays at its end.
func TestCursor_FollowsTheState(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	s := open(t, d, "x")
	fresh, after, polled := d.Cursor(), d.CursorAfter(0), d.Cursor()
	if revision, ok := fresh.Seen(); ok {
		t.Fatalf("a fresh cursor has seen %d", revision)
	}
	if revision, ok := after.Seen(); revision != 0 || !ok {
		t.Fatalf("a cursor after 0 has seen %d, %t", revision, ok)
	}
	if got := next(t, fresh); got != 0 {
		t.Fatalf("the first item is revision %d", got)
	}
	if revision, ok := fresh.Seen(); revision != 0 || !ok {
		t.Fatalf("after the first item it has seen %d, %t", revision, ok)
	}
	if s, ok := after.Poll(); ok {
		t.Fatalf("a cursor after 0 begins with %d", s.Revision())
	}
	for i := range 5 {
		if _, err := s.Upsert(fmt.Sprint(i), i); err != nil {
			t.Fatal(err)
		}
	}
	ahead := d.CursorAfter(7)
	if got := next(t, fresh); got != 5 {
		t.Fatalf("the second item is revision %d", got)
	}
	if got := next(t, after); got != 5 {
		t.Fatalf("after 0 comes %d", got)
	}
	if revision, _ := after.Seen(); revision != 5 {
		t.Fatalf("it has seen %d", revision)
	}
	if _, ok := fresh.Poll(); ok || fresh.Ended() {
		t.Fatal("the same snapshot comes twice")
	}
	if _, err := s.Upsert("5", 5); err != nil {
		t.Fatal(err)
	}
	d.Close()
	late := d.Cursor()
	for name, c := range map[string]*discovery.Cursor[int]{"one that read": fresh, "one that never read": polled, "one of a closed directory": late} {
		if got := next(t, c); got != 6 || c.Ended() {
			t.Errorf("%s: the last item is %d, ended %t", name, got, c.Ended())
		}
		for range 2 {
			if _, err := c.Next(t.Context()); err != discovery.ErrClosed || !c.Ended() {
				t.Errorf("%s: the end is %v", name, err)
			}
			if _, ok := c.Poll(); ok {
				t.Errorf("%s: it goes on after its end", name)
			}
		}
	}
	if _, err := ahead.Next(t.Context()); err != discovery.ErrClosed {
		t.Errorf("a cursor ahead of the end: %v", err)
	}
}

// Claim: Next waits until there is a newer snapshot, and misses none that is published while it begins to wait.
// Claim: Close keeps the last snapshot, wakes everybody who waits, and refuses every later change.
// Claim: WaitFor returns once the revision is reached, however the wait and the publication race.
func TestCursor_WaitsForWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirectory(t, discovery.Config[int]{})
		s := open(t, d, "x")
		var mu sync.Mutex
		seen := map[string][]uint64{}
		note := func(who string, revision uint64) {
			mu.Lock()
			defer mu.Unlock()
			seen[who] = append(seen[who], revision)
		}
		var all sync.WaitGroup
		all.Go(func() {
			for s := range d.Cursor().All(t.Context()) {
				note("all", s.Revision())
			}
		})
		all.Go(func() {
			s, err := d.WaitFor(t.Context(), 2)
			if err != nil {
				t.Error(err)
				return
			}
			note("second", s.Revision())
		})
		all.Go(func() {
			if _, err := d.WaitFor(t.Context(), 9); err != discovery.ErrClosed {
				t.Errorf("a revision that never comes: %v", err)
			}
		})
		for i := range 3 {
			synctest.Wait()
			if _, err := s.Upsert("a", i); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		d.Close()
		all.Wait()
		if got := fmt.Sprint(seen); got != "map[all:[0 1 2 3] second:[2]]" {
			t.Errorf("seen: %s", got)
		}
		if s, err := d.WaitFor(t.Context(), 3); err != nil || s.Revision() != 3 {
			t.Errorf("a revision that was reached, after the end: %v", err)
		}
	})
}

// Claim: A Cursor that is dropped, or whose wait was cancelled, leaves nothing behind.
func TestCursor_CanBeUsedAfterACancelledWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirectory(t, discovery.Config[int]{})
		s := open(t, d, "x")
		c := d.Cursor()
		next(t, c)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
		if _, err := d.WaitFor(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
		for range c.All(ctx) {
			t.Error("there is nothing new")
		}
		if _, err := s.Upsert("a", 1); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Next(ctx); err != nil || got.Revision() != 1 {
			t.Errorf("what is there needs no wait: %v", err)
		}
		if _, err := s.Upsert("a", 2); err != nil {
			t.Fatal(err)
		}
		for s := range c.All(t.Context()) {
			if s.Revision() != 2 {
				t.Errorf("got revision %d", s.Revision())
			}
			break
		}
	})
}

// Claim: A Cursor that does not read delays nobody.
//
// Cases: B46.
func TestCursor_OneThatNeverReadsDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirectory(t, discovery.Config[int]{})
		s := open(t, d, "x")
		silent := d.Cursor()
		last := uint64(0)
		var reader sync.WaitGroup
		reader.Go(func() {
			for s := range d.Cursor().All(t.Context()) {
				last = s.Revision()
			}
		})
		for i := range 100 {
			if _, err := s.Upsert("a", i); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if got := next(t, silent); got != 100 {
			t.Errorf("the first item of who never read is %d", got)
		}
		if got := next(t, d.Cursor()); got != 100 {
			t.Errorf("the first item of who comes late is %d", got)
		}
		d.Close()
		reader.Wait()
		if last != 100 {
			t.Errorf("the reader ends on %d", last)
		}
	})
}

// heap returns the bytes that are in use after a collection.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Claim: A Cursor that is dropped, or whose wait was cancelled, leaves nothing behind.
//
// Cases: G12.
func TestCursor_TenThousandDroppedLeaveNothing(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	reconcile(t, open(t, d, "x"), many(100))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	subscribe := func() {
		c := d.Cursor()
		if _, err := c.Next(ended); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Next(ended); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if _, err := d.WaitFor(ended, 99); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	subscribe()
	before, goroutines := heap(), runtime.NumGoroutine()
	for range 10_000 {
		subscribe()
	}
	// An entry for each would be 160 kB at the very least.
	if after := heap(); after > before+64<<10 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
	if n := runtime.NumGoroutine(); n != goroutines {
		t.Errorf("%d goroutines, before %d", n, goroutines)
	}
}

// torn reports whether the snapshot mixes two batches: all values of one are the
// same.
func torn(s *discovery.Snapshot[int]) bool {
	for _, m := range s.All() {
		if m.Value != at(s, 0).Value {
			return true
		}
	}
	return false
}

// Claim: A batch is applied in the given order, as one change or not at all.
// Claim: A Cursor never returns a snapshot that is not newer than the one before.
func TestDirectory_NoReaderSeesPartOfABatch(t *testing.T) {
	const members, publishes, readers = 64, 2000, 4
	d := newDirectory(t, discovery.Config[int]{})
	s := open(t, d, "x")
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			for !d.Closed() {
				if s := d.Load(); torn(s) {
					t.Errorf("revision %d is torn", s.Revision())
					return
				}
			}
		})
		all.Go(func() {
			last, none := uint64(0), true
			for s := range d.Cursor().All(t.Context()) {
				if torn(s) || !none && s.Revision() <= last {
					t.Errorf("revision %d after %d", s.Revision(), last)
				}
				last, none = s.Revision(), false
				if m, ok := s.Lookup("3"); ok && m.Value != at(s, 0).Value {
					t.Errorf("Lookup finds another value")
				}
			}
			if last != publishes {
				t.Errorf("a cursor ends on revision %d", last)
			}
		})
	}
	batch := make([]discovery.Change[int], members)
	for i := range publishes {
		for j := range batch {
			batch[j] = discovery.Change[int]{ID: fmt.Sprint(j), Value: i + 1}
		}
		if _, err := s.Apply(batch...); err != nil {
			t.Fatal(err)
		}
	}
	d.Close()
	all.Wait()
}

// Claim: Every change, batch or list that changes anything raises the revision by exactly one; all others leave it.
func TestDirectory_SerialisesItsSources(t *testing.T) {
	const sources, changes = 4, 500
	d := newDirectory(t, discovery.Config[int]{})
	var all sync.WaitGroup
	revisions := make([][]uint64, sources)
	for i := range sources {
		s := open(t, d, fmt.Sprint(i))
		all.Go(func() {
			for j := range changes {
				// A member of its own, and one that all of them claim and drop.
				a, err := s.Upsert(fmt.Sprint("own", i), j)
				if err != nil {
					t.Error(err)
					return
				}
				revisions[i] = append(revisions[i], a.Revision)
				for _, op := range []discovery.Op{discovery.Upsert, discovery.Remove} {
					got, err := s.Apply(discovery.Change[int]{Op: op, ID: "shared", Value: 1})
					if err != nil {
						t.Error(err)
						return
					}
					if got[0].Effect.Changed() {
						revisions[i] = append(revisions[i], got[0].Revision)
					}
				}
			}
		})
	}
	all.Wait()
	given := map[uint64]bool{}
	for _, list := range revisions {
		for i, r := range list {
			if given[r] || i > 0 && r <= list[i-1] {
				t.Fatalf("revision %d was given twice, or to an earlier change", r)
			}
			given[r] = true
		}
	}
	s := d.Load()
	if s.Revision() != uint64(len(given)) || s.Len() != sources+1 {
		t.Fatalf("revision %d after %d changes, %d members", s.Revision(), len(given), s.Len())
	}
	if m, ok := s.Lookup("shared"); !ok || !m.Draining {
		t.Errorf("nobody claims %v", m)
	}
}

// Claim: A Cursor that does not read delays nobody.
func TestDirectory_LoadOfAThousandCursors(t *testing.T) {
	const members, cursors, publishes = 10_000, 1000, 2000
	d := newDirectory(t, discovery.Config[int]{})
	s := open(t, d, "x")
	list := many(members)
	reconcile(t, s, list)
	var all sync.WaitGroup
	ends := make([]uint64, cursors)
	silent := make([]*discovery.Cursor[int], 10)
	for i := range silent {
		silent[i] = d.Cursor()
		next(t, silent[i])
	}
	for i := range cursors {
		all.Go(func() {
			for s := range d.Cursor().All(t.Context()) {
				ends[i] = s.Revision()
			}
		})
	}
	middle := uint64(0)
	for i := range publishes {
		if i == publishes/10 {
			middle = heap()
		}
		if _, err := s.Upsert(list[i*7%members].ID, -i-1); err != nil {
			t.Fatal(err)
		}
	}
	if after := heap(); after > middle+4<<20 {
		t.Errorf("the heap grew from %d to %d bytes", middle, after)
	}
	d.Close()
	all.Wait()
	for i, end := range ends {
		if end != publishes+1 {
			t.Fatalf("cursor %d ends on revision %d", i, end)
		}
	}
	for _, c := range silent {
		if got := next(t, c); got != publishes+1 {
			t.Errorf("who did not read gets %d", got)
		}
	}
}
