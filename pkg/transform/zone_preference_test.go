package transform_test

import (
	"cmp"
	"math/big"
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/pkg/transform"
	"pgregory.net/rapid"
)

func newZonePreference(t reporter, cfg transform.ZonePreferenceConfig) *transform.ZonePreference {
	t.Helper()
	z, err := transform.NewZonePreference(cfg)
	if err != nil {
		t.Fatalf("NewZonePreference: %v", err)
	}
	return z
}

// zoned returns members of the zones, in turn.
func zoned(n int, zones ...string) []poise.Sample {
	samples := backends(n)
	for i := range samples {
		samples[i].Locality = zones[i%len(zones)]
	}
	return samples
}

// prefer returns who stays with a new ZonePreference.
func prefer(t reporter, cfg transform.ZonePreferenceConfig, samples []poise.Sample) []string {
	t.Helper()
	c := newChain(t, newZonePreference(t, cfg))
	run(t, c, samples, seconds(0))
	return kept(c)
}

// checkCountsAlike reports where the shares of traffic that a Locality gives to
// priorities and localities are not those of the other list.
func checkCountsAlike(t *testing.T, samples, same []poise.Sample) {
	t.Helper()
	for name, why := range map[string]func(samples []poise.Sample) []poise.ScopeChoice{
		"Locality": func(samples []poise.Sample) []poise.ScopeChoice {
			p, err := policy.NewLocality(policy.TopologyConfig{Seed: 1})
			return choices(t, p, err, samples)
		},
		"Priority": func(samples []poise.Sample) []poise.ScopeChoice {
			p, err := policy.NewPriority(policy.TopologyConfig{Seed: 1})
			return choices(t, p, err, samples)
		},
	} {
		if got, want := why(samples), why(same); !slices.Equal(got, want) {
			t.Errorf("%s: the scopes are %+v, want %+v", name, got, want)
		}
	}
}

func choices(t *testing.T, p poise.Policy, err error, samples []poise.Sample) []poise.ScopeChoice {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var candidates []poise.Candidate
	for _, s := range samples {
		candidates = append(candidates, s)
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		t.Fatal(err)
	}
	picker, err := p.Prepare(v)
	if err != nil {
		t.Fatal(err)
	}
	var result []poise.ScopeChoice
	for range 40 {
		var why poise.Decision
		if _, err := picker.Pick(poise.Query{Why: &why}); err != nil {
			t.Fatal(err)
		}
		result = append(result, why.Scope)
	}
	return result
}

// With three zones an even share is a third, and 5/7 of it are enough.
func TestZonePreference_StaysInTheZoneWhileItHasEnough(t *testing.T) {
	for _, row := range []struct {
		sick int // of the ten members of the client's zone
		cfg  transform.ZonePreferenceConfig
		want int // how many others stay
	}{
		{0, transform.ZonePreferenceConfig{Zone: "east"}, 0},
		{2, transform.ZonePreferenceConfig{Zone: "east"}, 0}, // 8 of 28: 28.6 percent, 23.8 are enough
		{3, transform.ZonePreferenceConfig{Zone: "east"}, 0}, // 7 of 27: 25.9 percent
		{4, transform.ZonePreferenceConfig{Zone: "east"}, 1}, // 6 of 26: 23.1 percent
		{10, transform.ZonePreferenceConfig{Zone: "east"}, 5},
		{0, transform.ZonePreferenceConfig{Zone: "east", MinPercent: 33}, 0},
		{0, transform.ZonePreferenceConfig{Zone: "east", MinPercent: 34}, 1},
		{0, transform.ZonePreferenceConfig{Zone: "east", MinPercent: 100}, 20},
		{0, transform.ZonePreferenceConfig{Zone: "north"}, 8}, // nobody there: 5/21 of 30
		{0, transform.ZonePreferenceConfig{Zone: "north", MinPercent: 1}, 1},
		{0, transform.ZonePreferenceConfig{Zone: "north", MinPercent: 2}, 1},
		{0, transform.ZonePreferenceConfig{}, 8},
	} {
		samples := zoned(30, "east", "west", "south")
		for i := range row.sick {
			samples[3*i].Status = poise.Unavailable
		}
		c := newChain(t, newZonePreference(t, row.cfg))
		run(t, c, samples, seconds(0))
		others := 0
		for _, s := range c.Samples() {
			if s.Locality != row.cfg.Zone && s.Excluded != poise.ExcludedOutOfScope {
				others++
			}
		}
		if others != row.want {
			t.Errorf("%+v: %d of other zones stay", row, others)
		}
	}
}

