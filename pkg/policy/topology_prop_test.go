package policy_test

import (
	"fmt"
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"pgregory.net/rapid"
)

// drawPlaces draws up to 16 candidates in four priorities and three localities.
func drawPlaces(t *rapid.T) []poise.Sample {
	samples, _ := drawSamples(t)
	for i := range samples {
		s := &samples[i]
		s.Priority = rapid.Uint32Range(0, 3).Draw(t, "priority") * 10
		s.Locality = rapid.SampledFrom([]string{"", "east", "west"}).Draw(t, "locality")
		s.LocalityWeight = weightOf(t, 1+s.Priority+uint32(len(s.Locality)))
		s.Weight = weightOf(t, rapid.Uint32Range(1, 20).Draw(t, "weight"))
		s.PanicOptOut = rapid.Bool().Draw(t, "opt out")
	}
	return samples
}

func drawTopology(t *rapid.T) (policy.TopologyConfig, string, func(policy.TopologyConfig) poise.Policy) {
	cfg := policy.TopologyConfig{
		Seed:             rapid.Uint64Min(1).Draw(t, "seed"),
		Overprovisioning: rapid.SampledFrom([]uint32{0, 100, 300}).Draw(t, "factor"),
		PanicThreshold:   rapid.SampledFrom([]uint32{0, 1, 100}).Draw(t, "threshold"),
		PanicOff:         rapid.Bool().Draw(t, "panic off"),
		FailClosed:       rapid.Bool().Draw(t, "fail closed"),
		ByKey:            rapid.Bool().Draw(t, "by key"),
		Endpoint:         endpointPolicies[rapid.SampledFrom([]string{"WeightedRandom", "RoundRobin", "PowerOfTwoChoices", "Rendezvous"}).Draw(t, "endpoint")],
	}
	if rapid.Bool().Draw(t, "localities") {
		return cfg, "Locality", func(cfg policy.TopologyConfig) poise.Policy { return newLocality(t, cfg) }
	}
	return cfg, "Priority", func(cfg policy.TopologyConfig) poise.Policy { return newPriority(t, cfg) }
}

func ready(s *poise.Sample) bool { return s.Status == poise.Ready && s.Excluded == poise.NotExcluded }

// Laws 11 and 13: what a decision says of the scope is true of its candidate.
func TestTopology_LawOfTruthfulScopes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := drawPlaces(t)
		cfg, name, with := drawTopology(t)
		d := open(t, with(cfg), samples)
		eligible, usable := 0, 0
		for i := range samples {
			if samples[i].Status != poise.Draining && (ready(&samples[i]) || !samples[i].PanicOptOut) {
				usable++
			}
			if ready(&samples[i]) {
				eligible++
			}
		}
		for k := range 20 {
			var why poise.Decision
			index, err := d.try(poise.Query{Key: poise.Uint64Key(uint64(k)), Why: &why})
			switch {
			case err == poise.ErrEmpty && len(samples) == 0,
				err == poise.ErrNoEligible && len(samples) > 0 && eligible == 0 && (cfg.PanicOff || usable == 0),
				err == poise.ErrPanicRejected && cfg.FailClosed && !cfg.PanicOff && usable > 0 && why.Scope.Panic:
				continue
			case err != nil:
				t.Fatalf("%d eligible, %d usable: %v", eligible, usable, err)
			}
			s, scope := samples[index], why.Scope
			if scope.Policy != name || scope.Priority != s.Priority || s.Status == poise.Draining {
				t.Fatalf("picked %+v in %+v", s, scope)
			}
			if !ready(&s) && (!scope.Panic || s.PanicOptOut || cfg.FailClosed || cfg.PanicOff) {
				t.Fatalf("picked %+v, which is not eligible, in %+v", s, scope)
			}
			if name == "Locality" && (scope.Locality != s.Locality || scope.LocalityWeight != s.LocalityWeight.Value() ||
				scope.EffectiveWeight < uint64(scope.LocalityWeight) || scope.EffectiveWeight > 1_000_000*uint64(scope.LocalityWeight)) {
				t.Fatalf("picked %+v in %+v", s, scope)
			}
		}
	})
}

// Law 12.
func TestTopology_LawOfTheFirstPriority(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := drawPlaces(t)
		first := uint32(1000)
		for i := range samples {
			samples[i].Status, samples[i].Excluded = poise.Ready, poise.NotExcluded
			first = min(first, samples[i].Priority)
		}
		cfg, _, with := drawTopology(t)
		d := open(t, with(cfg), samples)
		for k := range min(20, 20*len(samples)) {
			var why poise.Decision
			index := d.pick(t, poise.Query{Key: poise.Uint64Key(uint64(k)), Why: &why})
			if samples[index].Priority != first || why.Scope.Panic {
				t.Fatalf("all are eligible, and %+v is picked in %+v", samples[index], why.Scope)
			}
		}
	})
}

