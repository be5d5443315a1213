package policy_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// The published picks of the keyed policies: every process, every version and the
// Rust sibling agree on them.

func checkPicks(t *testing.T, d desk, key func(int) poise.Query, want []int) {
	t.Helper()
	got := make([]int, len(want))
	for k := range got {
		got[k] = d.pick(t, key(k))
	}
	if !slices.Equal(got, want) {
		t.Errorf("picks %v, want %v", got, want)
	}
}

func textKey(k int) poise.Query { return keyN("key", k) }

func TestWeightedRendezvous_AssignsAsPublished(t *testing.T) {
	d := open(t, new(policy.WeightedRendezvous), weighted(t, named("a", "b", "c"), 1, 3, 6))
	checkPicks(t, d, number, []int{
		2, 2, 2, 2, 1, 2, 2, 0, 1, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 1, 1, 2, 2, 2, 0, 2, 1, 2, 1, 2, 1,
	})
	checkPicks(t, d, textKey, []int{1, 1, 1, 2, 2, 1, 2, 2, 2, 1, 2, 2, 1, 2, 1, 0})
	counts := make([]int, 3)
	for k := range 300_000 {
		counts[d.pick(t, number(k))]++
	}
	if want := []int{30_052, 89_536, 180_412}; !slices.Equal(counts, want) {
		t.Errorf("shares %v, want %v", counts, want)
	}
	if got := open(t, new(policy.WeightedRendezvous), weighted(t, named("small", "large"), 1, 4)).pick(t, text("customer-42")); got != 1 {
		t.Errorf("customer-42 goes to %d, want 1", got)
	}
}

func TestKeyedPolicies_AgreeOnTheZoneOfAnAccount(t *testing.T) {
	for _, name := range kindNames {
		if got := open(t, keyedKinds[name](t, keyedConfig{}), named("west", "east")).pick(t, text("account-42")); got != 0 {
			t.Errorf("%s: account-42 goes to %d, want 0", name, got)
		}
	}
}

func TestRingHash_AssignsAsPublished(t *testing.T) {
	d := open(t, newRingHash(t, policy.RingHashConfig{PointsPerWeight: 2}), weighted(t, named("a", "b", "c"), 1, 2, 1))
	checkPicks(t, d, number, []int{
		1, 2, 2, 1, 2, 1, 2, 2, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 2, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 1, 1, 0,
	})
	checkPicks(t, d, textKey, []int{1, 2, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 1, 1, 1, 1})
}

// The keys are four bytes wide, which no Key is, so the hash takes the others away.
func TestRingHash_SharesAsPublished(t *testing.T) {
	fourBytes := func(stream []byte) uint64 {
		if stream[0] == 5 {
			stream = stream[:5]
		}
		return uint64(poise.FNVBasis.Raw(string(stream)))
	}
	p := newRingHash(t, policy.RingHashConfig{PointsPerWeight: 512, Hash: fourBytes})
	d := open(t, p, weighted(t, named("a", "b", "c"), 1, 3, 6))
	counts := make([]int, 3)
	for k := range 200_000 {
		counts[d.pick(t, number(k))]++
	}
	if want := []int{19_567, 60_189, 120_244}; !slices.Equal(counts, want) {
		t.Errorf("shares %v, want %v", counts, want)
	}
}

func TestMaglev_AssignsAsPublished(t *testing.T) {
	d := open(t, newMaglev(t, policy.MaglevConfig{TableSize: 101}), named("a", "b", "c"))
	checkPicks(t, d, number, []int{
		2, 0, 0, 0, 0, 0, 1, 1, 2, 0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 2, 2, 1, 2, 0, 1, 1, 2,
	})
	checkPicks(t, d, textKey, []int{1, 1, 0, 1, 0, 0, 1, 2, 0, 1, 2, 0, 1, 0, 0, 0})
}

// Four members lose one: 25,406 of the keys move, 88 of them not the lost one's.
func TestMaglev_MovesAsPublished(t *testing.T) {
	full, left := open(t, new(policy.Maglev), named("a", "b", "c", "d")), open(t, new(policy.Maglev), named("a", "b", "c"))
	moved, others := 0, 0
	for k := range 100_000 {
		was, is := full.identity(number(k)), left.identity(number(k))
		if was != is {
			moved++
			if was != "d" {
				others++
			}
		}
	}
	if moved != 25_406 || others != 88 {
		t.Errorf("%d keys moved, %d of others; want 25406 and 88", moved, others)
	}
}

