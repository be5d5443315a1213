// Explorable.

package policy

import (
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// maxRowBytes is the most that the rows of one identityRows may take.
const maxRowBytes = 16 << 20

// identityRows holds, for a list of identities, what makes it cheap to hash a key
// with each of them.
//
// FNV-1a takes a byte b into its state h by h' = (h ^ b)·p. With lo = h mod 256,
// h ^ b = h + ((lo ^ b) - lo), and the low byte of h' depends on lo alone. So the
// state after an identity of L bytes is s·p^L + c, where c depends on the identity
// and the low byte of s. One row of constants for each low byte replaces hashing
// the identities again for each key.
//
// It does not change once it is made, and Views with the same list share one.
type identityRows struct {
	ids []string // with their terminators they are the streams
	// power[k] is p^L of identity k.
	power []uint64
	// constants are 256 rows, each of one constant for each identity; nil where they
	// would take more than the limit, or a custom hash has no use for them.
	constants []uint64
}

// newIdentityRows returns the rows of the eligible candidates of v, in their
// order. What old holds of them is taken from there. Rows that would take more
// bytes than the limit are left out.
func newIdentityRows(v *poise.View, old *identityRows, limit int) *identityRows {
	if old == nil {
		old = &identityRows{}
	}
	if old.lists(v) {
		return old
	}
	_, ids := eligible(v)
	n := len(ids)
	if limit/256/8 < n {
		return &identityRows{ids: ids}
	}
	from := old.columns(v)
	rows := &identityRows{ids: ids, power: make([]uint64, n), constants: make([]uint64, 256*n)}
	rows.reuse(old, from)
	var fresh []int
	for position := range ids {
		if from[position] < 0 {
			fresh = append(fresh, position)
		}
	}
	rows.compute(fresh)
	return rows
}

// columns returns, for each eligible candidate of v, the column of r with its
// identity, or -1.
func (r *identityRows) columns(v *poise.View) []int {
	from := make([]int, v.EligibleLen())
	for position := range from {
		from[position] = -1
	}
	if r.constants == nil {
		return from
	}
	for column, id := range r.ids {
		index, found := v.Lookup(id)
		if found && v.Reason(index) == poise.NotExcluded {
			from[v.NextEligible(index)] = column
		}
	}
	return from
}

// lists reports whether the identities are those of the eligible candidates of v,
// in their order.
func (r *identityRows) lists(v *poise.View) bool {
	if len(r.ids) != v.EligibleLen() {
		return false
	}
	for position, id := range r.ids {
		if s, err := v.Sample(v.Eligible(position)); err != nil || s.ID != id {
			return false
		}
	}
	return true
}

// reuse copies the columns that old has, in runs as long as they go.
func (r *identityRows) reuse(old *identityRows, from []int) {
	n, m := len(r.ids), len(old.ids)
	for position := 0; position < n; {
		column, length := from[position], 1
		if column < 0 {
			position++
			continue
		}
		for position+length < n && from[position+length] == column+length {
			length++
		}
		copy(r.power[position:position+length], old.power[column:])
		for low := range 256 {
			copy(r.constants[low*n+position:low*n+position+length], old.constants[low*m+column:])
		}
		position += length
	}
}

// compute fills the columns at the positions. It goes through them in blocks as
// wide as a cache line, so that each line is written at once.
func (r *identityRows) compute(positions []int) {
	const block = 8
	n := len(r.ids)
	for len(positions) > 0 {
		some := positions[:min(block, len(positions))]
		positions = positions[len(some):]
		for _, position := range some {
			r.power[position] = primePower(len(r.ids[position]) + 1)
		}
		for low := range 256 {
			for _, position := range some {
				state := poise.FNV(low).String(r.ids[position])
				r.constants[low*n+position] = uint64(state) - uint64(low)*r.power[position]
			}
		}
	}
}

// primePower returns the prime of FNV to the power of length.
func primePower(length int) uint64 {
	power := uint64(1)
	for range length {
		power *= uint64(poise.FNV(1).Byte(0)) // the prime itself
	}
	return power
}

// row returns the row for a state before the identities; empty where there are no
// rows.
func (r *identityRows) row(state poise.FNV) []uint64 {
	if r.constants == nil {
		return nil
	}
	n := len(r.ids)
	first := int(state&0xff) * n
	return r.constants[first : first+n : first+n]
}

// carryRows returns the rows for the View and keeps them for the next one. With a
// custom hash there is only the list.
func carryRows(newest *syncx.Pointer[identityRows], v *poise.View, hash func([]byte) uint64) *identityRows {
	if hash != nil {
		return newIdentityRows(v, nil, 0)
	}
	old := newest.Load()
	rows := newIdentityRows(v, old, maxRowBytes)
	if rows != old {
		newest.Store(rows)
	}
	return rows
}
