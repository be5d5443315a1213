package policy

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// fullTraffic is all of the traffic, in the unit in which capacity is shared out.
const fullTraffic = 1_000_000

// group is the members of one priority that are not draining, with their weights
// summed. No sum can overflow: a View holds fewer than 2^32 candidates, each of a
// weight below 2^32.
type group struct {
	priority uint32
	zones    []*zone // by name
	tally
	panics  bool
	rejects bool   // panics, and the config says to fail closed
	traffic uint64 // out of the sum over all groups
}

// zone is the members of a group in one locality; all of them, where localities
// do not matter.
type zone struct {
	locality string
	weight   uint32 // as configured
	// effective is the weight times the available part in millionths.
	effective uint64
	members   []member
	tally
}

// tally sums weights: of all members, of the eligible ones, and of those that
// count in a panic.
type tally struct {
	total, eligible, inPanic uint64
}

type member struct {
	index    int
	eligible bool
	inPanic  bool
}

func (t *tally) add(m member, weight uint64) {
	t.total += weight
	if m.eligible {
		t.eligible += weight
	}
	if m.inPanic {
		t.inPanic += weight
	}
}

// available returns the weight of those that the group uses. To fail closed is to
// use nobody else than the eligible.
func (g *group) available(t *tally) uint64 {
	if g.panics && !g.rejects {
		return t.inPanic
	}
	return t.eligible
}

// used returns the indices of the members of a zone that the group uses.
func (g *group) used(z *zone) []int {
	var indices []int
	for _, m := range z.members {
		if m.eligible || g.panics && !g.rejects && m.inPanic {
			indices = append(indices, m.index)
		}
	}
	return indices
}

// plan shares the traffic out among priorities, and the traffic of each among its
// localities. It decides everything about a topology but who is drawn.
func plan(v *poise.View, cfg TopologyConfig, localities bool) ([]*group, error) {
	groups := groupByPriority(v, localities)
	shareOut(groups, cfg)
	if !localities {
		return groups, nil
	}
	for _, g := range groups {
		var sum uint64
		for _, z := range g.zones {
			z.effective = uint64(z.weight) * units(g.available(&z.tally), z.total, cfg.Overprovisioning)
			var carry uint64
			if sum, carry = bits.Add64(sum, z.effective, 0); carry != 0 {
				return nil, &poise.FieldError{Field: "LocalityWeight", Value: z.weight, Err: poise.ErrWeightOverflow}
			}
		}
	}
	return groups, nil
}

// groupByPriority returns the groups of a View in ascending order. Draining members
// and those out of scope do not count, in a scope nobody who is not eligible in it.
func groupByPriority(v *poise.View, localities bool) []*group {
	groups, zones := map[uint32]*group{}, map[place]*zone{}
	for i, s := range v.All() {
		m := member{index: i, eligible: v.Reason(i) == poise.NotExcluded}
		if s.IsDraining() || s.Excluded == poise.ExcludedOutOfScope || v.IsScope() && !m.eligible {
			continue
		}
		// Opting out withholds a member only while it is not eligible.
		m.inPanic = m.eligible || !s.PanicOptOut
		g := groups[s.Priority]
		if g == nil {
			g = &group{priority: s.Priority}
			groups[s.Priority] = g
		}
		at := placeOf(&s, localities)
		z := zones[at]
		if z == nil {
			z = &zone{locality: at.locality, weight: s.LocalityWeight.Value()}
			zones[at] = z
			g.zones = append(g.zones, z)
		}
		z.members = append(z.members, m)
		z.add(m, uint64(s.Weight.Value()))
		g.add(m, uint64(s.Weight.Value()))
	}
	for _, g := range groups {
		slices.SortFunc(g.zones, func(a, b *zone) int { return cmp.Compare(a.locality, b.locality) })
	}
	return slices.SortedFunc(maps.Values(groups), func(a, b *group) int { return cmp.Compare(a.priority, b.priority) })
}

func placeOf(s *poise.Sample, localities bool) place {
	if localities {
		return place{s.Priority, s.Locality}
	}
	return place{priority: s.Priority}
}
