package policy

import (
	"slices"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// maglevTurns are the candidates of a View in the order of their turns, eligible or
// not, so that a change of health hashes and sorts nobody. It does not change once it
// is made.
type maglevTurns struct {
	view    *poise.View
	members []maglevMember
	indices []uint32 // of the candidates, by member
	known   []bool   // by candidate: it is a member
	// table is that of the eligible members, and owners are their indices, by member
	// of the table.
	table  *maglevTable
	owners []uint32
}

// on returns the turns on another View, with its table. It asks for no more than what
// changed, where the View knows that. fresh says that the table is new.
func (t *maglevTurns) on(v *poise.View, size uint32, custom *streamHash) (next *maglevTurns, fresh bool) {
	next = &maglevTurns{view: v, members: t.members, indices: t.indices, known: t.known, table: t.table, owners: t.owners}
	changed, related := v.ChangedSince(t.view)
	if !related {
		next.find()
		next.newKeyHasher(size, custom)
		return next, next.choose(size)
	}
	same, met := true, true
	for _, i := range changed {
		is, was := v.Reason(i) == poise.NotExcluded, t.view.Reason(i) == poise.NotExcluded
		same = same && is == was
		met = met && (!is || i < len(t.known) && t.known[i])
	}
	if same {
		return next, false
	}
	if !met {
		next.known = append(make([]bool, 0, v.Len()), t.known...)[:v.Len()]
		next.newKeyHasher(size, custom)
	}
	return next, next.choose(size)
}

// find looks for the members in the View, and leaves out those that it does not have.
func (t *maglevTurns) find() {
	members := make([]maglevMember, 0, len(t.members))
	t.indices, t.known = make([]uint32, 0, len(t.members)), make([]bool, t.view.Len())
	for _, m := range t.members {
		if i, found := t.view.Lookup(m.id); found {
			members, t.indices, t.known[i] = append(members, m), append(t.indices, uint32(i)), true
		}
	}
	t.members = members
}

// newKeyHasher makes members of the candidates that are none yet; in a scope only of the
// eligible.
func (t *maglevTurns) newKeyHasher(size uint32, custom *streamHash) {
	type turn struct {
		maglevMember
		index uint32
	}
	var turns []turn
	for i := range t.known {
		if t.known[i] || t.view.IsScope() && t.view.Reason(i) != poise.NotExcluded {
			continue
		}
		s, _ := t.view.Sample(i) // in range
		turns, t.known[i] = append(turns, turn{newMaglevMember(s.ID, size, custom), uint32(i)}), true
	}
	if turns == nil {
		return
	}
	slices.SortFunc(turns, func(a, b turn) int { return a.takesTurnBefore(&b.maglevMember) })
	n := len(t.members) + len(turns)
	members, indices := make([]maglevMember, 0, n), make([]uint32, 0, n)
	for k := range t.members {
		for len(turns) > 0 && turns[0].takesTurnBefore(&t.members[k]) < 0 {
			members, indices = append(members, turns[0].maglevMember), append(indices, turns[0].index)
			turns = turns[1:]
		}
		members, indices = append(members, t.members[k]), append(indices, t.indices[k])
	}
	for _, turn := range turns {
		members, indices = append(members, turn.maglevMember), append(indices, turn.index)
	}
	t.members, t.indices = members, indices
}

// choose finds the eligible members and their table. It reports whether it made one.
func (t *maglevTurns) choose(size uint32) (fresh bool) {
	n := t.view.EligibleLen()
	t.owners = make([]uint32, 0, n)
	ids, walks := make([]string, 0, n), make([]walk, 0, n)
	for k, i := range t.indices {
		if t.view.Reason(int(i)) == poise.NotExcluded {
			t.owners = append(t.owners, i)
			ids, walks = append(ids, t.members[k].id), append(walks, t.members[k].walk)
		}
	}
	if slices.Equal(ids, t.table.ids) {
		return false
	}
	t.table = newMaglevTableOf(ids, walks, size)
	return true
}
