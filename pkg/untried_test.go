package poise_test

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

func TestUntried_OfNothingTriedIsTheEligibleList(t *testing.T) {
	v := scope(t, view(t, named(5)...), 1, 3)
	for _, tried := range []*poise.Tried{nil, new(poise.Tried)} {
		u := v.Untried(tried)
		requireUntried(t, &u, []int{1, 3}, 5)
	}
}

func TestUntried_ZeroValueIsEmpty(t *testing.T) {
	var u poise.Untried
	requireUntried(t, &u, nil, 3)
}

// Claim: Untried holds the eligible candidates that were not tried, in the order
// of the View.
// Claim: Next finds the first untried candidate at or after an index, going round.
func TestUntried_PassesOverMoreThanEight(t *testing.T) {
	const n = 20
	samples := named(n)
	v := view(t, samples...)
	tried := new(poise.Tried)
	// From the end to the beginning, so that the order of trying is not theirs.
	for i := n - 1; i >= 0; i-- {
		tried.Add(samples[i].ID, 0)
		u := v.Untried(tried)
		want := make([]int, i)
		for k := range want {
			want[k] = k
		}
		requireUntried(t, &u, want, n)
	}
}

func TestUntried_CountsNoStrangerNorAnotherIncarnationNorTheIneligible(t *testing.T) {
	v := view(t,
		poise.Sample{ID: "a", Incarnation: 2},
		poise.Sample{ID: "b", Status: poise.Draining},
		poise.Sample{ID: "c"},
	)
	tried := new(poise.Tried)
	tried.Add("stranger", 0)
	tried.Add("a", 1)
	tried.Add("b", 0)
	u := v.Untried(tried)
	requireUntried(t, &u, []int{0, 2}, 3)
	tried.Add("a", 2)
	u = v.Untried(tried)
	requireUntried(t, &u, []int{2}, 3)
}

// Cases: B07.
func TestUntried_CheckTellsWhyNothingIsLeft(t *testing.T) {
	tried := new(poise.Tried)
	tried.Add("a", 0)
	for _, row := range []struct {
		name    string
		samples []poise.Sample
		want    error
	}{
		{"no candidates", nil, poise.ErrEmpty},
		{"none eligible", []poise.Sample{{ID: "a", Status: poise.Draining}}, poise.ErrNoEligible},
		{"all eligible were tried", []poise.Sample{{ID: "a"}, {ID: "b", Status: poise.Draining}}, poise.ErrAllTried},
		{"one is left", []poise.Sample{{ID: "a"}, {ID: "b"}}, nil},
	} {
		u := view(t, row.samples...).Untried(tried)
		if got := u.Check(); got != row.want {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
	var zero poise.Untried
	if got := zero.Check(); got != poise.ErrEmpty {
		t.Errorf("the zero value: %v", got)
	}
}
