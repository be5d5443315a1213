package poise_test

import (
	"errors"
	"math"
	"reflect"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// acquire takes a slot that must be free.
func acquire(t failer, f *poise.InFlight) *poise.Lease {
	t.Helper()
	lease, err := f.Acquire()
	if err != nil {
		t.Fatalf("Acquire: %v", err)
	}
	return &lease
}

// requireRefusal requires that Acquire refuses with the limit and changes nothing.
func requireRefusal(t failer, f *poise.InFlight, limit uint64) {
	t.Helper()
	before := f.Current()
	lease, err := f.Acquire()
	var capacity *poise.CapacityError
	if !errors.As(err, &capacity) || capacity.Limit != limit || !errors.Is(err, poise.ErrAtCapacity) {
		t.Fatalf("Acquire answers %v, want the CapacityError of limit %d", err, limit)
	}
	if lease.Release() {
		t.Fatalf("a refused Lease gave a slot back")
	}
	if got := f.Current(); got != before {
		t.Fatalf("the refusal changed the count from %d to %d", before, got)
	}
}

// Claim: Acquire at the limit answers a CapacityError and changes nothing.
//
// Cases: IF1, IF2, IF5, B13.
func TestInFlight_RefusesAtTheLimit(t *testing.T) {
	for _, limit := range []uint64{1, 2, 7} {
		f := poise.NewInFlight(limit)
		if f.Current() != 0 || f.Limit() != limit {
			t.Errorf("it begins at %d of %d", f.Current(), f.Limit())
		}
		var leases []*poise.Lease
		for range limit {
			leases = append(leases, acquire(t, f))
		}
		for range 3 {
			requireRefusal(t, f, limit)
		}
		leases[0].Release()
		acquire(t, f)
		requireRefusal(t, f, limit)
	}
}

// Claim: An unlimited InFlight refuses only when its counter is exhausted.
//
// Cases: IF2, IF5.
func TestInFlight_WithoutALimitRefusesOnlyWhenExhausted(t *testing.T) {
	for _, f := range []*poise.InFlight{new(poise.InFlight), poise.NewInFlight(0)} {
		if f.Limit() != 0 {
			t.Errorf("the limit is %d", f.Limit())
		}
		for range 1000 {
			acquire(t, f)
		}
		f.SetCurrent(math.MaxUint64 - 1)
		lease := acquire(t, f)
		if got := f.Current(); got != math.MaxUint64 {
			t.Errorf("the count is %d", got)
		}
		requireRefusal(t, f, 0)
		if !lease.Release() {
			t.Error("the last Lease gave nothing back")
		}
		acquire(t, f)
	}
}

func TestInFlight_WithTheGreatestLimitNamesIt(t *testing.T) {
	f := poise.NewInFlight(math.MaxUint64)
	f.SetCurrent(math.MaxUint64)
	requireRefusal(t, f, math.MaxUint64)
}

// Claim: Current is the number of leases that were acquired and not released.
//
// Cases: IF3.
func TestInFlight_CurrentCountsTheLeasesHeld(t *testing.T) {
	f := poise.NewInFlight(10)
	var leases []*poise.Lease
	for n := range uint64(10) {
		if f.Current() != n {
			t.Errorf("%d are held and Current is %d", n, f.Current())
		}
		leases = append(leases, acquire(t, f))
	}
	for i, lease := range leases {
		lease.Release()
		if want := uint64(9 - i); f.Current() != want {
			t.Errorf("%d are held and Current is %d", want, f.Current())
		}
	}
}

// Claim: Reading an InFlight changes nothing.
func TestInFlight_ReadingChangesNothing(t *testing.T) {
	f := poise.NewInFlight(2)
	lease := acquire(t, f)
	for range 100 {
		if load, err := f.Load(time.Time{}); load != 1 || err != nil {
			t.Fatalf("Load is %d, %v", load, err)
		}
		if load, err := f.Load(time.Unix(1<<40, 0)); load != 1 || err != nil {
			t.Fatalf("Load long after is %d, %v", load, err)
		}
		if f.Current() != 1 || f.Limit() != 2 || f.Unit() != poise.RequestsInFlight {
			t.Fatalf("it is %d of %d %v", f.Current(), f.Limit(), f.Unit())
		}
	}
	acquire(t, f)
	requireRefusal(t, f, 2)
	if !lease.Release() {
		t.Error("the Lease was not held any more")
	}
}

// Claim: The first Release gives the slot back and returns true; every later one
// returns false and changes nothing.
//
// Cases: B15, IF4.
func TestLease_GivesItsSlotBackOnce(t *testing.T) {
	f := poise.NewInFlight(3)
	mine, other := acquire(t, f), acquire(t, f)
	if !mine.Release() || f.Current() != 1 {
		t.Errorf("after the first Release %d are held", f.Current())
	}
	for range 3 {
		if mine.Release() || f.Current() != 1 {
			t.Errorf("after a later Release %d are held", f.Current())
		}
	}
	if !other.Release() || f.Current() != 0 {
		t.Errorf("after the other's Release %d are held", f.Current())
	}
	if mine.Release() || f.Current() != 0 {
		t.Errorf("the count is %d, which should be 0", f.Current())
	}
}

// Claim: Releasing the zero Lease returns false.
func TestLease_ZeroHoldsNothing(t *testing.T) {
	var lease poise.Lease
	for range 2 {
		if lease.Release() {
			t.Error("the zero Lease gave something back")
		}
	}
}

// Claim: The first Release gives the slot back and returns true; every later one
// returns false and changes nothing.
//
// Cases: B15.
func TestLease_ReleasedInParallelGivesOneTrue(t *testing.T) {
	f := poise.NewInFlight(0)
	acquire(t, f)
	var lease *poise.Lease
	var trues atomic.Int32
	together(2, 20_000, func(int) {
		if lease.Release() {
			trues.Add(1)
		}
	}, func(round int) bool {
		if round > 0 && (trues.Load() != 1 || f.Current() != 1) {
			t.Errorf("round %d: %d calls got true and %d are held", round, trues.Load(), f.Current())
			return false
		}
		trues.Store(0)
		lease = acquire(t, f)
		return true
	})
}

// Cases: B14.
func TestLease_ReleasedByDeferSurvivesAPanic(t *testing.T) {
	f := poise.NewInFlight(1)
	work := func() (recovered any) {
		defer func() { recovered = recover() }()
		lease, err := f.Acquire()
		if err != nil {
			t.Fatal(err)
		}
		defer lease.Release()
		panic("the client hung up")
	}
	for range 3 {
		if got := work(); got != "the client hung up" {
			t.Errorf("recovered %v", got)
		}
		if f.Current() != 0 {
			t.Fatalf("%d are held after the panic", f.Current())
		}
	}
}

// together lets goroutines do something at the same instant, again and again.
// Between the rounds one of them prepares the next, or ends it all with false. It
// is called once more after the last.
func together(goroutines, rounds int, do func(goroutine int), prepare func(round int) bool) {
	var begun, done atomic.Int64 // rounds; calls
	var stop atomic.Bool
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for round := range rounds + 1 {
				if g == 0 {
					for done.Load() < int64(round*goroutines) {
						runtime.Gosched()
					}
					if !prepare(round) || round == rounds {
						stop.Store(true)
					}
					begun.Add(1)
				}
				for spins := 0; begun.Load() <= int64(round); spins++ {
					if spins%200 == 199 {
						runtime.Gosched()
					}
				}
				if stop.Load() {
					return
				}
				// The one that began the round is ahead: let it wait, now longer, now
				// shorter, so that some rounds meet to the nanosecond.
				for wait := g; g == 0 && wait < round%64; wait++ {
					begun.Load()
				}
				do(g)
				done.Add(1)
			}
		})
	}
	wg.Wait()
}

