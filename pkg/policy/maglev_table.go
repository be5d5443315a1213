package policy

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// maglevTable says which member each slot belongs to. It does not change once it
// is made, and knows identities but no View.
type maglevTable struct {
	generation uint64
	ids        []string // the members, in the order in which they took slots
	// slots hold members; empty where there is none.
	slots []uint32
	// reciprocal is 2^64 over the number of slots, rounded down, or one less.
	reciprocal uint64
}

// permutation is the order in which a member wants the slots.
type permutation struct {
	offset, skip uint32
}

// maglevMember is what the hashes of one identity decide.
type maglevMember struct {
	id            string
	walk          walk
	order, orders uint64
}

func newMaglevMember(id string, size uint32, custom *streamHash) maglevMember {
	return maglevMember{
		id: id,
		walk: newWalk(permutation{
			offset: uint32(custom.identity(domainMaglevOffset, id) % uint64(size)),
			skip:   uint32(custom.identity(domainMaglevSkip, id)%uint64(size-1)) + 1,
		}, size),
		order:  custom.identity(domainMaglevOrder, id),
		orders: custom.identity(domainMaglevOrderToo, id),
	}
}

// takesTurnBefore orders members by their turns. The last resort is the identity, so
// that the order of the candidates decides nothing.
func (m *maglevMember) takesTurnBefore(other *maglevMember) int {
	return cmp.Or(cmp.Compare(m.order, other.order), cmp.Compare(m.orders, other.orders), cmp.Compare(m.id, other.id))
}

// newMaglevTable returns the table of the identities, which are at most size.
func newMaglevTable(ids []string, size uint32, custom *streamHash) *maglevTable {
	members := make([]maglevMember, len(ids))
	for k, id := range ids {
		members[k] = newMaglevMember(id, size, custom)
	}
	slices.SortFunc(members, func(a, b maglevMember) int { return a.takesTurnBefore(&b) })
	sorted, walks := make([]string, len(members)), make([]walk, len(members))
	for k := range members {
		sorted[k], walks[k] = members[k].id, members[k].walk
	}
	return newMaglevTableOf(sorted, walks, size)
}

// newMaglevTableOf returns the table of members in the order of their turns. It uses
// the walks up.
func newMaglevTableOf(ids []string, walks []walk, size uint32) *maglevTable {
	return &maglevTable{ids: ids, slots: fill(walks, size), reciprocal: math.MaxUint64 / uint64(size)}
}

// fill lets the members take turns, each with the next slot of its permutation
// that is free, until none is. The number of slots must be prime: then every
// permutation visits all. The walks are where the members stand.
func fill(walks []walk, size uint32) []uint32 {
	if len(walks) == 0 {
		return nil
	}
	slots := make([]uint32, size)
	// The taken slots as bits, which fit a cache that the table would not.
	taken := make([]uint64, size/64+1)
	for left := size; ; {
		for k := range walks {
			at, stride := walks[k].at, walks[k].stride
			slot, _ := bits.Mul64(at, uint64(size))
			for taken[slot/64]>>(slot%64)&1 != 0 {
				at += stride
				slot, _ = bits.Mul64(at, uint64(size))
			}
			slots[slot] = uint32(k)
			taken[slot/64] |= 1 << (slot % 64)
			walks[k].at = at
			if left--; left == 0 {
				return slots
			}
		}
	}
}

// walk is where a member stands in its permutation: in parts of the circle that
// all slots make, in units of 2^-64, so that going round is the overflow of an
// addition and takes no comparison.
//
// It begins in the middle of a slot and falls behind by less than a unit a step.
// After size steps, when it has seen all slots, that is less than size, far less
// than the half of a slot, which is more than 2^40 units.
type walk struct{ at, stride uint64 }

func newWalk(p permutation, size uint32) walk {
	begin, _ := bits.Div64(uint64(p.offset), 0, uint64(size))
	stride, _ := bits.Div64(uint64(p.skip), 0, uint64(size))
	return walk{at: begin + 1<<63/uint64(size), stride: stride}
}

// slot returns the hash modulo the number of slots. The quotient by the reciprocal
// is the true one or one less.
func (t *maglevTable) slot(hash uint64) uint64 {
	size := uint64(len(t.slots))
	quotient, _ := bits.Mul64(hash, t.reciprocal)
	slot := hash - quotient*size
	if slot >= size {
		slot -= size
	}
	return slot
}

// after returns the slot after one, going round.
func (t *maglevTable) after(slot uint64) uint64 {
	if slot++; slot < uint64(len(t.slots)) {
		return slot
	}
	return 0
}

// isPrime reports whether v, from 2, is prime.
func isPrime(v uint32) bool {
	for divisor := uint64(2); divisor*divisor <= uint64(v); divisor++ {
		if uint64(v)%divisor == 0 {
			return false
		}
	}
	return true
}
