package policy

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/big"
	"math/bits"
	"slices"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"pgregory.net/rapid"
)

// The tables of the paper and of a proxy's own tests, filled from given offsets and
// skips.
func TestFill_MakesThePublishedTables(t *testing.T) {
	for _, row := range []struct {
		name         string
		permutations []permutation
		want         []uint32
	}{
		{"table 1 of the Maglev paper, all alive", []permutation{{3, 4}, {0, 2}, {3, 1}}, []uint32{1, 0, 1, 0, 2, 2, 0}},
		{"table 1 of the Maglev paper, the middle one gone", []permutation{{3, 4}, {3, 1}}, []uint32{0, 0, 0, 0, 1, 1, 1}},
		{
			"six addresses, by XXH64",
			[]permutation{{2, 4}, {3, 6}, {0, 2}, {3, 3}, {1, 3}, {1, 5}},
			[]uint32{2, 4, 0, 1, 5, 0, 3},
		},
		{
			"six names, by XXH64",
			[]permutation{{6, 6}, {5, 5}, {0, 2}, {3, 2}, {4, 1}, {4, 1}},
			[]uint32{2, 5, 0, 3, 4, 1, 0},
		},
	} {
		if got := fill(walksOf(row.permutations, 7), 7); !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}

// walksOf returns the walks along the permutations.
func walksOf(permutations []permutation, size uint32) []walk {
	walks := make([]walk, len(permutations))
	for k, p := range permutations {
		walks[k] = newWalk(p, size)
	}
	return walks
}

// inOrderOf returns the slots of a table as places in the list of names.
func (t *maglevTable) inOrderOf(names []string) []uint32 {
	list := make([]uint32, len(t.slots))
	for slot, member := range t.slots {
		list[slot] = uint32(slices.Index(names, t.ids[member]))
	}
	return list
}

func digest(indices []uint32) uint64 {
	h := fnv.New64a()
	for _, i := range indices {
		_, _ = h.Write(binary.LittleEndian.AppendUint32(nil, i))
	}
	return h.Sum64()
}

func TestMaglevTable_IsThePublishedOne(t *testing.T) {
	names := []string{"a", "b", "c"}
	for size, want := range map[uint32][]uint32{
		11: {1, 2, 1, 2, 1, 0, 0, 2, 0, 1, 0},
		101: {
			0, 0, 1, 2, 2, 1, 0, 1, 1, 2, 1, 2, 2, 1, 0, 0, 1, 2, 2, 2, 0, 0, 1, 2, 1, 2, 2, 1, 1, 2, 1, 2, 2, 2,
			1, 0, 1, 2, 1, 2, 2, 1, 1, 2, 1, 2, 2, 2, 2, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 0, 0, 0, 0, 0, 0, 1, 0,
			0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 1, 2, 0, 1, 0, 0, 1, 2, 2, 1, 0, 1, 0, 2, 1, 2, 0, 1,
		},
	} {
		if got := newMaglevTable(names, size, nil).inOrderOf(names); !slices.Equal(got, want) {
			t.Errorf("%d slots: %v, want %v", size, got, want)
		}
	}
	large := newMaglevTable(names, 65_537, nil).inOrderOf(names)
	if got := digest(large); got != 0x0f020bfaba4234b7 {
		t.Errorf("the table of 65537 slots has digest %016x", got)
	}
	if want := []uint32{0, 0, 0, 2, 2, 0, 1, 1, 2, 1, 2, 2, 0, 1, 0, 0}; !slices.Equal(large[:16], want) {
		t.Errorf("the table of 65537 slots begins %v, want %v", large[:16], want)
	}
}

func TestMaglevPermutations_AreThePublishedOnes(t *testing.T) {
	var none *streamHash
	for _, row := range []struct {
		id     string
		hashes [4]uint64
	}{
		{"a", [4]uint64{0xced4826a3ec5d524, 0xb83c4c2eb7fcf568, 0x0025ea7a1cee23f4, 0x30ed01e5e2bcd9cb}},
		{"b", [4]uint64{0x0def8897e26cefc4, 0xbfd443a47c49bb12, 0x89a869a1d15c1f82, 0x5c56a77eb7a7b2ff}},
		{"c", [4]uint64{0x978958d5b4af345e, 0xa1126316592e15ef, 0xfb2135fdd2b883e1, 0x643a20902c241e64}},
	} {
		domains := []byte{domainMaglevOffset, domainMaglevSkip, domainMaglevOrder, domainMaglevOrderToo}
		for k, domain := range domains {
			if got := none.identity(domain, row.id); got != row.hashes[k] {
				t.Errorf("%s in domain %d: %016x, want %016x", row.id, domain, got, row.hashes[k])
			}
		}
	}
}

// Where the hashes that order the turns agree, the second of them decides, and then
// the identity.
func TestMaglevTable_OrdersTurns(t *testing.T) {
	for _, row := range []struct {
		name string
		tied []byte // domains in which all hash alike
		want string // whoever hashes lower comes first
	}{
		{"nothing tied", nil, "cba"},
		{"the first hash tied", []byte{domainMaglevOrder}, "bca"},
		{"both tied", []byte{domainMaglevOrder, domainMaglevOrderToo}, "abc"},
	} {
		order := map[byte]string{domainMaglevOrder: "cba", domainMaglevOrderToo: "bca"}
		custom := newStreamHash(func(stream []byte) uint64 {
			domain := stream[0]
			if slices.Contains(row.tied, domain) {
				return 1
			}
			// Ascending after mixing: the first of a few numbers by their mixed values.
			numbers := []uint64{1, 2, 3}
			slices.SortFunc(numbers, func(a, b uint64) int { return cmp.Compare(poise.Mix64(a), poise.Mix64(b)) })
			return numbers[max(strings.IndexByte(order[domain], stream[1]), 0)]
		})
		if got := strings.Join(newMaglevTable([]string{"c", "a", "b"}, 7, custom).ids, ""); got != row.want {
			t.Errorf("%s: the turns go %s, want %s", row.name, got, row.want)
		}
	}
}

// plainFill is fill as the paper has it: whole permutations, and a table of who
// took what.
func plainFill(permutations []permutation, size uint64) []uint32 {
	slots := make([]uint32, size)
	taken := make([]bool, size)
	turn := make([]uint64, len(permutations))
	for filled := uint64(0); ; {
		for k, p := range permutations {
			for {
				slot := (uint64(p.offset) + turn[k]*uint64(p.skip)) % size
				turn[k]++
				if !taken[slot] {
					slots[slot], taken[slot] = uint32(k), true
					break
				}
			}
			if filled++; filled == size {
				return slots
			}
		}
	}
}

// primesToTry are table sizes at the edges.
var primesToTry = []uint32{2, 3, 5, 7, 61, 67, 101, 127, 131, 997, 65_537}

func TestFill_IsItsPlainTwin_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom(primesToTry[:len(primesToTry)-1]).Draw(t, "size")
		permutations := make([]permutation, rapid.IntRange(1, int(min(size, 80))).Draw(t, "members"))
		for k := range permutations {
			permutations[k] = permutation{
				rapid.Uint32Range(0, size-1).Draw(t, "offset"),
				rapid.Uint32Range(1, max(size-1, 1)).Draw(t, "skip"),
			}
		}
		if got, want := fill(walksOf(permutations, size), size), plainFill(permutations, uint64(size)); !slices.Equal(got, want) {
			t.Fatalf("%v over %d: %v, want %v", permutations, size, got, want)
		}
	})
}

