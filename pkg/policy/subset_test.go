package policy_test

import (
	"fmt"
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"pgregory.net/rapid"
)

func newSubset(t reporter, size int, seed uint64) *policy.Subset {
	t.Helper()
	s, err := policy.NewSubset(policy.SubsetConfig{Size: size, Seed: seed})
	if err != nil {
		t.Fatalf("NewSubset: %v", err)
	}
	return s
}

// chosen returns the identities that the subset keeps.
func chosen(s *policy.Subset, samples []poise.Sample) []string {
	var ids []string
	for _, c := range s.Choose(candidatesOf(samples)) {
		ids = append(ids, c.Sample().ID)
	}
	return ids
}

// Claim: Choose returns the Size candidates whose identities hash highest with the seed, in the order of the list; all of them where there are no more.
func TestSubset_ChoosesTheHighestHashes(t *testing.T) {
	samples := backends(12)
	for seed := range uint64(50) {
		hash := func(id string) uint64 {
			return poise.Mix64(uint64(poise.FNVBasis.Byte(11).Uint64(seed).Byte(12).String(id)))
		}
		var ids []string
		for _, s := range samples {
			ids = append(ids, s.ID)
		}
		slices.SortFunc(ids, func(a, b string) int {
			if hash(a) > hash(b) {
				return -1
			}
			return 1
		})
		for size := 1; size <= 14; size++ {
			want := slices.Clone(ids[:min(size, 12)])
			got := chosen(newSubset(t, size, seed), samples)
			var inOrder []string
			for _, s := range samples {
				if slices.Contains(want, s.ID) {
					inOrder = append(inOrder, s.ID)
				}
			}
			if !slices.Equal(got, inOrder) {
				t.Fatalf("seed %d, size %d: chose %v, want %v", seed, size, got, inOrder)
			}
		}
	}
	if got := newSubset(t, 3, 1).Choose(nil); len(got) != 0 {
		t.Errorf("of nobody %v were chosen", got)
	}
}

// Frozen choices: processes of every version must agree.
func TestSubset_ChoicesAreFrozen(t *testing.T) {
	for seed, want := range map[uint64][]string{
		0:         {"backend-1", "backend-2", "backend-7"},
		1:         {"backend-1", "backend-4", "backend-6"},
		1<<64 - 1: {"backend-3", "backend-7", "backend-9"},
	} {
		if got := chosen(newSubset(t, 3, seed), backends(10)); !slices.Equal(got, want) {
			t.Errorf("seed %d: chose %q, want %q", seed, got, want)
		}
	}
}

// Claim: A draining candidate is not chosen; no other status and no exclusion changes the choice.
func TestSubset_ChoosesByMembershipNotHealth(t *testing.T) {
	samples := backends(20)
	s := newSubset(t, 5, 7)
	before := chosen(s, samples)
	for i := range samples {
		sick := slices.Clone(samples)
		sick[i].Status = poise.Unavailable
		sick[(i+1)%20].Excluded = poise.ExcludedCircuitOpen
		if got := chosen(s, sick); !slices.Equal(got, before) {
			t.Errorf("with %d and the next sick: chose %v, before %v", i, got, before)
		}
		draining := slices.Clone(samples)
		draining[i].Status = poise.Draining
		absent := slices.Delete(slices.Clone(samples), i, i+1)
		if got, want := chosen(s, draining), chosen(s, absent); !slices.Equal(got, want) {
			t.Errorf("with %d draining: chose %v, and %v without it", i, got, want)
		}
	}
}

// Claim: When a candidate joins or leaves, at most one other changes.
// Claim: The order of the candidates changes no choice.
//
// Cases: Q18.
func TestSubset_ChangesLittle_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := backends(rapid.IntRange(1, 30).Draw(t, "candidates"))
		s := newSubset(t, rapid.IntRange(1, 12).Draw(t, "size"), rapid.Uint64().Draw(t, "seed"))
		before := chosen(s, samples)
		at := rapid.IntRange(0, len(samples)-1).Draw(t, "leaves")
		after := chosen(s, slices.Delete(slices.Clone(samples), at, at+1))
		for _, id := range before {
			if id != samples[at].ID && !slices.Contains(after, id) {
				t.Fatalf("without %s, %s is not chosen any more", samples[at].ID, id)
			}
		}
		came := 0
		for _, id := range after {
			if !slices.Contains(before, id) {
				came++
			}
		}
		if came > 1 || came == 1 && !slices.Contains(before, samples[at].ID) {
			t.Fatalf("without %s: %v became %v", samples[at].ID, before, after)
		}
		shuffled := chosen(s, rapid.Permutation(samples).Draw(t, "order"))
		slices.Sort(shuffled)
		slices.Sort(before)
		if !slices.Equal(shuffled, before) {
			t.Fatalf("in another order %v, not %v", shuffled, before)
		}
	})
}

// Over the clients of a fleet, everybody is chosen alike.
func TestSubset_ChoosesAllAlike(t *testing.T) {
	const bias = 0.08
	samples := backends(8)
	counts := make([]int, 8)
	clients := sampleSize(1.0/8, bias)/3 + 1
	for seed := range uint64(clients) {
		for i, s := range samples {
			if slices.Contains(chosen(newSubset(t, 3, seed), samples), s.ID) {
				counts[i]++
			}
		}
	}
	if err := checkShares(counts, bias); err != nil {
		t.Error(err)
	}
}

// Claim: Choose asks each Candidate for its Sample exactly once.
func TestSubset_AsksOnce(t *testing.T) {
	times := make([]int, 6)
	candidates := []poise.Candidate{nil}
	for i := range times {
		candidates = append(candidates, asked{poise.Sample{ID: fmt.Sprint(i), Status: poise.Status(i % 3), Load: fixed(i)}, &times[i]})
	}
	got := newSubset(t, 2, 1).Choose(candidates)
	if len(got) != 3 || got[0] != nil {
		t.Errorf("chose %v", got)
	}
	for _, c := range got[1:] {
		c.Sample()
	}
	for i, n := range times {
		if n != 1 {
			t.Errorf("candidate %d was asked %d times", i, n)
		}
	}
	if _, err := poise.NewView(got); err == nil {
		t.Error("a nil candidate passed")
	}
}

func TestNewSubset_RefusesASizeUnderOne(t *testing.T) {
	for _, size := range []int{0, -1} {
		s, err := policy.NewSubset(policy.SubsetConfig{Size: size})
		if s != nil {
			t.Error("a Subset came with the error")
		}
		checkFieldError(t, "NewSubset", err, "Size", poise.ErrTooSmall)
	}
}