// Claim: The eligible members of the client's zone stay.
// Claim: Eligible members of other zones stay exactly as long as those before them, with the client's zone, have not enough of the eligible weight of their priority.
// Claim: Members of other zones stay in the order of the hash of the seed and their identity, the highest first; of equal hashes the lesser identity is first.
// Claim: Of the members that are not eligible so many stay, those of the client's zone first, that the part of them in a priority is not larger than before.
// Claim: Where nobody of a priority is eligible, nobody of it is left out.
// Claim: Draining members and those that another transform left out stay as they are and count nowhere.
//
// Cases: B79.
func TestZonePreference_FollowsItsRule_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.Uint64Range(0, 3).Draw(t, "bits of the hash")
		sum := func(stream []byte) uint64 {
			h := poise.FNVBasis
			for _, b := range stream {
				h = h.Byte(b)
			}
			return uint64(h) % (1 << bits)
		}
		cfg := transform.ZonePreferenceConfig{Zone: "a", MinPercent: rapid.SampledFrom([]uint32{0, 1, 20, 50, 100}).Draw(t, "minimum"), Seed: rapid.Uint64().Draw(t, "seed"), Hash: sum}
		samples := backends(rapid.IntRange(0, 14).Draw(t, "members"))
		for i := range samples {
			samples[i].Locality = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "zone")
			samples[i].Priority = rapid.Uint32Range(0, 1).Draw(t, "priority")
			samples[i].Weight = weightOf(t, rapid.SampledFrom([]uint32{1, 2, 3, 1<<32 - 1}).Draw(t, "weight"))
			samples[i].Status = rapid.SampledFrom([]poise.Status{poise.Ready, poise.Ready, poise.Unavailable, poise.Draining}).Draw(t, "status")
			samples[i].Excluded = rapid.SampledFrom([]poise.Reason{poise.NotExcluded, poise.NotExcluded, poise.ExcludedUnhealthy, poise.ExcludedOutOfScope}).Draw(t, "excluded")
		}
		c := newChain(t, newZonePreference(t, cfg))
		run(t, c, samples, seconds(0))
		want := slices.Clone(samples)
		for priority := range uint32(2) {
			byRule(want, cfg, priority, func(id string) uint64 {
				stream := poise.Uint64Key(cfg.Seed).AppendStream([]byte{13})
				return poise.Mix64(sum(poise.StringKey(id).AppendStream(append(stream, 14))))
			})
		}
		if got := c.Samples(); !slices.Equal(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
	})
}

// byRule leaves out members of one priority by the published rule, in fractions.
func byRule(samples []poise.Sample, cfg transform.ZonePreferenceConfig, priority uint32, hash func(id string) uint64) {
	var order []*poise.Sample
	zones := map[string]bool{}
	eligible, not := new(big.Rat), new(big.Rat)
	isEligible := func(s *poise.Sample) bool { return s.Status == poise.Ready && s.Excluded == poise.NotExcluded }
	weight := func(s *poise.Sample) *big.Rat { return big.NewRat(int64(s.Weight.Value()), 1) }
	for i := range samples {
		s := &samples[i]
		if s.Priority != priority || s.IsDraining() || s.Excluded == poise.ExcludedOutOfScope {
			continue
		}
		order = append(order, s)
		zones[s.Locality] = true
		if isEligible(s) {
			eligible.Add(eligible, weight(s))
		} else {
			not.Add(not, weight(s))
		}
	}
	if eligible.Sign() == 0 {
		return
	}
	slices.SortFunc(order, func(x, y *poise.Sample) int {
		own := func(s *poise.Sample) int { // the client's zone is first
			if s.Locality == cfg.Zone {
				return 0
			}
			return 1
		}
		return cmp.Or(own(x)-own(y), cmp.Compare(hash(y.ID), hash(x.ID)), cmp.Compare(x.ID, y.ID))
	})
	enough := big.NewRat(5, 7*int64(len(zones)))
	if cfg.MinPercent > 0 {
		enough = big.NewRat(int64(cfg.MinPercent), 100)
	}
	enough.Mul(enough, eligible)
	stay, stayNot := new(big.Rat), new(big.Rat)
	var out []*poise.Sample
	for _, s := range order {
		if isEligible(s) && s.Locality != cfg.Zone && stay.Cmp(enough) >= 0 {
			out = append(out, s)
		} else if isEligible(s) {
			stay.Add(stay, weight(s))
		}
	}
	most := new(big.Rat).Quo(new(big.Rat).Mul(not, stay), eligible)
	for _, s := range order {
		if isEligible(s) {
			continue
		}
		if with := new(big.Rat).Add(stayNot, weight(s)); with.Cmp(most) > 0 {
			out = append(out, s)
		} else {
			stayNot = with
		}
	}
	for _, s := range out {
		s.Excluded, s.PanicOptOut = poise.ExcludedOutOfScope, true
	}
}