func TestBoundedLoadRendezvous_AssignsAsPublished(t *testing.T) {
	for _, row := range []struct {
		name     string
		percent  uint32
		samples  []poise.Sample
		query    poise.Query
		chosen   int
		capacity uint64
		spilled  bool
		owner    int
		load     uint64
	}{
		{"hot and cool", 150, named2(t, "hot", 100, "cool", 0), text("customer-42"), 1, 76, false, 0, 0},
		{"all idle", 100, loadedAs(t, "abc", 0, 0, 0), text("key-0"), 1, 1, false, 0, 0},
		{"another is busy", 100, loadedAs(t, "abc", 1, 0, 0), text("key-0"), 1, 1, false, 0, 0},
		{"the owner is full", 100, loadedAs(t, "abc", 1, 1, 0), text("key-0"), 2, 1, true, 1, 0},
		{"all alike", 100, loadedAs(t, "abc", 1, 1, 1), text("key-0"), 1, 2, false, 0, 1},
		{"weighted", 120, weighted(t, loadedAs(t, "abc", 3, 2, 5), 1, 2, 3), text("key-1"), 1, 5, false, 0, 2},
		{"alone", 100, loadedAs(t, "a", 3), text("any"), 0, 4, false, 0, 3},
		{"nine on the heavy one", 100, weighted(t, loadedAs(t, "ab", 0, 9), 1, 3), text("key-0"), 0, 3, true, 1, 0},
		{"ten to none", 100, loadedAs(t, "ab", 10, 0), number(0), 1, 6, true, 0, 0},
	} {
		p := newBoundedLoadRendezvous(t, policy.BoundedLoadRendezvousConfig{Percent: row.percent})
		d := open(t, p, row.samples)
		if got := d.pick(t, row.query); got != row.chosen {
			t.Errorf("%s: picked %d, want %d", row.name, got, row.chosen)
		}
		var why poise.Decision
		row.query.Why = &why
		if got := d.pick(t, row.query); got != row.chosen {
			t.Errorf("%s: picked %d when asked why, want %d", row.name, got, row.chosen)
		}
		bound, _ := why.Note(policy.NoteCapacity)
		owner, spilled := why.Note(policy.NoteOwner)
		if bound != row.capacity || why.Compared[0].Figure != row.load {
			t.Errorf("%s: load %d under %d, want %d under %d", row.name, why.Compared[0].Figure, bound, row.load, row.capacity)
		}
		if spilled != row.spilled || int(owner) != row.owner {
			t.Errorf("%s: spilled %v from %d, want %v from %d", row.name, spilled, owner, row.spilled, row.owner)
		}
	}
}

func named2(t reporter, a string, loadA uint64, b string, loadB uint64) []poise.Sample {
	samples := named(a, b)
	samples[0].Load, samples[1].Load = holding(t, loadA), holding(t, loadB)
	return samples
}

// loadedAs returns candidates named by the letters.
func loadedAs(t reporter, letters string, loads ...uint64) []poise.Sample {
	t.Helper()
	samples := loaded(t, loads...)
	for i := range samples {
		samples[i].ID = letters[i : i+1]
	}
	return samples
}

// Scores of the former example of an encyclopedia: the hash of each of three
// candidates as a number between 0 and 1, weights 100, 200, 300.
func TestScore_AgreesWithAPublishedExample(t *testing.T) {
	want := []float64{159.2184034, 254.8007892, 746.9550843}
	best := 0
	for k, u := range []float64{0.53362170996302016, 0.45615303384155259, 0.66922792958109967} {
		hash := (uint64(u*(1<<53)) - 1) << 11
		score := 1 / poise.Score(hash, weightOf(t, uint32(100*(k+1))))
		if math.Abs(score/want[k]-1) > 1e-9 {
			t.Errorf("score %v, want %v", score, want[k])
		}
		if score > want[best] {
			best = k
		}
	}
	if best != 2 {
		t.Errorf("the winner is %d, want 2", best)
	}
}

