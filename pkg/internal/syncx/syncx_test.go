package syncx_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// These tests run in both builds: without an explorer the hooked types behave
// like the plain ones.

func TestEvent_WaitReturnsOnceItHasHappened(t *testing.T) {
	for _, c := range []struct {
		name   string
		before bool
	}{{"fired before the wait", true}, {"fired during the wait", false}} {
		t.Run(c.name, func(t *testing.T) {
			var e syncx.Event
			seen := 0
			if e.Fired() {
				t.Error("a fresh event has happened")
			}
			fire := func() { seen++; e.Fire(); e.Fire() }
			if c.before {
				fire()
			} else {
				syncx.Go(fire)
			}
			for range 2 {
				if err := e.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if seen != 1 || !e.Fired() {
				t.Errorf("Wait returned before what came before Fire: %d", seen)
			}
		})
	}
}

func TestEvent_FireWakesEveryWaiter(t *testing.T) {
	var e syncx.Event
	var begun, woken syncx.WaitGroup
	for range 8 {
		begun.Add(1)
		woken.Go(func() {
			begun.Done()
			if err := e.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	begun.Wait()
	e.Fire()
	woken.Wait()
}

func TestEvent_WaitEndsWithItsContext(t *testing.T) {
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	var e syncx.Event
	if err := e.Wait(ctx); !errors.Is(err, context.Canceled) || e.Fired() {
		t.Errorf("Wait = %v", err)
	}
	e.Fire()
	if err := e.Wait(t.Context()); err != nil {
		t.Errorf("a wait that ended spoilt the event: %v", err)
	}
}

func TestEvent_EitherMayWinWhenBothHold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var e syncx.Event
	e.Fire()
	for range 100 {
		if err := e.Wait(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
}

func TestGo_RunsTheFunctionOnAnotherGoroutine(t *testing.T) {
	var there, back syncx.Event
	syncx.Go(func() {
		_ = there.Wait(context.Background())
		back.Fire()
	})
	there.Fire()
	if err := back.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// integer is what the atomic numbers have in common.
type integer[V any] interface {
	Load() V
	Store(V)
	Swap(V) V
	CompareAndSwap(old, new V) bool
	Add(V) V
	And(V) V
	Or(V) V
}

func sameNumbers[V int32 | int64 | uint32 | uint64](t *testing.T, hooked, plain integer[V]) {
	t.Helper()
	var got, want []V
	for _, n := range []struct {
		integer[V]
		out *[]V
	}{{hooked, &got}, {plain, &want}} {
		note := func(v V) { *n.out = append(*n.out, v) }
		truth := map[bool]V{true: 1}
		n.Store(12)
		note(n.Load())
		note(n.Swap(10))
		note(truth[n.CompareAndSwap(11, 1)])
		note(truth[n.CompareAndSwap(10, 6)])
		note(n.Add(7))
		note(n.And(9))
		note(n.Or(4))
		note(n.Load())
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("results %v, want %v", got, want)
			return
		}
	}
}

func TestNumbers_BehaveAsTheStandardOnes(t *testing.T) {
	sameNumbers[int32](t, new(syncx.Int32), new(atomic.Int32))
	sameNumbers[int64](t, new(syncx.Int64), new(atomic.Int64))
	sameNumbers[uint32](t, new(syncx.Uint32), new(atomic.Uint32))
	sameNumbers[uint64](t, new(syncx.Uint64), new(atomic.Uint64))
}

func TestCells_BehaveAsTheStandardOnes(t *testing.T) {
	var b syncx.Bool
	b.Store(true)
	if !b.Load() || !b.Swap(false) || b.CompareAndSwap(true, false) || !b.CompareAndSwap(false, true) || !b.Load() {
		t.Error("Bool does not")
	}
	var p syncx.Pointer[int]
	one, two := new(int), new(int)
	if p.Load() != nil || p.Swap(one) != nil || p.CompareAndSwap(two, one) || !p.CompareAndSwap(one, two) || p.Load() != two {
		t.Error("Pointer does not")
	}
}

func TestLocks_ExcludeAndCanBeTried(t *testing.T) {
	var mu syncx.Mutex
	var rw syncx.RWMutex
	mu.Lock()
	if mu.TryLock() {
		t.Error("TryLock took a lock that is held")
	}
	mu.Unlock()
	if !mu.TryLock() {
		t.Error("TryLock did not take a free lock")
	}
	mu.Unlock()

	rw.RLock()
	if rw.TryLock() || !rw.TryRLock() {
		t.Error("a reader does not keep out writers, or keeps out readers")
	}
	rw.RLocker().Unlock()
	rw.RUnlock()
	rw.Lock()
	if rw.TryRLock() || rw.TryLock() {
		t.Error("a writer lets somebody in")
	}
	rw.Unlock()

	underMu, underRW := 0, 0
	var group syncx.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 1000 {
				mu.Lock()
				underMu++
				mu.Unlock()
				rw.Lock()
				underRW++
				rw.Unlock()
			}
		})
	}
	group.Wait()
	if underMu != 4000 || underRW != 4000 {
		t.Errorf("updates were lost: %d and %d of 4000 are there", underMu, underRW)
	}
}

func TestOnce_RunsOnceAndWaitsForIt(t *testing.T) {
	var once syncx.Once
	var group syncx.WaitGroup
	n := 0
	for range 8 {
		group.Go(func() {
			once.Do(func() { n++ })
			if n != 1 {
				t.Errorf("n = %d after Do", n)
			}
		})
	}
	group.Wait()
}

func TestCond_WakesOneAndAll(t *testing.T) {
	var mu syncx.Mutex
	c := syncx.NewCond(&mu)
	permits, waiting := 0, 0
	var group syncx.WaitGroup
	for range 3 {
		group.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			waiting++
			for permits == 0 {
				c.Wait()
			}
			permits--
		})
	}
	mu.Lock()
	permits++
	mu.Unlock()
	c.Signal()
	mu.Lock()
	permits += 2
	mu.Unlock()
	c.Broadcast()
	group.Wait()
	if permits != 0 || waiting != 3 {
		t.Errorf("%d permits are left, %d waited", permits, waiting)
	}
}