// A walk falls behind a little with each step, but never out of its slot: not in
// the largest table, with the strides that divide worst.
func TestWalk_IsTheRemainderToTheLastStep(t *testing.T) {
	for _, size := range []uint32{2, 3, 251, DefaultTableSize, MaxTableSize} {
		for _, skip := range []uint32{1, 2, size / 2, size/2 + 1, size / 3, size - 1} {
			if skip %= size; skip == 0 {
				continue
			}
			for _, offset := range []uint32{0, size / 2, size - 1} {
				w, want := newWalk(permutation{offset, skip}, size), offset
				for range size {
					if got, _ := bits.Mul64(w.at, uint64(size)); got != uint64(want) {
						t.Fatalf("%d slots, from %d by %d: at %d, want %d", size, offset, skip, got, want)
					}
					w.at += w.stride
					want = (want + skip) % size
				}
			}
		}
	}
}

// Claim: The slots of two candidates differ in number by at most one.
// Code: fill
func TestMaglevTable_SharesDifferByOneSlot_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom(primesToTry[:len(primesToTry)-1]).Draw(t, "size")
		ids := make([]string, rapid.IntRange(1, int(min(size, 200))).Draw(t, "members"))
		first := rapid.Uint32().Draw(t, "first name")
		for k := range ids {
			ids[k] = fmt.Sprint("member-", first, "-", k)
		}
		counts := make([]int, len(ids))
		for _, member := range newMaglevTable(ids, size, nil).slots {
			counts[member]++
		}
		if slices.Max(counts)-slices.Min(counts) > 1 {
			t.Fatalf("%d members over %d slots: %v", len(ids), size, counts)
		}
	})
}