// Claim: The order of the members changes no choice of a ZonePreference.
func TestZonePreference_FollowsLikeAFreshOne_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := transform.ZonePreferenceConfig{Zone: "east", Seed: rapid.Uint64().Draw(t, "seed")}
		samples := zoned(12, "east", "west", "south")
		c := newChain(t, newZonePreference(t, cfg))
		for range 6 {
			list := rapid.Permutation(samples).Draw(t, "order")[:rapid.IntRange(0, 12).Draw(t, "members")]
			for i := range list {
				list[i].Status = poise.Status(rapid.IntRange(0, 2).Draw(t, "status"))
			}
			run(t, c, list, seconds(0))
			got := kept(c)
			if len(list) > 0 {
				i := rapid.IntRange(0, len(list)-1).Draw(t, "changes")
				list[i].Status = poise.Status(rapid.IntRange(0, 2).Draw(t, "new status"))
				if err := c.Change(i, list[i]); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Run(seconds(0)); err != nil {
					t.Fatal(err)
				}
				got = kept(c)
			}
			want := prefer(t, cfg, slices.Clone(list))
			inOrder := slices.SortedFunc(slices.Values(list), func(a, b poise.Sample) int {
				return slices.Index(ids(samples), a.ID) - slices.Index(ids(samples), b.ID)
			})
			sorted := prefer(t, cfg, inOrder)
			slices.Sort(sorted)
			if !slices.Equal(got, want) || !slices.Equal(slices.Sorted(slices.Values(got)), sorted) {
				t.Fatalf("following it %v, afresh %v, in another order %v", got, want, sorted)
			}
		}
	})
}

// A percentage is one of a hundred: 100 of 201 are less than a half.
func TestZonePreference_CountsHundredths(t *testing.T) {
	samples := weighing(t, 100, 101)
	samples[0].Locality, samples[1].Locality = "east", "west"
	if got := prefer(t, transform.ZonePreferenceConfig{Zone: "east", MinPercent: 50}, samples); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%v stay", got)
	}
	samples[0].Weight = weightOf(t, 101)
	if got := prefer(t, transform.ZonePreferenceConfig{Zone: "east", MinPercent: 50}, samples); !slices.Equal(got, []string{"a"}) {
		t.Errorf("%v stay", got)
	}
}

// Half of the eligible weight stays, so half of the others may.
func TestZonePreference_LeavesOutAsManyOfTheSick(t *testing.T) {
	samples := zoned(16, "east", "west")
	for i := range 8 {
		samples[i].Status = poise.Unavailable
	}
	var sick, well []string
	for _, id := range prefer(t, transform.ZonePreferenceConfig{Zone: "east"}, samples) {
		if i := slices.Index(ids(samples), id); i < 8 {
			sick = append(sick, samples[i].Locality)
		} else {
			well = append(well, samples[i].Locality)
		}
	}
	if want := []string{"east", "east", "east", "east"}; !slices.Equal(sick, want) || !slices.Equal(well, want) {
		t.Errorf("of the sick %v stay, of the others %v", sick, well)
	}
}

// A ZonePreference hashes nobody anew while nobody joins, leaves or moves.
func TestZonePreference_HashesAnewOnlyWhereMembersMove(t *testing.T) {
	calls := 0
	c := newChain(t, newZonePreference(t, transform.ZonePreferenceConfig{Zone: "east", Hash: counting(&calls)}))
	samples := zoned(6, "east", "west")
	check := func(what string, want int) {
		t.Helper()
		calls = 0
		if run(t, c, samples, seconds(0)); calls != want {
			t.Errorf("%s: %d are hashed, want %d", what, calls, want)
		}
	}
	check("the first", 6)
	check("the same", 0)
	samples[3].Status = poise.Unavailable
	check("another status", 0)
	samples[0], samples[1] = samples[1], samples[0]
	check("another order", 6)
	samples = samples[:4]
	check("two leave", 4)
}

func ids(samples []poise.Sample) []string {
	var result []string
	for _, s := range samples {
		result = append(result, s.ID)
	}
	return result
}

// Frozen choices: processes of every version must agree.
func TestZonePreference_ChoicesAreFrozen(t *testing.T) {
	samples := zoned(30, "east", "west", "south")
	got := prefer(t, transform.ZonePreferenceConfig{Zone: "north", Seed: 1}, samples)
	if want := []string{"backend-2", "backend-5", "backend-11", "backend-12", "backend-13", "backend-15", "backend-18", "backend-29"}; !slices.Equal(got, want) {
		t.Errorf("%q stay, want %q", got, want)
	}
}

func TestNewZonePreference_RefusesMoreThanAll(t *testing.T) {
	z, err := transform.NewZonePreference(transform.ZonePreferenceConfig{MinPercent: 101})
	if z != nil {
		t.Error("a ZonePreference came with the error")
	}
	checkFieldError(t, "NewZonePreference", err, "MinPercent", poise.ErrOutOfRange)
}
