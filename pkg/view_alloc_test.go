package poise_test

import (
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// requireNoAllocation requires that work allocates nothing.
func requireNoAllocation(t *testing.T, name string, work func()) {
	t.Helper()
	if got := testing.AllocsPerRun(200, work); got != 0 {
		t.Errorf("%s allocates %v times", name, got)
	}
}

// Cases: E12.
func TestView_AnswersWithoutAllocating(t *testing.T) {
	samples := named(12)
	for i := range samples {
		samples[i].Load = poise.NewInFlight(0)
	}
	v := view(t, samples...)
	s := scope(t, v, 1, 3, 5, 7)
	selection, err := s.Select(3)
	if err != nil {
		t.Fatal(err)
	}
	one, eight := new(poise.Tried), new(poise.Tried)
	one.Add(samples[3].ID, 0)
	for i := range 8 {
		eight.Add(samples[i].ID, 0)
	}
	requireNoAllocation(t, "NextEligible", func() { s.NextEligible(2) })
	requireNoAllocation(t, "Select", func() { _, _ = s.Select(3) })
	requireNoAllocation(t, "a refused Select", func() { _, _ = s.Select(2) })
	requireNoAllocation(t, "Index", func() { _, _ = v.Index(selection) })
	requireNoAllocation(t, "a refused Index", func() { _, _ = v.Index(poise.Selection{}) })
	requireNoAllocation(t, "Load", func() { _, _ = v.Load(3, time.Time{}) })
	requireNoAllocation(t, "Sample", func() { _, _ = v.Sample(3) })
	requireNoAllocation(t, "Reason", func() { v.Reason(3) })
	requireNoAllocation(t, "Lookup", func() { v.Lookup(samples[3].ID) })
	requireNoAllocation(t, "Check", func() { _ = v.Check() })
	requireNoAllocation(t, "CheckLoad", func() { _ = v.CheckLoad() })
	requireNoAllocation(t, "All", func() {
		for range v.All() {
		}
	})
	requireNoAllocation(t, "Untried of none", func() { v.Untried(nil) })
	requireNoAllocation(t, "Untried of one", func() { u := v.Untried(one); u.At(2); u.Next(4) })
	requireNoAllocation(t, "Untried of eight", func() { u := v.Untried(eight); u.At(2); u.Next(4) })
	fresh := make([]poise.Tried, 300)
	requireNoAllocation(t, "four Adds and Has", func() {
		tried := &fresh[0]
		fresh = fresh[1:]
		for i := range 4 {
			tried.Add(samples[i].ID, 0)
		}
		tried.Has(samples[3].ID, 0)
	})
}

func TestInFlight_AllocatesNothing(t *testing.T) {
	free, full := poise.NewInFlight(2), poise.NewInFlight(1)
	acquire(t, full)
	requireNoAllocation(t, "Acquire and Release", func() {
		lease, err := free.Acquire()
		if err != nil {
			t.Fatal(err)
		}
		lease.Release()
	})
	requireNoAllocation(t, "a refused Acquire", func() {
		if _, err := full.Acquire(); err == nil {
			t.Fatal("it was not refused")
		}
	})
	requireNoAllocation(t, "Load", func() { _, _ = free.Load(time.Time{}) })
}

func TestHashAndGenerator_AllocateNothing(t *testing.T) {
	generator := poise.NewGenerator(1)
	text, bytes := "customer-42", []byte("customer-42")
	buffer := make([]byte, 0, 64)
	requireNoAllocation(t, "a draw", func() { generator.Uint64() })
	requireNoAllocation(t, "Below", func() { generator.Below(1000) })
	requireNoAllocation(t, "Pair", func() { generator.Pair(1000) })
	var hash uint64
	var score float64
	requireNoAllocation(t, "the hash of a text", func() { hash += rendezvous(poise.StringKey(text), "a") })
	requireNoAllocation(t, "the hash of bytes", func() { hash += rendezvous(poise.BytesKey(bytes), "a") })
	requireNoAllocation(t, "the hash of a number", func() { hash += rendezvous(poise.Uint64Key(1), "a") })
	requireNoAllocation(t, "AppendStream", func() { poise.BytesKey(bytes).AppendStream(buffer) })
	requireNoAllocation(t, "Score", func() { score += poise.Score(hash, poise.Weight{}) })
}

// The samples take one allocation per 64 candidates and the map of identities less
// than one per 256; the other columns are allocated once each whatever their length.
func TestNewView_AllocatesPerColumnNotPerCandidate(t *testing.T) {
	allocations := func(n int) float64 {
		candidates := benchmarkCandidates(n)
		return testing.AllocsPerRun(5, func() {
			if _, err := poise.NewView(candidates); err != nil {
				t.Fatal(err)
			}
		})
	}
	few := allocations(64)
	if few > 15 {
		t.Errorf("64 candidates take %v allocations", few)
	}
	for _, n := range []int{512, 4096, 16384} {
		if many := allocations(n); many-few >= float64(n)/64+float64(n)/256 {
			t.Errorf("64 candidates take %v allocations and %d take %v", few, n, many)
		}
	}
}