// Of a thousand members no one has more than 1.0071 times the mean (Eisenbud et al.,
// figure 11: next to no overprovision at 65537 slots).
func TestMaglevTable_OverprovisionsLittle(t *testing.T) {
	ids := make([]string, 1000)
	for k := range ids {
		ids[k] = fmt.Sprint("member-", k)
	}
	counts := make([]int, len(ids))
	for _, member := range newMaglevTable(ids, 65_537, nil).slots {
		counts[member]++
	}
	if most, least := slices.Max(counts), slices.Min(counts); most != 66 || least != 65 {
		t.Errorf("shares of %d to %d slots, want 65 and 66", least, most)
	}
}

// The reciprocal gives the true remainder for every hash, above all where the
// quotient changes.
func TestMaglevTable_SlotIsTheRemainder_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.SampledFrom(append(primesToTry, MaxTableSize)), rapid.Uint32Range(2, MaxTableSize)).Draw(t, "size")
		hash := rapid.Uint64().Draw(t, "hash")
		if rapid.Bool().Draw(t, "edge") {
			hash = hash/uint64(size)*uint64(size) + uint64(rapid.IntRange(-1, 1).Draw(t, "beside"))
		}
		table := newMaglevTable([]string{"a"}, 2, nil)
		table.slots, table.reciprocal = make([]uint32, size), (1<<64-1)/uint64(size)
		if got := table.slot(hash); got != hash%uint64(size) {
			t.Fatalf("%d mod %d is %d", hash, size, got)
		}
	})
	for size := uint64(2); size < 3000; size++ {
		table := maglevTable{slots: make([]uint32, size), reciprocal: (1<<64 - 1) / size}
		for _, hash := range []uint64{0, 1, size - 1, size, 1<<63 - 1, 1 << 63, -size, 1<<64 - 2, 1<<64 - 1} {
			if got := table.slot(hash); got != hash%size {
				t.Fatalf("%d mod %d is %d", hash, size, got)
			}
		}
	}
}

func TestIsPrime_AgreesWithTheStandardLibrary(t *testing.T) {
	for v := uint32(2); v < 10_000; v++ {
		if got, want := isPrime(v), big.NewInt(int64(v)).ProbablyPrime(0); got != want {
			t.Errorf("%d: %v", v, got)
		}
	}
	for _, v := range []uint32{65_521, 65_537, 655_373, 104_323, MaxTableSize, 4_294_967_291} {
		if !isPrime(v) {
			t.Errorf("%d is prime", v)
		}
	}
	for _, v := range []uint32{104_312, 65_536, 5_000_009, 4_294_967_295, 65_521 * 65_521} {
		if isPrime(v) {
			t.Errorf("%d is not prime", v)
		}
	}
}
