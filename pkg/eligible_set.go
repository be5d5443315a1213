package poise

import "math/bits"

// eligibleSet is a set of indices that never changes, as a list and as bits. The
// zero value is empty.
type eligibleSet struct {
	list   []uint32        // ascending
	blocks []eligibleBlock // of 64 indices each
}

// eligibleBlock says which of 64 indices are in the set, and how many are before
// them.
type eligibleBlock struct {
	bits   uint64
	before uint32
}

// newEligibleSet returns the set of an ascending list of indices below n.
func newEligibleSet(n int, list []uint32) eligibleSet {
	s := eligibleSet{list: list, blocks: make([]eligibleBlock, (n+63)/64)}
	for _, i := range list {
		s.blocks[i/64].bits |= 1 << (i % 64)
	}
	s.count()
	return s
}

// count fills in how many are before each block.
func (s *eligibleSet) count() {
	before := 0
	for b := range s.blocks {
		s.blocks[b].before = uint32(before)
		before += bits.OnesCount64(s.blocks[b].bits)
	}
}

// has reports whether the index is in the set. An index out of range is not.
func (s *eligibleSet) has(index int) bool {
	b := uint(index) / 64
	return b < uint(len(s.blocks)) && s.blocks[b].bits>>(uint(index)%64)&1 != 0
}

// before returns how many of the set are below the index.
func (s *eligibleSet) before(index int) int {
	b := uint(index) / 64
	if b >= uint(len(s.blocks)) {
		return len(s.list)
	}
	below := s.blocks[b].bits & (1<<(uint(index)%64) - 1)
	return int(s.blocks[b].before) + bits.OnesCount64(below)
}

// toggled returns the set of indices below n in which exactly those of an ascending
// list have come or gone.
func (s *eligibleSet) toggled(n int, flips []uint32) eligibleSet {
	next := eligibleSet{
		list:   make([]uint32, 0, len(s.list)+len(flips)),
		blocks: make([]eligibleBlock, (n+63)/64),
	}
	copy(next.blocks, s.blocks)
	from := 0
	for _, i := range flips {
		to := s.before(int(i))
		next.list = append(next.list, s.list[from:to]...)
		if from = to; s.has(int(i)) {
			from++
		} else {
			next.list = append(next.list, i)
		}
		next.blocks[i/64].bits ^= 1 << (i % 64)
	}
	next.list = append(next.list, s.list[from:]...)
	next.count()
	return next
}