// Law 14.
func TestTopology_LawOfReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := drawPlaces(t)
		cfg, _, with := drawTopology(t)
		a, b := open(t, with(cfg), samples), open(t, with(cfg), samples)
		for k := range 32 {
			q := poise.Query{Key: poise.Uint64Key(uint64(k))}
			got, err := a.try(q)
			if again, errAgain := b.try(q); got != again || err != errAgain {
				t.Fatalf("pick %d is %d (%v) and %d (%v)", k, got, err, again, errAgain)
			}
		}
	})
}

// Claim: The order of the candidates does not change which locality a draw chooses.
// Code: groupByPriority
func TestLocality_LawOfOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := drawPlaces(t)
		cfg, _, _ := drawTopology(t)
		shuffled := rapid.Permutation(samples).Draw(t, "order")
		scopes := func(samples []poise.Sample) (list []string) {
			d := open(t, newLocality(t, cfg), samples)
			for k := range 20 {
				var why poise.Decision
				_, err := d.try(poise.Query{Key: poise.Uint64Key(uint64(k)), Why: &why})
				list = append(list, fmt.Sprint(why.Scope, err))
			}
			return list
		}
		if a, b := scopes(samples), scopes(shuffled); !slices.Equal(a, b) {
			t.Fatalf("in this order %v, in another %v", a, b)
		}
	})
}

func TestPriority_LawOfOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := drawPlaces(t)
		cfg, _, _ := drawTopology(t)
		cfg.Endpoint = endpointPolicies["Rendezvous"]
		reversed := slices.Clone(samples)
		slices.Reverse(reversed)
		a, b := open(t, newPriority(t, cfg), samples), open(t, newPriority(t, cfg), reversed)
		for k := range 20 {
			q := poise.Query{Key: poise.Uint64Key(uint64(k))}
			got, err := a.try(q)
			again, errAgain := b.try(q)
			if err != errAgain || err == nil && samples[got].ID != reversed[again].ID {
				t.Fatalf("key %d goes to %d (%v), reversed to %d (%v)", k, got, err, again, errAgain)
			}
		}
	})
}

// Distribution, with stated power: every candidate's share is its priority's times
// its locality's times its own.
func TestTopology_SharesInProportion(t *testing.T) {
	const bias = 0.02
	// Priority 0 carries 60 %: 3 of 5. Its locality x has 1 of 2 (0.5), y has 2 of 3
	// (2/3) with twice the weight: 3:8 at 100 percent.
	zoned := func(id, locality string, priority, zone, weight uint32, up bool) poise.Sample {
		s := placed(id, priority)
		s.Locality, s.LocalityWeight, s.Weight = locality, weightOf(t, zone), weightOf(t, weight)
		if !up {
			s.Status = poise.Unavailable
		}
		return s
	}
	samples := []poise.Sample{
		zoned("x1", "x", 0, 1, 1, true), zoned("x2", "x", 0, 1, 1, false),
		zoned("y1", "y", 0, 2, 2, true), zoned("y2", "y", 0, 2, 1, false),
		zoned("z1", "z", 1, 1, 1, true), zoned("z2", "z", 1, 1, 3, true),
	}
	for _, row := range []struct {
		name string
		of   func(seed uint64) poise.Policy
		want []uint32
	}{
		{"Priority", func(seed uint64) poise.Policy {
			return newPriority(t, policy.TopologyConfig{Seed: seed, Overprovisioning: 100})
		}, []uint32{20, 40, 10, 30}},
		// 0.5 to 2·0.666666 in millionths is 500,000 to 1,333,332.
		{"Locality", func(seed uint64) poise.Policy {
			return newLocality(t, policy.TopologyConfig{Seed: seed, Overprovisioning: 100})
		}, []uint32{18, 48, 11, 33}},
	} {
		total := uint32(0)
		for _, w := range row.want {
			total += w
		}
		counts := make([]int, 4)
		places := map[int]int{0: 0, 2: 1, 4: 2, 5: 3}
		for _, seed := range seedSweep {
			d := open(t, row.of(seed), samples)
			for i, count := range d.counts(t, sampleSize(float64(slices.Min(row.want))/float64(total), bias)/len(seedSweep)+1) {
				if place, alive := places[i]; alive {
					counts[place] += count
				} else if count > 0 {
					t.Fatalf("%s: candidate %d is down and got %d", row.name, i, count)
				}
			}
		}
		if err := checkProportions(counts, row.want, bias); err != nil {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}
