package poise

import (
	"math"
	"sync"
	"testing"
	"time"
)

var peakOrigin = time.Unix(1_000_000, 0)

func peakInstant(d time.Duration) time.Time { return peakOrigin.Add(d) }

func newPeak(t *testing.T, cfg PeakEWMAConfig) *PeakEWMA {
	t.Helper()
	e, err := NewPeakEWMA(cfg, peakOrigin)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Claim: Reading a PeakEWMA neither writes nor locks, and never waits.
func TestPeakEWMA_ReadingLeavesAWriterAlone(t *testing.T) {
	e := newPeak(t, PeakEWMAConfig{Initial: time.Millisecond, HalfLife: time.Second})
	e.Observe(time.Second, peakInstant(0))
	// A writer that stopped half way: it holds the lock, and one of its two values
	// is written.
	e.mu.Lock()
	defer e.mu.Unlock()
	count := e.count.Load()
	e.samples[(count+1)%2].cost.Store(math.Float64bits(1))
	type state struct {
		count, used uint64
		cost        [2]uint64
		at          [2]int64
	}
	read := func() state {
		return state{
			e.count.Load(), e.inFlight.Current(),
			[2]uint64{e.samples[0].cost.Load(), e.samples[1].cost.Load()},
			[2]int64{e.samples[0].at.Load(), e.samples[1].at.Load()},
		}
	}
	before := read()
	for _, d := range []time.Duration{0, -time.Hour, time.Hour, time.Second} {
		want := map[time.Duration]time.Duration{
			0: time.Second, -time.Hour: time.Millisecond, time.Hour: time.Millisecond, time.Second: 500500 * time.Microsecond,
		}[d]
		if got := e.Estimate(peakInstant(d)); got != want {
			t.Errorf("after %v it reads %v, want %v", d, got, want)
		}
		if load, err := e.Load(peakInstant(d)); load != uint64(want) || err != nil {
			t.Errorf("after %v the load is %d (%v), want %d", d, load, err, want)
		}
	}
	if after := read(); after != before {
		t.Errorf("reading changed %+v to %+v", before, after)
	}
}

// Each sample is so large at its instant that no reading of one sample's cost and
// another's instant looks like a reading of one sample.
func TestPeakEWMA_ReadingsAreOfOneSample(t *testing.T) {
	const last = 30
	e := newPeak(t, PeakEWMAConfig{Initial: 1, HalfLife: time.Second})
	at := peakInstant((last + 1) * time.Second)
	whole := map[float64]bool{1: true}
	for k := range last + 1 {
		whole[1+(math.Exp2(20+float64(k))-1)*math.Exp2(float64(k-last-1))] = true
	}
	stop := make(chan struct{})
	var writer, readers sync.WaitGroup
	writer.Go(func() {
		for k := 0; ; k = (k + 1) % (last + 1) {
			select {
			case <-stop:
				return
			default:
				e.Observe(1<<(20+k), peakInstant(time.Duration(k)*time.Second)) // from 30 s back to 0 it starts anew
			}
		}
	})
	for range 3 {
		readers.Go(func() {
			for range 30_000 {
				if got := e.estimate(at); !whole[got] {
					t.Errorf("read %v, which is of no sample", got)
					return
				}
			}
		})
	}
	readers.Wait()
	close(stop)
	writer.Wait()
}

// A load that is exactly the first that does not fit, and the last that does.
//
// Claim: A load of 2^64 or more fails with ErrLoadOverflow.
func TestPeakEWMA_LoadThatDoesNotFitIsAnError(t *testing.T) {
	e := newPeak(t, PeakEWMAConfig{Initial: 1 << 32, HalfLife: time.Second})
	e.inFlight.used.Store(1<<32 - 1)
	if load, err := e.Load(peakOrigin); err != ErrLoadOverflow || load != 0 {
		t.Errorf("2^64 is %d (%v)", load, err)
	}
	e.inFlight.used.Store(1<<32 - 2)
	if load, err := e.Load(peakOrigin); err != nil || load != 1<<64-1<<32 {
		t.Errorf("2^64-2^32 is %d (%v)", load, err)
	}
	e.inFlight.used.Store(math.MaxUint64)
	if _, err := e.Load(peakOrigin); err != ErrLoadOverflow {
		t.Errorf("2^96 gives %v", err)
	}
}
