//go:build !race

// One goroutine counts here, so the race detector would see nothing and take long.

package policy_test

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// Where the key decides, keys are the chance: each bin is a binomial share of them.
//
// Claim: The share of the keys that WeightedRendezvous gives a candidate is its weight over the sum of the weights.
func TestKeyedPolicies_ShareKeysInProportion(t *testing.T) {
	for _, row := range []struct {
		name     string
		weights  []uint32
		relative float64
	}{
		{"WeightedRendezvous", []uint32{1, 3}, 0.02},
		{"WeightedRendezvous", []uint32{1, 2, 3}, 0.02},
		{"WeightedRendezvous", []uint32{1, 1, 98}, 0.1},
		{"BoundedLoadRendezvous", []uint32{1, 3}, 0.02},
	} {
		samples := weighted(t, backends(len(row.weights)), row.weights...)
		d := open(t, keyedKinds[row.name](t, keyedConfig{}), samples)
		weights, sum := make([]float64, len(samples)), 0.0
		for i, w := range row.weights {
			weights[i] = float64(w)
			sum += float64(w)
		}
		counts := make([]int, len(samples))
		for k := range sampleSize(slices.Min(weights)/sum, row.relative) {
			counts[d.pick(t, number(k))]++
		}
		if err := checkProportions(counts, weights, row.relative); err != nil {
			t.Errorf("%s over %v: %v", row.name, row.weights, err)
		}
	}
}

// The keys are spread evenly over the slots.
func TestMaglev_SpreadsKeysEvenly(t *testing.T) {
	const bins = 4
	d := open(t, new(policy.Maglev), backends(3))
	counts := make([]int, bins)
	for k := range sampleSize(1.0/bins, 0.02) {
		counts[explained(t, d, number(k)).Compared[0].Figure*bins/65_537]++
	}
	if err := checkShares(counts, 0.02); err != nil {
		t.Error(err)
	}
}

// Claim: Removing one of n candidates moves its keys, and few others.
// Code: fill
//
// The means over twenty runs at 65537 slots, or five at 655373, and a thousand
// members (after Eisenbud et al., figure 12, whose values are only drawn; these were
// computed apart from this code).
func TestMaglev_MovesFewOtherSlots(t *testing.T) {
	const n = 1000
	for _, row := range []struct {
		slots      uint32
		runs, lost int
		want       float64
	}{{65537, 20, 1, 0.682}, {65537, 20, 10, 3.329}, {65537, 20, 100, 13.547}, {655373, 5, 1, 0.425}, {655373, 5, 10, 1.576}, {655373, 5, 100, 11.047}} {
		changed := 0.0
		for run := range row.runs {
			ids := make([]string, n)
			for i := range ids {
				ids[i] = fmt.Sprintf("run-%d-member-%d", run, i)
			}
			p := newMaglev(t, policy.MaglevConfig{TableSize: row.slots})
			full, left := open(t, p, named(ids...)), open(t, p, named(ids[row.lost:]...))
			moved := 0
			const keys = 20_000
			for k := range keys {
				was, is := full.pick(t, number(k)), left.pick(t, number(k))+row.lost
				if was != is {
					moved++
				}
			}
			changed += 100 * float64(moved) / keys / float64(row.runs)
		}
		if math.Abs(changed/row.want-1) > 0.25 {
			t.Errorf("%d slots, %d of %d lost: %.3f %% of the keys move, want about %.3f %%", row.slots, row.lost, n, changed, row.want)
		}
	}
}

// Every subset of six comes and goes.
func TestKeyedPolicies_MoveNoKeyBetweenOthers(t *testing.T) {
	for _, row := range []struct {
		name    string
		weights []uint32
	}{
		{"Rendezvous", []uint32{1, 1, 1, 1, 1, 1}},
		{"WeightedRendezvous", []uint32{1, 2, 3, 5, 8, 13}},
		{"RingHash", []uint32{1, 1, 1, 1, 1, 1}},
	} {
		all := weighted(t, backends(6), row.weights...)
		p := keyedKinds[row.name](t, keyedConfig{})
		where := map[int][]string{}
		for set := 1; set < 1<<6; set++ {
			var samples []poise.Sample
			for i := range all {
				if set>>i&1 != 0 {
					samples = append(samples, all[i])
				}
			}
			where[set] = owners(t, p, samples, 400)
		}
		for set, before := range where {
			for i := range all {
				after, grown := where[set|1<<i]
				if !grown || set>>i&1 != 0 {
					continue
				}
				for k := range before {
					if after[k] != before[k] && after[k] != all[i].ID {
						t.Fatalf("%s: %s comes to %b, and key %d moves from %s to %s", row.name, all[i].ID, set, k, before[k], after[k])
					}
				}
			}
		}
	}
}

