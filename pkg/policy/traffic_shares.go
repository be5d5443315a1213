package policy

import (
	"math/big"
	"math/bits"
)

// shareOut decides which groups panic and sets the traffic of each. Whether
// capacity is short is decided on exact fractions: units are rounded down, and
// their sum can miss what adds up to everything. Where every group panics nobody
// knows whom to trust, and the traffic goes by what panic can use.
func shareOut(groups []*group, cfg TopologyConfig) {
	parts := make([]ratio, len(groups))
	for i, g := range groups {
		parts[i] = carried(g.eligible, g.total, cfg.Overprovisioning)
		g.traffic = units(g.eligible, g.total, cfg.Overprovisioning)
	}
	short := !coverAll(parts)
	all := short
	for _, g := range groups {
		g.panics = short && below(g.eligible, g.total, cfg.PanicThreshold)
		g.rejects = g.panics && cfg.FailClosed
		all = all && g.panics
	}
	for _, g := range groups {
		if all {
			g.traffic = g.inPanic
		}
	}
	if !short {
		fillUp(groups)
	}
}

// fillUp gives the groups, in order, what they can carry of the full traffic. What
// rounding leaves over goes to the first that can carry anything.
func fillUp(groups []*group) {
	left := uint64(fullTraffic)
	var first *group
	for _, g := range groups {
		if g.traffic > 0 && first == nil {
			first = g
		}
		g.traffic = min(g.traffic, left)
		left -= g.traffic
	}
	first.traffic += left // capacity is not short, so there is one
}

// below reports whether part is less than so many percent of whole.
func below(part, whole uint64, percent uint32) bool {
	partHigh, partLow := bits.Mul64(part, 100)
	limitHigh, limitLow := bits.Mul64(whole, uint64(percent))
	return partHigh < limitHigh || partHigh == limitHigh && partLow < limitLow
}

// ratio is a fraction that need not be in lowest terms.
type ratio struct{ num, den *big.Int }

// carried returns part/whole times percent/100, at most 1.
func carried(part, whole uint64, percent uint32) ratio {
	r := ratio{new(big.Int).SetUint64(part), new(big.Int).SetUint64(whole)}
	r.num.Mul(r.num, big.NewInt(int64(percent)))
	r.den.Mul(r.den, big.NewInt(100))
	if r.num.Cmp(r.den) > 0 {
		return ratio{big.NewInt(1), big.NewInt(1)}
	}
	return r
}

// units returns the same in units of the full traffic, rounded down, but at least
// one for a part above 0.
func units(part, whole uint64, percent uint32) uint64 {
	if part == 0 {
		return 0
	}
	r := carried(part, whole, percent)
	scaled := r.num.Mul(r.num, big.NewInt(fullTraffic))
	return max(1, scaled.Quo(scaled, r.den).Uint64())
}

// coverAll reports whether the ratios add up to 1 or more.
func coverAll(parts []ratio) bool {
	sum := add(parts)
	return sum.num.Cmp(sum.den) >= 0
}

// add returns the sum. Halving keeps the numbers short for as long as it can: one
// by one, thousands of priorities would take minutes.
func add(parts []ratio) ratio {
	switch len(parts) {
	case 0:
		return ratio{new(big.Int), big.NewInt(1)}
	case 1:
		return parts[0]
	}
	a, b := add(parts[:len(parts)/2]), add(parts[len(parts)/2:])
	num := new(big.Int).Mul(a.num, b.den)
	return ratio{num.Add(num, new(big.Int).Mul(b.num, a.den)), new(big.Int).Mul(a.den, b.den)}
}
