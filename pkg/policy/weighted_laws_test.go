package policy_test

import (
	"sync"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// What the weighted policies have in common with all others, and are not in the
// tables of the tests for those because they heed weights.

func TestWeightedPolicies_RefuseANilView(t *testing.T) {
	for name, p := range allWeighted(t) {
		_, err := p.Prepare(nil)
		checkFieldError(t, name, err, "view", poise.ErrNilView)
	}
}

// Cases: B07.
func TestWeightedPolicies_TellEmptyFromNoEligible(t *testing.T) {
	for name, p := range allWeighted(t) {
		for n := range 8 {
			samples := risingWeights(t)(n)
			for i := range samples {
				samples[i].Status = poise.Status(1 + i%2)
			}
			want := poise.ErrNoEligible
			if n == 0 {
				want = poise.ErrEmpty
			}
			hopeless := open(t, p, samples)
			for range 1000 {
				if _, err := hopeless.try(poise.Query{}); err != want {
					t.Fatalf("%s over %d: error is %v, want %v", name, n, err, want)
				}
			}
			if n == 0 {
				continue
			}
			samples[n-1].Status = poise.Ready
			if got := open(t, p, samples).pick(t, poise.Query{}); got != n-1 {
				t.Errorf("%s over %d: the first pick that can succeed took %d", name, n, got)
			}
		}
	}
}

// Cases: B44.
func TestWeightedPolicies_NeverPickARemovedCandidate(t *testing.T) {
	for name, p := range allWeighted(t) {
		open(t, p, named("A", "B", "C")).pick(t, poise.Query{})
		left := open(t, p, named("A", "C"))
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 1000 {
					if index, err := left.try(poise.Query{}); err != nil || index > 1 {
						t.Errorf("%s: picked %d (%v)", name, index, err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

// Cases: B49 (selection), Q1.
func TestWeightedPolicies_RetryElsewhere(t *testing.T) {
	samples := weighing(t, 1, 9)
	for name, p := range allWeighted(t) {
		d := open(t, p, samples)
		for k := range 1000 {
			first := d.pick(t, poise.Query{})
			if second := d.pick(t, poise.Query{Tried: retried(samples, first)}); second != 1-first {
				t.Fatalf("%s: call %d went to %d and again to %d", name, k, first, second)
			}
			if _, err := d.try(poise.Query{Tried: retried(samples, 0, 1)}); err != poise.ErrAllTried {
				t.Fatalf("%s: with both tried: %v, want %v", name, err, poise.ErrAllTried)
			}
		}
	}
}

// More tried candidates than a pick holds inline cost an allocation and nothing
// else.
func TestWeightedPolicies_RetryUntilEveryoneWasTried(t *testing.T) {
	samples := risingWeights(t)(20)
	for name, p := range allWeighted(t) {
		d := open(t, p, samples)
		q := poise.Query{Tried: new(poise.Tried)}
		for range samples {
			index := d.pick(t, q)
			if !q.Tried.Add(samples[index].ID, 0) {
				t.Fatalf("%s: picked %d, which was tried", name, index)
			}
		}
	}
}

// Cases: B52.
func TestWeightedPolicies_ReachNewcomersAtOnce(t *testing.T) {
	for name, p := range allWeighted(t) {
		open(t, p, backends(10)).pick(t, poise.Query{})
		low, high := 60, 140
		if name == "SmoothWeightedRoundRobin" {
			low, high = 100, 100
		}
		for i, count := range open(t, p, backends(20)).counts(t, 2000) {
			if count < low || count > high {
				t.Errorf("%s: candidate %d got %d of 2000 picks, want %d to %d", name, i, count, low, high)
			}
		}
	}
}

// Cases: E13.
func TestWeightedPolicies_MaskNeverReindexes(t *testing.T) {
	full := risingWeights(t)(9)
	var filtered []poise.Sample
	for i := range full {
		if i%3 == 1 {
			full[i].Excluded = poise.ExcludedCircuitOpen
		} else {
			filtered = append(filtered, full[i])
		}
	}
	for name := range allWeighted(t) {
		masked, absent := open(t, allWeighted(t)[name], full), open(t, allWeighted(t)[name], filtered)
		for k := range 500 {
			q := poise.Query{}
			if k%3 == 0 {
				q.Tried = retried(full, 2, k%9)
			}
			got, want := full[masked.pick(t, q)].ID, filtered[absent.pick(t, q)].ID
			if got != want {
				t.Fatalf("%s: pick %d is %s, and %s where the others are absent", name, k, got, want)
			}
		}
	}
}

// Cases: G22.
func TestWeightedPolicies_IgnoreTheKey(t *testing.T) {
	for name := range allWeighted(t) {
		with, without := open(t, allWeighted(t)[name], backends(5)), open(t, allWeighted(t)[name], backends(5))
		for k := range 200 {
			got := with.pick(t, poise.Query{Key: poise.Uint64Key(uint64(k))})
			if want := without.pick(t, poise.Query{}); got != want {
				t.Fatalf("%s: pick %d is %d with a key and %d without", name, k, got, want)
			}
		}
	}
}

func TestWeightedPolicies_SayWhichRuleDecided(t *testing.T) {
	for _, row := range []struct {
		policy     string
		ids        []string
		tried      []int
		rule       poise.Rule
		considered int
	}{
		{"SmoothWeightedRoundRobin", []string{"a"}, nil, poise.RuleTurn, 1},
		{"SmoothWeightedRoundRobin", []string{"a", "b", "c"}, nil, poise.RuleTurn, 3},
		{"SmoothWeightedRoundRobin", []string{"a", "b", "c"}, []int{1}, poise.RuleTurn, 2},
		{"WeightedRandom", []string{"a"}, nil, poise.RuleOnly, 1},
		{"WeightedRandom", []string{"a", "b", "c"}, nil, poise.RuleDraw, 3},
		{"WeightedRandom", []string{"a", "b", "c"}, []int{1}, poise.RuleDraw, 2},
		{"WeightedRandom", []string{"a", "b", "c"}, []int{1, 2}, poise.RuleOnly, 1},
		{"WeightedLeastRequest", []string{"a"}, nil, poise.RuleOnly, 1},
		{"WeightedLeastRequest", []string{"a", "b", "c"}, nil, poise.RuleTieOfTwoByWeight, 2},
		{"WeightedLeastRequest", []string{"a", "b", "c"}, []int{1}, poise.RuleTieOfTwoByWeight, 2},
		{"WeightedLeastRequest", []string{"a", "b", "c"}, []int{1, 2}, poise.RuleOnly, 1},
	} {
		samples := named(row.ids...)
		var why poise.Decision
		index := open(t, allWeighted(t)[row.policy], samples).pick(t, poise.Query{Tried: retried(samples, row.tried...), Why: &why})
		if why.Policy != row.policy || why.Rule != row.rule || why.Chosen != index ||
			why.Considered != row.considered || why.Tried != len(row.tried) {
			t.Errorf("%s over %v, tried %v: %+v", row.policy, row.ids, row.tried, why)
		}
	}
}
