package poise_test

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"pgregory.net/rapid"
)

// anySamples returns lists that NewView accepts.
func anySamples() *rapid.Generator[[]poise.Sample] {
	return rapid.Custom(func(t *rapid.T) []poise.Sample {
		samples := make([]poise.Sample, rapid.IntRange(0, 24).Draw(t, "n"))
		mood := rapid.IntRange(0, 3).Draw(t, "mood") // how many are not ready
		for i := range samples {
			samples[i] = poise.Sample{
				ID:          "c" + strconv.Itoa(i),
				Incarnation: rapid.Uint64Range(0, 2).Draw(t, "incarnation"),
				Priority:    rapid.Uint32Range(0, 2).Draw(t, "priority"),
				Locality:    rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "locality"),
				PanicOptOut: rapid.Bool().Draw(t, "opt out"),
			}
			if rapid.IntRange(0, 3).Draw(t, "dice") < mood {
				samples[i].Status = rapid.SampledFrom([]poise.Status{poise.Ready, poise.Draining, poise.Unavailable}).Draw(t, "status")
				samples[i].Excluded = poise.Reason(rapid.IntRange(0, int(poise.ExcludedOutOfScope)).Draw(t, "excluded"))
			}
		}
		return samples
	})
}

// requireTwin requires that the View answers everything as its slow twin does.
func requireTwin(t failer, v *poise.View, twin slowView) {
	t.Helper()
	n, eligible := len(twin.samples), twin.eligible()
	if v.Len() != n || v.EligibleLen() != len(eligible) {
		t.Fatalf("%d candidates, %d eligible, want %d, %d", v.Len(), v.EligibleLen(), n, len(eligible))
	}
	if got := eligibleOf(v); !slices.Equal(got, eligible) {
		t.Fatalf("eligible are %v, want %v", got, eligible)
	}
	for i := -1; i <= n; i++ {
		if got, want := v.NextEligible(i), nextIn(eligible, i, n); got != want {
			t.Fatalf("NextEligible(%d) is %d, want %d", i, got, want)
		}
	}
	for i := range n {
		if got, want := v.Reason(i), twin.reason(i); got != want {
			t.Fatalf("Reason(%d) is %v, want %v", i, got, want)
		}
		selection, err := v.Select(i)
		if (err == nil) != slices.Contains(eligible, i) {
			t.Fatalf("Select(%d): %v", i, err)
		}
		if index, indexErr := v.Index(selection); err == nil && (index != i || indexErr != nil) {
			t.Fatalf("Index of the Selection of %d is %d, %v", i, index, indexErr)
		}
		if index, found := v.Lookup(twin.samples[i].ID); index != i || !found {
			t.Fatalf("Lookup of %d is %d, %t", i, index, found)
		}
	}
	want := error(nil)
	switch {
	case n == 0:
		want = poise.ErrEmpty
	case len(eligible) == 0:
		want = poise.ErrNoEligible
	}
	if got := v.Check(); got != want {
		t.Fatalf("Check: %v, want %v", got, want)
	}
}

func TestView_LawAnswersAsItsSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := anySamples().Draw(t, "samples")
		requireTwin(t, view(t, samples...), slowView{samples: samples})
	})
}

func TestScope_LawAnswersAsItsSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := anySamples().Draw(t, "samples")
		v, twin := view(t, samples...), slowView{samples: samples}
		var members []int
		for i := range samples {
			if twin.mayJoin(i) && rapid.Bool().Draw(t, "member") {
				members = append(members, i)
			}
		}
		requireTwin(t, scope(t, v, members...), twin.scope(members))
		requireTwin(t, v, twin)
	})
}

func TestScope_LawRefusesExactlyWhatMayNotJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := anySamples().Draw(t, "samples")
		v, twin := view(t, samples...), slowView{samples: samples}
		members := rapid.SliceOfN(rapid.IntRange(-1, len(samples)), 0, 5).Draw(t, "members")
		want := error(nil)
		for k, i := range members {
			switch {
			case i < 0 || i >= len(samples):
				want = poise.ErrOutOfRange
			case k > 0 && i <= members[k-1]:
				want = poise.ErrNotAscending
			case !twin.mayJoin(i):
				want = poise.ErrNotEligible
			}
			if want != nil {
				break
			}
		}
		if _, err := v.Scope(members); !errors.Is(err, want) {
			t.Fatalf("Scope(%v): %v, want %v", members, err, want)
		}
	})
}

// Cases: B06, W2.
func TestWeight_LawHoldsEveryPositiveNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Uint32Range(1, math.MaxUint32).Draw(t, "value")
		w, err := poise.NewWeight(value)
		if err != nil || w.Value() != value || w.String() != strconv.FormatUint(uint64(value), 10) {
			t.Fatalf("weight %d became %v, %v", value, w, err)
		}
	})
}
