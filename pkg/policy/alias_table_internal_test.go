package policy

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

func newTestAliasTable(t *testing.T, weights ...uint32) *aliasTable {
	t.Helper()
	l, err := newAliasTable(weightedView(t, weights...))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// randomWeights are of every size, and often equal.
func randomWeights(chance *poise.Generator, most uint64) []uint32 {
	weights := make([]uint32, 1+chance.Below(most))
	largest := []uint64{1, 3, 100, math.MaxUint32}[chance.Below(4)]
	for i := range weights {
		weights[i] = uint32(1 + chance.Below(largest))
	}
	return weights
}

// The columns hold exactly n times the weight of each, in sum.
//
// Claim: WeightedRandom picks every eligible candidate in proportion to its weight, exactly.
// Code: aliasTable.fill, aliasTable.draw
//
// Cases: E17.
func TestAliasTable_ColumnsHoldExactlyTheWeights(t *testing.T) {
	chance := poise.NewGenerator(3)
	lists := [][]uint32{{1}, {1, math.MaxUint32}, {math.MaxUint32, math.MaxUint32, 1}, {5, 1, 1}}
	for range 300 {
		lists = append(lists, randomWeights(chance, 60))
	}
	for _, weights := range lists {
		l := newTestAliasTable(t, weights...)
		got := make([]uint64, len(weights))
		for position, c := range l.columns {
			if c.limit > l.sum() {
				t.Fatalf("weights %v: column %d is higher than full", weights, position)
			}
			got[position] += c.limit
			got[c.alias] += l.sum() - c.limit
		}
		for position, w := range weights {
			if want := uint64(w) * uint64(len(weights)); got[position] != want {
				t.Fatalf("weights %v: the columns give %d to position %d, want %d", weights, got[position], position, want)
			}
		}
	}
}

// slowDraw is draw in big numbers: one word names a number below the area, and is
// drawn again where the division has a remainder that would favour some.
func (l *aliasTable) slowDraw(chance *poise.Generator) int {
	n, sum := int64(len(l.columns)), new(big.Int).SetUint64(l.sum())
	area := new(big.Int).Mul(big.NewInt(n), sum)
	word := new(big.Int).Lsh(big.NewInt(1), 64)
	for {
		product := new(big.Int).Mul(new(big.Int).SetUint64(chance.Uint64()), area)
		number, rest := new(big.Int).DivMod(product, word, new(big.Int))
		if rest.Cmp(new(big.Int).Mod(word, area)) < 0 {
			continue
		}
		place, height := new(big.Int).DivMod(number, sum, new(big.Int))
		c := l.columns[place.Int64()]
		if height.Uint64() < c.limit {
			return int(place.Int64())
		}
		return int(c.alias)
	}
}

func TestAliasTable_DrawsAsItsSlowTwin(t *testing.T) {
	chance := poise.NewGenerator(4)
	for range 200 {
		weights := randomWeights(chance, 40)
		l := newTestAliasTable(t, weights...)
		seed := chance.Uint64()
		fast, slow := poise.NewGenerator(seed), poise.NewGenerator(seed)
		for k := range 50 {
			if got, want := l.draw(fast), l.slowDraw(slow); got != want {
				t.Fatalf("weights %v, draw %d: %d, the twin %d", weights, k, got, want)
			}
		}
	}
}

// An area that is just over half of 2^64 makes every second word a draw again.
func TestAliasTable_DrawsAgainWhereAWordWouldFavourSome(t *testing.T) {
	l := newTestAliasTable(t, 2, 1)
	l.before = []uint64{0, 1 << 62, 1<<62 + 3} // an area of 2^63 + 6
	l.area = 2 * l.sum()
	l.biased = -l.area % l.area
	l.columns = []column{{1 << 61, 1}, {1 << 62, 0}}
	fast, slow := poise.NewGenerator(9), poise.NewGenerator(9)
	for k := range 2000 {
		if got, want := l.draw(fast), l.slowDraw(slow); got != want {
			t.Fatalf("draw %d: %d, the twin %d", k, got, want)
		}
	}
	if drawn := fast.Uint64(); drawn != slow.Uint64() {
		t.Error("the fast draw took another number of words")
	}
}

// unmix is the inverse of Mix64.
func unmix(v uint64) uint64 {
	v ^= v>>31 ^ v>>62
	v *= inverse(0x94d049bb133111eb)
	v ^= v>>27 ^ v>>54
	v *= inverse(0xbf58476d1ce4e5b9)
	return v ^ v>>30 ^ v>>60
}

// inverse of an odd number mod 2^64: each step of Newton's doubles the right bits.
func inverse(odd uint64) uint64 {
	x := odd
	for range 6 {
		x *= 2 - odd*x
	}
	return x
}

// The words at the edge of the rejected part: 2^64 mod 15 is 1, so of all words
// exactly the one whose product with 15 leaves 0 is drawn again.
func TestAliasTable_RejectsExactlyTheWordsThatWouldFavourSome(t *testing.T) {
	l := newTestAliasTable(t, 1, 2, 2)
	for _, row := range []struct {
		rest  uint64
		words int
	}{{0, 2}, {1, 1}, {2, 1}} {
		word := row.rest * inverse(15)
		if word*15 != row.rest || poise.Mix64(unmix(word)) != word {
			t.Fatal("the test's own arithmetic is wrong")
		}
		const step = 0x9e3779b97f4a7c15 // of SplitMix64
		chance, stream := poise.NewGenerator(unmix(word)-step), poise.NewGenerator(unmix(word)-step)
		l.draw(chance)
		for range row.words {
			stream.Uint64()
		}
		if chance.Uint64() != stream.Uint64() {
			t.Errorf("a word that leaves %d did not take %d words in all", row.rest, row.words)
		}
	}
}

// Where the area exceeds 64 bits, column and height are two draws.
//
// Cases: B08.
func TestAliasTable_DrawsTwiceWhereOneWordIsTooSmall(t *testing.T) {
	candidates := make([]poise.Candidate, 1<<16+1)
	weight, err := poise.NewWeight(math.MaxUint32)
	if err != nil {
		t.Fatal(err)
	}
	for i := range candidates {
		candidates[i] = poise.Sample{ID: fmt.Sprint(i), Weight: weight}
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		t.Fatal(err)
	}
	scopeOf := func(n int) *aliasTable {
		members := make([]int, n)
		for i := range members {
			members[i] = i
		}
		scope, err := v.Scope(members)
		if err != nil {
			t.Fatal(err)
		}
		l, err := newAliasTable(scope)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	// n² · (2^32-1) is under 2^64 for n = 2^16, and over it for one more.
	if l := scopeOf(1 << 16); l.area != 1<<32*uint64(math.MaxUint32) || l.sum() != 1<<16*uint64(math.MaxUint32) {
		t.Errorf("2^16 heavy ones: area %d, sum %d", l.area, l.sum())
	}
	if l := scopeOf(1<<16 + 1); l.area != 0 {
		t.Errorf("2^16+1 heavy ones: area %d", l.area)
	}
	two := newTestAliasTable(t, 3, 1, 4, 1, 5)
	two.area = 0
	fast, slow := poise.NewGenerator(2), poise.NewGenerator(2)
	for range 1000 {
		place, height := slow.Below(5), slow.Below(14)
		want := int(place)
		if height >= two.columns[place].limit {
			want = int(two.columns[place].alias)
		}
		if got := two.draw(fast); got != want {
			t.Fatalf("drew %d, want %d", got, want)
		}
	}
}

// Every ticket falls to the one whose weight it lies in, whoever was tried, and in
// the draw of another nobody's chance depends on who is left out.
func TestAliasTable_TicketsFallAsByHand(t *testing.T) {
	chance := poise.NewGenerator(6)
	for range 200 {
		weights := randomWeights(chance, 14)
		v := weightedView(t, weights...)
		l, err := newAliasTable(v)
		if err != nil {
			t.Fatal(err)
		}
		tried := new(poise.Tried)
		var left []int
		for i := range weights {
			if chance.Below(3) == 0 {
				tried.Add(fmt.Sprint(i), 0)
			} else {
				left = append(left, i)
			}
		}
		if len(left) < 2 {
			continue
		}
		untried := v.Untried(tried)
		seed := chance.Uint64()
		fast, slow := poise.NewGenerator(seed), poise.NewGenerator(seed)
		for range 40 {
			first := l.drawLeft(fast, &untried)
			if want := byHand(slow, weights, left); first != want {
				t.Fatalf("weights %v, left %v: drew %d, want %d", weights, left, first, want)
			}
			// The others in the order that begins after the first.
			var others []int
			for _, i := range left {
				if i > first {
					others = append(others, i)
				}
			}
			for _, i := range left {
				if i < first {
					others = append(others, i)
				}
			}
			second := l.drawOther(fast, &untried, first)
			if want := byHand(slow, weights, others); second != want {
				t.Fatalf("weights %v, others %v: drew %d, want %d", weights, others, second, want)
			}
		}
	}
}

// byHand draws a ticket and walks to whom it falls.
func byHand(chance *poise.Generator, weights []uint32, among []int) int {
	sum := uint64(0)
	for _, i := range among {
		sum += uint64(weights[i])
	}
	ticket := chance.Below(sum)
	for _, i := range among {
		if ticket < uint64(weights[i]) {
			return i
		}
		ticket -= uint64(weights[i])
	}
	panic("a ticket below the sum fell to nobody")
}