// closedLoop places requests one after the other and ends none. It returns the loads
// at the end and how many went elsewhere than to the owner.
func closedLoop(t *testing.T, percent uint32, weights []uint32, requests int) (loads []uint64, spills int) {
	t.Helper()
	samples := weighted(t, backends(len(weights)), weights...)
	d := open(t, newBoundedLoadRendezvous(t, policy.BoundedLoadRendezvousConfig{Percent: percent}), samples)
	sum := uint64(0)
	for _, w := range weights {
		sum += uint64(w)
	}
	for k := range requests {
		q := number(k)
		plain := d.pick(t, q)
		var why poise.Decision
		q.Why = &why
		chosen := d.pick(t, q)
		if chosen != plain {
			t.Fatalf("request %d: %d when asked why, %d without", k, chosen, plain)
		}
		// All of them are small, so that this is exact in 64 bits.
		bound := (uint64(percent)*uint64(k+1)*uint64(weights[chosen]) + 100*sum - 1) / (100 * sum)
		load := d.view.InFlight(chosen).Current()
		told, _ := why.Note(policy.NoteCapacity)
		owner, spilled := why.Note(policy.NoteOwner)
		if told != bound || load >= bound || why.Compared[0].Figure != load {
			t.Fatalf("request %d: load %d, capacity %d, want %d", k, load, told, bound)
		}
		if spilled {
			spills++
			full := (uint64(percent)*uint64(k+1)*uint64(weights[owner]) + 100*sum - 1) / (100 * sum)
			if d.view.InFlight(int(owner)).Current() < full {
				t.Fatalf("request %d spilled from an owner with room", k)
			}
		}
		if _, err := d.view.InFlight(chosen).Acquire(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range samples {
		loads = append(loads, d.view.InFlight(i).Current())
		if total := uint64(requests) * uint64(weights[i]); loads[i] > (uint64(percent)*total+100*sum-1)/(100*sum) {
			t.Errorf("%d %% over %v: candidate %d ends with %d", percent, weights, i, loads[i])
		} else if percent == 100 && loads[i] < total/sum {
			t.Errorf("100 %% over %v: candidate %d ends with %d, under its share", weights, i, loads[i])
		}
	}
	return loads, spills
}

// Claim: The capacity of a candidate is the percentage of its weight's share of the loads read plus one, rounded up.
//
// Claim: BoundedLoadRendezvous says in Query.Why the capacity of the candidate, and who the owner is where it spilled.
func TestBoundedLoadRendezvous_ClosedLoopAsPublished(t *testing.T) {
	published := map[string]string{
		"100 [1]": "[400] 0", "150 [1]": "[400] 0",
		"100 [1 1]": "[200 200] 104", "150 [1 1]": "[202 198] 0",
		"100 [1 3]": "[100 300] 60", "150 [1 3]": "[105 295] 1",
		"100 [1 1 1]": "[133 133 134] 120", "150 [1 1 1]": "[149 130 121] 3",
		"100 [1 2 3]": "[66 134 200] 128", "150 [1 2 3]": "[67 136 197] 5",
		"100 [5 1 1 1]": "[250 50 50 50] 100", "150 [5 1 1 1]": "[263 45 51 41] 2",
		"100 [1 2 3 4 5]": "[27 53 80 107 133] 165", "150 [1 2 3 4 5]": "[23 44 77 96 160] 3",
	}
	compared := 0
	for _, weights := range [][]uint32{{1}, {1, 1}, {1, 3}, {1, 1, 1}, {1, 2, 3}, {5, 1, 1, 1}, {1, 2, 3, 4, 5}} {
		for _, percent := range []uint32{100, 120, 150, 300} {
			loads, spills := closedLoop(t, percent, weights, 400)
			got, row := fmt.Sprint(loads, spills), fmt.Sprint(percent, " ", weights)
			if want, known := published[row]; known {
				compared++
				if got != want {
					t.Errorf("%s: loads and spills %s, want %s", row, got, want)
				}
			}
		}
	}
	if compared != len(published) {
		t.Errorf("compared %d of %d published rows", compared, len(published))
	}
}

// keysOf hashes as FNV-1a does, from the stream.
func plainFNV(stream []byte) uint64 { return uint64(poise.FNVBasis.Raw(string(stream))) }

// A custom hash gets the streams that the default hash reads: given the default
// hash as a custom one, every policy picks as before.
func TestKeyedPolicies_GiveACustomHashTheWholeStream(t *testing.T) {
	samples := weighted(t, loaded(t, 3, 0, 2, 5, 1, 0, 9), 3, 1, 2, 5, 1, 1, 4)
	keys := []poise.Key{poise.StringKey(""), poise.BytesKey(nil), poise.BytesKey([]byte("bytes")), poise.Uint64Key(1 << 60)}
	for k := range uint64(300) {
		keys = append(keys, poise.Uint64Key(k), poise.StringKey(fmt.Sprint(k)), poise.BytesKey(binary.BigEndian.AppendUint64(nil, k)))
	}
	for _, name := range kindNames {
		plain, custom := open(t, keyedKinds[name](t, keyedConfig{}), samples), open(t, keyedKinds[name](t, keyedConfig{hash: plainFNV}), samples)
		turned := open(t, keyedKinds[name](t, keyedConfig{hash: func(stream []byte) uint64 { return ^plainFNV(stream) }}), samples)
		moved := 0
		for k, key := range keys {
			q := poise.Query{Key: key, Tried: retried(samples, k%7)}
			if got, want := custom.pick(t, poise.Query{Key: key}), plain.pick(t, poise.Query{Key: key}); got != want {
				t.Fatalf("%s: key %d goes to %d with the hash as a custom one, and to %d without", name, k, got, want)
			}
			if got, want := custom.pick(t, q), plain.pick(t, q); got != want {
				t.Fatalf("%s: key %d walks on to %d with the hash as a custom one, and to %d without", name, k, got, want)
			}
			if turned.identity(poise.Query{Key: key}) != plain.identity(poise.Query{Key: key}) {
				moved++
			}
		}
		if moved < len(keys)/4 {
			t.Errorf("%s: another hash moves only %d of %d keys", name, moved, len(keys))
		}
	}
}
