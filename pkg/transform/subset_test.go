package transform_test

import (
	"math"
	"slices"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/transform"
	"pgregory.net/rapid"
)

func newSubset(t reporter, cfg transform.SubsetConfig) *transform.Subset {
	t.Helper()
	s, err := transform.NewSubset(cfg)
	if err != nil {
		t.Fatalf("NewSubset: %v", err)
	}
	return s
}

// chosen returns the identities that a new Subset keeps.
func chosen(t reporter, cfg transform.SubsetConfig, samples []poise.Sample) []string {
	t.Helper()
	c := newChain(t, newSubset(t, cfg))
	run(t, c, samples, seconds(0))
	var ids []string
	for _, s := range c.Samples() {
		if s.Excluded != poise.ExcludedOutOfScope && !s.IsDraining() {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// Claim: Subset keeps the Size members whose identities hash highest with the seed, all of them where there are no more, and leaves out the others.
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
			got := chosen(t, transform.SubsetConfig{Size: size, Seed: seed}, samples)
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
	if got := chosen(t, transform.SubsetConfig{Size: 3}, nil); len(got) != 0 {
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
		if got := chosen(t, transform.SubsetConfig{Size: 3, Seed: seed}, backends(10)); !slices.Equal(got, want) {
			t.Errorf("seed %d: chose %q, want %q", seed, got, want)
		}
	}
}

// Claim: Of equal hashes the lesser identity comes first.
// Claim: The order of the members changes no choice of a Subset.
//
// Cases: B79.
func TestSubset_BreaksEqualHashesByIdentity_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.Uint64Range(0, 3).Draw(t, "bits of the hash")
		sum := func(stream []byte) uint64 { // of few values
			h := poise.FNVBasis
			for _, b := range stream {
				h = h.Byte(b)
			}
			return uint64(h) % (1 << bits)
		}
		cfg := transform.SubsetConfig{Size: rapid.IntRange(1, 10).Draw(t, "size"), Seed: rapid.Uint64().Draw(t, "seed"), Hash: sum}
		samples := backends(10)
		ids := make([]string, len(samples))
		for i := range samples {
			ids[i] = samples[i].ID
		}
		hash := func(id string) uint64 {
			stream := poise.Uint64Key(cfg.Seed).AppendStream([]byte{11})
			return poise.Mix64(sum(poise.StringKey(id).AppendStream(append(stream, 12))))
		}
		slices.SortFunc(ids, func(a, b string) int {
			if hash(a) > hash(b) || hash(a) == hash(b) && a < b {
				return -1
			}
			return 1
		})
		want := slices.Sorted(slices.Values(ids[:cfg.Size]))
		got := chosen(t, cfg, rapid.Permutation(samples).Draw(t, "order"))
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Fatalf("chose %v, want %v", got, want)
		}
	})
}

// Claim: A draining member is not chosen; no other status and no other exclusion changes the choice.
func TestSubset_ChoosesByMembershipNotHealth(t *testing.T) {
	samples := backends(20)
	cfg := transform.SubsetConfig{Size: 5, Seed: 7}
	before := chosen(t, cfg, samples)
	for i := range samples {
		sick := slices.Clone(samples)
		sick[i].Status = poise.Unavailable
		sick[(i+1)%20].Excluded = poise.ExcludedCircuitOpen
		if got := chosen(t, cfg, sick); !slices.Equal(got, before) {
			t.Errorf("with %d and the next sick: chose %v, before %v", i, got, before)
		}
		draining := slices.Clone(samples)
		draining[i].Status = poise.Draining
		absent := slices.Delete(slices.Clone(samples), i, i+1)
		excluded := slices.Clone(samples)
		excluded[i].Excluded = poise.ExcludedDraining
		want := chosen(t, cfg, absent)
		if got, excluded := chosen(t, cfg, draining), chosen(t, cfg, excluded); !slices.Equal(got, want) || !slices.Equal(excluded, want) {
			t.Errorf("with %d draining: chose %v, or %v by its exclusion, and %v without it", i, got, excluded, want)
		}
	}
}