// Claim: Leases held at once never exceed the limit.
//
// Cases: B13.
func TestInFlight_AdmitsOneOfTwoThatComeTogetherForTheLastSlot(t *testing.T) {
	const limit = 3
	var f *poise.InFlight
	var admitted atomic.Int32
	together(2, 5_000, func(int) {
		if _, err := f.Acquire(); err == nil {
			admitted.Add(1)
		}
	}, func(round int) bool {
		if round > 0 && (admitted.Load() != 1 || f.Current() != limit) {
			t.Errorf("round %d: %d were admitted and %d are held", round, admitted.Load(), f.Current())
			return false
		}
		admitted.Store(0)
		f = poise.NewInFlight(limit)
		for range limit - 1 {
			acquire(t, f)
		}
		return true
	})
}

// Claim: Leases held at once never exceed the limit.
//
// Cases: B13.
func TestInFlight_HoldsItsLimitAgainstManyGoroutines(t *testing.T) {
	const limit, goroutines, rounds = 3, 8, 2000
	f := poise.NewInFlight(limit)
	var held, most, admitted, refused atomic.Int64
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range rounds {
				lease, err := f.Acquire()
				if err != nil {
					refused.Add(1)
					continue
				}
				admitted.Add(1)
				now := held.Add(1)
				for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
				if current := f.Current(); current > limit {
					t.Errorf("the count is %d", current)
				}
				held.Add(-1)
				lease.Release()
			}
		})
	}
	wg.Wait()
	if most.Load() > limit {
		t.Errorf("%d were held at once, the limit is %d", most.Load(), limit)
	}
	if f.Current() != 0 || admitted.Load()+refused.Load() != goroutines*rounds {
		t.Errorf("in the end %d are held, %d were admitted and %d refused", f.Current(), admitted.Load(), refused.Load())
	}
}

