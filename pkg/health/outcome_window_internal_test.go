package health

import (
	"math"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// A reader that locked would wait here for ever, and one that wrote would change
// what is compared.
//
// Claim: Penalty and Load neither write nor lock, and never wait.
func TestOutcomeWindow_ReadsWhileSomebodyElseHoldsIt(t *testing.T) {
	now := time.Unix(0, 0)
	for _, halfLife := range []time.Duration{0, time.Second} {
		w, err := NewOutcomeWindow(OutcomeWindowConfig{Capacity: 2, HalfLife: halfLife, FailureCost: 100}, now)
		if err != nil {
			t.Fatal(err)
		}
		w.Record(poise.Failure, now)
		w.mu.Lock()
		if halfLife > 0 { // and a writer that stopped half way
			w.published[(w.count.Load()+1)%2].bits.Store(math.Float64bits(7))
		}
		before := w.count.Load()
		for _, at := range []time.Duration{-time.Hour, 0, time.Hour} {
			w.Penalty(now.Add(at))
		}
		if got := w.Penalty(now); got != 1 {
			t.Errorf("the penalty is %v", got)
		}
		if load, err := w.Load(now); err != nil || load != 100 {
			t.Errorf("the load is %d, %v", load, err)
		}
		if w.count.Load() != before {
			t.Error("reading wrote")
		}
		w.mu.Unlock()
	}
}

// What is left of a failure that goes out may be rounded to more than what is left
// of the sum, and a load below 0 would be the highest of all.
func TestOutcomeWindow_NoRoundingMakesItNegative(t *testing.T) {
	now := time.Unix(0, 0)
	w, err := NewOutcomeWindow(OutcomeWindowConfig{Capacity: 2, HalfLife: time.Second}, now)
	if err != nil {
		t.Fatal(err)
	}
	w.Record(poise.Failure, now)
	w.Record(poise.Failure, now)
	w.weight = 0.5 // as after very much rounding
	w.Record(poise.Success, now)
	if got := w.Penalty(now); got != 0 {
		t.Errorf("the penalty is %v", got)
	}
}
