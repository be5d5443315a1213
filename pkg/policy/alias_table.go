package policy

import (
	"math/bits"
	"sort"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// aliasTable draws positions of an eligible list in proportion to its weights, exactly:
// every number is an integer.
type aliasTable struct {
	// columns are equally likely. The draw in a column below its limit is the
	// column's own, the rest is its alias's (Walker, "An Efficient Method for
	// Generating Discrete Random Variables with General Distributions", ACM TOMS 3,
	// 1977, in the linear form of Vose, 1991).
	columns []column
	// before[i] is the sum of the weights before position i, and one more is the
	// sum of all.
	before []uint64
	// area is the number of columns times the sum of the weights, or 0 where that
	// exceeds 64 bits; biased is 2^64 mod area.
	area, biased uint64
}

type column struct {
	limit uint64 // 0 to the sum of the weights
	alias uint32 // a position
}

// newAliasTable returns the aliasTable of a View's eligible list, which is not empty.
//
// The sum of at most 2^32-1 weights below 2^32 fits 64 bits, and so does each
// weight times the number of them.
func newAliasTable(v *poise.View) (*aliasTable, error) {
	n := v.EligibleLen()
	l := &aliasTable{columns: make([]column, n), before: make([]uint64, n+1)}
	scaled := make([]uint64, n)
	for position := range n {
		sample, err := v.Sample(v.Eligible(position))
		if err != nil {
			return nil, err
		}
		weight := uint64(sample.Weight.Value())
		l.before[position+1] = l.before[position] + weight
		scaled[position] = weight * uint64(n)
	}
	if high, area := bits.Mul64(uint64(n), l.sum()); high == 0 {
		l.area, l.biased = area, -area%area
	}
	l.fill(scaled)
	return l, nil
}

func (l *aliasTable) sum() uint64 { return l.before[len(l.before)-1] }

// weight returns the weight at the position.
func (l *aliasTable) weight(position int) uint64 { return l.before[position+1] - l.before[position] }

// fill makes the columns from each weight times their number. Each step fills up
// a column that is too low from one that is not, until all are full.
func (l *aliasTable) fill(scaled []uint64) {
	full := l.sum()
	var low, high []uint32
	for position, height := range scaled {
		if height < full {
			low = append(low, uint32(position))
		} else {
			high = append(high, uint32(position))
		}
	}
	for len(low) > 0 {
		poor, rich := low[len(low)-1], high[len(high)-1]
		low = low[:len(low)-1]
		l.columns[poor] = column{scaled[poor], rich}
		scaled[rich] -= full - scaled[poor]
		if scaled[rich] < full {
			high = high[:len(high)-1]
			low = append(low, rich)
		}
	}
	for _, position := range high { // these are full to the brim
		l.columns[position] = column{full, position}
	}
}

// draw returns a position. One word of the generator serves both the column and
// the height in it, as in Generator.Pair, where the two fit.
func (l *aliasTable) draw(chance *poise.Generator) int {
	n, full := uint64(len(l.columns)), l.sum()
	var place, height uint64
	if l.area == 0 {
		place, height = chance.Below(n), chance.Below(full)
	} else {
		for low := uint64(0); ; {
			place, low = bits.Mul64(chance.Uint64(), n)
			height, low = bits.Mul64(low, full)
			if low >= l.biased {
				break
			}
		}
	}
	if c := &l.columns[place]; height >= c.limit {
		return int(c.alias)
	}
	return int(place)
}

// drawLeft returns a position of those left untried, of which there is one.
func (l *aliasTable) drawLeft(chance *poise.Generator, left *poise.Untried) int {
	return l.locate(chance.Below(l.sumLeft(left)), left)
}

// drawOther returns a position of those left untried but for first, which is one
// of them and not the only one.
func (l *aliasTable) drawOther(chance *poise.Generator, left *poise.Untried, first int) int {
	// The tickets go round from the end of first to its beginning.
	start, own := l.before[first], l.weight(first)
	for k := 0; left.Skipped(k) >= 0 && left.Skipped(k) < first; k++ {
		start -= l.weight(left.Skipped(k))
	}
	sum := l.sumLeft(left)
	ticket := chance.Below(sum - own)
	if after := sum - own - start; ticket < after {
		ticket += start + own
	} else {
		ticket -= after
	}
	return l.locate(ticket, left)
}

// sumLeft returns the sum of the weights of those left untried.
func (l *aliasTable) sumLeft(left *poise.Untried) uint64 {
	sum := l.sum()
	for k := 0; left.Skipped(k) >= 0; k++ {
		sum -= l.weight(left.Skipped(k))
	}
	return sum
}

// locate returns the position that a ticket below sumLeft falls to.
func (l *aliasTable) locate(ticket uint64, left *poise.Untried) int {
	for k := 0; left.Skipped(k) >= 0; k++ {
		if position := left.Skipped(k); ticket >= l.before[position] {
			ticket += l.weight(position) // step over it
		}
	}
	return sort.Search(len(l.columns)-1, func(i int) bool { return ticket < l.before[i+1] })
}
