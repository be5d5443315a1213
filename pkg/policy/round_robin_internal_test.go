package policy

import (
	"fmt"
	"math"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// cursors that are near the end of the counter.
var lastCursors = []uint64{math.MaxUint64, math.MaxUint64 - 1, math.MaxUint64 - 2, math.MaxUint32, math.MaxInt64}

func threeReady(t *testing.T) *poise.View {
	t.Helper()
	var candidates []poise.Candidate
	for i := range 3 {
		candidates = append(candidates, poise.Sample{ID: fmt.Sprint(i), Load: poise.NewInFlight(0)})
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// checkCycle picks seven times, by turns with and without a query that takes the
// slow path, and wants a cycle of three from the cursor.
func checkCycle(t *testing.T, v *poise.View, picker poise.Picker, cursor uint64) {
	t.Helper()
	start := int(cursor % 3)
	for k := range 7 {
		var q poise.Query
		if k%2 == 1 {
			q.Why = new(poise.Decision)
		}
		selection, err := picker.Pick(q)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := v.Index(selection); err != nil || got != (start+k)%3 {
			t.Errorf("from cursor %d pick %d is %d (%v), want %d", cursor, k, got, err, (start+k)%3)
		}
	}
}

// Cases: E16.
func TestRoundRobin_KeepsTheCycleAtTheEndOfItsCursor(t *testing.T) {
	for _, cursor := range lastCursors {
		p := new(RoundRobin)
		p.cursor.Store(cursor)
		v := threeReady(t)
		picker, err := p.Prepare(v)
		if err != nil {
			t.Fatal(err)
		}
		checkCycle(t, v, picker, cursor)
	}
}

// Cases: E16.
func TestLeastLoaded_KeepsTheCycleAtTheEndOfItsCursor(t *testing.T) {
	for _, cursor := range lastCursors {
		p := new(LeastLoaded)
		p.cursor.Store(cursor)
		v := threeReady(t)
		picker, err := p.Prepare(v)
		if err != nil {
			t.Fatal(err)
		}
		checkCycle(t, v, picker, cursor)
	}
}
