package policy

import (
	"cmp"
	"maps"
	"math/big"
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
	members  []member
	// total is the weight of all, eligible of those that are, and inPanic of those
	// that count in a panic.
	total, eligible, inPanic uint64
	panics                   bool
	traffic                  uint64 // out of the sum over all groups
}

type member struct {
	index    int
	weight   uint64
	locality string
	zone     poise.Weight
	eligible bool
	inPanic  bool
}

// selected reports whether the member counts as eligible in its group's scope.
func (g *group) selected(m *member) bool { return m.eligible || g.panics && m.inPanic }

func groupByPriority(v *poise.View) []*group {
	byPriority := map[uint32]*group{}
	for i, s := range v.All() {
		if s.Status == poise.Draining || v.Reason(i) == poise.ExcludedOutOfScope {
			continue
		}
		g := byPriority[s.Priority]
		if g == nil {
			g = &group{priority: s.Priority}
			byPriority[s.Priority] = g
		}
		g.add(member{
			index: i, weight: uint64(s.Weight.Value()), locality: s.Locality, zone: s.LocalityWeight,
			eligible: v.Reason(i) == poise.NotExcluded,
		}, s.PanicOptOut)
	}
	return slices.SortedFunc(maps.Values(byPriority), func(a, b *group) int { return cmp.Compare(a.priority, b.priority) })
}

// add counts a member in. Opting out withholds a member only while it is not
// eligible.
func (g *group) add(m member, optOut bool) {
	m.inPanic = m.eligible || !optOut
	g.total += m.weight
	if m.eligible {
		g.eligible += m.weight
	}
	if m.inPanic {
		g.inPanic += m.weight
	}
	g.members = append(g.members, m)
}

// shareOut decides which groups panic and sets the traffic of each. Whether
// capacity is short is decided on exact fractions: units are rounded down, and
// their sum can miss what adds up to everything.
func shareOut(groups []*group, cfg PriorityConfig) {
	sum := new(big.Rat)
	one := big.NewRat(1, 1)
	for _, g := range groups {
		capacity := fraction(g.eligible, g.total, cfg.Overprovisioning)
		if capacity.Cmp(one) > 0 {
			capacity = one
		}
		sum.Add(sum, capacity)
		g.traffic = units(g.eligible, g.total, cfg.Overprovisioning)
	}
	short := sum.Cmp(one) < 0
	threshold := fraction(uint64(cfg.PanicThreshold), 100, 100)
	for _, g := range groups {
		g.panics = short && fraction(g.eligible, g.total, 100).Cmp(threshold) < 0
	}
	switch {
	case sum.Sign() == 0:
		for _, g := range groups {
			if g.panics {
				g.traffic = g.inPanic
			}
		}
	case !short:
		fill(groups)
	}
}

// fill gives the groups, in order, what they can carry of the full traffic. What
// rounding leaves over goes to the first that can carry anything.
func fill(groups []*group) {
	left := uint64(fullTraffic)
	var first *group
	for _, g := range groups {
		if g.traffic > 0 && first == nil {
			first = g
		}
		g.traffic = min(g.traffic, left)
		left -= g.traffic
	}
	if first != nil {
		first.traffic += left
	}
}

// fraction returns part/whole times percent/100.
func fraction(part, whole uint64, percent uint32) *big.Rat {
	numerator := new(big.Int).Mul(new(big.Int).SetUint64(part), big.NewInt(int64(percent)))
	denominator := new(big.Int).Mul(new(big.Int).SetUint64(whole), big.NewInt(100))
	return new(big.Rat).SetFrac(numerator, denominator)
}

// units returns the same fraction of the full traffic, rounded down, at most all
// of it, and at least 1 for a part above 0.
func units(part, whole uint64, percent uint32) uint64 {
	f := fraction(part, whole, percent)
	scaled := new(big.Int).Mul(f.Num(), big.NewInt(fullTraffic))
	scaled.Quo(scaled, f.Denom())
	if !scaled.IsUint64() || scaled.Uint64() > fullTraffic {
		return fullTraffic
	}
	if part > 0 {
		return max(scaled.Uint64(), 1)
	}
	return 0
}