// Claim: A member that another transform left out is not chosen.
func TestSubset_ChoosesAmongThoseThatAreThere(t *testing.T) {
	samples := backends(20)
	cfg := transform.SubsetConfig{Size: 5, Seed: 7}
	first := chosen(t, cfg, samples)[0]
	c := newChain(t, transform.Func(func(d *transform.Draft, _ time.Time) error {
		for i := range d.Len() {
			if d.Sample(i).ID == first {
				d.LeaveOut(i)
			}
		}
		return nil
	}), newSubset(t, cfg))
	run(t, c, samples, seconds(0))
	want := chosen(t, cfg, slices.DeleteFunc(slices.Clone(samples), func(s poise.Sample) bool { return s.ID == first }))
	if got := kept(c); !slices.Equal(got, want) {
		t.Errorf("chose %v, want %v", got, want)
	}
}

// A Subset that follows a list gives what a new one gives for the list.
//
// Cases: Q18.
//
// Claim: When a member joins or leaves, at most one other changes.
func TestSubset_ChangesLittle_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := backends(rapid.IntRange(1, 30).Draw(t, "members"))
		cfg := transform.SubsetConfig{Size: rapid.IntRange(1, 12).Draw(t, "size"), Seed: rapid.Uint64().Draw(t, "seed")}
		c := newChain(t, newSubset(t, cfg))
		run(t, c, samples, seconds(0))
		before := kept(c)
		at := rapid.IntRange(0, len(samples)-1).Draw(t, "leaves")
		without := slices.Delete(slices.Clone(samples), at, at+1)
		run(t, c, without, seconds(1))
		after := kept(c)
		if fresh := chosen(t, cfg, without); !slices.Equal(after, fresh) {
			t.Fatalf("following it chose %v, afresh %v", after, fresh)
		}
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
		drains := rapid.IntRange(0, len(samples)-1).Draw(t, "drains")
		draining := slices.Clone(samples)
		draining[drains].Status = poise.Draining
		run(t, c, samples, seconds(2))
		if err := c.Change(drains, draining[drains]); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Run(seconds(3)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range c.Samples() {
			if s.Excluded != poise.ExcludedOutOfScope && !s.IsDraining() {
				got = append(got, s.ID)
			}
		}
		if want := chosen(t, cfg, draining); !slices.Equal(got, want) {
			t.Fatalf("while %d drains following it chose %v, afresh %v", drains, got, want)
		}
	})
}

// Over the clients of a fleet, everybody is chosen alike: binomially, within five
// standard deviations.
func TestSubset_ChoosesAllAlike(t *testing.T) {
	const clients, size, members = 30_000, 3, 8
	samples := backends(members)
	counts := map[string]int{}
	for seed := range uint64(clients) {
		for _, id := range chosen(t, transform.SubsetConfig{Size: size, Seed: seed}, samples) {
			counts[id]++
		}
	}
	p := float64(size) / members
	mean, deviation := clients*p, math.Sqrt(clients*p*(1-p))
	for _, s := range samples {
		if off := float64(counts[s.ID]) - mean; math.Abs(off) > 5*deviation {
			t.Errorf("%s was chosen %d times, expected %.0f", s.ID, counts[s.ID], mean)
		}
	}
}

// counting is a hash that tells how often it was asked.
func counting(calls *int) func([]byte) uint64 {
	return func(stream []byte) uint64 {
		*calls++
		h := poise.FNVBasis
		for _, b := range stream {
			h = h.Byte(b)
		}
		return uint64(h)
	}
}

// A Subset hashes nobody anew while nobody joins, leaves, or begins or ceases to drain.
func TestSubset_HashesAnewOnlyWhereMembersChange(t *testing.T) {
	calls := 0
	c := newChain(t, newSubset(t, transform.SubsetConfig{Size: 2, Hash: counting(&calls)}))
	samples := backends(5)
	check := func(what string, want int) {
		t.Helper()
		calls = 0
		if run(t, c, samples, seconds(0)); calls != want {
			t.Errorf("%s: %d are hashed, want %d", what, calls, want)
		}
	}
	check("the first", 5)
	check("the same", 0)
	samples[3].Weight = weightOf(t, 9)
	check("another weight", 0)
	samples[3].Status = poise.Unavailable
	check("another status", 0)
	samples[3].Status = poise.Draining
	check("one drains", 4)
	check("and still does", 0)
	samples = samples[:4]
	check("one leaves", 3)
}

func TestNewSubset_RefusesASizeUnderOne(t *testing.T) {
	for _, size := range []int{0, -1} {
		s, err := transform.NewSubset(transform.SubsetConfig{Size: size})
		if s != nil {
			t.Error("a Subset came with the error")
		}
		checkFieldError(t, "NewSubset", err, "Size", poise.ErrOutOfRange)
	}
}
