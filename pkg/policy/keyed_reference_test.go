package policy_test

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/big"
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"pgregory.net/rapid"
)

// The slow twins of the keyed policies. They hash whole streams with the standard
// library, make their tables anew for each pick, and compute in big numbers.

func mixed(parts ...[]byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(slices.Concat(parts...))
	return poise.Mix64(h.Sum64())
}

// lowest returns the candidate of the lowest score among those listed.
func lowest(s *situation, list []int) int {
	best, bestScore, bestHash := -1, 0.0, uint64(0)
	for _, i := range list {
		hash := rendezvousHash(s.stream, s.samples[i].ID)
		score := poise.Score(hash, s.samples[i].Weight)
		if best < 0 || poise.Less(score, hash, bestScore, bestHash) {
			best, bestScore, bestHash = i, score, hash
		}
	}
	return best
}

type weightedRendezvousTwin struct{}

func (weightedRendezvousTwin) pick(s *situation) (int, error) {
	left, err := s.open()
	if err != nil {
		return -1, err
	}
	return lowest(s, left), nil
}

type boundedLoadTwin struct{ percent int64 }

func (b boundedLoadTwin) pick(s *situation) (int, error) {
	left, err := s.open()
	if err != nil {
		return -1, err
	}
	items, weights := big.NewInt(1), new(big.Int)
	for _, i := range left {
		items.Add(items, new(big.Int).SetUint64(s.loads[i]))
		weights.Add(weights, big.NewInt(int64(s.samples[i].Weight.Value())))
	}
	if !items.IsUint64() {
		return -1, poise.ErrLoadOverflow
	}
	var room []int
	for _, i := range left {
		// load < percent·items·weight / (100·weights), in whole numbers
		have := new(big.Int).SetUint64(s.loads[i])
		have.Mul(have, big.NewInt(100)).Mul(have, weights)
		allowed := big.NewInt(b.percent)
		allowed.Mul(allowed, items).Mul(allowed, big.NewInt(int64(s.samples[i].Weight.Value())))
		if have.Cmp(allowed) < 0 {
			room = append(room, i)
		}
	}
	return lowest(s, room), nil
}

type ringHashTwin struct{ perUnit uint64 }

func (r ringHashTwin) pick(s *situation) (int, error) {
	left, err := s.open()
	if err != nil {
		return -1, err
	}
	eligible, _ := (&situation{samples: s.samples}).open()
	unit := new(big.Int)
	for _, i := range eligible {
		unit.GCD(nil, nil, unit, big.NewInt(int64(s.samples[i].Weight.Value())))
	}
	type point struct{ place, index uint64 }
	var points []point
	for _, i := range eligible {
		id := textStream(s.samples[i].ID)
		for number := range uint64(s.samples[i].Weight.Value()) / unit.Uint64() * r.perUnit {
			place := mixed([]byte{3}, id, []byte{4}, binary.LittleEndian.AppendUint64(nil, number))
			points = append(points, point{place, uint64(i)})
		}
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.place, b.place) })
	request := mixed([]byte{5}, s.stream)
	first := slices.IndexFunc(points, func(p point) bool { return p.place >= request })
	for k := range points {
		if i := int(points[(max(first, 0)+k)%len(points)].index); slices.Contains(left, i) {
			return i, nil
		}
	}
	panic("someone is left and owns no point")
}

type maglevTwin struct{ size uint64 }

func (m maglevTwin) pick(s *situation) (int, error) {
	left, err := s.open()
	if err != nil {
		return -1, err
	}
	turns, _ := (&situation{samples: s.samples}).open()
	hash := func(domain byte, i int) uint64 { return mixed([]byte{domain}, textStream(s.samples[i].ID)) }
	slices.SortFunc(turns, func(a, b int) int { return cmp.Compare(hash(8, a), hash(8, b)) })
	table := make([]int, m.size)
	for slot := range table {
		table[slot] = -1
	}
	next := map[int]uint64{}
	for filled := uint64(0); filled < m.size; {
		for _, i := range turns {
			offset, skip := hash(6, i)%m.size, hash(7, i)%(m.size-1)+1
			for table[(offset+next[i]*skip)%m.size] >= 0 {
				next[i]++
			}
			table[(offset+next[i]*skip)%m.size] = i
			if filled++; filled == m.size {
				break
			}
		}
	}
	for k := range m.size {
		if i := table[(mixed([]byte{10}, s.stream)+k)%m.size]; slices.Contains(left, i) {
			return i, nil
		}
	}
	panic("someone is left and owns no slot")
}

