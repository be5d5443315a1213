package health_test

import (
	"sync"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// Cases: OW1; eight goroutines of a thousand records each.
func TestOutcomeWindow_StaysAtItsCapacityUnderManyRecorders(t *testing.T) {
	for _, halfLife := range []time.Duration{0, time.Hour} {
		w := newWindow(t, health.OutcomeWindowConfig{Capacity: 100, HalfLife: halfLife})
		var group sync.WaitGroup
		for k := range 8 {
			group.Go(func() {
				for i := range 1000 {
					w.Record(poise.Outcome((i+k)%3), dusk)
					if penalty := w.Penalty(dusk); penalty < 0 || penalty > 2 {
						t.Errorf("the penalty is %v", penalty)
						return
					}
				}
			})
		}
		group.Wait()
		stats := w.Stats(dusk)
		want := float64(stats.Failures+2*stats.Overloaded) / 100
		if stats.Samples() != 100 || stats.Penalty != want {
			t.Errorf("%+v", stats)
		}
	}
}

// Claim: No Sweep leaves more of its members ejected than MaxEjectedPercent of them, rounded down, or one.
func TestOutlierController_SweepsWhileCallsEnd(t *testing.T) {
	f := newFleet(t, 8, health.OutlierControllerConfig{
		Detector: health.OutlierConfig{FailuresInRow: 3}, Interval: time.Millisecond, BaseTime: time.Millisecond, MaxTime: 3 * time.Millisecond,
	})
	var group sync.WaitGroup
	for k := range 4 {
		group.Go(func() {
			for i := range 2000 {
				s := f.members[(i+k)%8].Subject
				outcome := poise.Success
				if i/100%2 == 0 {
					outcome = poise.Failure
				}
				s.Begin().Record(outcome, health.FailureKind(i%3))
				s.Excluded()
			}
		})
	}
	ejections := 0
	for range 500 {
		for _, change := range f.sweep(100 * time.Microsecond).Changes {
			if change.Ejected {
				ejections++
			}
		}
		if out := f.out(); len(out) > 4 {
			t.Fatalf("%v are out", out)
		}
	}
	group.Wait()
	for range 5 { // the last ones, in case all calls came after the last sweep
		f.calls(0, 0, 3, 0)
		ejections += len(f.sweep(time.Millisecond).Changes)
	}
	if ejections == 0 {
		t.Error("nobody was ejected")
	}
}
