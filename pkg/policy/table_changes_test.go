package policy_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"pgregory.net/rapid"
)

// What a policy with a table makes of one View after another is what a fresh one makes
// of the last.

// tablePolicies returns a maker of a policy with a table, of a few settings.
func tablePolicies(t *rapid.T) func(reporter) poise.Policy {
	var hash func([]byte) uint64
	// A hash of few bits crowds the points into few places.
	switch bits := rapid.SampledFrom([]uint{3, 8, 64}).Draw(t, "bits"); bits {
	case 64: // the library's own
	default:
		hash = func(stream []byte) uint64 { return uint64(poise.FNVBasis.Raw(string(stream))) >> (64 - bits) }
	}
	if rapid.Bool().Draw(t, "ring") {
		cfg := policy.RingHashConfig{
			PointsPerWeight: rapid.SampledFrom([]uint32{1, 3, 40}).Draw(t, "points"), Hash: hash, MaxPoints: 1500,
		}
		return func(t reporter) poise.Policy { return newRingHash(t, cfg) }
	}
	cfg := policy.MaglevConfig{TableSize: rapid.SampledFrom([]uint32{11, 101}).Draw(t, "slots"), Hash: hash}
	return func(t reporter) poise.Policy { return newMaglev(t, cfg) }
}

func anyTableSample(t *rapid.T) poise.Sample {
	s := poise.Sample{
		ID:     "member-" + strconv.Itoa(rapid.IntRange(0, 15).Draw(t, "identity")),
		Weight: weightOf(t, rapid.SampledFrom([]uint32{1, 2, 2, 2, 4, 6}).Draw(t, "weight")),
	}
	if rapid.IntRange(0, 2).Draw(t, "ill") == 0 {
		s.Excluded = poise.ExcludedUnhealthy
	}
	return s
}

// requireSamePicks requires that two Pickers of one View pick alike, prefer alike and
// say the same of it but for the number of the table.
func requireSamePicks(t reporter, v *poise.View, got, want poise.Picker, keys []int) {
	t.Helper()
	for _, key := range keys {
		q := number(key)
		if a, b := preferences(got, q.Key), preferences(want, q.Key); !slices.Equal(a, b) {
			t.Fatalf("key %d prefers %v, want %v", key, a, b)
		}
		q.Tried = new(poise.Tried)
		for range v.EligibleLen() + 1 {
			var why, wantWhy poise.Decision
			q.Why = &why
			a, err := got.Pick(q)
			q.Why = &wantWhy
			b, wantErr := want.Pick(q)
			why.Notes = wantWhy.Notes // the number of the table
			if a != b || !errors.Is(err, wantErr) || why != wantWhy {
				t.Fatalf("key %d with %d tried: %v, %v, %+v; want %v, %v, %+v", key, q.Tried.Len(), a, err, why, b, wantErr, wantWhy)
			}
			q.Why = nil
			if plain, err := got.Pick(q); plain != b || !errors.Is(err, wantErr) {
				t.Fatalf("key %d with %d tried: %v, %v without Why", key, q.Tried.Len(), plain, err)
			}
			if err == nil {
				index, _ := v.Index(a)
				s, _ := v.Sample(index)
				q.Tried.Add(s.ID, s.Incarnation)
			}
		}
	}
}

func preferences(p poise.Picker, key poise.Key) []int {
	return slices.Collect(p.(poise.Preferrer).Preference(key))
}

// Claim: A pick passes over the points of candidates that are not eligible, as if the ring did not have them.
func TestTablePolicies_LawPickAsIfTheViewWereTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fresh := tablePolicies(t)
		p := fresh(t)
		var list []poise.Sample
		v := viewOf(t, nil)
		for range rapid.IntRange(1, 10).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0: // another View, in another order, without some
				list = rapid.Permutation(list).Draw(t, "order")
				list = list[:rapid.IntRange(len(list)/2, len(list)).Draw(t, "left")]
				v = viewOf(t, list)
			default:
				for range rapid.IntRange(1, 4).Draw(t, "changes") {
					s := anyTableSample(t)
					var err error
					if v, err = v.With(s); err != nil {
						t.Fatal(err)
					}
				}
				list = list[:0]
				for _, s := range v.All() {
					list = append(list, s)
				}
			}
			on := v
			if rapid.IntRange(0, 3).Draw(t, "scope") == 0 {
				var members []int
				for i := range v.Len() {
					if v.Reason(i) == poise.NotExcluded && rapid.Bool().Draw(t, "member") {
						members = append(members, i)
					}
				}
				var err error
				if on, err = v.Scope(members); err != nil {
					t.Fatal(err)
				}
			}
			got, err := p.Prepare(on)
			want, wantErr := fresh(t).Prepare(on)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("Prepare: %v, want %v", err, wantErr)
			}
			if err == nil {
				requireSamePicks(t, on, got, want, []int{1, 2, 3, 4, 5})
			}
		}
	})
}

// Pages are split and copied only where there are many points.
func TestRingHash_PicksAlikeWhileItGrowsAndShrinks(t *testing.T) {
	cfg := policy.RingHashConfig{PointsPerWeight: 50}
	p := newRingHash(t, cfg)
	samples := backends(160)
	keys := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, n := range []int{20, 21, 25, 30, 37, 46, 57, 70, 87, 108, 134, 160, 120, 119, 59, 60, 29, 15, 14} {
		v := viewOf(t, samples[160-n:])
		got, err := p.Prepare(v)
		if err != nil {
			t.Fatal(err)
		}
		want, err := newRingHash(t, cfg).Prepare(v)
		if err != nil {
			t.Fatal(err)
		}
		requireSamePicks(t, v, got, want, keys)
	}
}