// Claim: An unlimited InFlight refuses only when its counter is exhausted.
func TestInFlight_WithoutALimitAdmitsAllOfManyGoroutines(t *testing.T) {
	const goroutines, rounds = 8, 50_000
	f := poise.NewInFlight(0)
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range rounds {
				if _, err := f.Acquire(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if f.Current() != goroutines*rounds {
		t.Errorf("%d are held of %d", f.Current(), goroutines*rounds)
	}
}

func TestInFlight_FillsOneCacheLine(t *testing.T) {
	if strconv.IntSize == 64 && unsafe.Sizeof(poise.InFlight{}) != 64 {
		t.Errorf("an InFlight has %d bytes", unsafe.Sizeof(poise.InFlight{}))
	}
	for range 100 {
		onHeap = poise.NewInFlight(1)
		if address := uintptr(unsafe.Pointer(onHeap)); strconv.IntSize == 64 && address%64 != 0 {
			t.Fatalf("an InFlight begins at %#x", address)
		}
	}
}

var onHeap *poise.InFlight

// copiesAreFound reports whether go vet complains of copies of the type: it, or
// something in it, has the methods of a lock.
func copiesAreFound(of reflect.Type) bool {
	if reflect.PointerTo(of).Implements(reflect.TypeFor[sync.Locker]()) {
		return true
	}
	switch of.Kind() {
	case reflect.Struct:
		for i := range of.NumField() {
			if copiesAreFound(of.Field(i).Type) {
				return true
			}
		}
	case reflect.Array:
		return copiesAreFound(of.Elem())
	}
	return false
}

func TestStatefulTypes_AreNotCopiedUnnoticed(t *testing.T) {
	for _, of := range []reflect.Type{
		reflect.TypeFor[poise.Lease](), reflect.TypeFor[poise.InFlight](),
		reflect.TypeFor[poise.Tried](), reflect.TypeFor[poise.Generator](),
	} {
		if !copiesAreFound(of) {
			t.Errorf("go vet does not find copies of %v", of)
		}
	}
	if copiesAreFound(reflect.TypeFor[poise.Sample]()) {
		t.Error("the check takes any type for one that must not be copied")
	}
}

// Claim: A limit that is lowered takes no lease away, and grants no other until there is room under it.
//
// Cases: B96.
func TestInFlight_LimitChangesInPlace(t *testing.T) {
	f := poise.NewInFlight(0)
	for range 3 {
		if err := f.Take(); err != nil {
			t.Fatal(err)
		}
	}
	f.SetLimit(2)
	if f.Limit() != 2 || f.Current() != 3 || f.Room() {
		t.Errorf("the limit is %d of %d held", f.Limit(), f.Current())
	}
	for range 2 {
		var full *poise.CapacityError
		if err := f.Take(); !errors.As(err, &full) || full.Limit != 2 {
			t.Errorf("with %d held of 2: %v", f.Current(), err)
		}
		f.Give()
	}
	if err := f.Take(); err != nil || f.Room() {
		t.Errorf("with one held of 2: %v", err)
	}
	f.Give()
	f.SetLimit(0)
	if f.Limit() != 0 || !f.Room() {
		t.Error("a limit that was taken back stands")
	}
}

func TestLease_SaysWhetherItIsHeld(t *testing.T) {
	var none poise.Lease
	lease, err := poise.NewInFlight(1).Acquire()
	if err != nil {
		t.Fatal(err)
	}
	if none.Held() || !lease.Held() {
		t.Errorf("the zero Lease is held: %t; an acquired one: %t", none.Held(), lease.Held())
	}
	lease.Release()
	if lease.Held() {
		t.Error("a released Lease is held")
	}
}