// checkKeyedTwin asks the policy and its twin the same, over several Views, and so
// with tables that were carried over.
func checkKeyedTwin(t *testing.T, with func(*rapid.T) (poise.Policy, twin)) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		p, slow := with(t)
		for range rapid.IntRange(1, 4).Draw(t, "views") {
			samples, loads := drawKeyedSamples(t)
			if rapid.IntRange(0, 9).Draw(t, "loads near the end of 64 bits") == 0 {
				for i := range loads {
					loads[i] = 1<<64 - 1 - rapid.Uint64Range(0, 2).Draw(t, "less")
					samples[i].Load = fixed(loads[i])
				}
			}
			v := viewOf(t, samples)
			picker, err := p.Prepare(v)
			if err != nil {
				// Only a ring has a limit that these samples can pass.
				if _, isRing := slow.(ringHashTwin); !isRing {
					t.Fatal(err)
				}
				continue
			}
			d := desk{v, picker}
			for range rapid.IntRange(1, 12).Draw(t, "picks") {
				q, s := drawQuery(t, samples, loads)
				got, err := d.try(q)
				want, wantErr := slow.pick(s)
				if got != want || err != wantErr {
					t.Fatalf("picked %d (%v), the twin %d (%v)", got, err, want, wantErr)
				}
			}
		}
	})
}

// Claim: WeightedRendezvous picks the candidate with the lowest Score of its weight and the hash that Rendezvous takes; of equal scores the higher hash, of equal hashes the heavier, of equal weights the lesser identity.
func TestWeightedRendezvous_PicksAsItsSlowTwin_Law(t *testing.T) {
	checkKeyedTwin(t, func(*rapid.T) (poise.Policy, twin) {
		return new(policy.WeightedRendezvous), weightedRendezvousTwin{}
	})
}

// Claim: BoundedLoadRendezvous picks the candidate that WeightedRendezvous would pick among those whose load is under their capacity.
//
// Claim: BoundedLoadRendezvous picks as if the tried candidates were not there, neither their loads nor their weights.
//
// Claim: Loads whose sum plus one passes 64 bits fail the pick with ErrLoadOverflow.
func TestBoundedLoadRendezvous_PicksAsItsSlowTwin_Law(t *testing.T) {
	checkKeyedTwin(t, func(t *rapid.T) (poise.Policy, twin) {
		percent := rapid.OneOf(rapid.Uint32Range(100, 160), rapid.Uint32Min(100)).Draw(t, "percent")
		p := newBoundedLoadRendezvous(t, policy.BoundedLoadRendezvousConfig{Percent: percent})
		return p, boundedLoadTwin{int64(percent)}
	})
}

// Claim: A candidate has PointsPerWeight points for each unit of its weight, the unit being the greatest common divisor of the weights of all eligible candidates.
//
// Claim: The place of a point is the Mix64 of the hash of 3, the identity, 4 and its number, and that of a key the Mix64 of the hash of 5 and the key.
//
// Claim: A RingHash retry walks on along the ring to the next owner that was not tried.
func TestRingHash_PicksAsItsSlowTwin_Law(t *testing.T) {
	checkKeyedTwin(t, func(t *rapid.T) (poise.Policy, twin) {
		perUnit := rapid.Uint32Range(1, 4).Draw(t, "points per weight")
		return newRingHash(t, policy.RingHashConfig{PointsPerWeight: perUnit, MaxPoints: 1500}), ringHashTwin{uint64(perUnit)}
	})
}