// From two to seven candidates each gets keys.
func TestKeyedPolicies_ReachEveryone(t *testing.T) {
	for _, name := range kindNames {
		for n := 2; n <= 7; n++ {
			reached := map[string]bool{}
			for _, id := range owners(t, keyedKinds[name](t, keyedConfig{}), backends(n), 20_000) {
				reached[id] = true
			}
			if len(reached) != n {
				t.Errorf("%s: 20000 keys reach %d of %d", name, len(reached), n)
			}
		}
	}
}

// The share of a candidate is the part of the ring before its points, which the
// table of points tells exactly, whatever the keys.
func TestRingHash_SharesKeysByTheArcs(t *testing.T) {
	const bias, points = 0.02, 40
	samples := weighted(t, backends(3), 1, 2, 1)
	arcs := make([]float64, len(samples))
	type point struct {
		place uint64
		owner int
	}
	var ring []point
	for i, s := range samples {
		for n := range uint64(points * s.Weight.Value()) {
			ring = append(ring, point{mixed([]byte{3}, textStream(s.ID), []byte{4}, binary.LittleEndian.AppendUint64(nil, n)), i})
		}
	}
	slices.SortFunc(ring, func(a, b point) int { return cmp.Compare(a.place, b.place) })
	before := ring[len(ring)-1].place
	for _, p := range ring {
		arcs[p.owner] += float64(p.place - before) // the first goes round
		before = p.place
	}
	d := open(t, newRingHash(t, policy.RingHashConfig{PointsPerWeight: points}), samples)
	counts := make([]int, len(samples))
	for k := range sampleSize(slices.Min(arcs)/math.Exp2(64), bias) {
		counts[d.pick(t, number(k))]++
	}
	if err := checkProportions(counts, arcs, bias); err != nil {
		t.Error(err)
	}
}

// A candidate more moves requests between the others as well, the fewer the more
// room there is, and a part of them that does not grow with the number of
// candidates. The paper proves that for a ring whose capacities are fixed beforehand;
// here each request finds the capacity of its time, and the figures are measured.
func TestBoundedLoadRendezvous_MovesLittleWhenOneComes(t *testing.T) {
	const each = 20
	// placed holds so many requests and says where they are.
	placed := func(n, requests int, percent uint32) []int {
		samples := backends(n)
		d := open(t, newBoundedLoadRendezvous(t, policy.BoundedLoadRendezvousConfig{Percent: percent}), samples)
		where := make([]int, requests)
		for k := range where {
			where[k] = d.pick(t, number(k))
			if _, err := d.view.InFlight(where[k]).Acquire(); err != nil {
				t.Fatal(err)
			}
		}
		return where
	}
	for _, n := range []int{10, 20, 40, 80} {
		last := 1.0
		for _, row := range []struct {
			percent uint32
			most    float64
		}{{110, 0.25}, {125, 0.1}, {150, 0.04}, {200, 0.01}, {400, 0.005}} {
			before, after := placed(n, n*each, row.percent), placed(n+1, n*each, row.percent)
			between := 0
			for k := range before {
				if after[k] != before[k] && after[k] != n {
					between++
				}
			}
			moved := float64(between) / float64(n*each)
			if moved > row.most || moved > last {
				t.Errorf("%d %% over %d: %.3f of the requests move between the others, want at most %.3f, and %.3f with less room", row.percent, n, moved, row.most, last)
			}
			last = moved
			if n == 10 && row.percent == 110 && between == 0 {
				t.Error("nothing moves even where there is little room")
			}
		}
	}
}
