package policy

import (
	"iter"
	"slices"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// rank is what one candidate has to offer for a key.
type rank struct {
	index    int
	position int
	hash     uint64
}

// ranked lists the eligible candidates of the View by their hash with the key, in
// the order of compare, for which no two are equal.
func ranked(v *poise.View, rows *identityRows, custom *streamHash, key poise.Key, compare func(a, b rank) int) iter.Seq[int] {
	return func(yield func(int) bool) {
		if key.IsZero() {
			return
		}
		ranks := make([]rank, v.EligibleLen())
		m := newKeyHasher(rows, custom, key)
		for position := range ranks {
			ranks[position] = rank{v.Eligible(position), position, m.hash(position)}
		}
		m.part()
		slices.SortFunc(ranks, compare)
		for _, r := range ranks {
			if !yield(r.index) {
				return
			}
		}
	}
}