// Claim: Each candidate takes, in its turn, the next free slot of its permutation, until no slot is free.
//
// Claim: The permutation of a candidate begins at the Mix64 of the hash of 6 and the identity, modulo the slots, and goes on by one more than that of 7 modulo one slot less.
//
// Claim: The turns go by the Mix64 of the hash of 8 and the identity, then by that of 9, then by identity.
//
// Claim: The slot of a key is the Mix64 of the hash of 10 and the key, modulo the slots.
//
// Claim: A Maglev retry walks on through the slots of the table to the next owner that was not tried.
func TestMaglev_PicksAsItsSlowTwin_Law(t *testing.T) {
	checkKeyedTwin(t, func(t *rapid.T) (poise.Policy, twin) {
		size := rapid.SampledFrom([]uint32{17, 19, 101}).Draw(t, "slots")
		return newMaglev(t, policy.MaglevConfig{TableSize: size}), maglevTwin{uint64(size)}
	})
}

// generation is a set of candidates at one step of an ageing cluster.
func generation(t reporter, step, size int) []poise.Sample {
	t.Helper()
	var samples []poise.Sample
	for i := range size {
		if (i+step)%7 == 0 {
			continue
		}
		s := poise.Sample{
			ID:     fmt.Sprintf("backend-%03d", i),
			Weight: weightOf(t, uint32(1+(i+step)%4)),
			Load:   holding(t, uint64((3*step+i)%11)),
		}
		if (i+step)%5 == 0 {
			s.Status = poise.Draining
		}
		samples = append(samples, s)
	}
	if step%3 == 0 {
		slices.Reverse(samples)
	}
	return samples
}

// What is carried over from View to View changes no pick: a policy that has seen
// twelve Views picks like one that has seen none.
func TestKeyedPolicies_AgedIsAsFresh(t *testing.T) {
	for _, name := range kindNames {
		for _, size := range []int{1, 4, 17, 64} {
			aged := keyedKinds[name](t, keyedConfig{})
			rebuilt, last := 0, uint64(0)
			for step := range 12 {
				samples := generation(t, step, size)
				old, anew := open(t, aged, samples), open(t, keyedKinds[name](t, keyedConfig{}), samples)
				for k := range 250 {
					q := keyN("key", k)
					if got, want := old.identity(q), anew.identity(q); got != want {
						t.Fatalf("%s over %d, step %d: key %d goes to %s, afresh to %s", name, size, step, k, got, want)
					}
				}
				var why poise.Decision
				_, _ = old.try(poise.Query{Key: poise.StringKey("key"), Why: &why})
				if generation, _ := why.Note(policy.NoteTable); generation > last {
					rebuilt, last = rebuilt+1, generation
				}
			}
			if name == "RingHash" && size == 17 && rebuilt < 8 {
				t.Errorf("only %d rings were made in twelve generations", rebuilt)
			}
		}
	}
}

// Scopes that keep keyed policies from View to View choose as if they were new,
// whatever came and went: the scope by key, and the member by key.
func TestTopology_AgedIsAsFresh(t *testing.T) {
	for _, name := range kindNames {
		cfg := policy.TopologyConfig{ByKey: true, Seed: 3, Endpoint: func(uint64) (poise.Policy, error) {
			return keyedKinds[name](t, keyedConfig{small: true}), nil
		}}
		for topology, fresh := range map[string]func() poise.Policy{
			"Priority": func() poise.Policy { return newPriority(t, cfg) },
			"Locality": func() poise.Policy { return newLocality(t, cfg) },
		} {
			aged, scopes := fresh(), map[poise.ScopeChoice]bool{}
			for step := range 12 {
				samples := generation(t, step, 40)
				for i := range samples {
					samples[i].Priority = uint32(samples[i].ID[len("backend-0")]-'0') % 2
					samples[i].Locality = samples[i].ID[len(samples[i].ID)-1:]
					if samples[i].Priority == 0 && (i+step)%2 == 0 { // so that the next takes some
						samples[i].Status = poise.Unavailable
					}
				}
				old, anew := open(t, aged, samples), open(t, fresh(), samples)
				for k := range 100 {
					q := keyN("key", k)
					if got, want := old.identity(q), anew.identity(q); got != want {
						t.Fatalf("%s over %s, step %d: key %d goes to %s, afresh to %s", topology, name, step, k, got, want)
					}
					q.Why = new(poise.Decision)
					_ = old.identity(q)
					scopes[q.Why.Scope] = true
				}
			}
			if len(scopes) < 2 {
				t.Errorf("%s over %s: only the scopes %v were chosen", topology, name, scopes)
			}
		}
	}
}
